"""Going down from a root to a file without ever leaving it (contract 7, 11.17, 11.34).

No name is looked at and then opened again: every step opens one name relative to the folder before it, follows
no link by itself, and what was opened is what is used. Whoever swaps a folder for a link meanwhile gets a refusal.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from capgate.plugins.api import Refused
from capgate.policy.text import show

__all__ = ["LONGEST_NAME", "MOST_LINKS", "MOST_STEPS", "Found", "open_below", "read_opened", "segments_of"]

_BLOCK: Final = 64 * 1024
#: The most bytes of a name.
LONGEST_NAME: Final = 255
#: How many links are followed for one path.
MOST_LINKS: Final = 40
#: How many folders are opened for one path; far more than a real one has, for links that go up and down.
MOST_STEPS: Final = 4096
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
#: Names that stand for no file of their own.
_STAY: Final = ("", ".")


class Found(NamedTuple):
    """How far a path leads.

    Attributes:
        folder: the folder of the file, open; only to look up names in. Something else where there is a `fault`.
        file: what the path leads to, open; None where it is not, or is a folder on the way there.
        names: the names that really lead there from the root, links resolved.
        absent: whether nothing has the last name, in a folder that is there.
        fault: what else kept it from being opened.
    """

    folder: int
    file: int | None
    names: Sequence[str]
    absent: bool
    fault: OSError | None


def segments_of(path: str) -> list[str]:
    """The names of a path, which may be anything, in the contract's order of refusals.

    Raises:
        Refused: ``bad-path``, ``outside-root``.
    """
    if "\0" in path or any("\ud800" <= character <= "\udfff" for character in path):
        raise Refused("bad-path", f"the path {show(path)} holds a NUL or half a character")
    if path.startswith("/"):
        raise Refused("outside-root", f"the path {show(path)} is absolute")
    segments = [segment for segment in path.split("/") if segment not in _STAY]
    if ".." in segments:
        raise Refused("outside-root", f"the path {show(path)} has a '..' segment")
    if not segments or not path.strip():
        raise Refused("outside-root", f"the path {show(path)!r} names nothing below the root")
    if any(len(segment.encode()) > LONGEST_NAME for segment in segments):
        raise Refused("bad-path", f"the path {show(path)} has a name of more than {LONGEST_NAME} bytes")
    return segments


@contextmanager
def open_below(root: Path, segments: Sequence[str], flags: int) -> Iterator[Found]:
    """Opens what `segments` lead to, through links that stay below the root; all is closed at the end.

    Args:
        root: the real path of the root.
        segments: plain names, as `segments_of` gives them.
        flags: ``O_RDONLY`` or ``O_WRONLY``. Nothing is created or cut.

    Raises:
        Refused: ``outside-root``: a link leads out. ``unreadable``: the root cannot be opened.
    """
    walk = _Walk(root, segments, flags)
    try:
        yield walk.to_the_end()
    finally:
        walk.close()


def read_opened(file: int, size: int, limit: int) -> bytearray:
    """What an open file holds; of more than `limit` bytes one more than that.

    Args:
        file: a descriptor.
        size: how many bytes it says that it has.
        limit: how many bytes are wanted.

    Raises:
        OSError: it cannot be read.
    """
    data = bytearray()
    ask = size + 1
    while len(data) <= limit:
        part = os.read(file, min(ask, limit + 1 - len(data)))
        if not part:
            break
        data += part
        ask = _BLOCK
    return data


class _Walk:
    """One way down. Two descriptors at most are open at a time, however long it is."""

    def __init__(self, root: Path, segments: Sequence[str], flags: int):
        self._root = root
        self._path = "/".join(segments)
        self._flags = flags
        self._waiting = deque(segments)
        self._names: list[str] = []
        self._links = 0
        self._steps = 0
        self._folder = self._open_root()
        #: Whether `_folder` is no longer where `_names` lead.
        self._stale = False
        self._file: int | None = None
        self._absent = False

    def close(self) -> None:
        for descriptor in (self._folder, self._file):
            if descriptor is not None:
                os.close(descriptor)

    def to_the_end(self) -> Found:
        fault = None
        try:
            while self._waiting:
                self._step(self._waiting[0])
        except OSError as error:
            fault = error
        ahead = [name for name in self._waiting if name not in (*_STAY, "..")]
        return Found(self._folder, self._file, [*self._names, *ahead], self._absent, fault)

    def _step(self, name: str) -> None:
        """Takes the first of the waiting names, or replaces it by what it links to."""
        if name in _STAY:
            self._waiting.popleft()
        elif name == "..":
            self._waiting.popleft()
            self._go_up()
        else:
            self._catch_up()
            try:
                self._enter(name)
            except OSError as error:
                target = self._link(name, error)
                self._waiting.popleft()
                self._follow(target)
            else:
                self._waiting.popleft()
                self._names.append(name)

    def _enter(self, name: str) -> None:
        self._count()
        if len(self._waiting) > 1:
            self._change(os.open(name, _FOLDER, dir_fd=self._folder))
            return
        try:
            self._file = os.open(name, self._flags | _FILE, dir_fd=self._folder)
        except FileNotFoundError:
            self._absent = True

    def _link(self, name: str, error: OSError) -> str:
        """What `name`, which could not be entered, links to; it may be no link, and then `error` is why."""
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise error
        try:
            return os.readlink(name, dir_fd=self._folder)
        except OSError:
            raise error from None

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > MOST_LINKS:
            raise OSError(errno.ELOOP, f"it goes through more than {MOST_LINKS} links")
        self._waiting.extendleft(reversed(target.split("/")))
        if target.startswith("/"):
            self._start_over("/".join(self._waiting))

    def _go_up(self) -> None:
        if self._names:
            # By name, not by the folder's own '..': the folder may have been moved out of the root meanwhile.
            self._names.pop()
            self._stale = True
        else:
            self._start_over("/".join([f"{self._root}/..", *self._waiting]))

    def _start_over(self, way: str) -> None:
        """Finds out whether a way that leads out of the root comes back, and by which names; they are walked then."""
        real = Path(os.path.realpath(way))
        if not real.is_relative_to(self._root):
            raise Refused("outside-root", f"a link in {show(self._path)} leads out of the root")
        self._waiting = deque(real.relative_to(self._root).parts)
        self._names = []
        self._stale = True

    def _catch_up(self) -> None:
        """Opens the folder that the names lead to, where the open one is another."""
        if not self._stale:
            return
        self._change(self._open_root())
        for name in self._names:
            self._count()
            self._change(os.open(name, _FOLDER, dir_fd=self._folder))
        self._stale = False

    def _change(self, folder: int) -> None:
        os.close(self._folder)
        self._folder = folder

    def _open_root(self) -> int:
        try:
            return os.open(self._root, _FOLDER)
        except OSError as error:
            raise Refused("unreadable", f"the root cannot be opened: {error.strerror}") from None

    def _count(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise OSError(errno.ELOOP, f"it goes through more than {MOST_STEPS} folders")
