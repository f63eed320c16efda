"""The ledger: what a line says, how each binds the one before, and what all of them together say.

Nothing here touches a file: lines are bytes, from wherever the store keeps them. docs/ledger.md has the
format, and what it can and cannot show.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

from capgate.host.admission.store import Decision, Entry, LedgerFault, LedgerState, NewEntry
from capgate.host.mediation.clock import iso
from capgate.policy.documents import DocumentError, canonical
from capgate.policy.documents.numbers import safe_integer

__all__ = ["NOTHING", "VERSION", "Line", "Replay", "encode", "read_line"]

#: The version of the format; ``v`` in every line.
VERSION: Final = 1
#: What a first line has as ``prev``, and the head of an empty ledger.
NOTHING: Final = "sha256:" + "0" * 64

_DECISIONS: Final = frozenset(get_args(Decision))
#: What every line of ours has, and what it may have besides.
_TYPES: Final = dict.fromkeys(("at", "decision", "digest", "hash", "id", "method", "policy", "prev"), str) | {
    "seq": int,
    "actor": dict,
}
_OPTIONAL: Final = {"source": str, "plan": str, "descriptor": dict}
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


class Line(NamedTuple):
    """One line, read by itself.

    Attributes:
        data: its JSON value; None where it is none.
        entry: what it says; None where it is no sound line of ours.
        prev: hash of the line before, as it says; None where it does not.
        hash: its own hash, as it says; None where it does not.
        fault: what is wrong with the line itself; None where nothing is, and for lines of another system.
        legacy: whether it is of another system: JSON without a hash (contract 11.28).
    """

    data: Any
    entry: Entry | None = None
    prev: str | None = None
    hash: str | None = None
    fault: str | None = None
    legacy: bool = False

    @property
    def unreadable(self) -> bool:
        """Whether it is not even JSON."""
        return self.data is None and not self.legacy


def encode(new: NewEntry, seq: int, prev: str) -> tuple[bytes, Entry]:
    """The line for `new`, without its newline, and the entry that it makes.

    Args:
        new: what it says.
        seq: its number.
        prev: the head of the ledger before it.

    Raises:
        DocumentError: the descriptor in it is no JSON value.
    """
    content: dict[str, Any] = {
        "v": VERSION,
        "seq": seq,
        "at": iso(new.at),
        "id": new.id,
        "decision": new.decision,
        "digest": new.digest,
        "policy": new.policy,
        "actor": new.actor.to_json(),
        "method": new.method,
        "prev": prev,
    }
    if new.descriptor is not None:
        content["descriptor"] = dict(new.descriptor)
    content |= {key: value for key, value in (("source", new.source), ("plan", new.plan)) if value is not None}
    hash = _sha256(canonical(content))
    since = _since(content)
    entry = Entry(seq, new.id, new.decision, new.digest, content["at"], new.source, hash, since)
    return canonical(content | {"hash": hash}), entry


def read_line(text: bytes) -> Line:
    """Reads one line, given without its newline; never raises."""
    try:
        data, plain = _parse(text)
    except (ValueError, RecursionError):
        return Line(None, fault="it is not JSON")
    if type(data) is not dict or not ("v" in data or "hash" in data):
        return Line(data, legacy=True)
    prev, hash = (data.get(key) if _is_digest(data.get(key)) else None for key in ("prev", "hash"))
    fault = _shape_fault(data) or _hash_fault(text, data, plain)
    if fault:
        return Line(data, None, prev, hash, fault)
    seq, source, since = data["seq"], data.get("source"), _since(data)
    entry = Entry(seq, data["id"], data["decision"], data["digest"], data["at"], source, data["hash"], since)
    return Line(data, entry, prev, hash)


class Replay:
    """What the lines say, taken one after the other."""

    def __init__(self) -> None:
        self.length = 0
        self.head = NOTHING
        self._ours = False
        self._fault: LedgerFault | None = None
        self._admitted: dict[str, Entry] = {}
        self._denied: dict[str, frozenset[str]] = {}
        self._unconfirmed: dict[str, None] = {}
        self._state: LedgerState | None = None

    def feed(self, text: bytes) -> Line:
        """Takes the next line, given without its newline; never raises. Returns it, as it was read."""
        line = read_line(text)
        self.length += 1
        self._state = None
        fault, self.head = follows(line, text, self.length, self.head, self._ours)
        if fault and self._fault is None:
            self._fault = LedgerFault(self.length, f"line {self.length}: {fault}", _NEXT)
        if line.entry:
            self._ours = True
            self._take(line.entry)
        elif line.legacy:
            self._take_legacy(line.data)
        return line

    def copy(self) -> Replay:
        """One that has taken the same lines, and goes its own way from here on."""
        other = copy(self)
        other._admitted = self._admitted.copy()
        other._denied = self._denied.copy()
        other._unconfirmed = self._unconfirmed.copy()
        return other

    def state(self) -> LedgerState:
        """What all of them say."""
        if self._state is None:
            self._state = LedgerState(
                self.length,
                self.head,
                MappingProxyType(self._admitted.copy()),
                MappingProxyType(self._denied.copy()),
                tuple(self._unconfirmed),
                self._fault,
            )
        return self._state

    def _take(self, entry: Entry) -> None:
        id, digest = entry.id, entry.digest
        self._unconfirmed.pop(id, None)
        if entry.decision in ("admitted", "reconfigured"):
            before = self._admitted.get(id)
            since = entry.since or (before.since if before else entry.seq)
            self._admitted[id] = entry._replace(since=since)
            self._deny(id, self._denied.get(id, frozenset()) - {digest})
        elif entry.decision == "revoked":
            self._admitted.pop(id, None)
        else:
            self._deny(id, self._denied.get(id, frozenset()) | {digest})
            running = self._admitted.get(id)
            # Denying what runs revokes it (contract 11.8), also where the host died before it said so.
            if running and running.digest == digest:
                del self._admitted[id]

    def _deny(self, id: str, digests: frozenset[str]) -> None:
        self._denied[id] = digests
        if not digests:
            del self._denied[id]

    def _take_legacy(self, data: Any) -> None:
        id = data.get("id") if type(data) is dict else None
        if type(id) is not str:
            return
        if data.get("decision") in ("admitted", "reconfigured"):
            self._unconfirmed[id] = None
        elif data.get("decision") == "revoked":
            self._unconfirmed.pop(id, None)


_NEXT: Final = "Restore the ledger from a backup; `capgate ledger verify` says which lines are wrong, and how."


def follows(line: Line, text: bytes, seq: int, head: str, ours: bool) -> tuple[str | None, str]:
    """Whether a line may stand where it stands.

    Args:
        line: the line.
        text: the same, as it is written.
        seq: its number, by its place.
        head: the head before it.
        ours: whether a line of ours came before.

    Returns:
        What is wrong, or None, and the head after it.
    """
    if line.entry is None:
        # Lines of another system have no hash; the first line of ours binds them all the same.
        after = line.hash or _sha256(head.encode() + b"\n" + text)
        if not ours and (line.legacy or line.unreadable):
            return None, after
        return line.fault or "it has no hash, and lines before it have one", after
    if line.prev != head:
        return "it does not follow the line before it", line.entry.hash
    if line.entry.seq != seq:
        return f"it says that it is number {line.entry.seq}", line.entry.hash
    return None, line.entry.hash


def _since(data: Mapping[str, Any]) -> int:
    """The number of a line that admits by a plan, or for the first time; 0 for any other."""
    is_admission = data["decision"] == "admitted" or (data["decision"] == "reconfigured" and "plan" in data)
    number: int = data["seq"] if is_admission else 0
    return number


def _sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _is_digest(value: Any) -> bool:
    return type(value) is str and _DIGEST.fullmatch(value) is not None


def _shape_fault(data: Mapping[str, Any]) -> str | None:
    """What is missing or of the wrong type in a line of ours, or None."""
    if data.get("v") != VERSION or type(data["v"]) is not int:
        return f"its format is not version {VERSION}; a newer capgate may have written it"
    for key, kind in _TYPES.items():
        if type(data.get(key)) is not kind:
            return f"{key} is missing, or not what it has to be"
    for key, kind in _OPTIONAL.items():
        if key in data and type(data[key]) is not kind:
            return f"{key} is not what it has to be"
    for key in ("digest", "hash", "prev"):
        if not _DIGEST.fullmatch(data[key]):
            return f"{key} is no digest"
    if data["decision"] not in _DECISIONS:
        return "there is no such decision"
    actor = data["actor"]
    if type(actor.get("name")) is not str or type(actor.get("harness")) is not str:
        return "actor is not what it has to be"
    return None


def _hash_fault(text: bytes, data: Mapping[str, Any], plain: bool) -> str | None:
    """What is wrong with the spelling and the hash of a line of ours, or None."""
    # Canonical JSON is slow to write; where the line is plain, the standard library writes the same.
    try:
        written = _dumps(data).encode() if plain else canonical(data)
        if written != text:
            written = canonical(data)
    except (DocumentError, UnicodeEncodeError):
        written = b""
    if written != text:
        return "it is not written as the host writes lines"
    # In canonical JSON the hash stands between other members, of which some are always there.
    own = f'"hash":"{data["hash"]}",'.encode()
    content = text.replace(own, b"") if text.count(own) == 1 else _without_hash(data)
    return None if _sha256(content) == data["hash"] else "its hash is not that of its content"


def _without_hash(data: Mapping[str, Any]) -> bytes:
    return canonical({key: value for key, value in data.items() if key != "hash"})


class _Float(ValueError):
    """A number with a fraction or an exponent, which the standard library writes in its own way."""


def _no_float(text: str) -> float:
    raise _Float


def _no_constant(text: str) -> None:
    raise ValueError(text)


def _integer(text: str) -> int:
    number = safe_integer(text)
    if number is None:
        raise ValueError(text)
    return number


_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False).encode
_loads: Final = json.JSONDecoder(parse_int=_integer, parse_constant=_no_constant).decode
_loads_plain: Final = json.JSONDecoder(parse_int=_integer, parse_float=_no_float, parse_constant=_no_constant).decode


def _parse(text: bytes) -> tuple[Any, bool]:
    """The value of a line, and whether the standard library writes it as canonical JSON; raises ValueError."""
    decoded = text.decode()
    # Beyond ASCII the keys of canonical JSON may be in another order.
    if text.isascii():
        with suppress(_Float):
            return _loads_plain(decoded), True
    return _loads(decoded), False
