"""File systems that fail, or that die, at a chosen call."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from typing import Any

from capgate.host.mediation.disk import Disk

#: The calls of a `Disk` that can fail.
CALLS = "open pread write fsync truncate rename unlink mkdir stat fstat scandir flock".split()


class QuickDisk(Disk):
    """Does not wait for the medium: nobody pulls the plug here."""

    def fsync(self, fd: int) -> None:
        os.fstat(fd)


class CountingDisk(QuickDisk):
    """Counts its calls, and does something at each.

    Args:
        at: told the number of the call, counted from 1, and its name; raises, or does not.
        half: whether a write that is stopped by `at` has written half before.
    """

    def __init__(self, at: Callable[[int, str], None], *, half: bool = False):
        self.calls = 0
        self._at = at
        self._half = half
        for name in CALLS:
            setattr(self, name, self._counted(name, getattr(self, name)))

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            try:
                self._at(self.calls, name)
            except OSError:
                if self._half and name == "write":
                    fd, data = arguments
                    real(fd, data[: len(data) // 2])
                raise
            return real(*arguments, **named)

        return call


def failing(number: int, *, from_then_on: bool = False, half: bool = False) -> CountingDisk:
    """A disk whose call of that number fails; with `from_then_on` all that follow do, too."""

    def at(call: int, name: str) -> None:
        if call == number or (from_then_on and call > number):
            raise OSError(errno.EIO, f"Input/output error of {name}")

    return CountingDisk(at, half=half)


def dying(number: int) -> CountingDisk:
    """A disk that kills its process just before the call of that number."""

    def at(call: int, name: str) -> None:
        if call == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return CountingDisk(at)
