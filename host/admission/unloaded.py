"""Why a tool that is called does not run: whoever proposed it has not been heard yet, or was refused (contract 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from capgate.host.admission.context import Context
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.records import Proposal, parse_proposal
from capgate.policy.text import show

__all__ = ["NotLoaded", "why_not_loaded"]


class NotLoaded(NamedTuple):
    """Why a tool is not there.

    Attributes:
        id: ``not-admitted``, ``admission-refused`` or ``unknown-tool``.
        why: a sentence.
    """

    id: str
    why: str


def why_not_loaded(context: Context, tool: str) -> NotLoaded:
    """Looks for `tool` among the proposals; one that waits is worth more than one that was refused."""
    refused: NotLoaded | None = None
    for proposal in _proposals(context):
        if proposal.state not in ("pending", "refused") or not _has(proposal, tool):
            continue
        if proposal.state == "pending":
            why = f"the tool {tool!r} of {proposal.id!r} waits for the host's review"
            return NotLoaded("not-admitted", why)
        said = proposal.refusal or {}
        why = f"the tool {tool!r} was refused: {said.get('rule')}: {said.get('why')}"
        refused = refused or NotLoaded("admission-refused", why)
    return refused or NotLoaded("unknown-tool", f"no tool '{show(tool)}' in the loaded set")


def _proposals(context: Context) -> Iterator[Proposal]:
    ledger = context.running.current().ledger
    for id in context.store.proposals():
        try:
            data = context.store.proposal(id)
            if data is not None:
                yield parse_proposal(data, f"proposals/{id}.json", id, ledger)
        except AdmissionError:
            continue  # What cannot be read has no tools.


def _has(proposal: Proposal, name: str) -> bool:
    tools = proposal.descriptor.get("tools")
    return type(tools) is list and any(type(tool) is dict and tool.get("name") == name for tool in tools)
