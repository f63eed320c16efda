"""The audit: what was done, by whom, under which rule, and what came of it; one JSON line an act (contract 6)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

from capgate.host.admission.errors import AdmissionError
from capgate.host.mediation.audit_files import ROTATE_AT, next_name, rotated
from capgate.host.mediation.clock import Clock, SystemClock, iso
from capgate.host.mediation.disk import Disk
from capgate.host.mediation.journal import Journal, OpenJournal
from capgate.host.mediation.redaction import Redactor
from capgate.host.safe_json import json_text

__all__ = ["AuditLog"]

#: What the fields `root` and `project` say of an act that no declared root is concerned with.
_ROOT: Final = "workspace"
_PROJECT: Final = "atlas@machine"


class AuditLog:
    """An audit file, which several hosts and commands may append to at once.

    What comes from outside (targets, reasons, observations) is redacted field by field, before it is put
    into a line; the host's own words are not (contract 11.30).

    Args:
        path: the file.
        disk: the file system.
        clock: dates the lines.
        redactor: takes secrets out.
        instance: who writes; ``server`` for every host.
        rotate_at: how many bytes make a file full; then it is put aside under a number, and a new one begins.
            None is removed.
    """

    def __init__(
        self,
        path: Path,
        disk: Disk | None = None,
        *,
        clock: Clock | None = None,
        redactor: Redactor | None = None,
        instance: str = "server",
        rotate_at: int = ROTATE_AT,
    ):
        self._disk = disk or Disk()
        self._rotate_at = rotate_at
        self._clock = clock or SystemClock()
        self._journal = Journal(path, self._disk, clock=self._clock)
        self._redactor = redactor or Redactor()
        self._instance = instance
        self._seq = 0
        self._lock = Lock()

    @property
    def path(self) -> Path:
        """The file."""
        return self._journal.path

    def write(
        self,
        *,
        kind: str,
        target: str,
        tool: str,
        decision: Literal["allow", "confirm", "refuse"] | str,
        rule: str,
        result: Literal["ok", "refused", "error"] | str,
        observed: Any = None,
        binding: Mapping[str, Any] | None = None,
        why: str | None = None,
        approval: Mapping[str, Any] | None = None,
        actor: Mapping[str, Any] | None = None,
        root: str = _ROOT,
        project: str = _PROJECT,
        correlation: str | None = None,
    ) -> int:
        """Writes a line, and returns its number; the line is on the medium then.

        Numbers go on over restarts, and over all processes that write to the file.

        Args:
            kind: what kind of act: ``import``, ``network``, ``read``, ``write``.
            target: what it was done to: ``extensions/<id>``, a path, a URL.
            tool: what did it.
            decision: ``allow``, ``confirm`` or ``refuse``.
            rule: id of the rule or the refusal; of the extension where a call was allowed.
            result: ``ok``, ``refused`` or ``error``.
            observed: what was found afterwards, as JSON data.
            binding: to which contents it is bound: digests and revisions, of what was decided and what it replaces.
            why: the reason of a refusal.
            approval: by what a person approved: ``{method, decision, plan}``.
            actor: who: ``{name, harness, session}``.
            root: ``workspace``, or ``machine:<path>`` for an act in a declared root.
            project: the project of the root.
            correlation: id of the call, as its result carries it.

        Raises:
            AdmissionError: ``audit-unwritable``; nothing was written.
        """
        clean = self._redactor
        entry: dict[str, Any] = {"v": 1, "kind": "act", "seq": 0, "instance": self._instance}
        if actor is not None:
            entry["actor"] = clean.value(actor)
        entry |= {"project": clean.text(project), "root": clean.text(root), "turn": None, "at": ""}
        entry["act"] = {"kind": kind, "target": clean.text(target), "tool": clean.text(tool)}
        entry |= {"decision": decision, "rule": rule, "result": result, "observed": clean.value(observed)}
        if binding is not None:
            entry["binding"] = clean.value(binding)
        if why is not None:
            entry["why"] = clean.text(why)
        if correlation is not None:
            entry["correlationId"] = correlation
        if approval is not None:
            entry["approval"] = clean.value(approval)
        try:
            with self._lock, self._journal.locked() as journal:
                seq = max(self._seq, self._last_seq(journal)) + 1
                entry |= {"seq": seq, "at": iso(self._clock.now())}
                journal.append(json_text(entry).encode())
                self._seq = seq
                if journal.size >= self._rotate_at:
                    self._rotate()
                return seq
        except OSError as error:
            what = error.strerror or str(error)
            raise AdmissionError("audit-unwritable", f"{self.path} cannot be written: {what}") from None

    def _rotate(self) -> None:
        """Puts the full file aside; where that fails it goes on growing, and the next line tries again."""
        try:
            self._disk.rename(self.path, next_name(self.path, self._disk))
            self._disk.fsync_folder(self.path.parent)
        except OSError as error:
            self._journal.report(f"{self.path} is full and cannot be put aside: {error.strerror}")

    def _last_seq(self, journal: OpenJournal) -> int:
        """The number of the last line, which may stand in the file before; raises OSError."""
        last = journal.last()
        if last is None and (before := rotated(self.path, self._disk)):
            with Journal(before[-1], self._disk, clock=self._clock).held() as full:
                last = full.last()
        return _seq_of(last)


def _seq_of(last: bytes | None) -> int:
    """The number of a line; 0 where there is none, or no number in it."""
    entry = json.loads(last) if last else None
    seq = entry.get("seq") if isinstance(entry, dict) else None
    return seq if type(seq) is int else 0
