"""Staging: filing a proposal for review. It never loads anything and never runs anything (contract 4)."""

from __future__ import annotations

from typing import Any, Final

from capgate.host.admission.context import Context, Subject, Turn
from capgate.host.admission.disclosure import catalogue_plan
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.identity import at_local_door, at_proposal_door, stem
from capgate.host.admission.records import Proposal, parse_proposal, proposal_text
from capgate.host.admission.store import Actor
from capgate.host.mediation.clock import iso
from capgate.policy.verdict import content_digest, submitted

__all__ = ["propose", "sideload", "stage", "stage_local"]

_FILED: Final = "Filed for review. It is NOT loaded: nothing of it runs until the host has read its plan and admits it."
_RUNS: Final = "This very content was admitted already, and runs; filing it again changed nothing."


def propose(context: Context, descriptor: object, *, actor: Actor, source: str = "model") -> dict[str, Any]:
    """Files what a model, or anyone, proposes.

    Raises:
        AdmissionError: ``bad-descriptor``, ``invalid-id`` or ``no-tools``.
    """
    with context.turn() as turn:
        filed, revision = stage(context, turn, at_proposal_door(descriptor), source=source, actor=actor)
    return _answer(filed, revision) | {"proposal": filed.to_json()}


def sideload(context: Context, id: object, *, confirm: bool, actor: Actor) -> dict[str, Any]:
    """Files an entry of the catalogue, once that is confirmed.

    Raises:
        AdmissionError: ``bad-request`` without an id, ``unknown-catalogue-entry``, ``invalid-id``.
    """
    name = stem(id)
    plan = catalogue_plan(context, name)
    if not confirm:
        note = "This is what it would mean. Nothing is staged; ask again with confirm: true to file it for review."
        return {"confirmFirst": True, "plan": plan, "note": note}
    # The name found its entry, but only an id that names nothing else is filed.
    descriptor = at_proposal_door(context.catalogue.entries[name] | {"id": id})
    with context.turn() as turn:
        filed, revision = stage(context, turn, descriptor, source="catalogue", actor=actor)
    return _answer(filed, revision) | {"proposal": filed.to_json(), "plan": plan}


def stage_local(context: Context, descriptor: object, *, actor: Actor) -> dict[str, Any]:
    """Files what a person made; answered with its plan even where the gate would refuse it.

    Raises:
        AdmissionError: an id of `at_local_door`.
    """
    data = local(context, descriptor)
    with context.turn() as turn:
        filed, revision = stage(context, turn, data, source="local", actor=actor)
        ledger = turn.ledger
    plan = context.plan_json(context.find(filed.id, ledger), context.running.current())
    return _answer(filed, revision) | {"plan": plan}


def local(context: Context, descriptor: object) -> dict[str, Any]:
    """The descriptor that a person made, checked at the door, with the default that holds there."""
    data = at_local_door(descriptor, context.gate.catalog.primitives)
    return data if "runsIn" in data else data | {"runsIn": "host"}


def stage(
    context: Context, turn: Turn, descriptor: dict[str, Any], *, source: str, actor: Actor
) -> tuple[Proposal, int]:
    """Files a checked descriptor: as a new revision where its content is new (contract 11.7).

    Returns:
        The proposal as it is filed, and the number of its revision.
    """
    id = descriptor["id"]
    content = submitted(descriptor)
    digest = content_digest(content)
    old = _filed(context, turn, id)
    same = isinstance(old, Proposal) and old.digest == digest
    proposal = Proposal(id, content, digest, source, "pending", None, iso(context.clock.now()))
    data = proposal_text(proposal)
    filed = parse_proposal(data, f"proposals/{id}.json", id, turn.ledger)
    revision = turn.change.put_proposal(id, proposal_text(filed), revision=not same)
    if old is not None and not same:
        replaced = old.digest if isinstance(old, Proposal) else None
        turn.note(
            "extensions.stage",
            f"proposals/{id}",
            actor=actor,
            rule="replaced",
            binding={"revision": revision, "digest": digest, "replaces": replaced},
            kind="write",
        )
    return filed, revision


def _filed(context: Context, turn: Turn, id: str) -> Proposal | AdmissionError | None:
    """What is filed under this id now, or why it cannot be read."""
    try:
        data = context.store.proposal(id)
        return None if data is None else parse_proposal(data, f"proposals/{id}.json", id, turn.ledger)
    except AdmissionError as error:
        if error.id != "unreadable":
            raise
        return error


def _answer(filed: Proposal, revision: int) -> dict[str, Any]:
    note = _RUNS if filed.state == "admitted" else _FILED
    return {"ok": True, "id": filed.id, "state": filed.state, "revision": revision, "note": note}


def settle(turn: Turn, subject: Subject, state: str, refusal: dict[str, str] | None) -> None:
    """Writes into a proposal what was decided on it; a file has nothing to write into."""
    if subject.proposal is not None:
        settled = subject.proposal.settled(state, refusal)
        turn.change.put_proposal(subject.id, proposal_text(settled), revision=False)
