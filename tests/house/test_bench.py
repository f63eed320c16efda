"""The bench runs, and compares like with like: what it times gives the gate's answers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from importlib import import_module
from random import Random
from typing import Any

import pytest

import capgate
from reference.descriptors import descriptor, taken_names
from tree import ROOT


@pytest.fixture(autouse=True)
def bench_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bench is no part of what is installed: it is run from the root of the project."""
    monkeypatch.syspath_prepend(str(ROOT))


def bench(module: str) -> Any:
    return import_module(f"bench.{module}")


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


@pytest.mark.parametrize("placement", ["machine", "browser"])
def test_the_hand_written_functions_give_the_answers_of_the_gate(gate: capgate.Gate, placement: str) -> None:
    by_hand, all_by_hand = bench("handwritten").decide, bench("handwritten_refusals").admit
    random = Random(placement)
    odd = [descriptor(random) for _ in range(3000)]
    for each in (*odd, *bench("descriptors").descriptors(1000)):
        taken = frozenset(taken_names(random))
        verdict = gate.admit(each, placement, taken)
        assert by_hand(each, placement, taken) == verdict.rule, each
        assert all_by_hand(each, placement, taken)[:4] == verdict[:4], each


def test_the_descriptors_are_refused_in_the_shares_that_are_stated(gate: capgate.Gate) -> None:
    made = bench("descriptors")
    assert Counter(gate.decide(each) for each in made.descriptors(1000)) == made.SHARES


def test_every_rule_that_can_refuse_is_among_the_shares(gate: capgate.Gate) -> None:
    never = {"absent-capability"}  # every mediated capability has a mechanism on every shipped placement
    assert set(gate.rules.rules) - never == bench("descriptors").SHARES.keys() - {None}


def test_what_answers_wrongly_does_not_count() -> None:
    engines = bench("engines")

    class Lenient(engines.Engine):  # type: ignore[name-defined, misc]  # imported at run time
        name, names_rules, helped = "lenient", True, "nothing"

        def __init__(self) -> None:
            pass

        def decide(self, descriptor: Any) -> str | None:
            return None

        def decide_bytes(self, source: bytes) -> str | None:
            return None

    assert bench("measure").agreement(Lenient(), bench("descriptors").descriptors(1000)) == 0.6


def test_further_rules_refuse_their_capability(gate: capgate.Gate, tmp_path: Any) -> None:
    more = capgate.open_gate([bench("overlay").write_overlay(tmp_path / "more", 4)])
    for capability in bench("engines").more_capabilities(4):
        asked = {"capabilities": [capability], "tools": [{"name": "a", "primitive": "now"}]}
        assert [refusal.rule for refusal in more.admit(asked).refusals] == ["unknown-capability", capability]


def test_the_bench_prints_its_tables() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "bench", "--quick"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    for row in ("**decide**", "**admit**", "hand-written decide", "cedarpy", "`capgate check` of 5 files"):
        assert row in ran.stdout
    assert "admit with 34 rules to 14" in ran.stdout
