"""Conditions evaluated for many descriptors at once.

Each bit of a number stands for one descriptor, or one class of them. What an operator says of all of them is two
numbers: where it can hold (true or unknown) and where it can fail (false or unknown). In Kleene's logic both pass
through all, any and not exactly, so a condition takes a few operations on large numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import and_, or_
from typing import Final, NamedTuple, TypeAlias

from capgate.policy.authoring.truth import Truth
from capgate.policy.conditions import AllOf, AnyOf, Check, Condition, Not, Test
from capgate.policy.paths import Path

__all__ = [
    "FALSE",
    "PARTS",
    "RANK",
    "TRUE",
    "UNKNOWN",
    "Answers",
    "Columns",
    "Part",
    "Said",
    "parts_of",
    "said_by",
    "whole_parts",
]

#: False, unknown and true where they are compared: ``all`` is the least of its parts.
FALSE: Final = 0
UNKNOWN: Final = 1
TRUE: Final = 2
RANK: Final = {Truth.FALSE: FALSE, Truth.UNKNOWN: UNKNOWN, Truth.TRUE: TRUE}

_CAN_HOLD: Final = bytes.maketrans(bytes((FALSE, UNKNOWN, TRUE)), b"011")
_CAN_FAIL: Final = bytes.maketrans(bytes((FALSE, UNKNOWN, TRUE)), b"110")


class Said(NamedTuple):
    """What a condition comes to: a bit for each descriptor.

    Attributes:
        can_hold: where it is true or unknown.
        can_fail: where it is false or unknown.
    """

    can_hold: int
    can_fail: int


#: What each operator says, by its place in the rule file.
Answers: TypeAlias = "Mapping[Path, Said]"
#: What ``all`` and ``any`` join: conditions, or the operators under one path.
Part: TypeAlias = "Condition | Check"
#: The types of them.
PARTS: Final = (AllOf, AnyOf, Not, Test, Check)


class Columns:
    """Answers of operators, gathered descriptor by descriptor.

    Args:
        places: where the operators stand.
    """

    def __init__(self, places: Iterable[Path]):
        self._columns: dict[Path, bytearray] = {place: bytearray() for place in places}

    def add(self, answers: Mapping[Path, int]) -> None:
        """Adds one descriptor."""
        for place, column in self._columns.items():
            column.append(answers[place])

    def answers(self) -> Answers:
        """All that was added."""
        return {place: _said(bytes(column)) for place, column in self._columns.items()}


def _said(column: bytes) -> Said:
    return Said(int(column.translate(_CAN_HOLD) or b"0", 2), int(column.translate(_CAN_FAIL) or b"0", 2))


def said_by(condition: Part, answers: Answers, without: Part | None = None) -> Said:
    """What `condition` comes to, with the one part `without` left out of the ``all`` or ``any`` that holds it."""
    match condition:
        case Check():
            return answers[condition.at]
        case Not():
            part = said_by(condition.part, answers, without)
            return Said(part.can_fail, part.can_hold)
        case _:
            found = [said_by(part, answers, without) for part in parts_of(condition) if part is not without]
            holding = reduce(or_ if isinstance(condition, AnyOf) else and_, (part.can_hold for part in found))
            failing = reduce(and_ if isinstance(condition, AnyOf) else or_, (part.can_fail for part in found))
            return Said(holding, failing)


def parts_of(condition: Condition) -> tuple[Part, ...]:
    """What a condition is made of."""
    if isinstance(condition, Test):
        return condition.checks
    return (condition.part,) if isinstance(condition, Not) else condition.parts


def whole_parts(condition: Part) -> Iterator[Part]:
    """A condition, and everything in it, from the outside in, in the order of the file."""
    yield condition
    if not isinstance(condition, Check):
        for part in parts_of(condition):
            yield from whole_parts(part)
