"""Text that a pattern matches: one, short; and texts near to it, some of which it does not match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from capgate.policy.authoring.lengths import LONGEST
from capgate.policy.patterns import Pattern

__all__ = ["matching", "variants"]

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
#: So many texts are made by one change, and so many by two.
_VARIANTS: Final = 200


def matching(pattern: Pattern) -> str | None:
    """A text that `pattern` matches, or None where none was found; its empty repeats are tried with one each, too."""
    tree = re._parser.parse(pattern.text, re.ASCII)  # type: ignore[attr-defined]
    for least in (0, 1):
        text = _text(tree, least)
        if len(text) <= LONGEST and pattern.matches(text):
            return text
    return None


@lru_cache(maxsize=1024)
def variants(pattern: Pattern) -> tuple[str, ...]:
    """Texts that `pattern` matches or just does not: with one place of such a text changed, and with two.

    A place is changed to each alternative, to each member of a class, or the ends of its ranges, and to what is none;
    repeats to their bounds and one beside each; a character is left out, and put in another case.
    """
    tree = list(re._parser.parse(pattern.text, re.ASCII))  # type: ignore[attr-defined]
    made = dict.fromkeys((_text(tree, 0), _text(tree, 1)))
    for least in (0, 1):
        made |= dict.fromkeys(islice(_changed(tree, least), _VARIANTS))
    for number, (kind, value) in enumerate(tree):
        head, tail = _text(tree[:number], 1), tree[number + 1 :]
        pairs = (head + piece + rest for piece in _pieces(str(kind), value, 1) for rest in _changed(tail, 1) if tail)
        made |= dict.fromkeys(islice(pairs, _VARIANTS // len(tree)))
    return tuple(text for text in made if len(text) <= LONGEST)


def _changed(tree: Sequence[Any], least: int) -> Iterator[str]:
    """The text of a tree with one place in it changed."""
    for number, (kind, value) in enumerate(tree):
        head, tail = _text(tree[:number], least), _text(tree[number + 1 :], least)
        yield from (head + piece + tail for piece in _pieces(str(kind), value, least))


def _pieces(name: str, value: Any, least: int) -> Iterator[str]:
    """Other texts for one part of a pattern."""
    if name == "LITERAL":
        yield from ("", chr(value).swapcase(), "a" if value != ord("a") else "b")
    elif name in ("IN", "NOT_LITERAL", "ANY"):
        yield from _members(name, value)
    elif name in ("MAX_REPEAT", "MIN_REPEAT"):
        low, high, inner = value
        once = _text(inner, least)
        counts = (low, low + 1, low - 1, 0, high, high + 1)
        yield from (once * int(count) for count in counts if 0 <= count <= LONGEST)
        yield from (text + once * int(max(low - 1, 0)) for text in _changed(inner, least))
    elif name == "SUBPATTERN":
        yield from _changed(value[-1], least)
    elif name == "BRANCH":
        for branch in value[1]:
            yield _text(branch, least)
            yield from _changed(branch, least)


def _members(name: str, value: Any) -> Iterator[str]:
    """The members that a class names, or the ends of their ranges; none; and others that it may or may not have."""
    yield ""
    if name == "NOT_LITERAL":
        yield chr(value)
    if name == "IN":
        parts = [(str(kind), inner) for kind, inner in value]
        yield from (chr(inner) for kind, inner in parts if kind == "LITERAL")
        yield from (chr(end) for kind, inner in parts if kind == "RANGE" for end in inner)
    yield from _CANDIDATES


def _text(tree: Any, least: int) -> str:
    return "".join(_part(str(name), value, least) for name, value in tree)


def _part(name: str, value: Any, least: int) -> str:
    if name == "LITERAL":
        return chr(value)
    if name in ("IN", "NOT_LITERAL", "ANY"):
        return _character(name, value)
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        low, high, inner = value
        return _text(inner, least) * int(min(max(low, least), high, LONGEST))
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
