"""What every act of the host works with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from capgate.host.admission.catalogue import Catalogue
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.pending import Pending
from capgate.host.admission.records import Proposal, parse_descriptor, parse_proposal
from capgate.host.admission.registry import PLACEMENT, Registry, Running
from capgate.host.admission.settings import Settings
from capgate.host.admission.store import Actor, Change, LedgerState, Store
from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.clock import Clock
from capgate.host.mediation.console import Console
from capgate.policy.documents import digest
from capgate.policy.gate import Gate
from capgate.policy.text import escape
from capgate.policy.verdict import SET_BY_HOST, Plan, content_digest

__all__ = ["Context", "Subject", "Turn"]


class Subject(NamedTuple):
    """What an act is about: a proposal, or a file that lies in the host's folder.

    Attributes:
        id: its id.
        descriptor: the descriptor, without the keys that the host sets.
        digest: digest of the descriptor's content.
        source: where it came from (contract 1).
        state: its state, as clients see it.
        refusal: ``{rule, why}`` where it was refused.
        proposal: the proposal; None for a file.
    """

    id: str
    descriptor: dict[str, Any]
    digest: str
    source: str
    state: str
    refusal: Mapping[str, str] | None
    proposal: Proposal | None


class Context(NamedTuple):
    """The parts of a host.

    Attributes:
        gate: judges.
        store: keeps.
        running: what runs.
        catalogue: what may be sideloaded.
        settings: where things are.
        clock: tells the time.
        audit: is told of every act.
        console: what the host's person reads.
        pending: the open approval codes.
    """

    gate: Gate
    store: Store
    running: Running
    catalogue: Catalogue
    settings: Settings
    clock: Clock
    audit: AuditLog
    console: Console
    pending: Pending

    def find(self, id: str, ledger: LedgerState) -> Subject:
        """What is filed under this id; a proposal hides a file (contract 6).

        Raises:
            AdmissionError: ``unknown-proposal``, or ``unreadable``.
        """
        data = self.store.proposal(id)
        if data is not None:
            proposal = parse_proposal(data, f"proposals/{id}.json", id, ledger)
            return Subject(
                id,
                proposal.descriptor,
                proposal.digest,
                proposal.source,
                proposal.state,
                proposal.refusal,
                proposal,
            )
        data = self.store.descriptor(id)
        if data is None:
            raise AdmissionError("unknown-proposal", f"nothing is filed under the id {id!r}")
        record = parse_descriptor(data, f"{id}.json", id)
        descriptor = {key: value for key, value in record.items() if key not in SET_BY_HOST}
        found = content_digest(descriptor)
        entry = ledger.admitted.get(id)
        if entry is not None and entry.digest == found:
            return Subject(id, descriptor, found, entry.source or "local", "admitted", None, None)
        return Subject(id, descriptor, found, "local", "present-not-admitted", None, None)

    def plan(self, subject: Subject, registry: Registry) -> Plan:
        """What the admission of a subject would mean now."""
        descriptor = subject.descriptor | {"source": subject.source}
        return self.gate.plan(descriptor, PLACEMENT, registry.taken(excluding=subject.id))

    def plan_json(self, subject: Subject, registry: Registry) -> dict[str, Any]:
        """The same as clients read it, with the state; the digest is of all of it (contract 11.6)."""
        content = self.plan(subject, registry).to_json()
        del content["digest"]
        content |= {"state": subject.state, "refusal": dict(subject.refusal) if subject.refusal else None}
        return content | {"digest": digest(content)}

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """One exclusive turn at the state. What it noted is written into the audit when it is over.

        Raises:
            AdmissionError: what the store raises, or what ended the turn; what was noted until then is written.
        """
        turn = Turn(self.running, [])
        try:
            with self.store.changing() as change:
                turn.change = change
                yield turn
        except AdmissionError:
            self._write(turn.notes)
            raise
        self._write(turn.notes)

    def _write(self, notes: list[dict[str, Any]]) -> None:
        for note in notes:
            try:
                self.audit.write(**note)
            except AdmissionError as error:
                print(f"[audit] {error.id}: {escape(error.message)}", file=sys.stderr, flush=True)


class Turn:
    """One exclusive turn at the state, and what the audit is to be told of it.

    Attributes:
        change: the turn at the store.
        notes: what to write into the audit.
    """

    change: Change

    def __init__(self, running: Running, notes: list[dict[str, Any]]):
        self._running = running
        self.notes = notes

    @property
    def registry(self) -> Registry:
        """What ran when the turn began, or, where changes show at once, what runs now."""
        return self._running.exclusive()

    @property
    def ledger(self) -> LedgerState:
        """What the ledger says now."""
        return self.change.ledger

    def note(
        self,
        tool: str,
        target: str,
        *,
        actor: Actor,
        rule: str,
        refused: bool = False,
        observed: Any = None,
        binding: Mapping[str, Any] | None = None,
        why: str | None = None,
        kind: str = "import",
    ) -> None:
        """Notes an act for the audit (contract 6)."""
        self.notes.append(
            {
                "kind": kind,
                "target": target,
                "tool": tool,
                "decision": "refuse" if refused else "allow",
                "rule": rule,
                "result": "refused" if refused else "ok",
                "observed": observed,
                "binding": binding,
                "why": why,
                "actor": actor.to_json(),
            }
        )
