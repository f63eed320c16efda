"""Where the state of admission is kept, as the rest of the host sees it: files, or a database.

Reading takes no lock. Every change happens inside `Store.changing`, which one thread of one process of
one host holds at a time; what a `Change` did is on disk, all of it, when its method returns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol

__all__ = [
    "Actor",
    "Approval",
    "Change",
    "Charge",
    "Decision",
    "Entry",
    "LedgerFault",
    "LedgerState",
    "NewEntry",
    "Revision",
    "Store",
    "StoredDescriptor",
]

#: What a line of the ledger says was decided (contract 6).
Decision = Literal["admitted", "reconfigured", "revoked", "deny"]


class Actor(NamedTuple):
    """Who acts, as the host found out, never as a body says (contract 11.5).

    Attributes:
        name: ``human-at-host``, ``host-token``, ``session``, ``model`` or ``anyone``.
        harness: by which door: ``host-console-code``, ``http``, ``page``, ``cli``, ``turn``.
        session: what tells two of them apart: a request id, the digest of a session, a user name.
    """

    name: str
    harness: str
    session: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The actor as JSON data."""
        return dict(self._asdict())


class NewEntry(NamedTuple):
    """What a line of the ledger is to say; its place in the chain is added when it is appended.

    Attributes:
        id: id of the extension.
        decision: what was decided.
        digest: digest of the descriptor's content (`content_digest`).
        at: when, seconds since 1970.
        actor: who decided.
        policy: fingerprint of the rules at that moment.
        method: by what authority: ``host-token``, ``single-use-host-code``, ``session``, ``cli``.
        source: where the extension came from (contract 1); None where that does not matter.
        plan: digest of the plan that was decided on, or None.
        descriptor: the descriptor, where the line has to keep it (revoked, reconfigured).
    """

    id: str
    decision: Decision
    digest: str
    at: float
    actor: Actor
    policy: str
    method: str
    source: str | None = None
    plan: str | None = None
    descriptor: Mapping[str, Any] | None = None


class Entry(NamedTuple):
    """A line of the ledger.

    Attributes:
        seq: its number, counted from 1.
        at: ISO time.
        hash: its own hash, ``sha256:<hex>``; the next line carries it as ``prev``.
        since: number of the line by which somebody who had read its plan admitted it last; a mere change of
            its bounds is none. 0 where the line by itself does not say.
    """

    seq: int
    id: str
    decision: Decision
    digest: str
    at: str
    source: str | None
    hash: str
    since: int = 0


class Charge(NamedTuple):
    """What came of asking for one more request.

    Attributes:
        used: how many are counted in the window now.
        granted: whether this one is among them.
    """

    used: int
    granted: bool


class LedgerFault(NamedTuple):
    """Why a ledger cannot be trusted.

    Attributes:
        line: the first line that is wrong, counted from 1; None where the whole is.
        what: what is wrong, a sentence.
        next: what to do, a sentence.
    """

    line: int | None
    what: str
    next: str


class LedgerState(NamedTuple):
    """What the ledger says, replayed up to its last line; never changes.

    Attributes:
        length: how many lines.
        head: hash of the last line; the hash that a first line has as ``prev`` where there is none.
        admitted: id to the entry that admitted it last, of all that is admitted now.
        denied: id to the digests of the contents that were denied and not admitted since (contract 11.8).
        unconfirmed: ids that lines of another system (without digests) name (contract 11.28).
        fault: why nothing in it counts, or None. With a fault, `admitted` still says what would be admitted.
    """

    length: int
    head: str
    admitted: Mapping[str, Entry]
    denied: Mapping[str, frozenset[str]]
    unconfirmed: Sequence[str] = ()
    fault: LedgerFault | None = None


class StoredDescriptor(NamedTuple):
    """A descriptor in the host's own keeping.

    Attributes:
        id: the file stem.
        stamp: changes whenever the content may have; equal stamps mean equal content.
    """

    id: str
    stamp: Hashable


class Revision(NamedTuple):
    """One version of a proposal (contract 11.7).

    Attributes:
        number: counted from 1.
        data: the record, as JSON text.
    """

    number: int
    data: bytes


class Approval(NamedTuple):
    """A request for an approval code (contract 5).

    Attributes:
        request: UUID v4.
        id: id of the proposal.
        code: digest of the code together with the request id; the code itself is printed once and kept nowhere
            but in the pending file.
        plan: digest of the plan that was shown, its state and refusal included.
        expires: seconds since 1970.
        attempts: how many codes were tried.
        spent: whether it can no longer admit anything: used, exhausted, or replaced by a newer one.
    """

    request: str
    id: str
    code: str
    plan: str
    expires: float
    attempts: int = 0
    spent: bool = False


class Change(Protocol):
    """One exclusive turn at the state.

    Every method raises AdmissionError (``ledger-unwritable``, ``ledger-broken``, ``store-unavailable``), and
    has then changed nothing.
    """

    @property
    def ledger(self) -> LedgerState:
        """What the ledger says now, the lines appended in this turn included."""
        ...

    def append(self, entry: NewEntry, content: bytes | None = None) -> Entry:
        """Appends a line.

        With `content` the host keeps that as the descriptor of ``entry.id``, in one step with the line. A
        ``revoked`` line removes the kept descriptor, in one step too.
        """
        ...

    def put_proposal(self, id: str, data: bytes, *, revision: bool) -> int:
        """Writes a proposal; with `revision` as a new version, else in place of the newest. Returns its number."""
        ...

    def approvals(self) -> Sequence[Approval]:
        """The requests that are retained, oldest first."""
        ...

    def put_approval(self, approval: Approval) -> None:
        """Adds a request, or replaces the one with that request id."""
        ...

    def drop_approvals(self, requests: Iterable[str]) -> None:
        """Forgets requests."""
        ...


class Store(Protocol):
    """The state of one host, or of several that share it."""

    def version(self) -> Hashable:
        """Cheap to ask; another value whenever the ledger has changed, whoever changed it."""
        ...

    def ledger(self) -> LedgerState:
        """What the ledger says now. Only lines that are new since the last call are read."""
        ...

    def lines(self) -> Iterator[bytes]:
        """Every line of the ledger as it is kept, with its newline; a torn last one without.

        Raises:
            AdmissionError: ``store-unavailable``.
        """
        ...

    def descriptors(self) -> Sequence[StoredDescriptor]:
        """What lies in the host's keeping, by id; files that nobody admitted are among them."""
        ...

    def descriptor(self, id: str, stamp: Hashable = None) -> bytes | None:
        """The content of one, None where there is none. Raises AdmissionError (``unreadable``).

        Args:
            id: which.
            stamp: a stamp that `descriptors` gave for it; a store may answer with the content of that moment.
        """
        ...

    def proposals(self) -> Sequence[str]:
        """The ids of all proposals, sorted."""
        ...

    def proposal(self, id: str) -> bytes | None:
        """The newest version of a proposal, at most 1 MiB of it; None where there is none.

        Raises AdmissionError (``unreadable``).
        """
        ...

    def revisions(self, id: str) -> Sequence[Revision]:
        """Every version of a proposal that is kept, oldest first."""
        ...

    def changing(self) -> AbstractContextManager[Change]:
        """One exclusive turn. Not re-entrant."""
        ...

    def charge(self, id: str, window: str, period: int, limit: int) -> Charge:
        """Counts one request of an extension in a window, unless its limit is reached; exact over all that share it.

        A period that is earlier than the one that was counted last is taken for that one.

        Args:
            id: id of the extension.
            window: ``hour``, ``day`` or ``admission``; each is counted by itself.
            period: number of the window's present period.
            limit: how many requests a period may have.

        Raises:
            AdmissionError: ``store-unavailable``; it may have been counted, and must not be sent.
        """
        ...

    def close(self) -> None:
        """Lets go of what it holds."""
        ...
