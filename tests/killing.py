"""A child process that works until it is killed, and says before and after each act what it does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

__all__ = ["Worker"]


class Worker:
    """A child process. It shares nothing with this one but what `work` was given.

    Args:
        work: does acts for ever; it is given what says a line: what is about to be done, and ``done``.
    """

    def __init__(self, work: Callable[[Callable[[str], None]], None]):
        self._reading, writing = os.pipe()
        self._said = b""
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._reading)
                work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
            finally:
                os._exit(1)
        os.close(writing)

    def wait_for(self, acts: int) -> None:
        """Waits until it has done so many acts."""
        while self._said.count(b"done\n") < acts:
            block = os.read(self._reading, 65536)
            assert block, "the process ended by itself"
            self._said += block

    def kill(self) -> list[str]:
        """Kills it, and returns all that it said, a line each."""
        os.kill(self.pid, signal.SIGKILL)
        while block := os.read(self._reading, 65536):
            self._said += block
        os.close(self._reading)
        os.waitpid(self.pid, 0)
        return self._said.decode().splitlines()
