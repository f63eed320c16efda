"""What is measured, and in which order."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import capgate
from bench import handwritten, handwritten_refusals
from bench.contest import Contest, Contestant, least, run
from bench.descriptors import descriptors
from bench.engine_cedar import Cedar
from bench.engine_cel import Cel
from bench.engine_jsonschema import JsonSchema
from bench.engine_rego import RegoInterpreter, RegoMachine
from bench.engines import Engine, EngineMissing
from bench.overlay import write_overlay
from bench.processes import Cost, check_command, cost, write_files
from capgate.policy.documents import load_json

__all__ = ["ENGINES", "FULL", "QUICK", "Counts", "Measured", "agreement", "measure"]

ENGINES: Final[tuple[type[Engine], ...]] = (RegoMachine, RegoInterpreter, Cel, Cedar, JsonSchema)


class Counts(NamedTuple):
    """How much is measured.

    Attributes:
        descriptors: how many are judged.
        rounds: how often.
        more: the number of further rules.
        few: how many descriptors the engines judge under the further rules; some take 30 ms for one.
        loaded: the number of rules that are loaded.
        files: the number of files that are checked.
        runs: how often each process is started, and the rules are loaded.
    """

    descriptors: int
    rounds: int
    more: int
    few: int
    loaded: int
    files: int
    runs: int


FULL: Final = Counts(descriptors=2000, rounds=20, more=10_000, few=20, loaded=2000, files=10_000, runs=10)
QUICK: Final = Counts(descriptors=100, rounds=1, more=20, few=5, loaded=20, files=5, runs=1)


class Measured(NamedTuple):
    """All figures.

    Attributes:
        counts: how much was measured.
        contest: every contestant under the shipped rules; with ``, bytes`` after its name from JSON as bytes.
        shared: of the descriptors, on how many each engine gives the gate's answer; 1 is all.
        many: the gate and the engines under the further rules; with ``, few rules`` after it the gate without them.
        missing: engine to the reason why it is not in a contest.
        nothing: the process ``python -c pass``.
        one: the process ``capgate check`` of one file.
        files: the process ``capgate check`` of the folder of files.
        load: seconds to load the shipped rules alone, and with the overlay.
    """

    counts: Counts
    contest: Contest
    shared: dict[str, float]
    many: Contest
    missing: dict[str, str]
    nothing: Cost
    one: Cost
    files: Cost
    load: tuple[float, float]


def measure(counts: Counts, folder: Path) -> Measured:
    """Measures, with files in `folder`, which exists and is empty."""
    data = descriptors(counts.descriptors)
    gate = capgate.open_gate()
    missing: dict[str, str] = {}
    shared: dict[str, float] = {}

    contestants = _ours(gate, data)
    for kind in ENGINES:
        try:
            engine = kind()
        except EngineMissing as error:
            missing[kind.name] = str(error)
            continue
        shared[kind.name] = agreement(engine, data)
        contestants[kind.name] = Contestant(engine.decide, data)
        contestants[f"{kind.name}, bytes"] = Contestant(engine.decide_bytes, _as_bytes(data))
    contest = run(contestants, counts.rounds)

    many = _many(counts, folder, gate, data, missing)
    overlay = write_overlay(folder / "loaded", counts.loaded)
    load = (least(capgate.open_gate, counts.runs), least(lambda: capgate.open_gate([overlay]), counts.runs))
    (one,) = write_files(folder / "one", data, 1).iterdir()
    files = write_files(folder / "files", data, counts.files)
    return Measured(
        counts=counts,
        contest=contest,
        shared=shared,
        many=many,
        missing=missing,
        nothing=cost([sys.executable, "-c", "pass"], counts.runs),
        one=cost(check_command(one), counts.runs),
        files=cost(check_command(files), min(counts.runs, 3)),
        load=load,
    )


def agreement(engine: Engine, data: Sequence[Any]) -> float:
    """The share of the descriptors on which an engine says what the gate says, parsed and from bytes."""
    gate = capgate.open_gate()
    right = 0
    for descriptor, source in zip(data, _as_bytes(data), strict=True):
        expected = gate.decide(descriptor)
        answers = (engine.decide(descriptor), engine.decide_bytes(source))
        if engine.names_rules:
            right += answers == (expected, expected)
        else:
            right += all((answer is None) is (expected is None) for answer in answers)
    return right / len(data)


def _ours(gate: capgate.Gate, data: Sequence[Any]) -> dict[str, Contestant]:
    sources = _as_bytes(data)
    asked = {
        "hand-written decide": handwritten.decide,
        "decide": gate.decide,
        "hand-written refusals": handwritten_refusals.admit,
        "admit": gate.admit,
    }
    made = {name: Contestant(ask, data) for name, ask in asked.items()}
    from_bytes = {
        "hand-written decide": lambda source: handwritten.decide(json.loads(source)),
        "decide": lambda source: gate.decide(load_json(source).data),
        "hand-written refusals": lambda source: handwritten_refusals.admit(json.loads(source)),
        "admit": lambda source: gate.admit(load_json(source).data),
    }
    return made | {f"{name}, bytes": Contestant(ask, sources) for name, ask in from_bytes.items()}


def _many(counts: Counts, folder: Path, gate: capgate.Gate, data: Sequence[Any], missing: dict[str, str]) -> Contest:
    """The contest under the further rules; the gate without them is in it for the ratio."""
    loaded = capgate.open_gate([write_overlay(folder / "more", counts.more)])
    ours = run(
        {
            "decide, few rules": Contestant(gate.decide, data),
            "decide": Contestant(loaded.decide, data),
            "admit, few rules": Contestant(gate.admit, data),
            "admit": Contestant(loaded.admit, data),
        },
        counts.rounds,
    )
    few = data[: counts.few]
    theirs: dict[str, Contestant] = {}
    for kind in ENGINES:
        if kind.name in missing:
            continue
        try:
            engine = kind(counts.more)
        except EngineMissing as error:
            missing[f"{kind.name}, many rules"] = str(error)
            continue
        if agreement(engine, few) == 1:
            theirs[kind.name] = Contestant(engine.decide, few)
        else:
            missing[f"{kind.name}, many rules"] = "answers wrongly"
    found = run(theirs, 2) if theirs else Contest({}, {})
    return Contest({**ours.micros, **found.micros}, {**ours.rounds, **found.rounds})


def _as_bytes(data: Sequence[Any]) -> list[bytes]:
    return [json.dumps(descriptor, ensure_ascii=False, separators=(",", ":")).encode() for descriptor in data]
