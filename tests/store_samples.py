"""Stores in files, for tests, and odd things to put into them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from capgate.host.admission.file_store import LEDGER, LOCK, FileStore
from capgate.host.admission.store import Actor, Entry, NewEntry
from capgate.host.mediation.disk import Disk
from capgate.policy.documents import digest
from host_samples import Clock

NOON = 1_796_040_000.0
ACTOR = Actor("host-token", "http")
POLICY = digest("policy")


class World:
    """Two folders, and the store over them."""

    def __init__(self, folder: Path, disk: Disk | None = None):
        self.workspace, self.extensions = folder / "workspace", folder / "extensions"
        self.told: list[str] = []
        self.disk = disk
        self.store = self.other()

    def other(self) -> FileStore:
        """Another store over the same folders, as another process has it."""
        return FileStore(self.workspace, self.extensions, disk=self.disk, clock=Clock(), report=self.told.append)

    def append(
        self, id: str = "tide", decision: Any = "admitted", content: bytes | None = None, *, of: Any = None, **more: Any
    ) -> Entry:
        if content is None and decision in ("admitted", "reconfigured"):
            content = b'{"id":"%s"}' % id.encode()
        about = digest(json.loads(content)) if content else digest(of or {"id": id})
        with self.store.changing() as change:
            return change.append(NewEntry(id, decision, about, NOON, ACTOR, POLICY, "cli", **more), content)

    def propose(self, id: str, data: bytes, *, revision: bool = True) -> int:
        with self.store.changing() as change:
            return change.put_proposal(id, data, revision=revision)

    @property
    def files(self) -> list[str]:
        """The names of all files in both folders, but for the ledger and its lock."""
        found = [path for folder in (self.extensions, self.workspace) for path in folder.rglob("*")]
        return sorted(path.name for path in found if not path.is_dir() and path.name not in (LEDGER, LOCK))


def odd(path: Path, kind: str) -> None:
    """Puts something at `path` that is no plain small file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (path.parents[1] / "target").write_bytes(b'{"secret":1}')
        path.symlink_to("../target")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.write_bytes(b"x" * (1024 * 1024 + 1))
