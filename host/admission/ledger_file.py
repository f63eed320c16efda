"""Reading a ledger's file without a lock, and only what is new in it."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from pathlib import Path
from threading import Lock
from typing import Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.ledger import Replay, read_line
from capgate.host.admission.store import LedgerState
from capgate.host.mediation.disk import Disk

__all__ = ["LedgerFile", "stamp_of"]

_BLOCK: Final = 1024 * 1024


def stamp_of(found: os.stat_result) -> Hashable:
    """What is another value whenever a file's content may be another.

    An edit that keeps the size and falls into the same tick of the file system's clock is not seen.
    """
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class LedgerFile:
    """What a ledger's file says, up to its last whole line; threads may share it.

    Args:
        path: the file; absent, it is an empty ledger.
        disk: the file system.
    """

    def __init__(self, path: Path, disk: Disk):
        self._path = path
        self._disk = disk
        self._turn = Lock()
        self._begin()

    def version(self) -> Hashable:
        """Another value whenever the file has changed.

        Raises:
            AdmissionError: store-unavailable.
        """
        try:
            return stamp_of(self._disk.stat(self._path))
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise self._unavailable(fault) from None

    def state(self) -> LedgerState:
        """What the file says now.

        Raises:
            AdmissionError: store-unavailable.
        """
        with self._turn:
            try:
                # Asked by its name first: most often nothing is new, and the file need not be opened.
                if self._stamp is None or stamp_of(self._disk.stat(self._path)) != self._stamp:
                    self._follow()
            except FileNotFoundError:
                self._begin()
            except OSError as fault:
                raise self._unavailable(fault) from None
            return self._replay.state()

    def lines(self) -> Iterator[bytes]:
        """Every line as it is written, with its newline; a torn last one without.

        Raises:
            AdmissionError: store-unavailable.
        """
        try:
            fd = self._disk.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return
        except OSError as fault:
            raise self._unavailable(fault) from None
        offset, rest = 0, b""
        try:
            while block := self._disk.pread(fd, _BLOCK, offset):
                offset += len(block)
                *lines, rest = (rest + block).split(b"\n")
                yield from (line + b"\n" for line in lines)
        except OSError as fault:
            raise self._unavailable(fault) from None
        finally:
            self._disk.close(fd)
        if rest:
            yield rest

    def _begin(self) -> None:
        self._replay = Replay()
        self._stamp: Hashable = None
        self._file: Hashable = None
        self._seen = 0
        #: Where the first line begins that is not replayed, and the line before it.
        self._offset = 0
        self._last = b""

    def _follow(self) -> None:
        fd = self._disk.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = self._disk.fstat(fd)
            if not self._goes_on(fd, found):
                self._begin()
            for line in self._new_lines(fd):
                self._replay.feed(line)
                self._offset += len(line) + 1
                self._last = line
            self._stamp, self._file, self._seen = stamp_of(found), (found.st_dev, found.st_ino), found.st_size
        finally:
            self._disk.close(fd)

    def _goes_on(self, fd: int, found: os.stat_result) -> bool:
        """Whether the file has only had lines added, as far as its end shows."""
        if (found.st_dev, found.st_ino) != self._file or found.st_size == self._seen:
            return False
        # An append that failed was undone, and a torn end set aside: the last line may be another one.
        length = len(self._last) + 1 if self._offset else 0
        return found.st_size >= self._offset and self._disk.pread(fd, length, self._offset - length) == (
            self._last + b"\n" if self._offset else b""
        )

    def _new_lines(self, fd: int) -> Iterator[bytes]:
        """The whole lines from the offset on, but for a last one that is torn."""
        held: bytes | None = None
        offset, rest = self._offset, b""
        while block := self._disk.pread(fd, _BLOCK, offset):
            offset += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                if held is not None:
                    yield held
                held = line
        # With nothing behind it, a line that is no JSON is one that the next holder of the lock sets aside.
        if held is not None and (rest or not read_line(held).unreadable):
            yield held

    def _unavailable(self, fault: OSError) -> AdmissionError:
        return AdmissionError("store-unavailable", f"the ledger {self._path} cannot be read: {fault.strerror}")
