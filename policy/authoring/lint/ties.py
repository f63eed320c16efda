"""Which values go together: a place cannot have a value if another, on which it depends, has none to go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.lint.kleene import TRUE
from capgate.policy.authoring.lint.slots import CAPABILITIES, Key, Role, Slot, Slots
from capgate.policy.authoring.lint.values import TAKEN, Value, answer, exactly, item_checks
from capgate.policy.conditions import Check
from capgate.policy.operators import ABSENT, same
from capgate.policy.rulefile import Trigger

__all__ = ["Tie", "ties"]

_NETWORK: Final = Check("contains", "network", ())
_HOSTS: Final = frozenset({"subject.hosts", "subject.destinations"})


class Tie(NamedTuple):
    """Slots whose values depend on each other.

    Attributes:
        keys: the slots.
        holds: tells of a value for each whether they go together.
    """

    keys: tuple[Key, ...]
    holds: Callable[[Sequence[Value]], bool]


def ties(parts: Sequence[tuple[Trigger, Mapping[str, Role]]], slots: Slots) -> list[Tie]:
    """The ties among the slots; adds those that they need, and what has to be told apart in them."""
    found: list[Tie] = []
    # The others have no variables that the first does not have, under whatever name.
    trigger, roles = parts[0]
    for role in roles.values():
        found += _of_loop(role, trigger, roles, slots)
    for role in roles.values():
        found += _of_tool(role, trigger, slots)
    found += _of_hosts(slots, {role.loop.over.term.fact for role in roles.values()})
    found += _of_parents(slots)
    return found


def _of_loop(role: Role, trigger: Trigger, roles: Mapping[str, Role], slots: Slots) -> Iterator[Tie]:
    """There is an element, so the list has some, and this one among them."""
    over = role.loop.over
    if over.term.origin == "constant" or over.term.fact == "host.taken":
        return
    view = slots.view(over, trigger, roles)
    slot = slots.found[view.key]
    element = slots.found.get((role.name, ()))
    needless = not slot.asked and not over.term.fact.startswith("tool.")
    if needless:
        return
    asked = item_checks([check for _, check, of in slot.asked if of.name in ("itself", "listed")])
    if element is not None:
        element.beside += asked
    if over.term.fact.startswith("tool."):
        slot.features.append(_written)
        if element is not None:
            element.features.append(_written)
    slot.features.append(lambda value: sorted({_vector(item, asked) for item in _items(view.of(value))}))

    def holds(values: Sequence[Value]) -> bool:
        inside = _items(view.of(values[0]))
        if len(values) == 1 or not inside:
            return bool(inside)
        if over.term.fact.startswith("tool.") and over.term.fact != "tool.layout":
            return any(item.exact and values[1].exact and same(item.one, values[1].one) for item in inside)
        return any(_vector(item, asked) == _vector(values[1], asked) for item in inside)

    yield Tie((view.key,) if element is None else (view.key, element.view.key), holds)


def _items(value: Value) -> Sequence[Value]:
    if value.kind != "list":
        return ()
    return [exactly(item) for item in value.one] if value.exact else value.items


def _vector(value: Value, asked: Sequence[Check]) -> tuple[int, ...]:
    return tuple(answer(check, value) for check in asked)


def _written(value: Value) -> str:
    return repr(value.one) if value.exact else ""


def _of_tool(role: Role, trigger: Trigger, slots: Slots) -> Iterator[Tie]:
    """What is worked out of a tool depends on its primitive, its name, and what the subject declares."""
    undeclared = slots.found.get((role.name, "tool.undeclared"))
    layout = slots.found.get((role.name, "tool.layout"))
    first_use = slots.found.get((role.name, "tool.first_use"))
    name = slots.found.get((role.name, ("name",)))
    if first_use and name:
        name.features.append(lambda value: value.kind)
        yield Tie(
            (first_use.view.key, name.view.key), lambda values: values[0].kind == "absent" or values[1].kind == "string"
        )
    if undeclared or layout:
        primitive = slots.tool(role, trigger, "primitive")
        primitive.known = tuple(dict.fromkeys((*primitive.known, *slots.catalog.primitives)))
        primitive.features.append(_written)
        if undeclared:
            undeclared.features.append(_written)
            yield from _of_undeclared(undeclared, primitive, slots)
        if layout:
            layout.known = tuple([{"name": name} for name in fields] for fields in ((), *slots.catalog.abis.values()))
            layout.features.append(_written)
            yield from _of_layout(role, layout, primitive, slots)


def _of_undeclared(undeclared: Slot, primitive: Slot, slots: Slots) -> Iterator[Tie]:
    needs = {name: list(terms.needs) for name, terms in slots.catalog.primitives.items()}
    yield Tie(
        (undeclared.view.key, primitive.view.key),
        lambda values: set(values[0].one) <= set(needs.get(_text(values[1]), ())),
    )
    declared = slots.found.get(CAPABILITIES)
    if declared:
        checks = {need: Check("contains", need, ()) for every in needs.values() for need in every}
        declared.beside += checks.values()
        yield Tie(
            (undeclared.view.key, primitive.view.key, CAPABILITIES),
            lambda values: (
                values[0].one
                == [need for need in needs.get(_text(values[1]), ()) if answer(checks[need], values[2]) != TRUE]
            ),
        )


def _of_layout(role: Role, layout: Slot, primitive: Slot, slots: Slots) -> Iterator[Tie]:
    abis = {name: dict(terms.abis) for name, terms in slots.catalog.primitives.items() if terms.abis}

    def fits(values: Sequence[Value]) -> bool:
        fields = [item["name"] for item in values[0].one]
        return not fields or fields in [list(some) for some in abis.get(_text(values[1]), {}).values()]

    yield Tie((layout.view.key, primitive.view.key), fits)
    for name, own in abis.items():
        abi = slots.found.get((role.name, (name, "abi")))
        if abi:
            abi.known = tuple(dict.fromkeys((*abi.known, *own)))
            abi.features.append(_written)
            yield Tie((layout.view.key, primitive.view.key, abi.view.key), _laid_out(name, own))


def _laid_out(name: str, abis: Mapping[str, Sequence[str]]) -> Callable[[Sequence[Value]], bool]:
    def holds(values: Sequence[Value]) -> bool:
        fields = [item["name"] for item in values[0].one]
        return _text(values[1]) != name or fields == list(abis.get(_text(values[2]), ()))

    return holds


def _text(value: Value) -> str:
    """The text that a value is, or one that nothing is called."""
    return value.one if value.exact and value.kind == "string" else ""


def _of_hosts(slots: Slots, walked: Iterable[str]) -> Iterator[Tie]:
    """Without network there are no hosts that could be looked at."""
    declared = slots.found.get(CAPABILITIES)
    if declared is None:
        return
    if _HOSTS.intersection(walked):
        declared.beside.append(_NETWORK)
        yield Tie((CAPABILITIES,), lambda values: answer(_NETWORK, values[0]) == TRUE)
    for fact in _HOSTS:
        slot = slots.found.get(("derived", fact))
        if slot:
            declared.beside.append(_NETWORK)
            slot.features.append(lambda value: bool(value.one))
            yield Tie(
                (slot.view.key, CAPABILITIES),
                lambda values: not values[0].one or answer(_NETWORK, values[1]) == TRUE,
            )


def _of_parents(slots: Slots) -> Iterator[Tie]:
    """What lies below a place is there only if an object is."""
    for key, slot in slots.found.items():
        for other, below in slots.found.items():
            depth = len(key[1])
            if isinstance(key[1], tuple) and other[0] == key[0] and other[1][:depth] == key[1] and other != key:
                slot.features.append(_object)
                yield Tie((key, other), _below(other[1][depth:], below))


def _object(value: Value) -> str:
    return _written(value) if value.kind == "object" else ""


def _below(steps: Sequence[str], below: Slot) -> Callable[[Sequence[Value]], bool]:
    def holds(values: Sequence[Value]) -> bool:
        whole, part = values
        if whole.kind != "object":
            return part.kind == "absent"
        if not whole.exact:
            return True
        inside: Any = whole.one
        for step in steps:
            inside = inside.get(step, ABSENT) if type(inside) is dict else ABSENT
        there = exactly(inside)
        # Of the one value that is there everything says the same as of its class.
        return there.kind == part.kind and all(
            answer(check, view.of(there)) == answer(check, view.of(part))
            for _, check, view in below.asked
            if check.operand is not TAKEN
        )

    return holds
