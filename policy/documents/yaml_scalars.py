"""What a plain YAML scalar means: the core schema of YAML 1.2.2, section 10.3.

So `no`, `on`, `12:30:45`, `2024-01-01` and `1_000` are strings, and `017` is seventeen.
"""

from __future__ import annotations

import re
from typing import Final

from capgate.policy.documents.numbers import MAX_INTEGER, exact_float, safe_integer

__all__ = ["Fault", "resolve"]

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
#: What a number may start with.
_STARTS: Final = frozenset("+-.0123456789")
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+")
_BASED: Final = re.compile(r"0o([0-7]+)|0x([0-9a-fA-F]+)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_A_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class Fault(Exception):
    """What is wrong with a YAML text, before it is known on which line: an id and an offset."""

    def __init__(self, id: str, offset: int, message: str, hint: str | None = None):
        super().__init__(id, offset, message)
        self.id = id
        self.offset = offset
        self.message = message
        self.hint = hint


def resolve(text: str, at: int) -> str | int | float | bool | None:
    """The value of the plain scalar `text`, which stands at offset `at`.

    Raises:
        Fault: not-a-number or number-inexact.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _STARTS:
        return text
    if _NOT_A_NUMBER.fullmatch(text):
        raise Fault("not-a-number", at, f"{text} is no finite number")
    if _DECIMAL.fullmatch(text):
        return _exact(safe_integer(text), at)
    if based := _BASED.fullmatch(text):
        octal, hexadecimal = based.groups()
        number = int(octal, 8) if octal else int(hexadecimal, 16)
        return _exact(number if number <= MAX_INTEGER else None, at)
    if _FLOAT.fullmatch(text):
        number_or_none = exact_float(text)
        if number_or_none is None:
            raise Fault("number-inexact", at, f"a number beyond {MAX_INTEGER} cannot be written exactly")
        return number_or_none
    return text


def _exact(number: int | None, at: int) -> int:
    if number is None:
        raise Fault("number-inexact", at, f"an integer beyond {MAX_INTEGER} cannot be written exactly")
    return number
