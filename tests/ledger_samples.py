"""Ledgers for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from capgate.host.admission.ledger import Replay, encode
from capgate.host.admission.store import Actor, LedgerState, NewEntry
from capgate.host.admission.verification import Verification, verify

ACTOR = Actor("human-at-host", "cli", "ada")
POLICY = "sha256:" + "f" * 64
Lines = list[bytes]


def digest(of: str) -> str:
    return "sha256:" + hashlib.sha256(of.encode()).hexdigest()


def entry(id: str, decision: Any = "admitted", content: str | None = None, **more: Any) -> NewEntry:
    return NewEntry(id, decision, digest(content or id), 1796040000.0, ACTOR, POLICY, "cli", **more)


def chain(*entries: NewEntry, before: Sequence[bytes] = ()) -> Lines:
    """A ledger, each line with its newline; `before` are lines of another system."""
    replay, lines = Replay(), list(before)
    for line in before:
        replay.feed(line[:-1])
    for new in entries:
        line, _ = encode(new, replay.length + 1, replay.head)
        replay.feed(line)
        lines.append(line + b"\n")
    return lines


def ledger(length: int = 6, name: str = "ours") -> Lines:
    return chain(*(entry(f"{name}-{number}") for number in range(length)))


def state(lines: Lines) -> LedgerState:
    return verify(lines).state


def kinds(found: Verification) -> list[tuple[str, int]]:
    return [(fault.kind, fault.line) for fault in found.faults]
