"""Descriptors and proposals as they are filed, and what a filed proposal stands for.

The folder of proposals can be written by whoever proposes, so nothing in a record is believed that the
ledger can be asked about: a record that says it is admitted is not, for that.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.store import LedgerState
from capgate.policy.documents import DocumentError, canonical, load_json
from capgate.policy.documents.source import MAX_BYTES
from capgate.policy.verdict import content_digest, submitted

__all__ = [
    "DENIED",
    "HOST_DENY",
    "OVERRIDE",
    "Proposal",
    "descriptor_text",
    "of_id",
    "parse_descriptor",
    "parse_proposal",
    "proposal_text",
    "read_record",
]

#: The rule under which the host denies.
HOST_DENY: Final = "host-deny"
#: Why.
DENIED: Final = "the host denied it; nothing of it runs"
#: What the host may do about it.
OVERRIDE: Final = "the host denied this content; overrideDeny (on the command line --override-deny) admits it"


class Proposal(NamedTuple):
    """A filed proposal.

    Attributes:
        id: its id, which is the stem of its file.
        descriptor: the descriptor, without the keys that the host sets.
        digest: digest of the descriptor's content.
        source: where it came from (contract 1).
        state: ``pending``, ``admitted``, ``refused`` or ``revoked``.
        refusal: ``{rule, why}`` where it was refused.
        proposed: ISO time of its staging, as the record says; None where it says none.
    """

    id: str
    descriptor: dict[str, Any]
    digest: str
    source: str
    state: str
    refusal: Mapping[str, str] | None
    proposed: str | None

    def settled(self, state: str, refusal: Mapping[str, str] | None = None) -> Proposal:
        """The same proposal in another state."""
        return self._replace(state=state, refusal=refusal)

    def to_json(self) -> dict[str, Any]:
        """The record as JSON data (contract 1)."""
        record = self.descriptor | {"source": self.source, "state": self.state, "proposedAt": self.proposed}
        return record | ({"refusal": dict(self.refusal)} if self.refusal else {})


def descriptor_text(descriptor: Mapping[str, Any], source: str | None) -> bytes:
    """A descriptor as the host files it: for people to read, as long as that keeps within 1 MiB."""
    record = submitted(dict(descriptor))
    return _text(record | {"source": source} if source else record)


def proposal_text(proposal: Proposal) -> bytes:
    """A proposal as it is filed."""
    return _text(proposal.to_json())


def _text(record: Any) -> bytes:
    text = json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n"
    return text if len(text) <= MAX_BYTES else canonical(record)


def read_record(data: bytes, name: str) -> Any:
    """What a file holds, whatever JSON that is; raises AdmissionError (``unreadable``)."""
    try:
        return load_json(data, name).data
    except DocumentError as error:
        raise AdmissionError("unreadable", f"{name} is not JSON: {error.message}", span=error.span) from None


def parse_descriptor(data: bytes, name: str, id: str) -> dict[str, Any]:
    """A filed descriptor, with whatever the file says.

    Args:
        data: the file.
        name: name of the file, for messages.
        id: the id that it is filed under.

    Raises:
        AdmissionError: ``unreadable``: it is no JSON object of that id.
    """
    return of_id(read_record(data, name), name, id)


def of_id(record: Any, name: str, id: str) -> dict[str, Any]:
    """The record of a file, if it is a descriptor's of that id; raises AdmissionError (``unreadable``)."""
    if type(record) is not dict:
        raise AdmissionError("unreadable", f"{name} holds no JSON object")
    if record.get("id") != id:
        raise AdmissionError("unreadable", f"{name} holds another id than its name says")
    return record


def parse_proposal(data: bytes, name: str, id: str, ledger: LedgerState) -> Proposal:
    """A filed proposal, in the state that the ledger gives it.

    Raises:
        AdmissionError: ``unreadable``, as for `parse_descriptor`.
    """
    record, descriptor, digest = _READ.get(data, name, id)
    source = record.get("source")
    proposed = record.get("proposedAt")
    state, refusal = _state(record, id, digest, ledger)
    return Proposal(
        id,
        descriptor,
        digest,
        source if type(source) is str else "model",
        state,
        refusal,
        proposed if type(proposed) is str else None,
    )


class _Read:
    """What was read lately: every inventory reads every proposal, and anyone may file large ones."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[bytes, dict[str, Any], dict[str, Any], str]] = OrderedDict()

    def get(self, data: bytes, name: str, id: str) -> tuple[dict[str, Any], dict[str, Any], str]:
        """The record, the descriptor in it and its digest; only read them. Raises AdmissionError (``unreadable``)."""
        with self._lock:
            known = self._known.get(id)
            if known is not None and known[0] == data:
                self._known.move_to_end(id)
                return known[1:]
        record = parse_descriptor(data, name, id)
        descriptor = submitted(record)
        digest = content_digest(descriptor)
        with self._lock:
            self._size -= len(self._known.pop(id, (b"",))[0])
            self._known[id] = (data, record, descriptor, digest)
            self._size += len(data)
            while self._size > self._most:
                self._size -= len(self._known.popitem(last=False)[1][0])
        return record, descriptor, digest


#: Some sixteen large proposals, or thousands of usual ones.
_READ: Final = _Read(16 * MAX_BYTES)


def _state(
    record: Mapping[str, Any], id: str, digest: str, ledger: LedgerState
) -> tuple[str, Mapping[str, str] | None]:
    entry = ledger.admitted.get(id)
    if entry is not None and entry.digest == digest:
        return "admitted", None
    said, refusal = record.get("state"), record.get("refusal")
    if digest in ledger.denied.get(id, ()):
        return "refused", {"rule": HOST_DENY, "why": DENIED}
    if said == "refused" and type(refusal) is dict:
        rule, why = refusal.get("rule"), refusal.get("why")
        if type(rule) is str and type(why) is str:
            return "refused", {"rule": rule, "why": why}
    return ("revoked" if said == "revoked" else "pending"), None
