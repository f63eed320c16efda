"""Processes that share a store, killed at random moments under load: nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import random
import select
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from capgate.host.admission.file_store import LEDGER, FileStore
from capgate.host.admission.store import Actor, NewEntry
from capgate.host.admission.verification import verify
from capgate.policy.documents import digest
from killing import Worker

#: How many processes are killed; `make soak` takes 2,000.
KILLS = int(os.environ.get("CAPGATE_KILLS", "100"))
WORKERS = 3
NOON = 1_796_040_000.0
ACTOR = Actor("host-token", "http")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="forks"),
    # The runner may have threads of its own; the children use nothing of theirs.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def open_store(folder: Path) -> FileStore:
    return FileStore(folder / "workspace", folder / "extensions", report=lambda _: None)


def content(id: str, version: int) -> bytes:
    # Of many sizes, so that a write is cut now and then.
    return json.dumps({"id": id, "version": version, "padding": "x" * (version * 997 % 20_000)}).encode()


def work(folder: Path, name: str, seed: int, say: Callable[[str], None]) -> None:
    """Admits, revokes and proposes for ever, on ids of its own."""
    store, chance, version = open_store(folder), random.Random(seed), 0
    while True:
        version += 1
        id = f"{name}-{chance.randrange(3)}"
        about = chance.choice(["admitted", "admitted", "revoked", "propose"])
        say(f"{about} {id} {version}")
        data = content(id, version)
        with store.changing() as change:
            if about == "propose":
                change.put_proposal(id, data, revision=True)
            else:
                kept = data if about == "admitted" else None
                change.append(
                    NewEntry(id, about, digest(json.loads(data)), NOON, ACTOR, digest("p"), "cli"),  # type: ignore[arg-type]
                    kept,
                )
        say("done")


class Acknowledged:
    """What has to be there: for each id what was acknowledged last, and what may have been done after that."""

    def __init__(self) -> None:
        self.admitted: dict[str, list[bytes | None]] = {}
        self.proposals: dict[str, list[bytes | None]] = {}

    def take(self, said: list[str]) -> None:
        for number, line in enumerate(said):
            if line == "done":
                continue
            about, id, version = line.split(" ")
            kept = self.proposals if about == "propose" else self.admitted
            new = None if about == "revoked" else content(id, int(version))
            acknowledged = said[number + 1 : number + 2] == ["done"]
            kept[id] = [new] if acknowledged else [*kept.get(id, [None]), new]

    def settle(self, store: FileStore) -> None:
        """Holds the store against it, and takes what it has as what has to be there from now on."""
        state = store.ledger()
        assert state.fault is None
        for id, allowed in self.admitted.items():
            found = store.descriptor(id)
            assert found in allowed, id
            assert (id in state.admitted) == (found is not None)
            assert found is None or state.admitted[id].digest == digest(json.loads(found))
            self.admitted[id] = [found]
        for id, allowed in self.proposals.items():
            assert store.proposal(id) in allowed, id
            self.proposals[id] = [store.proposal(id)]
        assert {item.id for item in store.descriptors()} == state.admitted.keys()


def test_nothing_acknowledged_is_lost_at_any_kill(tmp_path: Path) -> None:
    chance = random.Random(7)
    expected = Acknowledged()
    acts = 0
    for round_ in range(0, KILLS, WORKERS):
        workers = [Worker(partial(work, tmp_path, f"worker{n}", round_ + n)) for n in range(WORKERS)]
        for worker in chance.sample(workers, len(workers)):
            worker.wait_for(chance.randrange(4))
            # A part of a millisecond more, so that each step of an act is hit.
            select.select([], [], [], chance.random() / 1000)
            said = worker.kill()
            acts += said.count("done")
            expected.take(said)
        with open_store(tmp_path).changing():
            pass
        expected.settle(open_store(tmp_path))
        with (tmp_path / "extensions" / LEDGER).open("rb") as file:
            assert list(verify(file).faults) == []
        assert list((tmp_path / "extensions").glob(".staged/*")) == []
    assert acts > KILLS / 2
    print(f"{KILLS} kills, {acts} acts acknowledged, {open_store(tmp_path).ledger().length} lines")
