"""The exit codes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

__all__ = ["MEANINGS", "Exit", "exit_of"]


class Exit(IntEnum):
    """What an exit code means. Where several apply to a run, the order is 5, 3, 4, 1, 0."""

    ADMITTED = 0
    REFUSED = 1
    USAGE = 2
    POLICY_INVALID = 3
    INPUT_ERROR = 4
    INTERNAL = 5
    #: What shells report for an interrupt (128 + SIGINT) and for a reader that went away (128 + SIGPIPE).
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141


#: The codes that a report can give, in words.
MEANINGS: Final[Mapping[Exit, str]] = {
    Exit.ADMITTED: "all was admitted",
    Exit.REFUSED: "something was refused",
    Exit.POLICY_INVALID: "the policy is invalid; nothing was judged",
    Exit.INPUT_ERROR: "an input could not be read",
}


def exit_of(*, refused: int, errors: int) -> Exit:
    """The code of a run with so many refused inputs, and so many that could not be judged."""
    if errors:
        return Exit.INPUT_ERROR
    return Exit.REFUSED if refused else Exit.ADMITTED
