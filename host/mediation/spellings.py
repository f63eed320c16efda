"""Other spellings of a text: what it says where its escapes are read, with the way back to the places in it.

A secret can be written percent-encoded, as in a form, or inside a JSON string, or one in the other. What is looked
for is looked for in every reading of a text, and masked in the text itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

__all__ = ["Reading", "readings"]

#: How many escapes inside one another are read.
_DEEPEST: Final = 3

_PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
#: As forms and queries are written: the same, and ``+`` for a space.
_FORM: Final = re.compile(r"(?:%[0-9A-Fa-f]{2}|\+)+")
_BACKSLASH: Final = re.compile(
    r"\\(?:u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}"
    r"|u[0-9A-Fa-f]{4}|U00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[\"'\\/bfnrt])"
)
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

#: Characters, and how long each is in the text that was read.
_Read = Iterator[tuple[str, int]]


class Reading:
    """A text as it reads with its escapes resolved, or as it is.

    Args:
        text: what it says.
        here: where pieces begin in it, ascending.
        there: where the same pieces begin in what was read. A piece is a stretch of the same
            characters, or one character that stands for an escape.
        source: what was read; None for the text itself.
    """

    def __init__(
        self, text: str, here: Sequence[int] = (0,), there: Sequence[int] = (0,), source: Reading | None = None
    ):
        self.text = text
        self._here = here
        self._there = there
        self._source = source

    def place(self, position: int) -> int:
        """Where in the text itself the character at `position` begins; the end, for the end."""
        piece = bisect_right(self._here, position) - 1
        place = self._there[piece] + position - self._here[piece]
        return place if self._source is None else self._source.place(place)


def readings(text: str) -> list[Reading]:
    """The text as it is, and every other way to read it, escapes within escapes included."""
    found = [Reading(text)]
    seen = {text}
    newest = found
    for _ in range(_DEEPEST):
        made = [_read(source, escape, resolve) for source in newest for escape, resolve in _ESCAPES]
        newest = []
        for reading in made:
            if reading is not None and reading.text not in seen:
                seen.add(reading.text)
                newest.append(reading)
        found = [*found, *newest]
    return found


def _read(source: Reading, escape: re.Pattern[str], resolve: Callable[[str], _Read]) -> Reading | None:
    text = source.text
    parts: list[str] = []
    here, there = [], []
    length = end = 0
    for match in escape.finditer(text):
        if match.start() > end:
            here.append(length)
            there.append(end)
            parts.append(text[end : match.start()])
            length += match.start() - end
        end = match.start()
        for character, width in resolve(match[0]):
            here.append(length)
            there.append(end)
            parts.append(character)
            length += 1
            end += width
    if not parts:
        return None
    parts.append(text[end:])
    return Reading("".join(parts), [*here, length], [*there, end], source)


def _percent(run: str) -> _Read:
    for character in bytes.fromhex(run.replace("%", "")).decode("utf-8", "surrogateescape"):
        yield character, 3 * len(character.encode("utf-8", "surrogateescape"))


def _form(run: str) -> _Read:
    for part in re.split(r"(\+)", run):
        if part == "+":
            yield " ", 1
        elif part:
            yield from _percent(part)


def _backslash(escape: str) -> _Read:
    kind, digits = escape[1], escape[2:]
    if len(escape) == 12:
        high, low = int(digits[:4], 16), int(digits[6:], 16)
        yield chr(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF)), 12
    elif digits:
        yield chr(int(digits, 16)), len(escape)
    else:
        yield _LETTERS.get(kind, kind), 2


_ESCAPES: Final = ((_BACKSLASH, _backslash), (_PERCENT, _percent), (_FORM, _form))
