"""What is told before anything is decided: plans, and the catalogue with a verdict on each entry (contract 4)."""

from __future__ import annotations

from typing import Any

from capgate.host.admission.context import Context
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.registry import PLACEMENT

__all__ = ["catalogue", "catalogue_plan", "proposal_plan"]


def proposal_plan(context: Context, id: str) -> dict[str, Any]:
    """The plan of a proposal, or of a file that lies in the host's folder.

    Raises:
        AdmissionError: ``unknown-proposal``; what cannot be read has no plan either.
    """
    registry = context.running.current()
    try:
        subject = context.find(id, registry.ledger)
    except AdmissionError as error:
        if error.id != "unreadable":
            raise
        raise AdmissionError("unknown-proposal", error.message, span=error.span) from None
    return context.plan_json(subject, registry)


def catalogue_plan(context: Context, id: str) -> dict[str, Any]:
    """The plan of an entry of the catalogue.

    Raises:
        AdmissionError: ``unknown-catalogue-entry``.
    """
    if id in context.catalogue.broken:
        raise AdmissionError("unknown-catalogue-entry", context.catalogue.broken[id])
    entry = context.catalogue.entries.get(id)
    if entry is None:
        raise AdmissionError("unknown-catalogue-entry", f"the catalogue has no entry {id!r}")
    taken = context.running.current().taken(excluding=id)
    return context.gate.plan(entry | {"source": "catalogue"}, PLACEMENT, taken).to_json()


def catalogue(context: Context) -> dict[str, Any]:
    """Every entry, with the verdict that it would have now; a broken one with what is wrong."""
    registry = context.running.current()
    listed: dict[str, dict[str, Any]] = {id: {"id": id, "error": what} for id, what in context.catalogue.broken.items()}
    for id, entry in context.catalogue.entries.items():
        verdict = context.gate.admit(entry, PLACEMENT, registry.taken(excluding=id))
        listed[id] = {
            "id": id,
            "name": entry.get("name"),
            "description": entry.get("description"),
            "runsIn": entry.get("runsIn"),
            "declared": entry.get("capabilities") or [],
            "preview": verdict.to_json(),
        }
    of_shelf = {name for name, tool in registry.tools.items() if tool.extension.id in registry.shelf.tools}
    shelf = registry.shelf.catalogue(context.gate, registry.names - of_shelf)
    return {"catalogue": [listed[id] for id in sorted(listed)] + shelf}
