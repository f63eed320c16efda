"""Text that a pattern matches: one, short."""

from __future__ import annotations

import re
from typing import Any

from capgate.policy.patterns import Pattern

__all__ = ["matching"]

_CATEGORIES = {"CATEGORY_DIGIT": "0", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " "}
#: What a set that names what it is not may be tried with.
_CANDIDATES = "a0-._/ A:\n\t~é"
#: Repeats are not written out further.
_MOST = 1000


def matching(pattern: Pattern) -> str | None:
    """A text that `pattern` matches, or None where none was found; its empty repeats are tried with one each, too."""
    tree = re._parser.parse(pattern.text, re.ASCII)  # type: ignore[attr-defined]
    for least in (0, 1):
        text = _text(tree, least)
        if len(text) <= _MOST and pattern.matches(text):
            return text
    return None


def _text(tree: Any, least: int) -> str:
    return "".join(_part(str(name), value, least) for name, value in tree)


def _part(name: str, value: Any, least: int) -> str:
    if name == "LITERAL":
        return chr(value)
    if name in ("IN", "NOT_LITERAL", "ANY"):
        return _character(name, value)
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        low, high, inner = value
        return _text(inner, least) * int(min(max(low, least), high, _MOST))
    if name == "SUBPATTERN":
        return _text(value[-1], least)
    if name == "BRANCH":
        return _text(value[1][0], least)
    return ""  # an anchor takes no room


def _character(name: str, value: Any) -> str:
    if name == "ANY":
        return "a"
    if name == "NOT_LITERAL":
        return "a" if value != ord("a") else "b"
    first, first_value = value[0]
    if str(first) == "LITERAL":
        return chr(first_value)
    if str(first) == "RANGE":
        return chr(first_value[0])
    if str(first) == "CATEGORY":
        return _CATEGORIES.get(str(first_value), "-")
    refused = [(str(kind), inner) for kind, inner in value[1:]]
    return next((text for text in _CANDIDATES if not any(_holds(kind, inner, text) for kind, inner in refused)), "~")


def _holds(kind: str, inner: Any, text: str) -> bool:
    if kind == "LITERAL":
        return ord(text) == int(inner)
    if kind == "RANGE":
        return bool(inner[0] <= ord(text) <= inner[1])
    return _CATEGORIES.get(str(inner)) == text
