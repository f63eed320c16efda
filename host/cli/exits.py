"""The exit codes."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Exit"]


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
