"""JSON text that is safe to show and to store."""

from __future__ import annotations

import json
from typing import Any

from capgate.policy.text import escape

__all__ = ["json_text"]


def json_text(value: Any) -> str:
    r"""Writes `value` as JSON on one line, without any character that steers a terminal or cannot be seen.

    Reading it back gives `value` again, and it is always valid UTF-8. One thing is lost: half a
    surrogate pair, as Python has it for a byte of a file name that is no UTF-8, becomes the visible
    text ``\uDCFF``.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if escape(text) == text:
        return text
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    shown = escape(character)
    if shown == character:
        return character
    return "\\" + shown if "\ud800" <= character <= "\udfff" else json.dumps(character)[1:-1]
