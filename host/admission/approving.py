"""Approving by a code that only the host's console shows, or with the host token (contract 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capgate.host.admission import approvals
from capgate.host.admission.context import Context, Subject, Turn
from capgate.host.admission.decisions import admit_subject, is_running
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.registry import Registry
from capgate.host.admission.store import Actor, Approval

__all__ = ["approve", "approve_directly", "request_approval"]


def request_approval(context: Context, id: object) -> dict[str, Any]:
    """Makes a code for the present plan, and prints both on the console; the answer holds no code.

    Raises:
        AdmissionError: ``approval-invalid-id``, ``approval-no-proposal``, ``approval-unavailable``,
            ``approval-rate-limited``; the first that applies.
    """
    name = approvals.approval_id(id)
    with context.turn() as turn:
        registry = turn.registry
        subject = _approvable(context, turn, name, registry)
        plan = context.plan_json(subject, registry)
        approval, code = approvals.request(turn.change, name, plan["digest"], context.clock.now())
    context.pending.add(approval, plan, code)
    context.console.approval(approval.request, name, plan, code, approval.expires)
    return {"ok": True, "requestId": approval.request, "expiresAt": round(approval.expires * 1000), "plan": plan}


def approve(context: Context, id: object, request: object, code: object) -> dict[str, Any]:
    """Admits what a code was made for. The code is spent before anything else, whatever comes of it.

    Raises:
        AdmissionError: ``approval-invalid-id``; then in this order what `approvals.try_code` raises,
            ``approval-plan-changed``, ``approval-audit-unwritable``, ``approval-unavailable`` where the gate refuses.
    """
    name = approvals.approval_id(id)
    retained: Sequence[Approval] = ()
    try:
        with context.turn() as turn:
            try:
                # The time is read once it is this one's turn: waiting prolongs no code.
                approval = approvals.try_code(turn.change, name, request, code, context.clock.now())
            finally:
                retained = turn.change.approvals()
            registry = turn.registry
            plan = _plan_now(context, turn, name, registry)
            if plan is None or plan[1]["digest"] != approval.plan:
                raise AdmissionError(
                    "approval-plan-changed", "the plan is no longer the one that the code was made for"
                )
            actor = Actor("human-at-host", "host-console-code", approval.request)
            answer = _approved(context, turn, *plan, registry, actor=actor, method="single-use-host-code")
    finally:
        context.pending.keep(retained, context.clock.now())
    return _checked(answer)


def approve_directly(context: Context, id: object, *, actor: Actor) -> dict[str, Any]:
    """Admits without a code, for whoever holds the host token (contract 11.1).

    Raises:
        AdmissionError: ``approval-invalid-id``, ``approval-no-proposal``, ``approval-unavailable``,
            ``approval-audit-unwritable``.
    """
    name = approvals.approval_id(id)
    with context.turn() as turn:
        registry = turn.registry
        subject = _approvable(context, turn, name, registry)
        plan = context.plan_json(subject, registry)
        human = Actor("human-at-host", "room-ui", actor.session or "room-ui")
        answer = _approved(context, turn, subject, plan, registry, actor=human, method="room-ui")
    return _checked(answer)


def _approvable(context: Context, turn: Turn, id: str, registry: Registry) -> Subject:
    try:
        subject = context.find(id, turn.ledger)
    except AdmissionError as error:
        if error.id not in ("unknown-proposal", "unreadable"):
            raise
        raise AdmissionError("approval-no-proposal", error.message) from None
    if is_running(context, subject, registry):
        raise AdmissionError("approval-unavailable", f"{id} already runs with this very content")
    if subject.digest in turn.ledger.denied.get(id, ()):
        raise AdmissionError("approval-unavailable", "the host denied this content; only the host itself can admit it")
    verdict = context.plan(subject, registry).verdict
    if not verdict.admitted:
        raise AdmissionError("approval-unavailable", str(verdict.why), details={"rule": verdict.rule})
    return subject


def _plan_now(context: Context, turn: Turn, id: str, registry: Registry) -> tuple[Subject, dict[str, Any]] | None:
    try:
        subject = context.find(id, turn.ledger)
    except AdmissionError as error:
        if error.id not in ("unknown-proposal", "unreadable"):
            raise
        return None
    return subject, context.plan_json(subject, registry)


def _approved(
    context: Context,
    turn: Turn,
    subject: Subject,
    plan: dict[str, Any],
    registry: Registry,
    *,
    actor: Actor,
    method: str,
) -> dict[str, Any]:
    """Writes down that a person approved, and only then admits."""
    try:
        context.audit.write(
            kind="import",
            target=f"proposals/{subject.id}",
            tool="extensions.approve",
            decision="confirm",
            rule="human-approved-extension",
            result="ok",
            approval={"method": method, "decision": "admit", "plan": plan},
            actor=actor.to_json(),
        )
    except AdmissionError as error:
        raise AdmissionError("approval-audit-unwritable", f"nothing is admitted: {error.message}") from None
    return admit_subject(context, turn, subject, registry, plan["digest"], actor=actor, method=method)


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, or the error that a refusal is on these routes."""
    if answer["decision"] == "admitted":
        return answer
    details = {key: answer[key] for key in ("id", "decision", "rule")}
    raise AdmissionError("approval-unavailable", answer["why"], details=details)
