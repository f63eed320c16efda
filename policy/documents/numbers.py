"""Which numbers are taken: those that canonical JSON (RFC 8785) can write (contract 11.10).

A number is taken up to 2^53 either way: beyond, a double no longer holds neighbouring integers apart,
and what canonical JSON writes of it could not be read again. Within, a number with a fraction or an
exponent is rounded to the nearest double, which may be zero.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_INTEGER", "SURELY_SAFE", "exact_float", "safe_integer"]

#: The largest integer taken, 2^53; the smallest is its negative.
MAX_INTEGER: Final = 2**53
#: Digits of MAX_INTEGER; longer texts are not even converted, since that takes quadratic time.
_MAX_DIGITS: Final = 16
#: A text of fewer characters is no number beyond MAX_INTEGER.
SURELY_SAFE: Final = _MAX_DIGITS


def safe_integer(text: str) -> int | None:
    """The decimal integer in `text`, or None where it is beyond 2^53."""
    if len(text) < SURELY_SAFE:
        return int(text)
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS or int(digits) > MAX_INTEGER:
        return None
    return -int(digits) if text.startswith("-") else int(digits)


def exact_float(text: str) -> float | None:
    """The double nearest to the number in `text`, or None where it is beyond 2^53."""
    number = float(text)
    return number if -MAX_INTEGER <= number <= MAX_INTEGER else None
