"""The state of admission in PostgreSQL, which several hosts can share.

A turn is one transaction that holds one advisory lock, so it is exclusive over all hosts, and what it did is
there as a whole or not at all. Where it ends with an AdmissionError it is committed all the same: a code
that was tried stays tried.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final

from sqlalchemy import Connection, create_engine, delete, func, insert, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from capgate.host.admission.descriptor_files import MAX_BYTES, DescriptorFiles
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.ledger import Replay, encode
from capgate.host.admission.sql_budgets import charge
from capgate.host.admission.sql_schema import (
    APPROVALS,
    BUDGETS,
    DESCRIPTORS,
    LEDGER,
    METADATA,
    PROPOSALS,
    SCHEMA,
    VERSION,
)
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
from capgate.policy.documents import DocumentError

__all__ = ["SqlStore"]

#: The key of the advisory lock; a number of its own, so that no other program's lock is met.
_LOCK: Final = 0x636170676174655F & 0x7FFFFFFFFFFFFFFF
#: What tells the stamp of a row from that of a file.
_ROW: Final = "database"
#: How many rows are fetched at a time.
_AT_ONCE: Final = 1000


class SqlStore:
    """The state of all hosts that name the same database. Implements `Store`.

    Files that lie in the extensions folder of this host, and that the database does not have, are among its
    descriptors: somebody may want to admit them.

    Args:
        url: of the database: ``postgresql://user@host/name``.
        extensions: this host's own folder.
        clock: not needed yet; every store takes one.
        disk: the file system.

    Raises:
        AdmissionError: ``store-unavailable``: it cannot be reached, or has the tables of a newer capgate.
    """

    def __init__(self, url: str, extensions: Path, *, clock: Clock, disk: Disk):
        self._files = DescriptorFiles(extensions, disk)
        self._turn = Lock()
        self._writing = Lock()
        self._replay = Replay()
        self._last: str | None = None
        self._fetched: dict[str, tuple[int, bytes]] = {}
        self._newest = 0
        with _available("the database cannot be opened"):
            self._engine = create_engine(_with_driver(url), pool_size=8, max_overflow=32, pool_pre_ping=True)
        try:
            with self._exclusive("the tables cannot be made") as connection:
                _make_tables(connection)
        except AdmissionError:
            self.close()
            raise

    def version(self) -> Hashable:
        """Another value whenever the ledger has changed; raises AdmissionError (``store-unavailable``)."""
        with self._reading("the ledger cannot be read") as connection:
            return connection.scalar(select(func.coalesce(func.max(LEDGER.c.seq), 0)))

    def ledger(self) -> LedgerState:
        """What the ledger says now; raises AdmissionError (``store-unavailable``)."""
        with self._reading("the ledger cannot be read") as connection:
            return self._replayed(connection).state()

    def lines(self) -> Iterator[bytes]:
        """Every line of the ledger, with a newline; raises AdmissionError (``store-unavailable``)."""
        with self._reading("the ledger cannot be read") as connection:
            for line in self._lines(connection, 0):
                yield line.encode() + b"\n"

    def descriptors(self) -> Sequence[StoredDescriptor]:
        """What lies in the host's keeping, by id; raises AdmissionError (``store-unavailable``)."""
        with self._reading("the descriptors cannot be listed") as connection:
            rows = connection.execute(select(DESCRIPTORS.c.id, DESCRIPTORS.c.stamp)).all()
            self._fetch(connection, max((stamp for _, stamp in rows), default=0))
        try:
            found = {item.id: item.stamp for item in self._files.listing({})}
        except OSError as fault:
            raise AdmissionError("store-unavailable", f"the descriptors cannot be listed: {fault.strerror}") from None
        found |= {id: (_ROW, stamp) for id, stamp in rows}
        return [StoredDescriptor(id, stamp) for id, stamp in sorted(found.items())]

    def descriptor(self, id: str, stamp: Hashable = None) -> bytes | None:
        """The content of one, None where there is none; raises AdmissionError (``unreadable``)."""
        if stamp is not None:
            with self._turn:
                fetched = self._fetched.pop(id, None)
            if fetched is not None and stamp == (_ROW, fetched[0]):
                return fetched[1]
        with self._reading("the descriptor cannot be read") as connection:
            data = connection.scalar(select(DESCRIPTORS.c.data).where(DESCRIPTORS.c.id == _storable(id)))
        if data is not None:
            return bytes(data)
        try:
            return self._files.read(id, None)
        except OSError as fault:
            raise AdmissionError("unreadable", f"{id}.json cannot be read: {fault.strerror}") from None

    def proposals(self) -> Sequence[str]:
        """The ids of all proposals, sorted; raises AdmissionError (``store-unavailable``)."""
        with self._reading("the proposals cannot be listed") as connection:
            return sorted(connection.scalars(select(PROPOSALS.c.id).distinct()))

    def proposal(self, id: str) -> bytes | None:
        """The newest version of a proposal; None where there is none."""
        newest = select(PROPOSALS.c.data).where(PROPOSALS.c.id == _storable(id)).order_by(PROPOSALS.c.revision.desc())
        with self._reading("the proposal cannot be read") as connection:
            data = connection.scalar(newest.limit(1))
        return None if data is None else bytes(data)

    def revisions(self, id: str) -> Sequence[Revision]:
        """Every version of a proposal, oldest first."""
        of_id = select(PROPOSALS.c.revision, PROPOSALS.c.data).where(PROPOSALS.c.id == _storable(id))
        with self._reading("the versions of the proposal cannot be read") as connection:
            rows = connection.execute(of_id.order_by(PROPOSALS.c.revision)).all()
        return [Revision(number, bytes(data)) for number, data in rows]

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """One exclusive turn, over all hosts; raises AdmissionError (``store-unavailable``)."""
        with self._exclusive("the state cannot be changed") as connection:
            with self._turn:
                replay = self._follow(connection).copy()
            yield _Turn(connection, replay)

    def take_over(
        self,
        lines: Sequence[bytes],
        contents: Mapping[str, bytes],
        proposals: Mapping[str, Sequence[Revision]],
        counts: Iterable[tuple[str, str, Count]] = (),
    ) -> None:
        """Fills an empty database with a state that was kept elsewhere, all of it or nothing.

        Args:
            lines: the lines of the ledger, as they are.
            contents: id to descriptor of what they admit.
            proposals: id to the versions of a proposal.
            counts: id, window and count of what was used of the budgets.

        Raises:
            AdmissionError: ``store-not-empty``, ``store-unavailable``.
        """
        with self._exclusive("the state cannot be taken over") as connection:
            tables = (LEDGER, PROPOSALS, BUDGETS)
            if any(connection.scalar(select(func.count()).select_from(table)) for table in tables):
                raise AdmissionError("store-not-empty", "the database holds a ledger or proposals already")
            rows = [{"seq": seq, "line": line.decode()} for seq, line in enumerate(lines, 1)]
            held = [{"id": id, "stamp": len(rows), "data": data} for id, data in contents.items()]
            versions = [
                {"id": id, "revision": number, "data": data}
                for id, revisions in proposals.items()
                for number, data in revisions
            ]
            used = [{"id": id, "kind": window, **count._asdict()} for id, window, count in counts]
            for table, values in ((LEDGER, rows), (DESCRIPTORS, held), (PROPOSALS, versions), (BUDGETS, used)):
                if values:
                    connection.execute(insert(table), values)

    def charge(self, id: str, window: str, period: int, limit: int) -> Charge:
        """Counts one request, unless the limit is reached; raises AdmissionError (``store-unavailable``)."""
        with _available("the request cannot be counted"), self._engine.begin() as connection:
            return charge(connection, id, window, period, limit)

    def close(self) -> None:
        """Closes the connections."""
        self._engine.dispose()

    @contextmanager
    def _reading(self, what: str) -> Iterator[Connection]:
        with _available(what), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _exclusive(self, what: str) -> Iterator[Connection]:
        # Those that wait here hold no connection: whoever has the turn needs a second one, to read.
        with (
            self._writing,
            _available(what),
            self._engine.connect() as connection,
            connection.begin() as transaction,
        ):
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            try:
                yield connection
            except AdmissionError:
                # An error of the database has ended the transaction already, and this takes all of it back.
                transaction.commit()
                raise

    def _replayed(self, connection: Connection) -> Replay:
        with self._turn:
            return self._follow(connection)

    def _follow(self, connection: Connection) -> Replay:
        """The ledger as it is now. The last line that was replayed is looked at again: rows can be taken away."""
        known = self._replay.length
        if known and list(self._lines(connection, known, 1)) != [self._last]:
            self._replay, known = Replay(), 0
        for line in self._lines(connection, known + 1):
            self._replay.feed(line.encode())
            self._last = line
        return self._replay

    def _lines(self, connection: Connection, start: int, most: int | None = None) -> Iterator[str]:
        """The lines from a number on, in their order, a page at a time."""
        while True:
            page = select(LEDGER.c.seq, LEDGER.c.line).where(LEDGER.c.seq >= start).order_by(LEDGER.c.seq)
            rows = connection.execute(page.limit(most or _AT_ONCE)).all()
            for seq, line in rows:
                start = seq + 1
                yield line
            if most or len(rows) < _AT_ONCE:
                return

    def _fetch(self, connection: Connection, newest: int) -> None:
        """Gets the contents that changed since the last time all at once: a start asks for every one of them."""
        with self._turn:
            if newest <= self._newest:
                return
            after, self._newest = self._newest, newest
        rows = select(DESCRIPTORS.c.id, DESCRIPTORS.c.stamp, DESCRIPTORS.c.data).where(DESCRIPTORS.c.stamp > after)
        fetched = {id: (stamp, bytes(data)) for id, stamp, data in connection.execute(rows)}
        with self._turn:
            self._fetched = fetched


class _Turn:
    """A turn of an `SqlStore`; implements `Change`."""

    def __init__(self, connection: Connection, replay: Replay):
        self._connection = connection
        self._replay = replay

    @property
    def ledger(self) -> LedgerState:
        return self._replay.state()

    def append(self, entry: NewEntry, content: bytes | None = None) -> Entry:
        if content is not None and len(content) > MAX_BYTES:
            message = f"the descriptor has {len(content)} bytes; at most {MAX_BYTES} are kept"
            raise AdmissionError("body-too-large", message)
        state = self.ledger
        if state.fault:
            raise AdmissionError("ledger-broken", state.fault.what, details={"next": state.fault.next})
        seq = state.length + 1
        try:
            line, made = encode(entry, seq, state.head)
        except DocumentError as fault:
            raise AdmissionError("bad-descriptor", fault.message, hint=fault.hint) from None
        with _available("the ledger cannot be written", "ledger-unwritable"):
            self._connection.execute(insert(LEDGER).values(seq=seq, line=line.decode()))
            if content is not None or entry.decision == "revoked":
                self._connection.execute(delete(DESCRIPTORS).where(DESCRIPTORS.c.id == entry.id))
            if content is not None:
                self._connection.execute(insert(DESCRIPTORS).values(id=entry.id, stamp=seq, data=content))
        self._replay.feed(line)
        return made

    def put_proposal(self, id: str, data: bytes, *, revision: bool) -> int:
        with _available("the proposal cannot be written"):
            newest = self._connection.scalar(select(func.max(PROPOSALS.c.revision)).where(PROPOSALS.c.id == id)) or 0
            number = newest + 1 if revision or not newest else newest
            if number > newest:
                self._connection.execute(insert(PROPOSALS).values(id=id, revision=number, data=data))
            else:
                this = (PROPOSALS.c.id == id) & (PROPOSALS.c.revision == number)
                self._connection.execute(update(PROPOSALS).where(this).values(data=data))
            return int(number)

    def approvals(self) -> Sequence[Approval]:
        columns = [APPROVALS.c[name] for name in Approval._fields]
        with _available("the requests for approval cannot be read"):
            rows = self._connection.execute(select(*columns).order_by(APPROVALS.c.number)).all()
        return [Approval(*row) for row in rows]

    def put_approval(self, approval: Approval) -> None:
        values: dict[str, Any] = approval._asdict()
        with _available("the request for approval cannot be written"):
            changed = self._connection.execute(
                update(APPROVALS).where(APPROVALS.c.request == approval.request).values(values)
            )
            if not changed.rowcount:
                self._connection.execute(insert(APPROVALS).values(values))

    def drop_approvals(self, requests: Iterable[str]) -> None:
        dropped = list(requests)
        if dropped:
            with _available("the requests for approval cannot be removed"):
                self._connection.execute(delete(APPROVALS).where(APPROVALS.c.request.in_(dropped)))


def _with_driver(url: str) -> str:
    """The address with the driver that capgate uses; anything but PostgreSQL is refused by what follows."""
    scheme, found, rest = url.partition("://")
    if found and scheme in ("postgres", "postgresql", "postgresql+psycopg"):
        return f"postgresql+psycopg://{rest}"
    raise AdmissionError(
        "store-unavailable", "CAPGATE_DATABASE_URL is no address of a PostgreSQL database: postgresql://user@host/name"
    )


def _storable(id: str) -> str:
    """The id, or one that nothing has: a text with NUL cannot even be asked for."""
    return "" if "\0" in id else id


def _make_tables(connection: Connection) -> None:
    SCHEMA.create(connection, checkfirst=True)
    version = connection.scalar(select(func.max(SCHEMA.c.version)))
    if version is None:
        connection.execute(insert(SCHEMA).values(version=VERSION))
    elif version != VERSION:
        raise AdmissionError(
            "store-unavailable",
            f"the database has tables of version {version}, and this capgate knows version {VERSION}",
            hint="Use the capgate that made them, or a newer one.",
        )
    METADATA.create_all(connection)


@contextmanager
def _available(what: str, id: str = "store-unavailable") -> Iterator[None]:
    """Turns an error of the database into an AdmissionError, without the address, which may hold a password."""
    try:
        yield
    except SQLAlchemyError as fault:
        cause = getattr(fault, "orig", None) or fault
        said = str(cause).strip().partition("\n")[0]
        raise AdmissionError(id, f"{what}: {said or type(cause).__name__}") from None
    except ModuleNotFoundError as fault:
        message = f"{what}: {fault.name} is not installed"
        raise AdmissionError(id, message, hint="Run pip install 'capgate[host,postgres]'.") from None
