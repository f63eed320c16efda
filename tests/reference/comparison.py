"""The compiled gate held against the reference: one case, its difference, the smallest case that has it."""

from __future__ import annotations

import copy
import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, tee
from pathlib import Path
from random import Random
from typing import Any

import capgate
from capgate.policy.errors import CapgateError
from capgate.policy.gate import Gate
from reference.descriptors import descriptor, taken_names
from reference.rulesets import Overlay, overlay
from reference.shipped import assembled, shipped_rules, shipped_stages, write_overlay
from reference.verdict import Finding, decision, judge
from reference.world import CATALOG, PLACEMENTS

__all__ = [
    "Case",
    "Difference",
    "Judges",
    "difference_of",
    "first_difference",
    "random_case",
    "read_case",
    "save",
    "shrink",
]


@dataclass(frozen=True)
class Case:
    """An overlay and something to judge with it."""

    overlay: Overlay
    descriptor: Any
    placement: str = "machine"
    taken: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The case as JSON data; `read_case` reads it back."""
        return {
            "rules": self.overlay.rules,
            "stages": self.overlay.stages,
            "descriptor": self.descriptor,
            "placement": self.placement,
            "taken": self.taken,
        }


def read_case(data: dict[str, Any]) -> Case:
    """A case from what `Case.to_json` gave."""
    return Case(Overlay(data["rules"], data["stages"]), data["descriptor"], data["placement"], data["taken"])


@dataclass(frozen=True)
class Difference:
    """Where gate and reference part: `kind` is a word for the sort of difference."""

    kind: str
    gate: Any
    reference: Any


class Judges:
    """Gate and reference for one overlay."""

    def __init__(self, overlay: Overlay, folder: Path):
        self.overlay = overlay
        self.gate: Gate = capgate.open_gate(rules=[write_overlay(overlay, folder)] if overlay.rules else [])
        self.rules, self.stages = assembled(shipped_rules(), shipped_stages(), overlay)

    def findings(self, descriptor: Any, placement: str, taken: list[str]) -> list[Finding]:
        """What the reference finds."""
        return judge(self.rules, self.stages, descriptor, PLACEMENTS[placement], set(taken), CATALOG)

    def difference(self, descriptor: Any, placement: str, taken: list[str]) -> Difference | None:
        """Asks both; None where they agree on every refusal, the verdict, and the decision."""
        expected = self.findings(descriptor, placement, taken)
        before = repr(descriptor)
        try:
            verdict = self.gate.admit(descriptor, placement, frozenset(taken))
            decided = self.gate.decide(descriptor, placement, frozenset(taken))
        except (Exception, RecursionError) as error:  # noqa: BLE001 - any exception is a difference
            return Difference(f"raises {type(error).__name__}", str(error)[:500], expected)
        found = [Finding(refusal.rule, refusal.severity, refusal.element) for refusal in verdict.refusals]
        rule = decision(expected)
        if found != expected:
            return Difference("refusals", found, expected)
        if decided != rule:
            return Difference("decide", decided, rule)
        if (verdict.rule, verdict.decision) != (rule, "refused" if rule else "admitted"):
            return Difference("verdict", (verdict.decision, verdict.rule), rule)
        if repr(descriptor) != before:
            return Difference("changed the descriptor", repr(descriptor), before)
        return None


def difference_of(case: Case) -> Difference | None:
    """The difference of one case, opening the gate for it."""
    return next(_differences([case]))


def _differences(cases: Iterable[Case]) -> Iterator[Difference | None]:
    """The difference of each case; cases in a row that share an overlay share a gate."""
    overlay: Overlay | None = None
    judges: Judges | Difference = Difference("", None, None)
    for case in cases:
        if case.overlay is not overlay:
            overlay, judges = case.overlay, _judges(case.overlay)
        if isinstance(judges, Difference):
            yield judges
        else:
            yield judges.difference(case.descriptor, case.placement, case.taken)


def _judges(overlay: Overlay) -> Judges | Difference:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Judges(overlay, Path(folder, "overlay"))
        except CapgateError as error:
            return Difference("does not load", str(error), None)


def random_case(random: Random) -> Case:
    """A whole case."""
    placement = random.choice(["machine", "machine", "browser"])
    return Case(overlay(random, shipped_stages()), descriptor(random), placement, taken_names(random))


def first_difference(random: Random, descriptors: int) -> tuple[Case, Difference] | None:
    """Judges so many descriptors with one overlay; the first case that differs, as it was drawn."""
    first = random_case(random)
    more = (replace(first, descriptor=descriptor(random), taken=taken_names(random)) for _ in range(descriptors - 1))
    cases, asked = tee(chain([first], more))
    for case, difference in zip(cases, _differences(asked), strict=True):
        if difference is not None:
            return case, difference
    return None


def shrink(case: Case, difference: Difference, steps: int = 1000) -> tuple[Case, Difference]:
    """The smallest case found that differs in the same way, after `steps` attempts at most."""
    smaller = True
    while smaller and steps > 0:
        smaller = False
        candidates, asked = tee(_smaller(case))
        for candidate, found in zip(candidates, _differences(asked), strict=True):
            steps -= 1
            if found is not None and found.kind == difference.kind:
                case, difference, smaller = candidate, found, True
            if smaller or steps <= 0:
                break
    return case, difference


def save(case: Case, difference: Difference, folder: Path) -> Path:
    """Writes a case into `folder` as a file that the suite replays; its name is taken from its content."""
    text = json.dumps({**case.to_json(), "difference": difference.kind}, indent=1, sort_keys=False)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    file.write_text(text + "\n", encoding="utf-8")
    return file


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with something left out, the largest parts first."""
    rules = list(case.overlay.rules)
    halves = [rules[::2], rules[1::2]] if len(rules) > 2 else []
    for some in (*halves, *([name] for name in rules)):
        yield replace(case, overlay=_without(case.overlay, rules=some))
    for stage in case.overlay.stages:
        yield replace(case, overlay=_without(case.overlay, stage=stage["name"]))
    if case.taken:
        yield replace(case, taken=[])
    for data in _simpler(case.descriptor):
        yield replace(case, descriptor=data)
    for name, rule in case.overlay.rules.items():
        for data in _simpler({key: rule[key] for key in ("triggers", "severity") if key in rule}):
            kept = {key: part for key, part in rule.items() if key not in ("triggers", "severity")}
            yield replace(case, overlay=Overlay({**case.overlay.rules, name: kept | data}, case.overlay.stages))


def _without(overlay: Overlay, rules: Sequence[str] = (), stage: str = "") -> Overlay:
    """The overlay without some rules, or without a stage and the triggers in it."""
    left = overlay.copied()
    left.stages = [kept for kept in left.stages if kept["name"] != stage]
    left.rules = {name: rule for name, rule in left.rules.items() if name not in rules}
    for rule in left.rules.values():
        rule["triggers"] = [trigger for trigger in rule["triggers"] if trigger["stage"] != stage]
    return left


def _simpler(value: Any) -> Iterator[Any]:
    """Values with one part less, or one part replaced by something below it or by something plain."""
    if isinstance(value, list):
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :]
        for at, part in enumerate(value):
            for simpler in (*_parts(part), *_simpler(part)):
                yield [*value[:at], simpler, *value[at + 1 :]]
    elif isinstance(value, dict):
        for key in value:
            yield {name: part for name, part in value.items() if name != key}
        for key, part in value.items():
            for simpler in (*_parts(part), *_simpler(part)):
                yield {**value, key: simpler}
    elif isinstance(value, str) and len(value) > 1 and value != "because":
        yield value[:1]
    elif isinstance(value, float) and value != 0.5:
        yield 0.5


def _parts(value: Any) -> list[Any]:
    """What may stand in for a container: one of its parts."""
    if isinstance(value, dict):
        return [copy.deepcopy(part) for part in value.values() if isinstance(part, (dict, list))]
    if isinstance(value, list):
        return [copy.deepcopy(part) for part in value if isinstance(part, dict)]
    return []
