"""The inventory: what runs, what waits, what lies there unreviewed, what failed (contract 4)."""

from __future__ import annotations

from typing import Any, Final

from capgate.host.admission.context import Context
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.records import parse_descriptor, parse_proposal
from capgate.host.admission.registry import PLACEMENT, Extension, Registry
from capgate.policy.catalog import PrimitiveTerms

__all__ = ["inventory"]

_PRESENT: Final = "This file was never reviewed, so it is never live; read its plan and admit it, or remove it."


def inventory(context: Context) -> dict[str, Any]:
    """All of it, as JSON data; no params, and so no address or header that a tool carries, are in it."""
    registry = context.running.current()
    primitives = context.gate.catalog.primitives
    listed = [
        {
            "id": id,
            "name": entry.get("name"),
            "description": entry.get("description"),
            "decision": context.gate.admit(entry, PLACEMENT, registry.taken(excluding=id)).decision,
        }
        for id, entry in context.catalogue.entries.items()
    ]
    return {
        "placement": PLACEMENT,
        "extensions": [_extension(extension, primitives) for extension in registry.extensions.values()],
        "proposals": [_proposal(context, id, registry) for id in context.store.proposals()],
        "present": _present(context, registry),
        "failedLoads": [failure.to_json() for failure in registry.failed.values()],
        "catalogueCount": sum(map(len, (*context.catalogue, registry.shelf.entries, registry.shelf.unknown))),
        "catalogue": listed,
    }


def _extension(extension: Extension, primitives: Any) -> dict[str, Any]:
    descriptor, verdict = extension.descriptor, extension.verdict
    tools = descriptor["tools"]
    return {
        "id": extension.id,
        "name": descriptor.get("name"),
        "source": extension.entry.source,
        "runsIn": descriptor.get("runsIn"),
        "declared": descriptor.get("capabilities") or [],
        "enforced": dict(verdict.enforced),
        "bounds": descriptor.get("bounds") or {},
        "tools": [tool["name"] for tool in tools],
        "toolDetails": [_tool(tool, primitives.get(tool["primitive"])) for tool in tools],
        "gets": list(verdict.gets),
        "cannotHave": list(verdict.cannot_have),
    }


def _tool(tool: dict[str, Any], terms: PrimitiveTerms | None) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "primitive": tool["primitive"],
        "arguments": list(terms.arguments) if terms else [],
    }


def _proposal(context: Context, id: str, registry: Registry) -> dict[str, Any]:
    try:
        data = context.store.proposal(id)
        if data is None:
            return {"id": id, "state": "unreadable"}  # It went away since the list was made.
        proposal = parse_proposal(data, f"proposals/{id}.json", id, registry.ledger)
    except AdmissionError:
        return {"id": id, "state": "unreadable"}
    return {
        "id": id,
        "name": proposal.descriptor.get("name"),
        "state": proposal.state,
        "source": proposal.source,
        "declared": proposal.descriptor.get("capabilities") or [],
        "refusal": dict(proposal.refusal) if proposal.refusal else None,
    }


def _present(context: Context, registry: Registry) -> list[dict[str, Any]]:
    """What lies in the host's folder now and what no line of the ledger admits."""
    found = []
    for item in context.store.descriptors():
        if item.id in registry.extensions or item.id in registry.failed or item.id in registry.ledger.admitted:
            continue
        try:
            data = context.store.descriptor(item.id)
            descriptor = parse_descriptor(data, f"{item.id}.json", item.id) if data is not None else None
        except AdmissionError:
            descriptor = {}
        if descriptor is not None:
            name = descriptor.get("name")
            found.append({"id": item.id, "name": name, "state": "present-not-admitted", "note": _PRESENT})
    return found
