"""The files of an audit: the one that is written, and those that grew to their size before it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from capgate.host.mediation.disk import Disk

__all__ = ["ROTATE_AT", "next_name", "read_back", "rotated"]

#: A file that has grown to so many bytes makes room for a new one.
ROTATE_AT: Final = 16 * 1024 * 1024
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")
_BLOCK: Final = 1024 * 1024


def rotated(path: Path, disk: Disk) -> list[Path]:
    """The files that were full, oldest first: ``audit.jsonl.1``, ``audit.jsonl.2``, …; raises OSError.

    Args:
        path: the file that is written.
        disk: the file system.
    """
    try:
        names = [entry.name for entry in disk.scandir(path.parent)]
    except FileNotFoundError:
        return []
    begin = f"{path.name}."
    numbers = (name.removeprefix(begin) for name in names if name.startswith(begin))
    return [path.with_name(begin + number) for number in sorted(filter(_NUMBER.fullmatch, numbers), key=int)]


def next_name(path: Path, disk: Disk) -> Path:
    """What the file that is written will be called when it is full; raises OSError."""
    last = rotated(path, disk)
    number = int(last[-1].suffix[1:]) + 1 if last else 1
    return path.with_name(f"{path.name}.{number}")


def read_back(path: Path, disk: Disk) -> Iterator[list[bytes]]:
    """The lines of each file, the newest file first, its lines in their order; a torn last line is left out.

    No lock is taken, so whoever writes does not wait. What is full meanwhile is read once all the same.

    Raises:
        OSError: a file cannot be read.
    """
    current = _open(path, disk)
    try:
        older = rotated(path, disk)
        seen = set()
        if current is not None:
            seen.add(_identity(disk.fstat(current)))
            yield _lines(current, disk)
    finally:
        if current is not None:
            disk.close(current)
    for part in reversed(older):
        file = _open(part, disk)
        if file is None:
            continue
        try:
            if _identity(disk.fstat(file)) not in seen:
                yield _lines(file, disk)
        finally:
            disk.close(file)


def _open(path: Path, disk: Disk) -> int | None:
    try:
        return disk.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _lines(file: int, disk: Disk) -> list[bytes]:
    data = bytearray()
    while block := disk.pread(file, _BLOCK, len(data)):
        data += block
    return bytes(data).split(b"\n")[:-1]
