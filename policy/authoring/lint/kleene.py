"""Conditions evaluated from the answers of their operators, fast enough to be asked a hundred thousand times.

False, unknown and true are 0, 1 and 2 here: ``all`` is the least of its parts, ``any`` the greatest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from capgate.policy.authoring.truth import Truth
from capgate.policy.conditions import AllOf, AnyOf, Check, Condition, Not, Test
from capgate.policy.paths import Path

__all__ = ["FALSE", "RANK", "TRUE", "UNKNOWN", "Answers", "Part", "parts_of", "truth_in", "whole_parts"]

FALSE: Final = 0
UNKNOWN: Final = 1
TRUE: Final = 2
RANK: Final = {Truth.FALSE: FALSE, Truth.UNKNOWN: UNKNOWN, Truth.TRUE: TRUE}

#: The answer of each operator, by its place in the rule file.
Answers: TypeAlias = "Mapping[Path, int]"
#: What ``all`` and ``any`` join: conditions, or the operators under one path.
Part: TypeAlias = "Condition | Check"


def truth_in(condition: Part, answers: Answers, without: Part | None = None) -> int:
    """What `condition` comes to, with the one part `without` left out of the ``all`` or ``any`` that holds it."""
    match condition:
        case Check():
            return answers[condition.at]
        case Not():
            return TRUE - truth_in(condition.part, answers, without)
        case _:
            found = [truth_in(part, answers, without) for part in parts_of(condition) if part is not without]
            return max(found) if isinstance(condition, AnyOf) else min(found)


def parts_of(condition: Condition) -> tuple[Part, ...]:
    """What a condition is made of."""
    match condition:
        case Test():
            return condition.checks
        case Not():
            return (condition.part,)
        case AllOf() | AnyOf():
            return condition.parts


def whole_parts(condition: Part) -> Iterator[Part]:
    """A condition, and everything in it, from the outside in, in the order of the file."""
    yield condition
    if not isinstance(condition, Check):
        for part in parts_of(condition):
            yield from whole_parts(part)
