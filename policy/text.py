"""Values as text for people: what a reason shows of a descriptor, and how.

A descriptor is written by a stranger and read on a terminal, so characters that steer a terminal,
turn the reading direction or take no room are shown as escapes (contract 11.21).
"""

from __future__ import annotations

import json
import re
from typing import Any

from capgate.policy.operators import ABSENT

__all__ = ["escape", "show"]

_LONGEST = 200
_CUT = "…"
# Controls, soft hyphen, Arabic letter mark, zero-width and direction marks, line separators, word
# joiners and invisible operators, variation selectors, byte-order mark, tags, and lone surrogates.
_ODD = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def escape(text: str) -> str:
    r"""`text` with every character that a reader could not see written as ``\uXXXX``.

    Characters beyond U+FFFF become ``\UXXXXXXXX``. A backslash stays as it is: the result is for
    reading, not for parsing.
    """
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_ODD, _escaped, text)


def show(value: Any) -> str:
    """A value as a reason shows it: text as it is, lists joined by commas, the rest as compact JSON.

    At most 200 code points, escaped; ``‹absent›`` where there is no value.
    """
    if type(value) is str and len(value) <= _LONGEST and value.isascii() and value.isprintable():
        return value
    if value is ABSENT:
        return "‹absent›"
    if type(value) is list:
        text = ", ".join(_one(item) for item in value[:_LONGEST])
    else:
        text = _one(value)
    text = escape(text[: _LONGEST + 1])
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + _CUT


def _one(value: Any) -> str:
    if type(value) is str:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):  # only values given from Python, not from JSON
        return f"‹{type(value).__name__}›"


def _escaped(found: re.Match[str]) -> str:
    point = ord(found[0])
    return f"\\U{point:08X}" if point > 0xFFFF else f"\\u{point:04X}"
