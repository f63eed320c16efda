"""Taking over the ledger of another system, whose lines do not say which content was admitted (contract 11.28).

Nothing that such a line names is live. A person sees what its file holds now, and what the gate says of
that, and confirms it: then it is admitted like anything else, with its digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from capgate.host.admission.context import Context, Subject, Turn
from capgate.host.admission.decisions import admit_subject
from capgate.host.admission.descriptor_files import MAX_BYTES
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_names import name_of
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.ledger import Replay
from capgate.host.admission.ledger_file import LedgerFile
from capgate.host.admission.records import parse_descriptor
from capgate.host.admission.registry import Registry
from capgate.host.admission.store import Actor
from capgate.host.mediation.disk import Disk
from capgate.policy.verdict import content_digest, submitted

__all__ = ["OldEntry", "confirm_entry", "old_entries"]

#: Where an imported extension came from, if its file does not say.
_SOURCE: Final = "local"


class OldEntry(NamedTuple):
    """What a ledger of another system says is admitted.

    Attributes:
        id: the id.
        digest: digest of what its file holds now; None where there is no file that can be read.
        why: why there is none.
        plan: what its admission would mean now, as JSON data; None where there is no file.
        running: whether this host has admitted this content already.
    """

    id: str
    digest: str | None
    why: str | None
    plan: dict[str, Any] | None
    running: bool = False

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON data."""
        return self._asdict()


def old_entries(host: AdmissionHost, ledger: Path) -> Iterator[OldEntry]:
    """What the ledger at `ledger` says is admitted and no later line there confirms; nothing is changed.

    Args:
        host: the host that is to take it over.
        ledger: the file; the descriptors lie beside it.

    Raises:
        AdmissionError: not-found: there is no such file; store-unavailable.
    """
    context = host.context
    registry = context.running.current()
    for id in _unconfirmed(ledger):
        try:
            subject = _subject(id, ledger.parent)
        except AdmissionError as error:
            yield OldEntry(id, None, error.message, None)
            continue
        entry = registry.ledger.admitted.get(id)
        running = entry is not None and entry.digest == subject.digest
        yield OldEntry(id, subject.digest, None, context.plan_json(subject, registry), running)


def confirm_entry(host: AdmissionHost, ledger: Path, entry: OldEntry, *, actor: Actor, method: str) -> dict[str, Any]:
    """Admits what `old_entries` listed, if the file and its plan are still what they were.

    Returns:
        The answer of an admission (contract 4): ``decision`` is ``admitted`` or ``refused``.

    Raises:
        AdmissionError: plan-changed, unreadable, already-admitted, or what the store raises.
    """
    if entry.plan is None:
        raise AdmissionError("unreadable", f"{entry.id}: {entry.why}")
    context = host.context
    with context.turn() as turn:
        registry = turn.registry
        subject = _subject(entry.id, ledger.parent)
        plan = context.plan_json(subject, registry)
        if plan["digest"] != entry.plan["digest"]:
            raise AdmissionError("plan-changed", "the plan is no longer the one that was read", details={"plan": plan})
        return _admit(context, turn, subject, registry, plan["digest"], actor, method)


def _admit(
    context: Context, turn: Turn, subject: Subject, registry: Registry, plan: str, actor: Actor, method: str
) -> dict[str, Any]:
    if subject.digest in turn.ledger.denied.get(subject.id, ()):
        why = "the host denied this content; admit --override-deny admits it all the same"
        return {"ok": True, "id": subject.id, "decision": "refused", "rule": "host-deny", "why": why}
    return admit_subject(context, turn, subject, registry, plan, actor=actor, method=method)


def _unconfirmed(ledger: Path) -> tuple[str, ...]:
    disk = Disk()
    file = LedgerFile(ledger, disk)
    if file.version() is None:
        raise AdmissionError("not-found", f"there is no file {ledger}", hint="Name the ledger of the other system.")
    replay = Replay()
    for line in file.lines():
        replay.feed(line.removesuffix(b"\n"))
    return tuple(replay.state().unconfirmed)


def _subject(id: str, folder: Path) -> Subject:
    """What the file of `id` holds now."""
    name = name_of(id)
    try:
        data = Disk().read(folder / name, MAX_BYTES) if name else None
    except FileNotFoundError:
        data = None
    except OSError as fault:
        raise AdmissionError("unreadable", f"{name} cannot be read: {fault.strerror}") from None
    if data is None:
        raise AdmissionError("unreadable", "there is no descriptor file")
    record = parse_descriptor(data, f"{id}.json", id)
    descriptor = submitted(record)
    source = record.get("source")
    return Subject(
        id,
        descriptor,
        content_digest(descriptor),
        source if type(source) is str else _SOURCE,
        "present-not-admitted",
        None,
        None,
    )
