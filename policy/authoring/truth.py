"""True, false and unknown, as what a question answered."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

__all__ = ["Truth", "every", "opposite", "some", "truth_of"]


class Truth(StrEnum):
    """The three values of a condition."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


def truth_of(can_hold: bool, can_fail: bool) -> Truth:
    """The value of a condition of which is known whether it can hold and whether it can fail."""
    if can_hold and can_fail:
        return Truth.UNKNOWN
    return Truth.TRUE if can_hold else Truth.FALSE


def opposite(part: Truth) -> Truth:
    """What ``not`` says."""
    return {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE}.get(part, part)


def every(parts: Iterable[Truth]) -> Truth:
    """What ``all`` says."""
    found = set(parts)
    if Truth.FALSE in found:
        return Truth.FALSE
    return Truth.UNKNOWN if Truth.UNKNOWN in found else Truth.TRUE


def some(parts: Iterable[Truth]) -> Truth:
    """What ``any`` says."""
    return opposite(every(opposite(part) for part in parts))
