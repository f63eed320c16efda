"""The counts of requests in files: one file an extension, in the host's own folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_names import id_of, name_of
from capgate.host.admission.store import Charge
from capgate.host.mediation.budgets import Count, one_more
from capgate.host.mediation.disk import Disk
from capgate.host.safe_json import json_text
from capgate.policy.documents import DocumentError, load_json

__all__ = ["FOLDER", "BudgetFiles"]

#: The folder, below that of the extensions.
FOLDER: Final = ".budgets"
_VERSION: Final = 1
_LARGEST: Final = 4096


class BudgetFiles:
    """What each extension has used, for all processes that share the folder. Methods raise OSError, too.

    A count is on the medium before the request is sent, so that no crash gives any back.

    Args:
        extensions: the host's own folder.
        disk: the file system.
    """

    def __init__(self, extensions: Path, disk: Disk):
        self._folder = extensions / FOLDER
        self._disk = disk

    def charge(self, id: str, window: str, period: int, limit: int) -> Charge:
        """Counts one request, unless the limit is reached.

        Raises:
            AdmissionError: ``store-unavailable``: what is kept cannot be read.
        """
        name = _name(id)
        self._disk.make_folders(self._folder)
        # A lock an extension: no call waits for the disk of another extension's.
        with self._disk.lock(self._folder / f".{name}.lock"):
            counts = self._read(name)
            counts[window], charge = one_more(counts.get(window), period, limit)
            if charge.granted:
                self._write(name, counts)
        return charge

    def all(self) -> Iterator[tuple[str, str, Count]]:
        """Every count: id, window, count; raises AdmissionError."""
        with suppress(FileNotFoundError):
            for entry in self._disk.scandir(self._folder):
                id = id_of(entry.name)
                if id is not None:
                    yield from ((id, window, count) for window, count in self._read(entry.name).items())

    def _write(self, name: str, counts: dict[str, Count]) -> None:
        text = json_text({"v": _VERSION, "counts": counts}).encode()
        self._disk.replace(self._folder / name, text, 0o600, temporary=f".{name}.tmp")

    def _read(self, name: str) -> dict[str, Count]:
        path = self._folder / name
        try:
            record = load_json(self._disk.read(path, _LARGEST), name).data
        except FileNotFoundError:
            return {}
        except DocumentError as error:
            raise _damaged(path, error.message) from None
        counts = record.get("counts") if type(record) is dict and record.get("v") == _VERSION else None
        if type(counts) is not dict or not all(map(_is_count, counts.values())):
            raise _damaged(path, "it does not hold what this version of capgate writes")
        return {window: Count(*count) for window, count in counts.items()}


def _name(id: str) -> str:
    name = name_of(id)
    if name is None:
        raise AdmissionError("store-unavailable", f"no file can be named after {id!r}")
    return name


def _is_count(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and all(type(number) is int and number >= 0 for number in value)


def _damaged(path: Path, what: str) -> AdmissionError:
    # It is never taken for empty: a request too many is worse than one that waits for a person.
    hint = "Restore the file from a backup, or remove it: then the budget begins anew."
    return AdmissionError("store-unavailable", f"the count of requests in {path} cannot be read: {what}", hint=hint)
