"""The host token: who holds the content of ``.host-token`` acts as the person at the host (contract 4 and 11.3)."""

from __future__ import annotations

import errno
import hmac
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.mediation.disk import Disk

__all__ = ["HostToken"]

_FORM: Final = re.compile(r"[0-9a-f]{64}")
_MODE: Final = 0o600
#: A token and white space around it; a longer file is no token.
_LONGEST: Final = 256
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW

_Stamp = tuple[int, ...]


class HostToken:
    """The token of a host, made when the host starts and read from its file whenever that has changed.

    A file that became unfit while the host runs (gone, loose in mode, another owner's) holds no token:
    nothing matches it until the host starts again and repairs it, or somebody else did.

    Args:
        path: the file.
        disk: the file system.

    Attributes:
        repaired: what was wrong with the file and was put right, a sentence; None where nothing was.

    Raises:
        AdmissionError: ``host-token-unusable``: something is wrong that may not be repaired unasked.
    """

    def __init__(self, path: Path, disk: Disk | None = None):
        self._path = path
        self._disk = disk or Disk()
        self._stamp: _Stamp | None = None
        self._token: str | None = None
        try:
            self.repaired = self._prepare()
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        if self.value() is None:
            raise self._unusable("it cannot be kept at the mode 0600, or somebody else changes it")

    def value(self) -> str | None:
        """The token, for a redactor to know; None while the file is unfit."""
        try:
            found = self._disk.stat(self._path)
            if _stamp(found) != self._stamp:
                self._token = self._token_of(found)
                self._stamp = _stamp(found)
        except OSError:
            self._stamp = self._token = None
        return self._token

    def matches(self, given: object) -> bool:
        """Says whether `given` is the token, in constant time (contract 11.3)."""
        token = self.value()
        if token is None or not isinstance(given, str):
            return False
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())

    def _prepare(self) -> str | None:
        """Makes the file, or puts right what is wrong with it and says what that was."""
        self._disk.make_folders(self._path.parent)
        with suppress(FileExistsError):
            self._create()
            return None
        found = self._disk.stat(self._path)
        if not stat.S_ISREG(found.st_mode):
            raise self._unusable("it is no regular file")
        if found.st_uid != os.geteuid():
            raise self._unusable(f"it belongs to the user {found.st_uid}, who could change it")
        token, mode = self._content(), stat.S_IMODE(found.st_mode)
        if token is None:
            self._disk.replace(self._path, _new(), _MODE)
            return f"{self._path} did not hold 64 lower-case hex digits; it holds a new token"
        if mode & 0o077:
            self._disk.replace(self._path, _new(), _MODE)
            return f"{self._path} had the mode {mode:04o}, so others could reach it; it holds a new token, at 0600"
        if mode != _MODE:
            self._disk.replace(self._path, f"{token}\n".encode(), _MODE)
            return f"{self._path} had the mode {mode:04o}; it has 0600 again"
        return None

    def _create(self) -> None:
        """Makes the file with a new token; raises FileExistsError where there is one."""
        fd = self._disk.open(self._path, _CREATE, _MODE)
        try:
            self._disk.write_all(fd, _new())
            self._disk.fsync(fd)
        finally:
            self._disk.close(fd)
        self._disk.fsync_folder(self._path.parent)

    def _token_of(self, found: os.stat_result) -> str | None:
        """The token in the file, if it is fit."""
        fit = stat.S_IMODE(found.st_mode) == _MODE and found.st_uid == os.geteuid()
        return self._content() if fit else None

    def _content(self) -> str | None:
        try:
            data = self._disk.read(self._path, _LONGEST)
        except OSError as error:
            if error.errno == errno.EFBIG:
                return None
            raise
        text = data.decode("ascii", "replace").strip()
        return text if _FORM.fullmatch(text) else None

    def _unusable(self, why: str) -> AdmissionError:
        return AdmissionError("host-token-unusable", f"{self._path}: {why}")


def _new() -> bytes:
    return f"{secrets.token_hex(32)}\n".encode()


def _stamp(found: os.stat_result) -> _Stamp:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
