"""The descriptors in the host's keeping: one file each, changed in one step with a line of the ledger.

What a change needs is staged first, in a hidden folder; then the line is appended, which decides; then
what was staged takes its place. Whatever dies in between, the ledger says how it goes on: what it names
is put in place, what it does not is dropped. Readers look into the hidden folder too, so they never see
a line without its descriptor.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from capgate.host.admission.file_names import SUFFIX, id_of, name_of
from capgate.host.admission.ledger_file import stamp_of
from capgate.host.admission.store import Entry, LedgerState, StoredDescriptor
from capgate.host.mediation.disk import Disk

__all__ = ["MAX_BYTES", "DescriptorFiles"]

#: The largest descriptor, in bytes (contract 11.10).
MAX_BYTES: Final = 1024 * 1024

_STAGED: Final = ".staged"
_REVOKED: Final = ".revoked"
_REMOVAL: Final = re.compile(r"(?P<id>.+)\.(?P<seq>[0-9]{1,16})\.revoked", re.DOTALL)


class DescriptorFiles:
    """The files ``<id>.json`` of one folder. Methods that change anything need the lock; all raise OSError.

    Args:
        folder: the folder.
        disk: the file system.
    """

    def __init__(self, folder: Path, disk: Disk):
        # Plain texts: a start asks for a hundred thousand paths.
        self._folder = str(folder)
        self._staged = f"{folder}/{_STAGED}"
        self._disk = disk

    # Reading

    def listing(self, admitted: Mapping[str, Entry], length: int = 0) -> list[StoredDescriptor]:
        """What lies there, by id.

        Args:
            admitted: what the ledger says is admitted.
            length: how many lines the ledger has.
        """
        found: dict[str, Hashable] = {}
        for entry in self._entries(self._folder):
            id = id_of(entry.name)
            # A file that went away since is not there.
            with suppress(FileNotFoundError):
                if id is not None:
                    found[id] = stamp_of(entry.stat(follow_symlinks=False))
        staged = [entry.name for entry in self._entries(self._staged)]
        for id in _revoked(staged, length) - admitted.keys():
            found.pop(id, None)
        contents = (_content_of(name) for name in staged)
        waiting = {id for id, digest in contents if id in admitted and admitted[id].digest == digest}
        # A file that took its place during the scan may have been missed under either name.
        for id in waiting | (admitted.keys() - found.keys()):
            for path in self._places(id, admitted[id]):
                with suppress(FileNotFoundError):
                    found[id] = stamp_of(self._disk.stat(path))
                    break
        return [StoredDescriptor(id, stamp) for id, stamp in sorted(found.items())]

    def read(self, id: str, entry: Entry | None, length: int = 0) -> bytes | None:
        """The content of one; None where there is none.

        Args:
            id: the id.
            entry: what the ledger says of it, where it is admitted.
            length: how many lines the ledger has.

        Raises:
            AdmissionError: unreadable: `id` is that of an odd name.
        """
        if entry is None and id in _revoked((entry.name for entry in self._entries(self._staged)), length):
            return None
        for path in self._places(id, entry):
            with suppress(FileNotFoundError):
                return self._disk.read(path, MAX_BYTES)
        return None

    def _places(self, id: str, entry: Entry | None) -> Iterator[str]:
        """Where the content of `id` may lie, in the order in which to look."""
        if name := name_of(id):
            if entry:
                yield f"{self._staged}/{_staged_name(id, entry.digest)}"
            yield f"{self._folder}/{name}"

    # Changing

    def stage(self, id: str, digest: str, content: bytes) -> None:
        """Gets `content` ready; it counts when the ledger says that `id` is admitted with `digest`."""
        self._disk.make_folders(self._staged)
        self._disk.replace(f"{self._staged}/{_staged_name(id, digest)}", content)

    def stage_removal(self, id: str, seq: int) -> None:
        """Gets the removal of `id` ready; it counts when the ledger has a line of number `seq`."""
        self._disk.make_folders(self._staged)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
        self._disk.close(self._disk.open(f"{self._staged}/{id}.{seq}{_REVOKED}", flags))

    def finish(self, ledger: LedgerState) -> None:
        """Puts in place what the ledger names, and drops what it does not."""
        names = [entry.name for entry in self._entries(self._staged) if not entry.is_dir(follow_symlinks=False)]
        for name in names:
            path = f"{self._staged}/{name}"
            id, digest = _content_of(name)
            if id in ledger.admitted and ledger.admitted[id].digest == digest:
                self._disk.rename(path, f"{self._folder}/{id}{SUFFIX}")
                continue
            # Nothing is appended before this is done, so a line of that number is the line it was staged for.
            if (removal := _REMOVAL.fullmatch(name)) and int(removal["seq"]) <= ledger.length:
                with suppress(FileNotFoundError):
                    self._disk.unlink(f"{self._folder}/{removal['id']}{SUFFIX}")
            self._disk.unlink(path)
        if names:
            self._disk.fsync_folder(self._folder)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            return self._disk.scandir(folder)
        except FileNotFoundError:
            return []


def _revoked(staged: Iterable[str], length: int) -> set[str]:
    """The ids whose removal is decided, and waits: whoever decided it died before the file was gone."""
    removals = (_REMOVAL.fullmatch(name) for name in staged)
    return {removal["id"] for removal in removals if removal and int(removal["seq"]) <= length}


def _staged_name(id: str, digest: str) -> str:
    return f"{id}.{digest.removeprefix('sha256:')}{SUFFIX}"


def _content_of(name: str) -> tuple[str, str]:
    """The id and the digest that the name of a staged content has; two empty texts for any other name."""
    id, _, hex = name.removesuffix(SUFFIX).rpartition(".")
    return (id, f"sha256:{hex}") if name.endswith(SUFFIX) and id and not id.startswith(".") else ("", "")
