"""Operators whose operand is read from a fact: what has to stand in both places for them to answer either way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.lengths import LONGEST, is_short
from capgate.policy.authoring.places import Place
from capgate.policy.authoring.possible import edges
from capgate.policy.conditions import Check, Each, Fact
from capgate.policy.documents import canonical
from capgate.policy.operators import ABSENT
from capgate.policy.paths import Path

__all__ = ["Relation", "Slot", "compared", "relate"]

#: So many values of one side are tried on the other one.
_FEW: Final = 16
#: Of each type two, so that there is one that is another.
_TWO: Final[tuple[Any, ...]] = ("a", "b", "a.test", "b.test", 1, 2, True, False, ["a"], ["b"])


class Slot(NamedTuple):
    """Where one side of a comparison stands.

    Attributes:
        place: the place in a descriptor; None where it cannot be set.
        part: None for the place itself, ``item`` of the list there, ``name`` or ``port`` of a host in it.
        known: values that it can have, where it cannot be set.
    """

    place: Path | None
    part: str | None
    known: tuple[Any, ...] = ()


class Relation(NamedTuple):
    """A comparison of what stands in one place, on the left, with what stands in another one."""

    check: Check
    left: Slot
    right: Slot


def compared(check: Check) -> Iterator[tuple[Check, bool]]:
    """The operators in one, itself or those under ``each``, whose operand is a fact; and whether of an item."""
    if isinstance(check.operand, Fact):
        yield check, False
    elif isinstance(check.operand, Each):
        yield from ((part, True) for part in check.operand.checks if isinstance(part.operand, Fact))


def relate(relations: Sequence[Relation], places: Mapping[Path, Place]) -> None:
    """Notes in both places of each relation what is at and beside the values of the other one."""
    own = [(_own(left, places), _own(right, places)) for _, left, right in relations]
    for (check, left, right), (lefts, rights) in zip(relations, own, strict=True):
        beside = [value for other in rights for value in edges(check, other, LONGEST)]
        for slot, values in ((left, beside), (right, [one for value in lefts for one in _operands(check, value)])):
            if slot.place is not None:
                for value in _unlike([*_TWO, *values]):
                    places[slot.place].keep(value, slot.part)


def _own(slot: Slot, places: Mapping[Path, Place]) -> list[Any]:
    """Values of a slot that are worth trying on the other side."""
    if slot.place is None:
        return list(slot.known[:_FEW])
    place = places[slot.place]
    if slot.part is None:
        return [*place.domain.known, *place.plain()][:_FEW]
    if slot.part == "item":
        return place.worthwhile()[:_FEW]
    return [*(place.names if slot.part == "name" else place.ports)][:_FEW]


def _operands(check: Check, value: Any) -> Iterator[Any]:
    """Operands of which an operator says different things for a value."""
    name = check.operator
    if name == "equals":
        yield value
    elif name in ("in", "not_in"):
        yield from ([value], [])
    elif name == "subset_of":
        yield from (value, [])
    elif name in ("contains", "lacks"):
        yield from value if type(value) is list else ()
    elif name in ("min", "max"):
        yield from (value, value - 1, value + 1) if type(value) in (int, float) else ()
    elif type(value) in (str, list, dict):
        yield from (number for number in (len(value), len(value) - 1, len(value) + 1) if number >= 0)


def _unlike(values: Sequence[Any]) -> list[Any]:
    """The values that can stand in a document, each once."""
    found = [value for value in values if value is not ABSENT and not _odd(value) and is_short(value)]
    return list({canonical(value): value for value in found}.values())


def _odd(value: Any) -> bool:
    """Whether there is nothing that could be written in a list."""
    return type(value) is list and any(item is ABSENT for item in value)
