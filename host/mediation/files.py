"""Files below the active root, as `read` and `write` hand them over (contract 7, 11.17, 11.25, 11.34)."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from capgate.host.mediation.disk import Disk
from capgate.host.mediation.root_walk import Found, open_below, read_opened, segments_of
from capgate.plugins.api import Refused
from capgate.policy.text import show
from capgate.policy.verdict import DEFAULT_MAX_BYTES

__all__ = ["MOST_READ", "FileReader", "FileWriter"]

#: The most bytes that are read of a file, unless a reader is told otherwise.
MOST_READ: Final = 16 * 1024 * 1024
#: What the host keeps in a workspace, in the spelling that names are compared by.
_KEPT: Final = frozenset({"audit.jsonl", ".audit", "proposals"})
#: How the names of rotated audit files begin.
_ROTATED: Final = "audit.jsonl."


class _Files:
    """What reading and writing share: the root, and what of it no tool reaches.

    Args:
        folder: gives the real path of the active root; raises Refused where there is none.
        workspace: the real path of the host's workspace, whose audit and proposals are kept also where
            the root is a folder around it.
    """

    def __init__(self, folder: Callable[[], Path], *, workspace: Path):
        self._folder = folder
        self._workspace = workspace

    @contextmanager
    def _reached(self, path: str, flags: int) -> Iterator[Found]:
        """Opens what a path leads to, after all that is asked of the path itself."""
        root = self._folder()
        given = segments_of(path)
        with open_below(root, given, flags) as found:
            kept = self._kept_below(root)
            ways = (given, found.names)
            if any(_is_kept(way, kept) for way in ways):
                why = f"{show(path)} belongs to the audit or the proposals, which the host keeps"
                raise Refused("protected-audit", why)
            if any(_plain(name).startswith(".") for way in ways for name in way):
                why = f"{show(path)} has a dotfile in it, and host secrets live behind that line"
                raise Refused("dotfile-refused", why)
            yield found

    def _kept_below(self, root: Path) -> Sequence[Sequence[str]]:
        """The folders whose audit and proposals are kept, as names from the root."""
        if self._workspace != root and self._workspace.is_relative_to(root):
            return (), [_plain(name) for name in self._workspace.relative_to(root).parts]
        return ((),)


class FileReader(_Files):
    """Reads below the active root; a `capgate.plugins.api.Reader`. Any number of threads may use it.

    Args:
        folder: gives the real path of the active root, asked at each use; raises Refused where there is none.
        workspace: the real path of the host's workspace (`Settings.workspace`).
        limit: the most bytes of a file.
    """

    def __init__(self, folder: Callable[[], Path], *, workspace: Path, limit: int = MOST_READ):
        super().__init__(folder, workspace=workspace)
        self._limit = limit

    def text(self, path: str) -> str:
        """The text of a file.

        Raises:
            Refused: what `folder` says; ``bad-path``, ``outside-root``, ``protected-audit``, ``dotfile-refused``
                in the contract's order; then ``missing``, ``not-a-file``, ``unreadable``, ``over-budget``,
                ``not-text``.
        """
        with self._reached(path, os.O_RDONLY) as found:
            file = _opened(path, found)
            try:
                known = os.fstat(file)
                if path.endswith("/") or not stat.S_ISREG(known.st_mode):
                    raise _no_file(path)
                data = read_opened(file, known.st_size, self._limit)
            except OSError as error:
                raise Refused("unreadable", f"{show(path)} cannot be read: {error.strerror}") from None
        if len(data) > self._limit:
            raise Refused("over-budget", f"{show(path)} has more than {self._limit} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Refused("not-text", f"{show(path)} is not UTF-8") from None

    def names(self) -> list[str]:
        """The names in the top level of the root, folders too, sorted; nothing that `text` would keep to the host.

        What is no text in a name is shown as U+FFFD.

        Raises:
            Refused: what `folder` says; ``unreadable``.
        """
        root = self._folder()
        try:
            # A descriptor, so that a link that has come into the root's place is not listed.
            opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                names = os.listdir(opened)
            finally:
                os.close(opened)
        except OSError as error:
            raise Refused("unreadable", f"the root cannot be read: {error.strerror}") from None
        shown = [os.fsencode(name).decode(errors="replace") for name in names]
        return sorted(name for name in shown if not _plain(name).startswith(".") and not _is_kept([name], [()]))


class FileWriter(_Files):
    """Writes below the active root; a `capgate.plugins.api.Writer`. Any number of threads may use it.

    Args:
        folder: gives the real path of the active root, asked at each use; raises Refused where there is none.
        bounds: the extension's bounds, as admitted; ``maxBytes`` says how many bytes one file may have.
        workspace: the real path of the host's workspace (`Settings.workspace`).
        disk: the file system, for what is written.
    """

    def __init__(
        self, folder: Callable[[], Path], bounds: Mapping[str, Any], *, workspace: Path, disk: Disk | None = None
    ):
        super().__init__(folder, workspace=workspace)
        self._most = bounds.get("maxBytes", DEFAULT_MAX_BYTES)
        self._disk = disk or Disk()

    def text(self, path: str, content: str) -> int:
        """Writes a file, whole or not at all, on the medium when this returns, and says how many bytes.

        A file that is there is replaced by a new one of the same mode. Folders are not made.

        Raises:
            Refused: what `folder` says; ``bad-path``, ``outside-root``, ``protected-audit``, ``dotfile-refused``
                in the contract's order; then ``missing-parent``, ``not-a-file``, ``unwritable``, ``not-text``,
                ``over-budget``; ``unreadable``, where the root itself is gone.
        """
        with self._reached(path, os.O_WRONLY) as found:
            try:
                mode = None if found.absent else _mode(path, found)
                if path.endswith("/"):
                    raise _no_file(path)
                data = self._data(path, content)
                self._replace(found.folder, found.names[-1], data, mode)
            except OSError as error:
                raise Refused("unwritable", f"{show(path)} cannot be written: {error.strerror}") from None
        return len(data)

    def _data(self, path: str, content: str) -> bytes:
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise Refused("not-text", f"what is to be written to {show(path)} holds half a character") from None
        if len(data) > self._most:
            why = f"{len(data)} bytes for {show(path)}, and bounds.maxBytes is {int(self._most)}"
            raise Refused("over-budget", why)
        return data

    def _replace(self, folder: int, name: str, data: bytes, mode: int | None) -> None:
        """Puts `data` in the place of what is called `name`; a link that has come there meanwhile makes room."""
        disk = self._disk
        above = disk.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
        try:
            # No tool sees a name that begins with a dot.
            beside = f".capgate-{os.urandom(8).hex()}.tmp"
            made = 0o666 if mode is None else 0o600
            file = disk.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, made, dir_fd=above)
            try:
                try:
                    disk.write_all(file, data)
                    if mode is not None:
                        os.fchmod(file, mode)
                    disk.fsync(file)
                finally:
                    disk.close(file)
                disk.rename(beside, name, src_dir_fd=above, dst_dir_fd=above)
            except BaseException:
                with suppress(OSError):
                    disk.unlink(beside, dir_fd=above)
                raise
            disk.fsync(above)
        finally:
            disk.close(above)


def _opened(path: str, found: Found) -> int:
    """The file to read."""
    fault = found.fault
    if found.absent or (fault is not None and fault.errno in (errno.ENOENT, errno.ENOTDIR)):
        raise Refused("missing", f"there is no {show(path)}")
    if fault is not None:
        raise _not_opened(path, "unreadable", fault)
    if found.file is None:
        raise _no_file(path)
    return found.file


def _mode(path: str, found: Found) -> int:
    """The permissions of the file to replace."""
    fault = found.fault
    if fault is not None:
        if fault.errno in (errno.ENOENT, errno.ENOTDIR):
            raise Refused("missing-parent", f"the folder of {show(path)} is not there")
        raise _not_opened(path, "unwritable", fault)
    if found.file is None:
        raise _no_file(path)
    mode = os.fstat(found.file).st_mode
    if not stat.S_ISREG(mode):
        raise _no_file(path)
    return mode & 0o777


def _not_opened(path: str, id: str, fault: OSError) -> Refused:
    if fault.errno in (errno.ENXIO, errno.EISDIR):
        return _no_file(path)
    if fault.errno == errno.ENAMETOOLONG:
        return Refused("bad-path", f"{show(path)} has a name that is too long for its folder")
    return Refused(id, f"{show(path)} cannot be opened: {fault.strerror}")


def _no_file(path: str) -> Refused:
    return Refused("not-a-file", f"{show(path)} is no regular file")


def _plain(name: str) -> str:
    """A name as it is compared: what a file system may take for the same name is the same."""
    return unicodedata.normalize("NFC", name).casefold()


def _is_kept(names: Sequence[str], folders: Sequence[Sequence[str]]) -> bool:
    """Whether names from the root lead to the audit or the proposals of one of the folders, or below."""
    plain = [_plain(name) for name in names]
    for folder in folders:
        count = len(folder)
        if len(plain) > count and plain[:count] == list(folder):
            below = plain[count]
            if below in _KEPT or below.startswith(_ROTATED):
                return True
    return False
