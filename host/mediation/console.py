"""The console: what the person at the host reads, at once and with nothing in it that steers a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, Final, TextIO

from capgate.host.mediation.clock import iso
from capgate.host.safe_json import json_text
from capgate.policy.text import escape

__all__ = ["Console"]

_APPROVAL: Final = "[extension approval]"


class Console:
    """Standard output and standard error, for a person.

    Every line appears whole and at once, whichever thread writes it. Codes appear here and in no log
    (contract 11.30). A line that cannot be written to standard output is told of on standard error;
    where that fails too, nobody is left to be told.

    Args:
        stream: where lines go; None takes what standard output is when a line is written.
        errors: where warnings go; None takes standard error.
    """

    def __init__(self, stream: TextIO | None = None, errors: TextIO | None = None):
        self._stream = stream
        self._errors = errors
        self._lock = Lock()

    def say(self, *lines: str) -> None:
        """Writes lines to standard output, together."""
        try:
            self._write(self._stream or sys.stdout, lines)
        except (OSError, ValueError) as error:
            self.warn(f"standard output cannot be written: {error}")

    def warn(self, *lines: str) -> None:
        """Writes lines to standard error, together."""
        with suppress(OSError, ValueError):
            self._write(self._errors or sys.stderr, lines)

    def approval(self, request: str, id: str, plan: Mapping[str, Any], code: str, expires: float) -> None:
        """Shows a plan and the code that approves it (contract 5).

        Args:
            request: id of the request.
            id: id of the proposal.
            plan: the whole plan.
            code: the 8 digits.
            expires: seconds since 1970.
        """
        warning = "enter it only if you asked for this and the plan above is what you want"
        self.say(
            f"{_APPROVAL} Review this plan on the host: {json_text(plan)}",
            f"{_APPROVAL} {request} approve {json_text(id)}: {code} (expires {iso(expires)}); {warning}",
        )

    def _write(self, stream: TextIO, lines: tuple[str, ...]) -> None:
        text = "".join(f"{escape(line)}\n" for line in lines)
        encoding = stream.encoding or "utf-8"
        with self._lock:
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            stream.flush()
