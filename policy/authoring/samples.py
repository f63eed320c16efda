"""Text that a pattern matches: one, short."""

from __future__ import annotations

import re
from typing import Any

from capgate.policy.patterns import Pattern

__all__ = ["matching"]

_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
}
#: What a set is tried with that names what it is not.
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
    parts = [(str(kind), inner) for kind, inner in value]
    negated = bool(parts[0][0] == "NEGATE")
    named = [chr(inner if kind == "LITERAL" else inner[0]) for kind, inner in parts if kind in ("LITERAL", "RANGE")]
    tried: list[str] = [*([] if negated else named), *_CANDIDATES]
    for text in tried:
        if any(_holds(kind, inner, text) for kind, inner in parts) is not negated:
            return text
    return ""


def _holds(kind: str, inner: Any, text: str) -> bool:
    if kind == "LITERAL":
        return ord(text) == int(inner)
    if kind == "RANGE":
        return bool(inner[0] <= ord(text) <= inner[1])
    return kind == "CATEGORY" and re.fullmatch(_CATEGORIES[str(inner)], text, re.ASCII) is not None
