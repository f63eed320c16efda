"""Moving the state of a host from files into a database that several hosts can share."""

from __future__ import annotations

from typing import NamedTuple

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_store import FileStore
from capgate.host.admission.ledger import Replay
from capgate.host.admission.sql_store import SqlStore

__all__ = ["Moved", "move_to_database"]


class Moved(NamedTuple):
    """What was moved.

    Attributes:
        lines: how many lines of the ledger.
        descriptors: how many admitted descriptors.
        proposals: how many proposals.
        left: ids whose descriptor was admitted and is not there, or is no longer what was admitted.
    """

    lines: int
    descriptors: int
    proposals: int
    left: tuple[str, ...]


def move_to_database(files: FileStore, database: SqlStore) -> Moved:
    """Copies ledger, admitted descriptors, proposals and counts into an empty database; the files stay as they are.

    Nothing changes in the files meanwhile: the copy is made in one turn at them. Lines are copied as they
    are, so the chain holds in the database as it did in the file. Approval codes are not copied.

    Args:
        files: the state to copy.
        database: where to.

    Raises:
        AdmissionError: ``ledger-broken``: a chain that does not hold is not carried on; ``store-not-empty``,
            ``store-unavailable``.
    """
    with files.changing() as turn:
        state = turn.ledger
        if state.fault is not None:
            raise AdmissionError("ledger-broken", state.fault.what, details={"next": state.fault.next})
        lines = [line.removesuffix(b"\n") for line in files.lines()]
        found = {id: files.descriptor(id) for id in state.admitted}
        contents = {id: data for id, data in found.items() if data is not None}
        proposals = {id: files.revisions(id) for id in files.proposals()}
        replay = Replay()
        for line in lines:
            replay.feed(line)
        if replay.head != state.head:
            raise AdmissionError("ledger-broken", "the ledger changed while it was read")
        database.take_over(lines, contents, proposals, files.counts())
    left = tuple(sorted(found.keys() - contents.keys()))
    return Moved(len(lines), len(contents), len(proposals), left)
