"""The state of admission in files: the store that a host has unless it is given a database.

One lock file orders all changes, of all threads and processes. Reading takes no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from capgate.host.admission.budget_files import BudgetFiles
from capgate.host.admission.descriptor_files import MAX_BYTES, DescriptorFiles
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_names import name_of
from capgate.host.admission.ledger import encode
from capgate.host.admission.ledger_file import LedgerFile
from capgate.host.admission.proposal_files import ProposalFiles
from capgate.host.admission.store import (
    Approval,
    Change,
    Charge,
    Entry,
    LedgerState,
    NewEntry,
    Revision,
    StoredDescriptor,
)
from capgate.host.mediation.budgets import Count
from capgate.host.mediation.clock import Clock
from capgate.host.mediation.disk import Disk
from capgate.host.mediation.journal import Journal, OpenJournal
from capgate.policy.documents import DocumentError

__all__ = ["LEDGER", "LOCK", "FileStore"]

#: The ledger, and the lock over all of the state, in the extensions folder.
LEDGER: Final = ".ledger.jsonl"
LOCK: Final = ".lock"


class FileStore:
    """The state of one host, or of several on one machine, in two folders. Implements `Store`.

    Folders and files are made when something is first written. Approval requests live in memory, and are
    those of this object alone (contract 5).

    Args:
        workspace: holds the proposals; a model may be able to write there.
        extensions: holds the ledger and the descriptors; the host's own.
        disk: the file system.
        clock: for the names of what is set aside.
        report: told of a torn end of the ledger that was set aside; by default a warning is logged.
    """

    def __init__(
        self,
        workspace: Path,
        extensions: Path,
        *,
        disk: Disk | None = None,
        clock: Clock | None = None,
        report: Callable[[str], None] | None = None,
    ):
        self._disk = disk or Disk()
        self._extensions = extensions
        said = {} if report is None else {"report": report}
        self._journal = Journal(extensions / LEDGER, self._disk, clock=clock, lock=extensions / LOCK, **said)
        self._ledger = LedgerFile(self._journal.path, self._disk)
        self._descriptors = DescriptorFiles(extensions, self._disk)
        self._proposals = ProposalFiles(workspace, self._disk)
        self._budgets = BudgetFiles(extensions, self._disk)
        self._approvals: dict[str, Approval] = {}

    def version(self) -> Hashable:
        """Another value whenever the ledger has changed; raises AdmissionError (``store-unavailable``)."""
        return self._ledger.version()

    def ledger(self) -> LedgerState:
        """What the ledger says now; raises AdmissionError (``store-unavailable``).

        Only new lines are read, unless the file was replaced or changed in place.
        """
        return self._ledger.state()

    def lines(self) -> Iterator[bytes]:
        """The lines of the ledger as they are written; see `LedgerFile.lines`."""
        return self._ledger.lines()

    def descriptors(self) -> Sequence[StoredDescriptor]:
        """What lies in the host's keeping, by id; raises AdmissionError (``store-unavailable``)."""
        with _available("the descriptors cannot be listed"):
            state = self._ledger.state()
            return self._descriptors.listing(state.admitted, state.length)

    def descriptor(self, id: str, stamp: Hashable = None) -> bytes | None:
        """The content of one, None where there is none.

        Raises:
            AdmissionError: unreadable: it is no regular file, has more than 1 MiB, or an odd name.
        """
        state = self._ledger.state()
        try:
            return self._descriptors.read(id, state.admitted.get(id), state.length)
        except OSError as fault:
            message = f"the descriptor {self._extensions / id}.json cannot be read: {fault.strerror}"
            raise AdmissionError("unreadable", message) from None

    def proposals(self) -> Sequence[str]:
        """The ids of all proposals, sorted; raises AdmissionError (``store-unavailable``)."""
        with _available("the proposals cannot be listed"):
            return self._proposals.ids()

    def proposal(self, id: str) -> bytes | None:
        """The newest version of a proposal; None where there is none. Raises AdmissionError (``unreadable``)."""
        return self._proposals.read(id)

    def revisions(self, id: str) -> Sequence[Revision]:
        """Every version of a proposal that can be read, oldest first; raises AdmissionError."""
        with _available("the versions of the proposal cannot be listed"):
            return self._proposals.revisions(id)

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """One exclusive turn; waits for whoever has it. What a dead holder left half done is finished first.

        Raises:
            AdmissionError: store-unavailable.
        """
        with ExitStack() as held:
            with _available("the state cannot be changed"):
                self._disk.make_folders(self._extensions)
                held.enter_context(self._disk.lock(self._extensions / LOCK))
                journal = held.enter_context(self._journal.held())
                turn = _Turn(journal, self._ledger, self._descriptors, self._proposals, self._approvals)
                turn.finish()
            yield turn

    def charge(self, id: str, window: str, period: int, limit: int) -> Charge:
        """Counts one request, unless the limit is reached; raises AdmissionError (``store-unavailable``)."""
        with _available("the request cannot be counted"):
            return self._budgets.charge(id, window, period, limit)

    def counts(self) -> list[tuple[str, str, Count]]:
        """Every count of requests: id, window and count; raises AdmissionError (``store-unavailable``)."""
        with _available("the counts of requests cannot be read"):
            return list(self._budgets.all())

    def close(self) -> None:
        """Lets go of what it holds: nothing, between two calls."""


class _Turn:
    """A turn of a `FileStore`; implements `Change`."""

    def __init__(
        self,
        journal: OpenJournal,
        ledger: LedgerFile,
        descriptors: DescriptorFiles,
        proposals: ProposalFiles,
        approvals: dict[str, Approval],
    ):
        self._journal = journal
        self._ledger = ledger
        self._descriptors = descriptors
        self._proposals = proposals
        self._approvals = approvals
        self._finished = False

    @property
    def ledger(self) -> LedgerState:
        return self._ledger.state()

    def finish(self) -> None:
        """Ends what this turn, or a dead one before it, left half done; raises OSError."""
        state = self._ledger.state()
        # Nothing is moved or removed on the word of a ledger that cannot be trusted.
        if state.fault is None and not self._finished:
            self._descriptors.finish(state)
            self._finished = True

    def append(self, entry: NewEntry, content: bytes | None = None) -> Entry:
        if content is not None and len(content) > MAX_BYTES:
            message = f"the descriptor has {len(content)} bytes; at most {MAX_BYTES} are kept"
            raise AdmissionError("body-too-large", message)
        has_file = content is not None or entry.decision == "revoked"
        if has_file and name_of(entry.id) is None:
            raise AdmissionError("invalid-id", "the id is too long, or has characters that no file's name can have")
        with _available("the ledger cannot be written", "ledger-unwritable"):
            self._journal.settle()
        state = self.ledger
        if state.fault:
            raise AdmissionError("ledger-broken", state.fault.what, details={"next": state.fault.next})
        try:
            line, made = encode(entry, state.length + 1, state.head)
        except DocumentError as fault:
            raise AdmissionError("bad-descriptor", fault.message, hint=fault.hint) from None
        with _available("the descriptor cannot be kept"):
            self.finish()
            # From here on there may be something to finish, whichever way this ends.
            self._finished = not has_file
            if content is not None:
                self._descriptors.stage(entry.id, entry.digest, content)
            elif has_file:
                self._descriptors.stage_removal(entry.id, made.seq)
        with _available("the ledger cannot be written", "ledger-unwritable"):
            self._journal.append(line)
        # The line is on the medium, so it is decided. What cannot be done now is done in the next turn.
        with suppress(OSError, AdmissionError):
            self.finish()
        return made

    def put_proposal(self, id: str, data: bytes, *, revision: bool) -> int:
        with _available("the proposal cannot be written"):
            return self._proposals.write(id, data, revision=revision)

    def approvals(self) -> Sequence[Approval]:
        return tuple(self._approvals.values())

    def put_approval(self, approval: Approval) -> None:
        self._approvals[approval.request] = approval

    def drop_approvals(self, requests: Iterable[str]) -> None:
        for request in requests:
            self._approvals.pop(request, None)


@contextmanager
def _available(what: str, id: str = "store-unavailable") -> Iterator[None]:
    """Turns what the system refuses into an AdmissionError."""
    try:
        yield
    except OSError as fault:
        where = f" ({fault.filename})" if isinstance(fault.filename, str) else ""
        raise AdmissionError(id, f"{what}: {fault.strerror or fault}{where}") from None
