"""Which numbers are taken: those that canonical JSON (RFC 8785) can write (contract 11.10).

An integer is taken where a double holds it and its neighbours apart: up to 2^53 either way. A
number with a fraction or an exponent is rounded to the nearest double, which may be zero; only
one too large for any double is refused.
"""

from __future__ import annotations

from math import isinf
from typing import Final

__all__ = ["MAX_INTEGER", "finite_float", "safe_integer"]

#: The largest integer taken, 2^53; the smallest is its negative.
MAX_INTEGER: Final = 2**53
#: Digits of MAX_INTEGER; longer texts are not even converted, since that takes quadratic time.
_MAX_DIGITS: Final = 16


def safe_integer(text: str) -> int | None:
    """The decimal integer in `text`, or None where it is beyond 2^53."""
    if len(text) < _MAX_DIGITS:
        return int(text)
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS or int(digits) > MAX_INTEGER:
        return None
    return -int(digits) if text.startswith("-") else int(digits)


def finite_float(text: str) -> float | None:
    """The double nearest to the number in `text`, or None where it is too large for one."""
    number = float(text)
    return None if isinf(number) else number
