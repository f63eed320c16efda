"""Append-only files of JSON lines that several processes share: the ledger, and the audit.

A line counts when its newline is on the medium. What a killed or failed append left behind is a torn
end; the next holder of the lock moves it into a file of its own, and says so.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from capgate.host.mediation.clock import Clock, SystemClock, iso
from capgate.host.mediation.disk import Disk

__all__ = ["Journal", "OpenJournal"]

_BLOCK: Final = 64 * 1024


def _warn(message: str) -> None:
    logging.getLogger("capgate.journal").warning("%s", message)


class Journal:
    """An append-only file of JSON lines.

    Args:
        path: the file; it and its folder are made when they are needed.
        disk: the file system.
        clock: for the names of what is set aside.
        lock: the lock file; by default a hidden one beside `path`.
        report: told, in a sentence, of a torn end that was set aside; by default a warning is logged.
    """

    def __init__(
        self,
        path: Path,
        disk: Disk | None = None,
        *,
        clock: Clock | None = None,
        lock: Path | None = None,
        report: Callable[[str], None] = _warn,
    ):
        self.path = path
        self.disk = disk or Disk()
        self.lock = lock or path.with_name(f".{path.name.lstrip('.')}.lock")
        self.report = report
        self._clock = clock or SystemClock()

    def append(self, line: bytes) -> None:
        """Appends one line, given without its newline; it is on the medium when this returns.

        Raises:
            OSError: it could not be written, and is not in the file.
        """
        with self.locked() as journal:
            journal.append(line)

    @contextmanager
    def locked(self) -> Iterator[OpenJournal]:
        """The open file, for one holder of the lock at a time; raises OSError."""
        self.disk.make_folders(self.path.parent)
        with self.disk.lock(self.lock), self.held() as journal:
            yield journal

    @contextmanager
    def held(self) -> Iterator[OpenJournal]:
        """The same, for a caller that holds the lock already."""
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
        try:
            fd = self.disk.open(self.path, flags)
        except FileNotFoundError:
            fd = self.disk.open(self.path, flags | os.O_CREAT)
            self.disk.fsync_folder(self.path.parent)
        try:
            yield OpenJournal(self, fd)
        finally:
            self.disk.close(fd)

    def set_aside(self, fd: int, start: int, end: int) -> None:
        """Moves the bytes from `start` to `end`, the torn end, into a file beside the journal; raises OSError."""
        disk = self.disk
        stamp = iso(self._clock.now()).replace(":", "").replace("-", "")
        aside, target = self._new_file(f"{self.path.name}.torn-{stamp}")
        try:
            for offset in range(start, end, _BLOCK):
                disk.write_all(aside, disk.pread(fd, min(_BLOCK, end - offset), offset))
            disk.fsync(aside)
        except BaseException:
            with suppress(OSError):
                disk.unlink(target)
            raise
        finally:
            disk.close(aside)
        disk.fsync_folder(self.path.parent)
        disk.truncate(fd, start)
        disk.fsync(fd)
        self.report(
            f"{self.path} ended in a torn line of {end - start} bytes, as a killed or failed write leaves; "
            f"it counts for nothing and was moved to {target.name}"
        )

    def _new_file(self, name: str) -> tuple[int, Path]:
        number = 1
        while True:
            target = self.path.with_name(name if number == 1 else f"{name}-{number}")
            with suppress(FileExistsError):
                return self.disk.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW), target
            number += 1


class OpenJournal:
    """A journal that is open and locked; a torn end is set aside on the way in.

    Args:
        journal: the journal.
        fd: the open file; stays the caller's.
    """

    def __init__(self, journal: Journal, fd: int):
        self._journal = journal
        self._disk = journal.disk
        self._fd = fd
        self._size = -1
        self.settle()

    @property
    def size(self) -> int:
        """How long the file is, in bytes; always the end of a line."""
        return self._size

    def last(self) -> bytes | None:
        """The last line, without its newline; None where there is none. Raises OSError."""
        if not self._size:
            return None
        start = self._after_newline(self._size - 1)
        return self._disk.pread(self._fd, self._size - 1 - start, start)

    def append(self, line: bytes) -> None:
        """Appends one line, given without its newline; it is on the medium when this returns.

        Raises:
            OSError: it could not be written, and is not in the file. Only where the file cannot be
                cut again either may the line, whole, be found there.
        """
        assert b"\n" not in line
        self.settle()
        try:
            self._disk.write_all(self._fd, line + b"\n")
            self._disk.fsync(self._fd)
        except BaseException:
            with suppress(OSError):
                self._disk.truncate(self._fd, self._size)
                self._disk.fsync(self._fd)
            raise
        self._size += len(line) + 1

    def settle(self) -> None:
        """Sets a torn end aside, unless the file is as this holder left it; raises OSError.

        Within one hold of the lock there is one only after an append that failed and could not be undone.
        """
        size = self._disk.fstat(self._fd).st_size
        if size == self._size:
            return
        end = self._after_newline(size)
        self._size = end
        if end == size:
            last = self.last()
            if last is None or _is_json(last):
                return
            # Power that failed may leave a line whose first blocks never arrived.
            self._size = end - len(last) - 1
        self._journal.set_aside(self._fd, self._size, size)

    def _after_newline(self, end: int) -> int:
        """Where the line begins that `end` is in or at the end of: after the last newline before `end`, or 0."""
        while end:
            start = max(0, end - _BLOCK)
            found = self._disk.pread(self._fd, end - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
