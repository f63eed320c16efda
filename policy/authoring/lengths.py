"""How long the texts, lists and objects are that descriptors are made up of, and what that leaves out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from capgate.policy.conditions import Check, Each
from capgate.policy.documents import DocumentError, canonical
from capgate.policy.operators import ABSENT

__all__ = ["LONGEST", "fits_long", "is_overlong", "is_short"]

#: No text of more characters, no list of more items and no object of more keys is made up.
LONGEST: Final = 4096
#: No document holds anything that is longer.
_DOCUMENT: Final = 1 << 20


def is_short(value: Any) -> bool:
    """Whether a value can stand in a document, and nothing in it is longer than `LONGEST`."""
    if not _is_short(value):
        return False
    try:
        canonical(value)
    except DocumentError:
        return False
    return True


def _is_short(value: Any) -> bool:
    if type(value) is str:
        return len(value) <= LONGEST
    if type(value) is list:
        return len(value) <= LONGEST and all(map(_is_short, value))
    if type(value) is dict:
        return len(value) <= LONGEST and all(_is_short(key) and _is_short(part) for key, part in value.items())
    return True


def is_overlong(check: Check, operand: Any) -> bool:
    """Whether an operator compares with something longer than `LONGEST`, which a document could hold."""
    if isinstance(operand, Each):
        return any(is_overlong(part, part.operand) for part in operand.checks)
    if check.operator in ("minlength", "maxlength") and type(operand) in (int, float):
        return bool(LONGEST < operand + (check.operator == "maxlength") <= _DOCUMENT)
    return operand is not ABSENT and not _is_short(operand)


def fits_long(fits: Callable[[Any], bool]) -> bool:
    """Whether anything of the length `LONGEST` fits; where nothing does, nothing longer does."""
    return any(map(fits, _long_values()))


@cache
def _long_values() -> tuple[Any, ...]:
    return (
        "x" * LONGEST,
        ["a"] * LONGEST,
        [{}] * LONGEST,
        {str(number): 0 for number in range(LONGEST)},
        {str(number): "" for number in range(LONGEST)},
    )
