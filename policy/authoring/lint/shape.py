"""The shape check of descriptors, held against Cerberus, whose schema it was made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, Final

from capgate.policy.authoring.lint.context import Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.errors import Span
from capgate.policy.schema import DESCRIPTOR, Schema
from capgate.policy.shapes import Shape

__all__ = ["difference", "differences", "documents"]

_DOCUMENTS: Final = 300
_SCALARS: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    5,
    1.0,
    0.5,
    "",
    "a",
    "host",
    "process",
    "day",
    "x" * 101,
)


def differences(context: Context) -> Iterator[Finding]:
    """Documents of which the two say different things; asked when no folder is named."""
    if context.folders:
        return
    found = difference(DESCRIPTOR, Shape(DESCRIPTOR, "descriptor schema").holds, documents(DESCRIPTOR))
    if found is not None:
        yield found


def difference(schema: Schema, holds: Callable[[Any], bool], tried: Iterable[Any]) -> Finding | None:
    """The first of `tried` that Cerberus and `holds` judge differently."""
    validator = _validator()
    validator.schema = {"it": {**schema, "required": True}}
    for document in tried:
        expected = validator.validate({"it": document})
        if holds(document) is not expected:
            text = json.dumps(document, ensure_ascii=False)
            said = "takes" if expected else "refuses"
            message = f"Cerberus {said} {text}, and the compiled shape check does not"
            remedy = "Report this: a descriptor is judged by a check that differs from the schema it was made from."
            return Finding("cerberus-differs", Span("schema of descriptors"), message, remedy)
    return None


def documents(schema: Schema) -> Iterator[Any]:
    """Documents near to what a schema asks for: mostly right, odd in places; the same each time."""
    random = Random(0)
    for _ in range(_DOCUMENTS):
        yield _like(schema, random)


def _like(schema: Any, random: Random) -> Any:
    for option in schema.get("anyof", ()):
        if option["type"] == "list":
            schema = option
    kind = schema.get("type")
    if random.random() < 0.05 or kind is None:
        return _odd(random)
    if kind == "dict":
        known = schema.get("schema", {"x": schema.get("valuesrules", {})})
        made = {key: _like(part, random) for key, part in known.items() if random.random() < 0.6}
        return made | ({"other": _odd(random)} if random.random() < 0.2 else {})
    if kind == "list":
        return [_like(schema.get("schema", {}), random) for _ in range(random.choice((0, 1, 1, 2)))]
    return random.choice(
        schema.get("allowed") or ("a", 1, 0) if kind != "string" else schema.get("allowed") or ("a", "")
    )


def _odd(random: Random) -> Any:
    some = random.choice((*_SCALARS, [], {}))
    return random.choice((some, some, [some], {"a": some}))


def _validator() -> Any:
    """Cerberus with our types, and patterns that match the whole text."""
    import cerberus  # type: ignore[import-untyped]  # slow to import, and only this check needs it

    class Validator(cerberus.Validator):  # type: ignore[misc]
        types_mapping = {
            **cerberus.Validator.types_mapping,
            "whole": cerberus.TypeDefinition("whole", (int, float), (bool,)),
            "other-than-list": cerberus.TypeDefinition("other-than-list", (object,), (list,)),
        }

        def _validate_type(self, data_type: Any, field: Any, value: Any) -> None:
            """{'type': ['string', 'list']}"""  # noqa: D415 - Cerberus reads the rule's schema from here
            if data_type == "whole" and isinstance(value, float) and not value.is_integer():
                self._error(field, cerberus.errors.BAD_TYPE)
                self._drop_remaining_rules()
            else:
                super()._validate_type(data_type, field, value)

    return Validator()
