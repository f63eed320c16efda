"""Every call to the file system that admission makes, behind one small class.

The methods are thin, so that a test's subclass can let any one of them fail.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

__all__ = ["Disk", "StrPath"]

StrPath = str | os.PathLike[str]

#: How much is read or written at a time, in bytes.
_BLOCK: Final = 1024 * 1024


class Disk:
    """The file system. Every method but `close` raises OSError, and nothing else.

    Where a method takes `dir_fd`, a relative path is looked up in that open folder.
    """

    # Thin: one call of the system each

    def open(self, path: StrPath, flags: int, mode: int = 0o666, *, dir_fd: int | None = None) -> int:
        """Opens a file, not inherited by programs that are started; `mode` is for a new one, before the umask."""
        return os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=dir_fd)

    def close(self, fd: int) -> None:
        """Closes a descriptor. Never fails: what has to be kept was given to `fsync` before."""
        with suppress(OSError):
            os.close(fd)

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        """At most `size` bytes from `offset` on; empty at the end."""
        return os.pread(fd, size, offset)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Writes some of `data`, and says how many bytes."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """Returns when what was written is on the medium."""
        os.fsync(fd)

    def truncate(self, fd: int, length: int) -> None:
        """Cuts an open file to `length` bytes."""
        os.ftruncate(fd, length)

    def rename(
        self, source: StrPath, target: StrPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """Gives a file another name, in place of the file that has it."""
        os.rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def unlink(self, path: StrPath, *, dir_fd: int | None = None) -> None:
        """Removes a file."""
        os.unlink(path, dir_fd=dir_fd)

    def mkdir(self, path: StrPath, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Makes a folder."""
        os.mkdir(path, mode, dir_fd=dir_fd)

    def stat(self, path: StrPath, *, dir_fd: int | None = None) -> os.stat_result:
        """What is known of a path; of a link, the link's own."""
        return os.stat(path, dir_fd=dir_fd, follow_symlinks=False)

    def fstat(self, fd: int) -> os.stat_result:
        """What is known of an open file."""
        return os.fstat(fd)

    def scandir(self, folder: StrPath | int) -> list[os.DirEntry[str]]:
        """What lies in a folder, in no order. Given an open folder, keep it open while the entries are asked."""
        with os.scandir(folder) as entries:
            return list(entries)

    def flock(self, fd: int, operation: int) -> None:
        """Locks or unlocks an open file against all other descriptors of it."""
        fcntl.flock(fd, operation)

    # Made of them

    def write_all(self, fd: int, data: bytes) -> None:
        """Writes all of `data`."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.write(fd, rest[:_BLOCK]) :]

    def read(self, path: StrPath, limit: int, *, dir_fd: int | None = None) -> bytes:
        """The content of a regular file that is no link.

        Raises:
            OSError: ELOOP for a link, EINVAL for what is no regular file, EFBIG for more than `limit` bytes.
        """
        # Without O_NONBLOCK a FIFO would keep the host waiting.
        fd = self.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=dir_fd)
        try:
            if not stat.S_ISREG(self.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "Not a regular file", os.fspath(path))
            parts: list[bytes] = []
            size = 0
            while block := self.pread(fd, min(_BLOCK, limit + 1 - size), size):
                parts.append(block)
                size += len(block)
                if size > limit:
                    raise OSError(errno.EFBIG, f"More than {limit} bytes", os.fspath(path))
            return b"".join(parts)
        finally:
            self.close(fd)

    def replace(
        self,
        path: StrPath,
        data: bytes,
        mode: int = 0o666,
        *,
        dir_fd: int | None = None,
        temporary: str | None = None,
    ) -> None:
        """Puts `data` at `path`, whole or not at all, on the medium when this returns.

        What was there before, a link too, makes room. Only where the folder's own fsync fails is `data` in
        place and OSError raised all the same.

        Args:
            path: where; with `dir_fd` a plain name.
            data: the whole content.
            mode: the mode, before the umask.
            dir_fd: the open folder.
            temporary: name of the file that is written first. Who holds a lock gives one, so that a killed
                process leaves no more than that one behind; without it the name is a new one each time.
        """
        folder, name = os.path.split(os.fspath(path))
        beside = os.path.join(folder, temporary or f".{name[:100]}.{os.urandom(8).hex()}.tmp")
        if temporary:
            with suppress(FileNotFoundError):
                self.unlink(beside, dir_fd=dir_fd)
        fd = self.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=dir_fd)
        try:
            try:
                self.write_all(fd, data)
                self.fsync(fd)
            finally:
                self.close(fd)
            self.rename(beside, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except BaseException:
            with suppress(OSError):
                self.unlink(beside, dir_fd=dir_fd)
            raise
        if dir_fd is None:
            self.fsync_folder(folder or os.curdir)
        else:
            self.fsync(dir_fd)

    def fsync_folder(self, folder: StrPath) -> None:
        """Returns when the names in a folder are on the medium."""
        fd = self.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.fsync(fd)
        finally:
            self.close(fd)

    def lies_there(self, path: StrPath) -> bool:
        """Whether something is at `path`, whatever it is; also false where that cannot be found out."""
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def is_folder(self, path: StrPath) -> bool:
        """Whether there is a folder at `path`, and no link to one; also false where that cannot be found out."""
        try:
            return stat.S_ISDIR(self.stat(path).st_mode)
        except OSError:
            return False

    def make_folders(self, folder: StrPath) -> None:
        """Makes a folder and those above it, where they are not there; on the medium when this returns."""
        above = os.path.dirname(os.path.abspath(folder))
        with suppress(FileExistsError):
            try:
                self.mkdir(folder)
            except FileNotFoundError:
                self.make_folders(above)
                self.mkdir(folder)
            self.fsync_folder(above)

    @contextmanager
    def lock(self, path: StrPath) -> Iterator[None]:
        """Holds the lock file at `path`, alone among all threads and processes; waits for whoever has it.

        The file is made where it is absent (0600), and stays. A holder that dies lets go.
        """
        fd = self._locked(path)
        try:
            yield
        finally:
            # A child that was forked meanwhile has the descriptor too, so closing alone might not let go.
            with suppress(OSError):
                self.flock(fd, fcntl.LOCK_UN)
            self.close(fd)

    def _locked(self, path: StrPath) -> int:
        while True:
            fd = self.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                self.flock(fd, fcntl.LOCK_EX)
                if self._is_at(fd, path):
                    return fd
            except BaseException:
                self.close(fd)
                raise
            # Somebody removed the file before it was locked: the lock of a file that nobody finds holds nobody off.
            self.close(fd)

    def _is_at(self, fd: int, path: StrPath) -> bool:
        mine = self.fstat(fd)
        try:
            found = self.stat(path)
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (found.st_dev, found.st_ino)
