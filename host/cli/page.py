"""Lines for people, in the form that suits the stream they go to."""

from __future__ import annotations

import textwrap
from typing import Final, TextIO

import click

from capgate.host.cli.terminal import has_colour, width_of
from capgate.policy.text import escape

__all__ = ["Page", "at_start", "page_for", "plural"]

#: The colours of what is said to be so.
_COLOURS: Final = {
    "passed": "green",
    "failed": "red",
    "error": "magenta",
    "true": "red",
    "false": "green",
    "unknown": "yellow",
}


class Page:
    """Makes lines. Everything from outside is shown with escapes.

    Args:
        colour: whether to use colours.
        width: where to wrap, in columns; None leaves every sentence on one line.
    """

    def __init__(self, *, colour: bool = False, width: int | None = None):
        self._colour = colour
        self._width = width

    def lines(self, text: str, indent: int = 0, hanging: int = 0) -> list[str]:
        """`text`, wrapped; lines after the first are indented by `hanging` more."""
        shown = escape(at_start(text).strip())
        if self._width is None:
            return [" " * indent + shown]
        return textwrap.wrap(
            shown,
            max(self._width, indent + hanging + 20),
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hanging),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def word(self, word: str, shown: str | None = None) -> str:
        """A word in its colour, or `shown` in the colour of `word`."""
        text = word if shown is None else shown
        colour = _COLOURS.get(word)
        return click.style(text, fg=colour, bold=True) if self._colour and colour else text

    def bold(self, text: str) -> str:
        """`text`, made to stand out."""
        shown = escape(text)
        return click.style(shown, bold=True) if self._colour else shown

    def place(self, text: str) -> str:
        """A path that a line begins with, made to stand out."""
        return self.bold(at_start(text))


def page_for(stream: TextIO | None) -> Page:
    """The page that suits `stream`; plain for None."""
    return Page(colour=has_colour(stream), width=width_of(stream))


def at_start(path: str) -> str:
    """A path as a line may begin with it: ``./::a`` for ``::a``.

    Build servers read what a command prints, and take a line that begins with two colons for a command to them.
    """
    return f"./{path}" if path.lstrip().startswith("::") else path


def plural(number: int, noun: str) -> str:
    """A number with its noun: ``1 rule``, ``2 rules``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
