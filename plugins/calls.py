"""How code of a plugin is called: the interface, and the plain way for capgate's own plugins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["Calls", "Direct", "Fault"]

T = TypeVar("T")


class Fault(Exception):
    """A call of plugin code came to nothing.

    Attributes:
        id: ``plugin-raised`` or ``plugin-hung``.
        what: what happened, as the end of a sentence.
    """

    def __init__(self, id: str, what: str):
        super().__init__(id, what)
        self.id = id
        self.what = what


class Calls(Protocol):
    """Calls the code of one plugin."""

    def call(self, function: Callable[[], T]) -> T:
        """What `function` returns.

        Raises:
            Fault: it raised, or hangs.
        """


class Direct:
    """Calls code that is capgate's own: whatever it raises is a mistake of ours, and is not hidden."""

    def call(self, function: Callable[[], T]) -> T:
        """What `function` returns."""
        return function()
