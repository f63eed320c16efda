"""What a pattern can match: how long, which texts where they are few, and what it holds that it need not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from capgate.policy.patterns import Pattern

__all__ = ["anchors", "dots", "nodes", "texts", "width"]

#: A set of characters, or a list of texts, is written out as far as this.
_FEW: Final = 64


def width(pattern: Pattern) -> tuple[int, int]:
    """The fewest and the most characters of a text that the pattern can match, or a wider range."""
    least, most = _parsed(pattern).getwidth()
    return int(least), int(most)


def texts(pattern: Pattern) -> list[str] | None:
    """Every text that the pattern matches, where it is written as alternatives of plain text; else None."""
    tree = list(_parsed(pattern))
    first, last = len(anchors(pattern)) and str(tree[0][0]) == "AT", len(tree) and str(tree[-1][0]) == "AT"
    found = _texts_of(tree[bool(first) : len(tree) - bool(last)])
    return None if found is None else list(dict.fromkeys(found))


def anchors(pattern: Pattern) -> list[str]:
    """The marks at either end that say what is so anyway, since the whole text is matched."""
    tree = _parsed(pattern)
    found = []
    if len(tree) and str(tree[0][0]) == "AT" and str(tree[0][1]) == "AT_BEGINNING":
        found.append("^")
    if len(tree) and str(tree[-1][0]) == "AT" and str(tree[-1][1]) == "AT_END":
        found.append("$")
    return found


def dots(pattern: Pattern) -> bool:
    """Whether the pattern repeats ``.`` without end: any text, as long as it has no line feed."""
    return any(
        name in ("MAX_REPEAT", "MIN_REPEAT") and value[1] > _FEW and [str(part) for part, _ in value[2]] == ["ANY"]
        for name, value in nodes(_parsed(pattern))
    )


def nodes(tree: Any) -> Iterator[tuple[str, Any]]:
    """Every node of a parsed pattern, by the name of its kind."""
    for kind, value in tree:
        name = str(kind)
        yield name, value
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            yield from nodes(value[2])
        elif name == "SUBPATTERN":
            yield from nodes(value[-1])
        elif name == "BRANCH":
            for option in value[1]:
                yield from nodes(option)


def _parsed(pattern: Pattern) -> Any:
    return re._parser.parse(pattern.text, re.ASCII)  # type: ignore[attr-defined]


def _texts_of(tree: Any) -> list[str] | None:
    parts: list[list[str]] = [[""]]
    for kind, value in tree:
        found = _part(str(kind), value)
        if found is None:
            return None
        parts.append(found)
    count = 1
    for part in parts:
        count *= len(part)
        if count > _FEW:
            return None
    return ["".join(part) for part in product(*parts)]


def _part(name: str, value: Any) -> list[str] | None:
    if name == "LITERAL":
        return [chr(value)]
    if name == "SUBPATTERN":
        return _texts_of(value[-1])
    if name == "BRANCH":
        options = [_texts_of(option) for option in value[1]]
        return None if None in options else [text for option in options for text in option or ()]
    if name == "IN" and all(str(kind) == "LITERAL" for kind, _ in value):
        return [chr(point) for _, point in value]
    return None
