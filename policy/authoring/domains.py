"""What values a path can have when a trigger is asked: all that the questions about it can tell apart.

The stage `shape` lets nothing pass that breaks the descriptor's schema, so behind it a path has no
value that the schema does not allow, and no test could give it one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any, Final

from capgate.policy.catalog import RESERVED_TOOL_NAMES, Catalog
from capgate.policy.operators import ABSENT, has_type
from capgate.policy.paths import Path
from capgate.policy.rulefile import Loop, Trigger
from capgate.policy.ruleset import RuleSet
from capgate.policy.schema import DESCRIPTOR, Schema, members
from capgate.policy.shapes import Shape
from capgate.policy.vocabulary import Reference, constant_value

__all__ = ["Domain", "Domains", "domain_at"]

_ANYTHING: Final[Schema] = {}
_TEXT: Final[Schema] = {"type": "string"}
_FAULT: Final[Schema] = {"type": "dict", "schema": {"path": _TEXT, "expected": _TEXT, "found": _TEXT}}
_DESTINATION: Final[Schema] = {"type": "dict", "schema": {"name": _TEXT, "port": {"type": "whole", "min": 0}}}
_SHAPE: Final = "shape"
#: Of more needs than this not every choice is looked at, but those with fewer in them, or left out, than these.
_MANY: Final = 8
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a path can have.

    Attributes:
        fits: tells of a JSON value whether the path can have it.
        absent: whether it can be absent.
        known: values that it can have and that nobody would guess.
    """

    fits: Callable[[Any], bool]
    absent: bool
    known: tuple[Any, ...] = ()

    def values(self, tried: Iterable[Any]) -> Iterator[Any]:
        """`ABSENT` if it can be that, the known values, and those of `tried` that it can have."""
        if self.absent:
            yield ABSENT
        yield from self.known
        yield from (value for value in tried if self.fits(value))


class Domains:
    """The domains of all paths that the triggers of a rule set name."""

    def __init__(self, rules: RuleSet, catalog: Catalog):
        self._catalog = catalog
        self._loops = {stage.name: stage.loop for stage in rules.stages}
        names = [stage.name for stage in rules.stages]
        self._unshaped = set(names[: names.index(_SHAPE) + 1]) if _SHAPE in names else set(names)

    def of(self, reference: Reference, trigger: Trigger) -> Domain:
        """The domain of a path that `trigger` names."""
        loops = {loop.variable: loop for loop in (self._loops[trigger.stage], trigger.loop) if loop}
        return self._domain(reference, loops, shaped=trigger.stage not in self._unshaped)

    def _domain(self, reference: Reference, loops: Mapping[str, Loop], *, shaped: bool) -> Domain:
        term = reference.term
        loop = loops[reference.root] if reference.looped else None
        if term.origin == "constant":
            return self._constant(term.fact)
        if term.origin == "plugin":
            word = self._catalog.facts[term.fact].type
            return Domain(lambda value: has_type(value, word), False)
        if loop is not None and term.origin == "derived":
            return self._of_tool(term.fact)
        if loop is not None:
            return self._of_element(reference, loop, loops, shaped=shaped)
        if term.origin == "derived":
            return self._of_subject(term.fact, shaped=shaped)
        return _submitted(DESCRIPTOR, reference.steps, shaped=shaped)

    def _constant(self, fact: str) -> Domain:
        placements = list(self._catalog.placements.values())
        values: list[Any] = []
        missing = False
        for placement in placements:
            try:
                values.append(constant_value(fact, self._catalog, placement))
            except KeyError:
                missing = True
        known = tuple(values)
        # A test can say what is enforced on the placement, by `given.mechanisms`.
        if fact == "placement.mechanisms":
            names = list(self._catalog.capabilities)
            some = tuple(names[:number] for number in range(len(names) + 1))
            return Domain(_list_of(names), False, known + some)
        if fact == "placement.mechanism":
            return Domain(_no_value, False, ({}, *known))
        if fact.startswith("placement.mechanism."):
            return Domain(_no_value, True, known)
        return Domain(_no_value, missing, known)

    def _of_subject(self, fact: str, *, shaped: bool) -> Domain:
        if fact == "subject.faults" and shaped:
            return Domain(_no_value, False, ([],))
        if fact == "host.taken":
            reserved = sorted(RESERVED_TOOL_NAMES)
            return Domain(_no_value, False, (reserved, [*reserved, "a"]))
        items = {"subject.hosts": _TEXT, "subject.faults": _FAULT, "subject.destinations": _DESTINATION}
        item: Schema = items.get(fact, _item(_at(DESCRIPTOR, [fact.removeprefix("subject.")])) if shaped else _ANYTHING)
        known = ([{"name": "a.test"}],) if fact == "subject.destinations" else ()
        return Domain(_shape({"type": "list", "schema": item} if _restricts(item) else {"type": "list"}), False, known)

    def _of_tool(self, fact: str) -> Domain:
        primitives = self._catalog.primitives.values()
        if fact == "tool.known":
            return Domain(_no_value, False, (True, False))
        if fact == "tool.first_use":
            return Domain(lambda value: type(value) is str and value.startswith("$.tools["), True, ("$.tools[0].name",))
        if fact == "tool.layout":
            names = [list(fields) for fields in self._catalog.abis.values()]
            bare = [[{"name": name} for name in fields] for fields in names]
            whole = [[{"name": name, "value": 0} for name in fields] for fields in names]
            return Domain(_layout_of(names), False, ([], *bare, *whole))
        if fact == "tool.undeclared":
            parts = (part for terms in primitives for part in _parts_of(terms.needs))
            return Domain(_no_value, False, tuple(list(part) for part in dict.fromkeys(parts)))
        return Domain(_no_value, False, ([], *(list(terms.needs) for terms in primitives)))

    def _of_element(self, reference: Reference, loop: Loop, loops: Mapping[str, Loop], *, shaped: bool) -> Domain:
        over = loop.over
        fact = over.term.element.fact if over.term.element else ""
        if fact == "layout":
            named = sorted({name for fields in self._catalog.abis.values() for name in fields})
            if reference.steps == ("name",):
                return Domain(_no_value, False, tuple(named))
            if reference.steps == ("value",):
                return Domain(_anything, True)
            known = tuple({"name": name, **value} for name in named for value in ({}, {"value": 0}))
            return Domain(_field_of(named), False, known)
        if fact == "fault":
            return Domain(_no_value, False) if shaped else _of_fault(reference.steps)
        if over.term.fact == "subject.destinations":
            known = () if reference.steps else ({"name": "a.test"},)
            return replace(_submitted(_DESTINATION, reference.steps, shaped=True), known=known)
        if over.term.origin != "submitted" and fact != "tool" and over.text != "subject.capabilities":
            lists = list(self._domain(over, loops, shaped=shaped).known)
            found = {str(item): item for items in lists for item in items}
            fits = _shape(_TEXT) if over.term.fact in ("subject.hosts", "host.taken") else _no_value
            return Domain(_anything if over.term.origin == "plugin" else fits, False, tuple(found.values()))
        if over.term.origin != "submitted":
            item = _item(_at(DESCRIPTOR, [over.text.removeprefix("subject.")]))
        elif over.looped:
            item = _item(_below(over, loops))
        else:
            item = _item(_at(DESCRIPTOR, over.steps))
        return _submitted(item, reference.steps, shaped=shaped)


def _parts_of(needs: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """What can be left of some needs: every choice of them, or of a great many those of all but a few, or of few."""
    for size in range(len(needs) + 1):
        if len(needs) <= _MANY or min(size, len(needs) - size) < _FEW:
            yield from combinations(needs, size)


def _field_of(names: Collection[str]) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        return type(value) is dict and value.keys() - {"value"} == {"name"} and value["name"] in names

    return fits


def _layout_of(layouts: Sequence[Sequence[str]]) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        return type(value) is list and any(
            len(value) == len(names) and all(map(_is_field, value, names)) for names in layouts
        )

    return fits


def _is_field(value: Any, name: str) -> bool:
    return _field_of([name])(value)


def domain_at(place: Path) -> Domain:
    """The domain of a place of a well-formed descriptor."""
    schema = DESCRIPTOR
    for step in place:
        schema = _item(schema) if isinstance(step, int) else _at(schema, [step])
    return _submitted(schema, [str(step) for step in place], shaped=True)


def _of_fault(steps: Sequence[str]) -> Domain:
    """A fault has all its keys."""
    if steps:
        return Domain(_shape(_at(_FAULT, steps)), False)
    whole = _shape(_FAULT)
    fault = {"path": "$.id", "expected": "string", "found": "number"}
    return Domain(lambda value: whole(value) and fault.keys() == value.keys(), False, (fault,))


def _below(reference: Reference, loops: Mapping[str, Loop]) -> Schema:
    """The schema of what stands under a loop variable."""
    over = loops[reference.root].over
    names = over.steps if over.term.origin == "submitted" else [over.text.removeprefix("subject.")]
    return _at(_item(_at(DESCRIPTOR, names)), reference.steps)


def _at(schema: Schema, steps: Iterable[str]) -> Schema:
    for step in steps:
        known, _ = members(schema)
        other = schema.get("valuesrules", schema.get("allow_unknown"))
        schema = known.get(step, other if isinstance(other, Mapping) else _ANYTHING)
    return schema


def _item(schema: Schema) -> Schema:
    for option in (schema, *schema.get("anyof", ())):
        if option.get("type") == "list":
            item: Schema = option.get("schema", _ANYTHING)
            return item
    return _ANYTHING


def _submitted(schema: Schema, steps: Sequence[str], *, shaped: bool) -> Domain:
    there = _at(schema, steps)
    fits = _shape(there) if shaped else _anything
    allowed = tuple(there.get("allowed", ())) if shaped else ()
    return Domain(fits, bool(steps), allowed)


def _shape(schema: Schema) -> Callable[[Any], bool]:
    return _compiled(_Hashed(schema)) if _restricts(schema) else _anything


def _restricts(schema: Schema) -> bool:
    """Whether a schema says anything of a value; some only name what may lie below it."""
    return "type" in schema or "anyof" in schema


class _Hashed:
    """A schema, told apart from others by what it says."""

    def __init__(self, schema: Schema):
        self.schema = schema
        self._text = repr(schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


@cache
def _compiled(schema: _Hashed) -> Callable[[Any], bool]:
    return Shape(schema.schema, "part of a schema").holds


def _list_of(names: Iterable[str]) -> Callable[[Any], bool]:
    known = set(names)

    def fits(value: Any) -> bool:
        return type(value) is list and all(type(item) is str and item in known for item in value)

    return fits


def _anything(value: Any) -> bool:
    return True


def _no_value(value: Any) -> bool:
    return False
