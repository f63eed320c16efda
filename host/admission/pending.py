"""The file ``.pending-approval.json``: the open approval codes, for whoever can read the host's folder (contract 5).

Only the process that made a code can write it here: stores keep a digest of it.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

from capgate.host.admission.approvals import TTL
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.store import Approval
from capgate.host.mediation.clock import iso
from capgate.host.mediation.console import Console
from capgate.host.mediation.disk import Disk
from capgate.host.safe_json import json_text

__all__ = ["MAX_BYTES", "NAME", "Pending", "Shown", "read_pending"]

#: Name of the file, in the extensions folder.
NAME: Final = ".pending-approval.json"
_MODE: Final = 0o600
#: A plan has at most some 2 MiB, and there are at most 32 open requests.
MAX_BYTES: Final = 128 * 1024 * 1024
_CODE: Final = re.compile(r"[0-9]{8}")


class Shown(NamedTuple):
    """A request as the file shows it.

    Attributes:
        request: its id.
        plan: the plan.
        code: the 8 digits.
        expires: seconds since 1970.
    """

    request: str
    plan: Mapping[str, Any]
    code: str
    expires: float


class _Open(NamedTuple):
    approval: Approval
    plan: Mapping[str, Any]
    code: str

    def to_json(self) -> dict[str, Any]:
        """The request as the file shows it; the time in milliseconds since 1970."""
        expires = round(self.approval.expires * 1000)
        return {"requestId": self.approval.request, "plan": self.plan, "code": self.code, "expiresAt": expires}


class Pending:
    """The open requests of this process, and the file that shows them. Safe to use from several threads.

    The file holds the newest request, and all under ``open``; there is none while none is open. Where it cannot
    be written, the console says so and the code can still be used: it stands on the console.

    Args:
        path: the file.
        console: is told of failures.
        disk: the file system.
    """

    def __init__(self, path: Path, console: Console, disk: Disk | None = None):
        self._path = path
        self._console = console
        self._disk = disk or Disk()
        self._lock = Lock()
        self._open: list[_Open] = []

    def clear(self) -> None:
        """Removes what an earlier host left; for the start of a host, before it takes requests."""
        with self._lock:
            self._open = []
            try:
                mode = stat.S_IMODE(self._disk.stat(self._path).st_mode)
            except OSError:
                mode = _MODE
            if mode & 0o077:
                self._console.warn(f"[extension approval] {self._path} had the mode {mode:04o}; it is removed")
            self._write()

    def add(self, approval: Approval, plan: Mapping[str, Any], code: str) -> None:
        """Shows a new request; an older one for the same id is no longer open."""
        with self._lock:
            now = approval.expires - TTL
            self._open = [one for one in self._open if one.approval.id != approval.id and now < one.approval.expires]
            self._open.append(_Open(approval, plan, code))
            self._write()

    def keep(self, retained: Iterable[Approval], now: float) -> None:
        """Takes away what can no longer be used; what `retained` does not know of was made since, and stays.

        Args:
            retained: the requests as the store has them.
            now: seconds since 1970.
        """
        spent = {approval.request for approval in retained if approval.spent}
        with self._lock:
            still = [one for one in self._open if one.approval.request not in spent and now < one.approval.expires]
            if len(still) != len(self._open):
                self._open = still
                self._write()

    def _write(self) -> None:
        try:
            if self._open:
                shown = [one.to_json() for one in self._open]
                self._disk.replace(self._path, f"{json_text(shown[-1] | {'open': shown})}\n".encode(), _MODE)
            else:
                with suppress(FileNotFoundError):
                    self._disk.unlink(self._path)
        except OSError as error:
            self._console.warn(f"[extension approval] {self._path}: {error.strerror or error}")


def read_pending(data: bytes, name: str) -> list[Shown]:
    """The requests in such a file, oldest first.

    Args:
        data: the content.
        name: name of the file, for messages.

    Raises:
        AdmissionError: ``unreadable``.
    """
    try:
        record = json.loads(data)
        entries = record.get("open", [record])
        return [_shown(entry) for entry in entries]
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError):
        raise AdmissionError("unreadable", f"{name} holds no requests for approval") from None


def _shown(entry: Mapping[str, Any]) -> Shown:
    request, plan, code, expires = entry["requestId"], entry["plan"], entry["code"], entry["expiresAt"] / 1000
    iso(expires)  # a time that no calendar has is no time
    if not isinstance(request, str) or not isinstance(plan, dict) or not _CODE.fullmatch(code):
        raise ValueError(request)
    return Shown(request, plan, code, expires)
