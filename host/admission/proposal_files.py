"""The proposals: files in a folder that a model can write to, so nothing about them is taken for granted.

Every folder on the way is opened by itself and no link is followed, so what is read and written lies
where it seems to. ``proposals/<id>.json`` is the newest version; the ones before it are
``proposals/.revisions/<id>/<number>.json``.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_names import SUFFIX, id_of, name_of
from capgate.host.admission.store import Revision
from capgate.host.mediation.disk import Disk

__all__ = ["MAX_BYTES", "ProposalFiles"]

#: The largest proposal, in bytes.
MAX_BYTES: Final = 1024 * 1024

_FOLDER: Final = "proposals"
_REVISIONS: Final = ".revisions"
_NUMBER: Final = re.compile(r"([1-9][0-9]{0,14})\.json")
#: What is met where there is no file, or none that can be read: a link, a folder, a socket, too much of it, not ours.
_ODD: Final = frozenset({errno.ENOENT, errno.ELOOP, errno.EINVAL, errno.ENXIO, errno.EFBIG, errno.EACCES})
#: One name for all, since writers hold the lock: a killed one leaves no more than this behind.
_TEMPORARY: Final = ".writing.tmp"


class ProposalFiles:
    """The proposals in a workspace. Writing needs the lock.

    Args:
        workspace: the workspace; made when something is written.
        disk: the file system.
    """

    def __init__(self, workspace: Path, disk: Disk):
        self._workspace = workspace
        self._disk = disk

    def ids(self) -> list[str]:
        """The ids of all, odd files included, sorted; raises OSError."""
        with self._opened(_FOLDER) as folder:
            names = [] if folder is None else [entry.name for entry in self._disk.scandir(folder)]
        return sorted(id for id in map(id_of, names) if id is not None)

    def read(self, id: str) -> bytes | None:
        """The newest version of one; None where there is none.

        Raises:
            AdmissionError: unreadable.
        """
        name = name_of(id)
        if name is None:
            return None
        try:
            with self._opened(_FOLDER) as folder:
                return None if folder is None else self._disk.read(name, MAX_BYTES, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as fault:
            message = f"the proposal {self._workspace / _FOLDER / name} cannot be read: {fault.strerror}"
            raise AdmissionError("unreadable", message) from None

    def revisions(self, id: str) -> list[Revision]:
        """Every version of one that can be read, oldest first; raises OSError."""
        name = name_of(id)
        if name is None:
            return []
        found: list[Revision] = []
        numbers: list[int] = []
        with self._opened(_FOLDER, _REVISIONS, id) as folder:
            if folder is not None:
                numbers = self._numbers(folder)
                kept = ((number, self._content(folder, f"{number}{SUFFIX}")) for number in numbers)
                found += (Revision(number, data) for number, data in kept if data is not None)
        with self._opened(_FOLDER) as folder:
            newest = None if folder is None else self._content(folder, name)
        last = max(numbers, default=0)
        # A writer that was killed on the way to the next version has kept this one already.
        if newest is not None and Revision(last, newest) not in found[-1:]:
            found.append(Revision(last + 1, newest))
        return found

    def write(self, id: str, data: bytes, *, revision: bool) -> int:
        """Writes one, whole or not at all; with `revision` as a new version. Returns its number.

        A version that is no readable file is kept as it is.

        Raises:
            AdmissionError: invalid-id: no file can have the name; body-too-large.
            OSError: it could not be written.
        """
        name = name_of(id)
        if name is None:
            raise AdmissionError("invalid-id", "the id is too long, or has characters that no file's name can have")
        if len(data) > MAX_BYTES:
            raise AdmissionError("body-too-large", f"the proposal has {len(data)} bytes; at most {MAX_BYTES} are kept")
        with self._making(_FOLDER) as folder:
            number = self._keep(folder, id, name) if revision else self._number(folder, id, name)
            self._disk.replace(name, data, dir_fd=folder, temporary=_TEMPORARY)
        return number

    def _keep(self, folder: int, id: str, name: str) -> int:
        """Keeps the newest version as an older one. Returns the number of the next."""
        newest = self._content(folder, name)
        if newest is None and not self._exists(folder, name):
            return self._number(folder, id, name)
        with self._making(_FOLDER, _REVISIONS, id) as kept:
            number = max(self._numbers(kept), default=0)
            # A writer that was killed after it kept this one, and before it wrote the next, has done this.
            if newest is None or not number or self._content(kept, f"{number}{SUFFIX}") != newest:
                number += 1
                if newest is None:
                    self._disk.rename(name, f"{number}{SUFFIX}", src_dir_fd=folder, dst_dir_fd=kept)
                else:
                    self._disk.replace(f"{number}{SUFFIX}", newest, dir_fd=kept, temporary=_TEMPORARY)
        return number + 1

    def _number(self, folder: int, id: str, name: str) -> int:
        """The number of the newest version, or of the first where there is none."""
        with self._opened(_FOLDER, _REVISIONS, id) as kept:
            number = max(self._numbers(kept), default=0)
            if kept is not None and number:
                newest = self._content(folder, name)
                if newest is not None and newest == self._content(kept, f"{number}{SUFFIX}"):
                    return number
        return number + 1

    def _numbers(self, folder: int | None) -> list[int]:
        """The numbers of the older versions, sorted."""
        if folder is None:
            return []
        found = (_NUMBER.fullmatch(entry.name) for entry in self._disk.scandir(folder))
        return sorted(int(match[1]) for match in found if match)

    def _content(self, folder: int, name: str) -> bytes | None:
        """The content of a file; None where it is no file that can be read. Raises OSError for a failing disk."""
        try:
            return self._disk.read(name, MAX_BYTES, dir_fd=folder)
        except OSError as fault:
            if fault.errno in _ODD:
                return None
            raise

    def _exists(self, folder: int, name: str) -> bool:
        try:
            self._disk.stat(name, dir_fd=folder)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _opened(self, *names: str) -> Iterator[int | None]:
        """The open folder at the end of `names`; None where it is not there."""
        try:
            folder = self._open(names, make=False)
        except FileNotFoundError:
            yield None
            return
        try:
            yield folder
        finally:
            self._disk.close(folder)

    @contextmanager
    def _making(self, *names: str) -> Iterator[int]:
        """The open folder at the end of `names`, made where it is not there."""
        self._disk.make_folders(self._workspace)
        folder = self._open(names, make=True)
        try:
            yield folder
        finally:
            self._disk.close(folder)

    def _open(self, names: tuple[str, ...], *, make: bool) -> int:
        # The workspace is the operator's choice, and may be a link; what lies in it may not.
        flags = os.O_RDONLY | os.O_DIRECTORY
        folder = self._disk.open(self._workspace, flags)
        for name in names:
            try:
                if make:
                    with suppress(FileExistsError):
                        self._disk.mkdir(name, dir_fd=folder)
                        self._disk.fsync(folder)
                inner = self._disk.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
            except NotADirectoryError:
                raise OSError(errno.ENOTDIR, f"{name} is a link, or no folder") from None
            finally:
                self._disk.close(folder)
            folder = inner
        return folder
