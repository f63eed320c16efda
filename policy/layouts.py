"""The fact ``tool.layout``: the whole-number fields of a tool's ABI, read by code that is made for each ABI."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from capgate.policy.catalog import Catalog
from capgate.policy.codegen import constant, expression, function, load
from capgate.policy.operators import ABSENT

__all__ = ["NO_FIELDS", "layout_reader"]

#: The list of a tool without a layout; shared, and written by none.
NO_FIELDS: Final[list[Any]] = []

_Reader: TypeAlias = "Callable[[dict[str, Any]], list[dict[str, Any]]]"


def layout_reader(catalog: Catalog) -> _Reader:
    """A function from a tool, whose primitive has ABIs, to the fields of its ABI, each with name and, if any, value."""
    fields = {name: terms.abis for name, terms in catalog.primitives.items() if terms.abis}
    readers: dict[tuple[str, str], _Reader] = {}

    def layout(tool: dict[str, Any]) -> list[dict[str, Any]]:
        primitive = tool["primitive"]
        settings: Any = tool.get(primitive)
        abi = settings.get("abi") if type(settings) is dict else None
        if not isinstance(abi, str):  # what equals the name of an ABI is one, also where its class is another
            return NO_FIELDS
        reader = readers.get((primitive, abi))
        if reader is None:
            known: Mapping[str, Sequence[str]] = fields[primitive]
            if abi not in known:
                return NO_FIELDS
            reader = readers[primitive, abi] = _reader(known[abi])
        return reader(settings)

    return layout


def _reader(paths: Sequence[str]) -> _Reader:
    found = [
        expression(
            "{'name': NAME} if (value := VALUE) is ABSENT else {'name': NAME, 'value': value}",
            NAME=constant(path),
            VALUE=_read(path),
        )
        for path in paths
    ]
    body = [ast.Return(ast.List(found, ast.Load()))]
    made: _Reader = load([function("read", ["settings"], body)], {"ABSENT": ABSENT}, "layout")["read"]
    return made


def _read(path: str) -> ast.expr:
    first, *rest = path.split(".")
    found = expression("settings.get(KEY, ABSENT)", KEY=constant(first))
    for step in rest:
        held = ast.NamedExpr(ast.Name("held", ast.Store()), found)
        found = expression("held.get(KEY, ABSENT) if type(HELD) is dict else ABSENT", HELD=held, KEY=constant(step))
    return found
