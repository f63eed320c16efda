"""What a stream can show."""

from __future__ import annotations

import os
from typing import Final, TextIO

__all__ = ["can_draw", "has_colour", "width_of"]

_NARROWEST: Final = 40


def can_draw(stream: TextIO | None) -> bool:
    """Says whether `stream` is a terminal that can move its cursor."""
    return stream is not None and stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def has_colour(stream: TextIO | None) -> bool:
    """Says whether to colour what goes to `stream`: on a terminal, unless NO_COLOR is set and not empty."""
    return can_draw(stream) and not os.environ.get("NO_COLOR")


def width_of(stream: TextIO | None) -> int | None:
    """The columns of the terminal that `stream` is, or None where it is none; at least 40."""
    if stream is None or not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit():
        return max(int(columns), _NARROWEST)
    return max(os.get_terminal_size(stream.fileno()).columns or 80, _NARROWEST)
