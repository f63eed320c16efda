"""What the host decides: to admit, to deny, to revoke (contract 4 and 6).

Each decision is one exclusive turn at the store, in which everything that it rests on is read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capgate.host.admission.context import Context, Subject, Turn
from capgate.host.admission.errors import AdmissionError, GateRefused
from capgate.host.admission.identity import stem
from capgate.host.admission.records import DENIED, HOST_DENY, OVERRIDE, descriptor_text, read_record
from capgate.host.admission.registry import Extension, Registry
from capgate.host.admission.staging import local, settle, stage
from capgate.host.admission.store import Actor, Decision, Entry, NewEntry
from capgate.policy.documents import DocumentError
from capgate.policy.verdict import Verdict, content_digest

__all__ = ["admit", "admit_subject", "create", "deny", "revoke"]


def admit(
    context: Context,
    id: object,
    *,
    confirm: bool,
    decision: object,
    plan_digest: object,
    override_deny: bool,
    actor: Actor,
    method: str,
) -> dict[str, Any]:
    """Admits what is filed, or denies it, once that is confirmed.

    Args:
        context: the host.
        id: what; the last part of it counts.
        confirm: False only shows the plan.
        decision: ``deny`` denies; anything else admits.
        plan_digest: the plan that was read; another one now is an error. None checks nothing.
        override_deny: whether content that was denied may be admitted all the same (contract 11.8).
        actor: who decides.
        method: by what authority.

    Raises:
        AdmissionError: ``bad-request``, ``unknown-proposal``, ``plan-changed``, ``already-admitted``, ``unreadable``.
    """
    name = stem(id)
    if not confirm:
        registry = context.running.current()
        plan = context.plan_json(context.find(name, registry.ledger), registry)
        note = "This is what it would mean. Nothing is decided; ask again with confirm: true, and this plan's digest."
        return {"confirmFirst": True, "plan": plan, "note": note}
    with context.turn() as turn:
        registry = turn.registry
        subject = context.find(name, turn.ledger)
        plan = context.plan_json(subject, registry)
        if plan_digest is not None and plan_digest != plan["digest"]:
            raise AdmissionError("plan-changed", "the plan is no longer the one that was read", details={"plan": plan})
        if decision == "deny":
            return _deny(context, turn, subject, registry, actor=actor, method=method)
        if subject.digest in turn.ledger.denied.get(name, ()) and not override_deny:
            return _refused(turn, subject, {"rule": HOST_DENY, "why": OVERRIDE}, actor)
        return admit_subject(context, turn, subject, registry, plan["digest"], actor=actor, method=method)


def admit_subject(
    context: Context,
    turn: Turn,
    subject: Subject,
    registry: Registry,
    plan_digest: str,
    *,
    actor: Actor,
    method: str,
) -> dict[str, Any]:
    """Asks the gate a last time, and then puts the subject into the ledger and into the host's keeping.

    Raises:
        AdmissionError: ``already-admitted``, or what the store raises; nothing is admitted then.
    """
    if is_running(context, subject, registry):
        raise AdmissionError("already-admitted", f"{subject.id} already runs with this very content")
    verdict = context.plan(subject, registry).verdict
    if not verdict.admitted:
        refusal = {"rule": str(verdict.rule), "why": str(verdict.why)}
        return _refused(turn, subject, refusal, actor)
    again = subject.id in turn.ledger.admitted
    _append(context, turn, subject, "reconfigured" if again else "admitted", actor, method, plan_digest)
    settle(turn, subject, "admitted", None)
    turn.note(
        "extensions.admit",
        f"extensions/{subject.id}",
        actor=actor,
        rule="admitted",
        observed={"exists": True},
        binding={"digest": subject.digest, "plan": plan_digest},
    )
    return admitted(subject.id, verdict)


def create(context: Context, descriptor: object, *, actor: Actor, method: str) -> dict[str, Any]:
    """Files what a person made, and admits it in the same turn.

    Raises:
        AdmissionError: an id of the local door, ``already-admitted``.
        GateRefused: the gate refuses; it stays filed, with the refusal.
    """
    data = local(context, descriptor)
    with context.turn() as turn:
        filed, _ = stage(context, turn, data, source="local", actor=actor)
        registry = turn.registry
        subject = Subject(filed.id, filed.descriptor, filed.digest, filed.source, filed.state, filed.refusal, filed)
        plan = context.plan_json(subject, registry)
        if subject.digest in turn.ledger.denied.get(filed.id, ()):
            answer = _refused(turn, subject, {"rule": HOST_DENY, "why": DENIED}, actor)
        else:
            answer = admit_subject(context, turn, subject, registry, plan["digest"], actor=actor, method=method)
    if answer["decision"] == "refused":
        raise GateRefused(answer["rule"], answer["why"], details={"id": filed.id, "plan": plan})
    return answer


def deny(context: Context, id: object, *, actor: Actor, method: str) -> dict[str, Any]:
    """Denies what is filed; what runs is revoked by it (contract 11.8).

    Raises:
        AdmissionError: ``bad-request``, ``unknown-proposal``, ``unreadable``.
    """
    name = stem(id)
    with context.turn() as turn:
        registry = turn.registry
        return _deny(context, turn, context.find(name, turn.ledger), registry, actor=actor, method=method)


def revoke(context: Context, id: object, *, confirm: bool, actor: Actor, method: str) -> dict[str, Any]:
    """Takes an extension out of the registry and out of the host's keeping, once that is confirmed.

    What the ledger admits but what failed to load can be revoked as well.

    Raises:
        AdmissionError: ``bad-request``, ``extension-not-admitted``.
    """
    name = stem(id)
    if not confirm:
        return _what_stops(name, context.running.current())
    with context.turn() as turn:
        registry = turn.registry
        entry = turn.ledger.admitted.get(name)
        if entry is None:
            raise AdmissionError("extension-not-admitted", f"no extension {name!r} is admitted")
        _revoke(context, turn, entry, registry, actor=actor, method=method)
    return {
        "ok": True,
        "id": name,
        "decision": "revoked",
        "note": "Its tools are no longer callable; the ledger keeps what it was.",
    }


def is_running(context: Context, subject: Subject, registry: Registry) -> bool:
    """Whether this very content runs, and lies in the host's keeping too: what is gone there can be admitted anew."""
    extension = registry.extensions.get(subject.id)
    if extension is None or extension.entry.digest != subject.digest:
        return False
    if extension.entry.seq == 0:
        return True  # Of the shelf, which keeps its own.
    data = context.store.descriptor(subject.id)
    try:
        return data is not None and content_digest(read_record(data, subject.id)) == subject.digest
    except (AdmissionError, DocumentError):
        return False


def admitted(id: str, verdict: Verdict) -> dict[str, Any]:
    """The answer to an admission."""
    return {
        "ok": True,
        "id": id,
        "decision": "admitted",
        "enforced": dict(verdict.enforced),
        "gets": list(verdict.gets),
    }


def _append(
    context: Context, turn: Turn, subject: Subject, decision: Decision, actor: Actor, method: str, plan: str | None
) -> Entry:
    keeps = decision in ("admitted", "reconfigured")
    entry = NewEntry(
        subject.id,
        decision,
        subject.digest,
        context.clock.now(),
        actor,
        context.gate.fingerprint,
        method,
        source=subject.source,
        plan=plan,
        descriptor=subject.descriptor if decision == "reconfigured" else None,
    )
    return turn.change.append(entry, descriptor_text(subject.descriptor, subject.source) if keeps else None)


def _refused(turn: Turn, subject: Subject, refusal: dict[str, str], actor: Actor) -> dict[str, Any]:
    settle(turn, subject, "refused", refusal)
    turn.note(
        "extensions.admit",
        f"proposals/{subject.id}",
        actor=actor,
        refused=True,
        rule=refusal["rule"],
        why=refusal["why"],
    )
    return {"ok": True, "id": subject.id, "decision": "refused"} | refusal


def _deny(
    context: Context, turn: Turn, subject: Subject, registry: Registry, *, actor: Actor, method: str
) -> dict[str, Any]:
    entry = turn.ledger.admitted.get(subject.id)
    if entry is not None and entry.digest == subject.digest:
        _revoke(context, turn, entry, registry, actor=actor, method=method)
    if subject.digest not in turn.ledger.denied.get(subject.id, ()):
        _append(context, turn, subject, "deny", actor, method, None)
    return _refused(turn, subject, {"rule": HOST_DENY, "why": DENIED}, actor)


def _revoke(context: Context, turn: Turn, entry: Entry, registry: Registry, *, actor: Actor, method: str) -> None:
    extension = registry.extensions.get(entry.id)
    turn.change.append(
        NewEntry(
            entry.id,
            "revoked",
            entry.digest,
            context.clock.now(),
            actor,
            context.gate.fingerprint,
            method,
            source=entry.source,
            descriptor=_snapshot(extension),
        )
    )
    try:
        subject = context.find(entry.id, turn.ledger)
    except AdmissionError:
        pass  # Nothing readable is filed under the id any more.
    else:
        if subject.digest == entry.digest:
            settle(turn, subject, "revoked", None)
    turn.note(
        "extensions.revoke",
        f"extensions/{entry.id}",
        actor=actor,
        rule="revoked",
        observed={"exists": False},
        binding={"digest": entry.digest},
    )


def _snapshot(extension: Extension | None) -> Mapping[str, Any] | None:
    return None if extension is None else extension.descriptor


def _what_stops(id: str, registry: Registry) -> dict[str, Any]:
    extension = registry.extensions.get(id)
    failure = registry.failed.get(id)
    if extension is None and (failure is None or id not in registry.ledger.admitted):
        raise AdmissionError("extension-not-admitted", f"no extension {id!r} is admitted")
    descriptor: Mapping[str, Any] = extension.descriptor if extension else {}
    bounds = descriptor.get("bounds") or {}
    names = [tool["name"] for tool in descriptor.get("tools", ())]
    gets = list(extension.verdict.gets) if extension else []
    return {
        "confirmFirst": True,
        "id": id,
        "plan": {
            "enforced": dict(extension.verdict.enforced) if extension else {},
            "gets": gets,
            "bounds": bounds,
            "tools": names,
        },
        "whatStopsWorking": {"tools": names, "may": gets, "bounds": bounds},
        "note": "These tools stop being callable immediately. Nothing is revoked yet; ask again with confirm: true.",
    }
