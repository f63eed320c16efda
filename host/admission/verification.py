"""Verifying a ledger from its first line to its last, and naming what was done to it.

The chain shows that a line was changed, removed, moved or put in between. Which of them it was is told
from the numbers and the hashes that the lines carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from capgate.host.admission.ledger import NOTHING, Replay, read_line
from capgate.host.admission.store import LedgerState

__all__ = ["KINDS", "Fault", "Kind", "Verification", "verify"]

Kind = Literal["edited", "deleted", "inserted", "reordered", "foreign", "torn"]

#: Each kind of fault, and what to do about it.
KINDS: Final[dict[Kind, str]] = {
    "edited": "Restore the line from a backup.",
    "deleted": "Restore the missing lines from a backup.",
    "inserted": "Find out who put them there, and restore the ledger from a backup.",
    "reordered": "Restore the order from a backup.",
    "foreign": "Restore the ledger from a backup.",
    "torn": "Nothing has to be done: the next change moves it into a file of its own.",
}


class Fault(NamedTuple):
    """One thing that is wrong with a ledger.

    Attributes:
        kind: what was done to it.
        line: the first line concerned, counted from 1.
        what: a sentence.
    """

    kind: Kind
    line: int
    what: str

    @property
    def next(self) -> str:
        """What to do, a sentence."""
        return KINDS[self.kind]

    def to_json(self) -> dict[str, Any]:
        """The fault as JSON data."""
        return self._asdict() | {"next": self.next}


class Verification(NamedTuple):
    """What verifying a ledger found.

    Attributes:
        state: what the lines say; it has a fault if and only if the ledger is not sound.
        links: the hash of each line, in order; a checkpoint is held against them.
        faults: all that is wrong, by line.
    """

    state: LedgerState
    links: Sequence[str]
    faults: Sequence[Fault]

    @property
    def sound(self) -> bool:
        """Whether the chain holds. A torn last line is no fault of the chain: it never counted."""
        return all(fault.kind == "torn" for fault in self.faults)


class _Link(NamedTuple):
    """What a line says of its place; of a line of another system, what stands for it.

    Attributes:
        seq: its number; None where it has none, or is not sound.
        prev: hash of the line before.
        hash: its own.
        fault: what is wrong with the line itself, or None.
    """

    seq: int | None
    prev: str | None
    hash: str
    fault: Fault | None


def verify(lines: Iterable[bytes]) -> Verification:
    """Verifies a ledger.

    Args:
        lines: its lines, each with its newline, as an open file gives them; a last one without is torn.
    """
    replay = Replay()
    links: list[_Link] = []
    torn: list[Fault] = []
    ours = False
    for text, is_last in _with_end(lines):
        number = len(links) + 1
        if is_last and (not text.endswith(b"\n") or read_line(text[:-1]).unreadable):
            torn.append(Fault("torn", number, f"line {number} is torn: what appended it was killed, or failed"))
            break
        line = replay.feed(text.removesuffix(b"\n"))
        fault: Fault | None = None
        if line.legacy and ours:
            fault = Fault("inserted", number, f"line {number} has no hash, and lines before it have one")
        elif line.fault and (ours or not line.unreadable):
            fault = Fault("edited", number, f"line {number} was changed: {line.fault}")
        links.append(_Link(line.entry.seq if line.entry else None, line.prev, line.hash or replay.head, fault))
        ours = ours or line.entry is not None
    return Verification(replay.state(), [link.hash for link in links], [*_Walk(links).faults(), *torn])


def _with_end(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether it is the last."""
    held: bytes | None = None
    for line in lines:
        if held is not None:
            yield held, False
        held = line
    if held is not None:
        yield held, True


class _Walk:
    """Finds where the chain breaks, and why."""

    def __init__(self, links: Sequence[_Link]):
        self._links = links
        #: Where each hash stands first, and where a line says last that it follows that hash.
        self._at = {link.hash: index for index, link in reversed(list(enumerate(links)))}
        self._after = {link.prev: index for index, link in enumerate(links) if link.seq is not None}
        #: What a line may say it follows, once it is known that lines were moved.
        self._known = {NOTHING, *self._at}

    def faults(self) -> Iterator[Fault]:
        head, seq = NOTHING, 0
        is_known = True
        moved = False
        index = 0
        while index < len(self._links):
            link = self._links[index]
            if link.seq is None:
                # A changed line may have another hash now than the next one says.
                is_known = link.fault is None
                head, seq = link.hash, seq + 1
                if link.fault:
                    yield link.fault
            else:
                if is_known and not (moved and link.prev in self._known) and (link.prev, link.seq) != (head, seq + 1):
                    fault, skip_to = self._break(index, head, seq)
                    yield fault
                    moved = moved or fault.kind == "reordered"
                    if skip_to:
                        index = skip_to
                        continue
                is_known = True
                head, seq = link.hash, link.seq
            index += 1

    def _break(self, index: int, head: str, seq: int) -> tuple[Fault, int | None]:
        """Names the break before the line at `index`, and says where the chain goes on, if that is not here."""
        link, number = self._links[index], index + 1
        before = self._at.get(link.prev or "")
        goes_on = self._after.get(head, 0)
        assert link.seq is not None
        if self._at[link.hash] < index:
            what = f"line {number} is a copy of line {self._at[link.hash] + 1}"
            return Fault("inserted", number, what), max(goes_on, index + 1)
        if before is not None and before >= index:
            return Fault("reordered", number, f"line {number} stands before line {before + 1}, which it follows"), None
        if goes_on > index:
            return Fault("inserted", number, f"{_lines(number, goes_on)} between two that belong together"), goes_on
        if link.prev == head:
            return Fault("edited", number, f"line {number} was changed: it says that it is number {link.seq}"), None
        if before is not None:
            return Fault("inserted", before + 2, f"{_lines(before + 2, index)} between two that belong together"), None
        if link.seq > seq + 1:
            missing = f"number {seq + 1}" if link.seq == seq + 2 else f"numbers {seq + 1} to {link.seq - 1}"
            return Fault("deleted", number, f"before line {number} the lines of {missing} are missing"), None
        if link.prev == NOTHING:
            what = f"line {number} is the first line of another ledger"
        elif index:
            what = f"line {index} was changed and hashed anew, or line {number} is of another ledger"
        else:
            what = "line 1 follows a line of another ledger"
        return Fault("foreign", number, what), None


def _lines(first: int, last: int) -> str:
    return f"line {first} was put" if first == last else f"lines {first} to {last} were put"
