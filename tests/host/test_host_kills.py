"""Whole hosts that share their state, killed at random moments: what was acknowledged holds, and a host starts."""

from __future__ import annotations

import os
import random
import select
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from capgate.policy.gate import Gate
from host_samples import HUMAN, MODEL, clock_descriptor
from killing import Worker

#: How many processes are killed; `make soak` takes 2,000.
KILLS = int(os.environ.get("CAPGATE_HOST_KILLS", "40"))
WORKERS = 2

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="forks"),
    # The runner may have threads of its own; the children use nothing of theirs.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def opened(gate: Gate, folder: Path) -> AdmissionHost:
    return open_host(gate, Settings(folder / "workspace", True, folder / "extensions", folder / "shelf"))


def work(gate: Gate, folder: Path, name: str, seed: int, say: Callable[[str], None]) -> None:
    """Proposes, admits, changes and revokes for ever, on ids of its own; it begins with what is there."""
    host, chance = opened(gate, folder), random.Random(seed)
    while True:
        id = f"{name}-{chance.randrange(2)}"
        if id not in host.registry.extensions:
            host.propose(clock_descriptor(id, id.replace("-", "_")), actor=MODEL)
            say(f"running {id}")
            host.admit(id, confirm=True, actor=HUMAN)
        elif chance.random() < 0.5:
            say(f"running {id}")
            host.reconfigure(id, {"bounds": {"maxBytes": chance.randrange(1000)}}, confirm=True, actor=HUMAN)
        else:
            say(f"gone {id}")
            host.revoke(id, confirm=True, actor=HUMAN)
        say("done")


def test_nothing_acknowledged_is_lost_and_the_host_starts(gate: Gate, tmp_path: Path) -> None:
    chance = random.Random(11)
    expected: dict[str, set[str]] = {}
    acts = 0
    for round_ in range(0, KILLS, WORKERS):
        workers = [Worker(partial(work, gate, tmp_path, f"host{n}", round_ + n)) for n in range(WORKERS)]
        for worker in workers:
            worker.wait_for(chance.randrange(3))
            # A part of a millisecond more, so that each step of an act is hit.
            select.select([], [], [], chance.random() / 1000)
            said = worker.kill()
            acts += said.count("done")
            for number, line in enumerate(said):
                if line != "done":
                    state, id = line.split(" ")
                    done = said[number + 1 : number + 2] == ["done"]
                    expected[id] = {state} if done else expected.get(id, {"gone"}) | {state}
        host = opened(gate, tmp_path)
        registry = host.registry
        assert registry.ledger.fault is None
        assert dict(registry.failed) == {}
        assert host.inventory()["present"] == []
        for id, allowed in expected.items():
            found = "running" if id in registry.extensions else "gone"
            assert found in allowed, id
            expected[id] = {found}
        host.close()
    assert acts > KILLS / 2
