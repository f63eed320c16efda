"""A document: plain data, and where each part of it stands in its text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from capgate.policy.errors import Span
from capgate.policy.paths import Path

__all__ = ["Document", "Lines", "Locate", "Place", "Places"]

_LINE_BREAK: Final = re.compile(r"\r\n?|\n")


class Lines:
    """The lines of a text: LF, CR LF and a lone CR each end one.

    Columns count code points from 1, so a character outside the basic plane is one column.
    """

    __slots__ = ("_first", "_starts")

    def __init__(self, text: str, first_line: int = 1):
        self._first = first_line
        self._starts = [0, *(found.end() for found in _LINE_BREAK.finditer(text))]

    def line(self, offset: int) -> int:
        """The line of the character at `offset`."""
        return bisect_right(self._starts, offset) - 1 + self._first

    def span(self, name: str, offset: int) -> Span:
        """The place of the character at `offset`, in the file called `name`."""
        index = bisect_right(self._starts, offset) - 1
        return Span(name, index + self._first, offset - self._starts[index] + 1)


class Places:
    """Where a list or an object stands, and all that is in it. Offsets count code points.

    Attributes:
        at: offset of the value itself.
        keys: offset of each key; empty for a list.
        parts: place of each value, by key or by index.
    """

    __slots__ = ("at", "keys", "parts")

    def __init__(self, at: int, keys: dict[str, int], parts: dict[str, Place] | list[Place]):
        self.at = at
        self.keys = keys
        self.parts = parts

    def part(self, step: str | int) -> Place | None:
        """The place of the value under `step`, or None where there is none."""
        parts = self.parts
        if isinstance(parts, dict):
            return parts.get(step) if isinstance(step, str) else None
        return parts[step] if isinstance(step, int) and 0 <= step < len(parts) else None


#: The offset of a scalar, or the places in a list or an object.
Place: TypeAlias = "int | Places"
#: Finds the places of a text that is known to be sound, given text, name and first line.
Locate: TypeAlias = "Callable[[str, str, int], Place]"


class Document:
    """A document that was read. It cannot be changed; treat its data as read-only too.

    Places are found when the first span is asked for. Several threads may ask at once: each finds
    the same ones.
    """

    __slots__ = ("_data", "_first_line", "_lines", "_locate", "_name", "_place", "_text")

    def __init__(self, name: str, data: Any, text: str, locate: Locate, first_line: int = 1):
        self._name = name
        self._data = data
        self._text = text
        self._locate = locate
        self._first_line = first_line
        self._place: Place | None = None
        self._lines: Lines | None = None

    @property
    def name(self) -> str:
        """The name of the file as the caller gave it, or a label such as ``<stdin>``."""
        return self._name

    @property
    def data(self) -> Any:
        """The value: dict, list, str, int, float, bool or None, and nothing else in them."""
        return self._data

    def span(self, path: Path, *, key: bool = False) -> Span:
        """The place of the value at `path`, or with `key` that of the key before it.

        Where `path` leads nowhere, the place of its nearest parent that exists. The root and the
        items of a list have no key: with `key` too, theirs is the place of the value.
        """
        if self._place is None or self._lines is None:
            # The order matters to other threads: the check above needs both.
            self._lines = Lines(self._text, self._first_line)
            self._place = self._locate(self._text, self._name, self._first_line)
        place: Place = self._place
        offset = _offset(place)
        for step in path:
            part = place.part(step) if isinstance(place, Places) else None
            if part is None:
                break
            offset = _offset(part)
            if key and isinstance(place, Places) and isinstance(step, str):
                offset = place.keys[step]
            place = part
        return self._lines.span(self._name, offset)

    def __repr__(self) -> str:
        return f"<Document {self._name!r}>"


def _offset(place: Place) -> int:
    return place if isinstance(place, int) else place.at
