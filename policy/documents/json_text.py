"""Loading JSON: the standard library where all is plainly well, the strict reader for the rest."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from capgate.policy.documents.document import Document
from capgate.policy.documents.json_strict import MAX_DEPTH, locate, parse
from capgate.policy.documents.numbers import SURELY_SAFE, exact_float, safe_integer
from capgate.policy.documents.source import read_text

__all__ = ["load_json"]

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def load_json(source: bytes, name: str = "<input>", *, first_line: int = 1) -> Document:
    """Reads strict JSON (RFC 8259) that can be written as canonical JSON again (contract 11.10).

    Args:
        source: the bytes, UTF-8 without a byte order mark, at most 1 MiB.
        name: the name of the file, for messages.
        first_line: the number of the text's first line, for a line of a larger file.

    Raises:
        DocumentError: the first thing wrong with it. Among them are duplicate keys, lists and
            objects nested over 32 levels (the root is level 1), NaN and infinities, numbers
            beyond 2^53, and half surrogate pairs.
    """
    text = read_text(source, name, first_line)
    try:
        data = _plainly_sound(source, text)
    except (ValueError, RecursionError):
        # The strict reader decides, and says what is wrong where.
        data = parse(text, name, first_line)[0]
    return Document(name, data, text, locate, first_line)


class _Suspicious(ValueError):
    """Not plainly sound: a question for the strict reader."""


def _plainly_sound(source: bytes, text: str) -> Any:
    # To look for one character takes a twentieth of the time that two take.
    if "\\" in text and _SURROGATE.search(text):
        raise _Suspicious
    stripped = text.strip(" \t\n\r")
    data, end = _decode(stripped)
    if end != len(stripped):
        raise _Suspicious
    if source.count(b"[") + source.count(b"{") > MAX_DEPTH and _is_deep(data):
        raise _Suspicious
    return data


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) == len(pairs):
        return data
    raise _Suspicious


def _integer(text: str) -> int:
    if len(text) < SURELY_SAFE:
        return int(text)
    number = safe_integer(text)
    if number is None:
        raise _Suspicious
    return number


def _float(text: str) -> float:
    number = exact_float(text)
    if number is None:
        raise _Suspicious
    return number


def _constant(text: str) -> None:
    raise _Suspicious


_decode: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
).raw_decode
