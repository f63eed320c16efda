"""The store on a disk that fails, and in a process that dies, at any call: what was acknowledged is there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_store import LEDGER, FileStore
from capgate.host.admission.store import Actor, NewEntry
from capgate.host.admission.verification import verify
from capgate.host.mediation.disk import Disk
from capgate.policy.documents import digest
from failing import QuickDisk, dying, failing

pytestmark = pytest.mark.long

NOON = 1_796_040_000.0
ACTOR = Actor("host-token", "http")
#: What is done, one after the other: the id, the decision (``propose`` for a proposal), the version of the content.
HISTORY = [
    ("tide", "propose", 1),
    ("tide", "admitted", 1),
    ("ebb", "propose", 1),
    ("ebb", "propose", 2),
    ("ebb", "deny", 1),
    ("ebb", "admitted", 2),
    ("tide", "propose", 2),
    ("tide", "reconfigured", 2),
    ("surf", "admitted", 1),
    ("tide", "revoked", 2),
    ("surf", "revoked", 1),
    ("tide", "propose", 3),
    ("tide", "admitted", 3),
]
#: More calls than the history makes.
ENOUGH = 2000


def content(id: str, version: int) -> bytes:
    return json.dumps({"id": id, "version": version}).encode()


class Model:
    """What the store has to say after the acts that were acknowledged, one after the other."""

    def __init__(self) -> None:
        self.admitted: dict[str, bytes] = {}
        self.denied: set[tuple[str, str]] = set()
        self.proposals: dict[str, bytes] = {}

    def take(self, id: str, decision: str, version: int) -> None:
        data = content(id, version)
        if decision == "propose":
            self.proposals[id] = data
        elif decision == "revoked":
            self.admitted.pop(id, None)
        elif decision == "deny":
            self.denied.add((id, digest(json.loads(data))))
        else:
            self.admitted[id] = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return repr(vars(self))


def after(*acts: tuple[str, str, int]) -> Model:
    model = Model()
    for act in acts:
        model.take(*act)
    return model


def act(store: FileStore, id: str, decision: Any, version: int) -> None:
    data = content(id, version)
    with store.changing() as change:
        if decision == "propose":
            change.put_proposal(id, data, revision=True)
            return
        entry = NewEntry(id, decision, digest(json.loads(data)), NOON, ACTOR, digest("policy"), "cli")
        change.append(entry, data if decision in ("admitted", "reconfigured") else None)


def open_store(folder: Path, disk: Disk | None = None) -> FileStore:
    return FileStore(folder / "workspace", folder / "extensions", disk=disk or QuickDisk(), report=lambda _: None)


def found(store: FileStore) -> Model:
    """What a store says; everything that it lists can be read."""
    model = Model()
    state = store.ledger()
    assert state.fault is None
    assert {item.id for item in store.descriptors()} >= state.admitted.keys()
    for id, entry in state.admitted.items():
        data = store.descriptor(id)
        assert data is not None
        assert digest(json.loads(data)) == entry.digest
        model.admitted[id] = data
    model.denied = {(id, each) for id, digests in state.denied.items() for each in digests}
    for id in store.proposals():
        data = store.proposal(id)
        assert data is not None
        model.proposals[id] = data
    return model


def check_after_restart(folder: Path, *allowed: Model) -> None:
    """A new process finds one of `allowed`, a ledger that verifies, and after one turn nothing half done."""
    assert found(open_store(folder)) in allowed
    with open_store(folder).changing():
        pass
    store = open_store(folder)
    model = found(store)
    assert model in allowed
    assert {item.id for item in store.descriptors()} == model.admitted.keys()
    with (folder / "extensions" / LEDGER).open("rb") as file:
        assert list(verify(file).faults) == []
    assert list((folder / "extensions").glob(".staged/*")) == []
    for id in model.proposals:
        kept = [revision.data for revision in store.revisions(id)]
        assert kept[-1] == model.proposals[id]
        assert len(set(kept)) == len(kept)


def test_the_history_itself_is_done(tmp_path: Path) -> None:
    disk = failing(0)
    for step in HISTORY:
        act(open_store(tmp_path, disk), *step)

    check_after_restart(tmp_path, after(*HISTORY))
    assert len(HISTORY) * 5 < disk.calls < ENOUGH


@pytest.mark.parametrize("half", [False, True], ids=["none of it", "half of it"])
@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
def test_whichever_call_fails_what_was_acknowledged_is_there_and_the_rest_is_not(
    tmp_path: Path, once: bool, half: bool
) -> None:
    for number in range(1, ENOUGH):
        folder = tmp_path / str(number)
        disk = failing(number, from_then_on=not once, half=half)
        store = open_store(folder, disk)
        done: list[tuple[str, str, int]] = []
        refused: list[tuple[str, str, int]] = []
        for step in HISTORY:
            try:
                act(store, *step)
            except AdmissionError as error:
                assert error.id in ("store-unavailable", "ledger-unwritable")
                assert "Input/output error of" in error.message
                refused.append(step)
                break
            done.append(step)
        if disk.calls < number:
            assert refused == []
            break
        # A proposal is there before its folder's fsync, which may fail; a line that could be neither fsynced nor
        # cut off again may be there too. Nothing else that was refused is.
        maybe = refused and (refused[0][1] == "propose" or not once)
        check_after_restart(folder, after(*done), *([after(*done, *refused)] if maybe else []))
        # The same act succeeds on a disk that works, in the store that met the fault and in any other.
        if once:
            for step in HISTORY[len(done) :]:
                act(store, *step)
            assert found(store) == after(*HISTORY)
            check_after_restart(folder, after(*HISTORY))
    else:
        pytest.fail("the history makes more calls than were tried")


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
def test_whichever_call_of_a_reader_fails_it_says_so_and_reads_rightly_later(tmp_path: Path, once: bool) -> None:
    for step in HISTORY:
        act(open_store(tmp_path), *step)
    for number in range(1, ENOUGH):
        disk = failing(number, from_then_on=not once)
        store = open_store(tmp_path, disk)
        try:
            found(store)
        except AdmissionError as error:
            assert error.id in ("store-unavailable", "unreadable")
        if disk.calls < number:
            break
        if once:
            assert found(store) == after(*HISTORY)


def die(folder: Path, number: int) -> int:
    """Goes through the history in a process that dies just before call `number`; returns how many acts it did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            store = open_store(folder, dying(number))
            for step in HISTORY:
                act(store, *step)
                os.write(writing, b".")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        done = len(stream.read())
    os.waitpid(child, 0)
    return done


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_before_whichever_call_a_process_is_killed_what_was_acknowledged_is_there(tmp_path: Path) -> None:
    for number in range(1, ENOUGH):
        folder = tmp_path / str(number)
        done = die(folder, number)
        check_after_restart(folder, after(*HISTORY[:done]), after(*HISTORY[: done + 1]))
        for step in HISTORY[done:]:
            act(open_store(folder), *step)
        assert found(open_store(folder)) == after(*HISTORY)
        if done == len(HISTORY):
            return
    pytest.fail("the history makes more calls than were tried")


class PausingDisk(QuickDisk):
    """Lets somebody look before each call."""

    def __init__(self, look: Callable[[], None]):
        self._look = look
        for name in ("rename", "unlink", "fsync", "write", "open"):
            setattr(self, name, self._looked(getattr(self, name)))

    def _looked(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._look()
            return real(*arguments, **named)

        return call


def test_a_reader_at_any_moment_sees_the_state_before_an_act_or_after_it(tmp_path: Path) -> None:
    reader = open_store(tmp_path)
    allowed: Iterator[Model] | list[Model] = [after()]
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        assert found(reader) in allowed

    store = open_store(tmp_path, PausingDisk(look))
    for number, step in enumerate(HISTORY):
        allowed = [after(*HISTORY[:number]), after(*HISTORY[: number + 1])]
        act(store, *step)

    assert looks > len(HISTORY) * 5
    assert found(reader) == after(*HISTORY)
