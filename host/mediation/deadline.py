"""One moment by which everything that belongs to a request has to be done."""

from __future__ import annotations

from capgate.host.mediation.clock import Clock

__all__ = ["Deadline"]


class Deadline:
    """Counts down from `seconds`.

    Args:
        clock: what time passes by.
        seconds: how much of it there is.
    """

    def __init__(self, clock: Clock, seconds: float):
        self._clock = clock
        self._end = clock.monotonic() + seconds
        self.seconds = seconds

    def left(self) -> float:
        """The seconds that are left, more than 0.

        Raises:
            TimeoutError: none are left.
        """
        left = self._end - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError(f"{self.seconds:g} seconds have passed")
        return left
