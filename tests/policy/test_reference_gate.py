"""The compiled gate held against the reference evaluator, over many rule sets and descriptors."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import capgate
from capgate.policy.gate import Gate
from reference.comparison import Case, Judges, difference_of, first_difference, random_case, read_case, save, shrink
from reference.conditions import Truth
from reference.descriptors import descriptor, descriptors
from reference.fuzz import CORPUS
from reference.rulesets import OUTERMOST, Overlay, overlay, overlays, random_condition
from reference.shipped import shipped_stages, write_overlay
from reference.table import COMBINATIONS, ROWS, VALUE, Row, descriptor_with

#: The pairs of a run: this many overlays, with so many descriptors each.
CHUNKS, OVERLAYS, DESCRIPTORS = 20, 5, 100
IN_CI = settings(deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def trigger(when: dict[str, Any], stage: str = "probe") -> dict[str, Any]:
    return {"stage": stage, "when": when, "reason": "because"}


def rule(name: str, when: dict[str, Any], stage: str = "probe") -> dict[str, Any]:
    return {"id": name, "title": "A rule", "applies_to": "descriptor", "triggers": [trigger(when, stage)]}


def both_ways(conditions: dict[str, dict[str, Any]]) -> Overlay:
    """For each condition a rule that refuses when it holds, and one that refuses when it does not."""
    rules = {}
    for name, when in conditions.items():
        rules[f"{name}-plain"] = rule(f"{name}-plain", when)
        rules[f"{name}-negated"] = rule(f"{name}-negated", {"not": when})
    return Overlay(rules, [{"name": "probe", "after": "shape"}])


def said(gate: Gate, name: str, subject: Any) -> Truth:
    """What the gate makes of a condition, told from which of its two rules refuse."""
    spoke = {refusal.rule for refusal in gate.admit(subject).refusals}
    found: dict[tuple[bool, bool], Truth] = {(True, False): "true", (False, True): "false", (True, True): "unknown"}
    return found[f"{name}-plain" in spoke, f"{name}-negated" in spoke]


@pytest.fixture(scope="module")
def table_gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    conditions: dict[str, dict[str, Any]] = {name: {VALUE: row.operators} for name, row in ROWS.items()}
    conditions |= {name: when for name, (when, _) in COMBINATIONS.items()}
    return capgate.open_gate(rules=[write_overlay(both_ways(conditions), tmp_path_factory.mktemp("table") / "rules")])


@pytest.mark.parametrize(("name", "row"), ROWS.items(), ids=ROWS)
def test_the_gate_says_what_the_table_says_of_an_operator(table_gate: Gate, name: str, row: Row) -> None:
    assert said(table_gate, name, descriptor_with(row.value, row.fact)) == row.expected


@pytest.mark.parametrize("name", COMBINATIONS)
def test_the_gate_says_what_the_table_says_of_a_combinator(table_gate: Gate, name: str) -> None:
    assert said(table_gate, name, descriptor_with("a")) == COMBINATIONS[name][1]


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_gate_and_reference_agree_on_every_refusal_of_generated_rules(chunk: int) -> None:
    for number in range(OVERLAYS):
        seed = f"ci/{chunk}/{number}"
        found = first_difference(Random(seed), DESCRIPTORS)
        if found is not None:
            case, difference = shrink(*found)
            pytest.fail(f"seed {seed}: {difference}\n{json.dumps(case.to_json(), indent=1)}")


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*.json")), ids=lambda file: file.stem)
def test_a_difference_found_once_stays_mended(file: Path) -> None:
    assert difference_of(read_case(json.loads(file.read_text(encoding="utf-8")))) is None


@pytest.mark.long
@settings(parent=IN_CI, max_examples=300)
@given(subject=descriptors(), placement=st.sampled_from(["machine", "browser"]), taken=st.sampled_from([[], ["a"]]))
def test_gate_and_reference_agree_on_the_shipped_rules(
    shipped: Judges, subject: Any, placement: str, taken: list[str]
) -> None:
    assert shipped.difference(subject, placement, taken) is None


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Judges:
    return Judges(Overlay({}), tmp_path_factory.mktemp("shipped") / "none")


@pytest.mark.long
@settings(parent=IN_CI, phases=[Phase.explicit, Phase.generate])  # Shrinking would load a gate for each step.
@given(made=overlays(shipped_stages()), subject=descriptors())
def test_gate_and_reference_agree_on_any_overlay(made: Overlay, subject: Any) -> None:
    assert difference_of(Case(made, subject)) is None


def refusals(made: Overlay, folder: Path, subjects: list[Any]) -> list[list[tuple[str, str | None]]]:
    gate = capgate.open_gate(rules=[write_overlay(made, folder)] if made.rules else [])
    return [[(refusal.rule, refusal.element) for refusal in gate.admit(subject).refusals] for subject in subjects]


def without(made: Overlay, name: str) -> Overlay:
    """The overlay without one rule, and without the stages that then have none."""
    left = made.copied()
    del left.rules[name]
    used = {trigger["stage"] for rule in left.rules.values() for trigger in rule["triggers"]}
    left.stages = [stage for stage in left.stages if stage["name"] in used and stage["after"] not in ("extra", "later")]
    kept = {stage["name"] for stage in (*shipped_stages(), *left.stages)}
    left.rules = {
        name: rule for name, rule in left.rules.items() if all(trigger["stage"] in kept for trigger in rule["triggers"])
    }
    return left if left.rules else Overlay({})


@pytest.mark.long
@pytest.mark.parametrize("seed", range(15))
def test_another_rule_never_admits_more(seed: int, tmp_path: Path) -> None:
    random = Random(f"monotone/{seed}")
    made = overlay(random, shipped_stages())
    subjects = [descriptor(random) for _ in range(40)]
    more = capgate.open_gate(rules=[write_overlay(made, tmp_path / "more")])
    fewer_rules = without(made, random.choice(list(made.rules)))
    fewer = capgate.open_gate(rules=[write_overlay(fewer_rules, tmp_path / "fewer")] if fewer_rules.rules else [])
    bare = capgate.open_gate()
    for subject in subjects:
        if more.decide(subject) is None:
            assert fewer.decide(subject) is None
        if fewer.decide(subject) is None:
            assert bare.decide(subject) is None


@pytest.mark.long
@pytest.mark.parametrize("seed", range(15))
def test_the_names_of_overlay_files_decide_the_order_of_refusals_and_nothing_else(seed: int, tmp_path: Path) -> None:
    random = Random(f"names/{seed}")
    made = overlay(random, shipped_stages())
    subjects = [descriptor(random) for _ in range(30)]
    new_names = dict(zip(made.rules, random.sample([f"n{at}" for at in range(60)], len(made.rules)), strict=True))
    renamed = Overlay({new: {**made.rules[old], "id": new} for old, new in new_names.items()}, made.stages)
    before = refusals(made, tmp_path / "before", subjects)
    after = refusals(renamed, tmp_path / "after", subjects)
    for old, new in zip(before, after, strict=True):
        assert Counter((new_names.get(name, name), element) for name, element in old) == Counter(new)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_the_order_in_which_overlay_files_were_written_decides_nothing(seed: int, tmp_path: Path) -> None:
    random = Random(f"written/{seed}")
    made = overlay(random, shipped_stages())
    subjects = [descriptor(random) for _ in range(20)]
    backwards = Overlay(dict(reversed(made.rules.items())), made.stages)
    assert refusals(made, tmp_path / "a", subjects) == refusals(backwards, tmp_path / "b", subjects)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_condition_or_its_negation_always_refuses_a_well_formed_descriptor(seed: int, tmp_path: Path) -> None:
    """No absent or odd value makes both silent: what cannot be decided refuses under both."""
    random = Random(f"fail-closed/{seed}")
    conditions = {f"c{at}": random_condition(random, OUTERMOST) for at in range(40)}
    gate = capgate.open_gate(rules=[write_overlay(both_ways(conditions), tmp_path / "rules")])
    met: Counter[Truth] = Counter()
    for _ in range(40):
        subject = descriptor(random)
        if gate.decide(subject) != "malformed-descriptor":
            met.update(said(gate, name, subject) for name in conditions)
    assert set(met) == {"true", "false", "unknown"}


def test_a_case_is_the_same_after_it_was_saved(tmp_path: Path) -> None:
    case = random_case(Random("saved"))
    difference = difference_of(Case(Overlay({"a": {"id": "a"}}), {}))
    assert difference is not None
    assert difference.kind == "does not load"
    saved = json.loads(save(case, difference, tmp_path / "differences").read_text(encoding="utf-8"))
    assert read_case(saved) == case


def test_a_difference_is_shrunk_to_what_it_needs() -> None:
    broken = rule("broken", {"descriptor.id": {"equal": 1}}, "bounds")
    fine = rule("fine", {"descriptor.id": {"equals": 1}}, "bounds")
    case = Case(Overlay({"broken": broken, "fine": fine}), {"id": "a"})
    difference = difference_of(case)
    assert difference is not None
    small, _ = shrink(case, difference)
    assert list(small.overlay.rules) == ["broken"]
    assert small.descriptor == {}
