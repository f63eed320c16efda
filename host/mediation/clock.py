"""The time, as the host reads it; tests give a clock of their own."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "iso"]


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back, whatever is done to the time of day."""
        ...


class SystemClock:
    """The clocks of the machine."""

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()


def iso(seconds: float) -> str:
    """A time in seconds since 1970 as ISO 8601 text in UTC, to the millisecond: ``2026-11-30T18:36:21.042Z``."""
    # Rounded, as a number of milliseconds beside it is.
    return (
        datetime.fromtimestamp(round(seconds * 1000) / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
