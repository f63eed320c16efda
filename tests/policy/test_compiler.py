"""What the compiler leaves out, shares and merges: the answers are those of the rules as they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.plugins.api import Operator
from capgate.policy.catalog import Catalog
from capgate.policy.gate import Gate
from capgate.policy.ruleset import RuleFolder, load_ruleset
from overlays import overlay, rule
from plugin_samples.faulty import Plugin

TOOLS: dict[str, Any] = {"tools": [{"name": "a", "primitive": "now"}]}


def refusing(gate: capgate.Gate, descriptor: Any, *, placement: str = "machine") -> list[str]:
    """The ids of all refusals, which have to begin with what `decide` says."""
    ids = [refusal.rule for refusal in gate.admit({**TOOLS, **descriptor}, placement).refusals]
    assert gate.decide({**TOOLS, **descriptor}, placement) == (ids[0] if ids else None)
    return ids


@pytest.mark.parametrize(
    "operators",
    [
        {"in": ["hour", "day"], "equals": "process"},
        {"equals": "hour", "not_in": ["hour", "day"]},
    ],
)
def test_texts_that_no_value_can_meet_together_refuse_nothing(tmp_path: Path, operators: dict[str, Any]) -> None:
    never = rule("never", {"descriptor.bounds.window": operators})
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", never=never)])
    for window in ("hour", "day", "process", "admission"):
        assert refusing(gate, {"bounds": {"window": window}}) == []
    always = rule("always", {"not": {"descriptor.bounds.window": operators}})
    gate = capgate.open_gate(rules=[overlay(tmp_path / "others", always=always)])
    assert refusing(gate, {"bounds": {"window": "hour"}}) == refusing(gate, {}) == ["always"]


def test_triggers_that_need_the_same_texts_are_each_asked(tmp_path: Path) -> None:
    texts = {"descriptor.runsIn": {"in": ["host", "remote"]}}
    rules = {
        name: rule(name, {"all": [texts, {f"descriptor.{key}": {"equals": "x"}}]})
        for name, key in (("first", "id"), ("second", "name"))
    }
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", **rules)])
    assert refusing(gate, {"runsIn": "host", "id": "x", "name": "x"}) == ["first", "second"]
    assert refusing(gate, {"runsIn": "remote", "id": "y", "name": "x"}) == ["second"]
    assert refusing(gate, {"id": "x", "name": "x"}) == []


def test_triggers_that_need_the_same_text_and_can_hold_on_another_placement_alone_are_left_out(tmp_path: Path) -> None:
    runs = {"descriptor.runsIn": {"equals": "remote"}}
    rules = {name: rule(name, {"all": [runs, {"placement.name": {"equals": "browser"}}]}) for name in ("one", "other")}
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", **rules)])
    assert refusing(gate, {"runsIn": "remote"}) == []
    assert refusing(gate, {"runsIn": "remote"}, placement="browser") == ["one", "other"]


def test_values_that_hold_themselves_are_compared_in_the_end(tmp_path: Path) -> None:
    hosts, requests = "descriptor.bounds.hosts", "descriptor.bounds.maxRequests"
    equal = rule("equal", {hosts: {"equals": {"fact": requests}}})
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", equal=equal)])

    def endless(last: int) -> list[Any]:
        made: list[Any] = [last]
        made.insert(0, made)
        return made

    assert gate.decide({**TOOLS, "bounds": {"hosts": endless(1), "maxRequests": endless(1)}}) == "equal"
    assert gate.decide({**TOOLS, "bounds": {"hosts": endless(1), "maxRequests": endless(2)}}) is None


@pytest.mark.parametrize(
    ("when", "refused"),
    [
        ({"placement.name": {"in": {"fact": "placement.mechanisms"}}}, False),
        ({"placement.name": {"not_in": {"fact": "catalog.primitives"}}}, True),
        ({"placement.name": {"equals": {"fact": "descriptor.id"}}}, True),
        ({"catalog.primitives": {"each": {"type": "string"}}}, True),
        ({"catalog.primitives": {"each": {"minlength": 4}}}, False),
    ],
)
def test_what_is_the_same_for_all_is_asked_as_it_is_of_each(tmp_path: Path, when: Any, refused: bool) -> None:
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", fixed=rule("fixed", when))])
    assert refusing(gate, {"id": "machine"}) == ["fixed"] * refused


def test_a_rule_that_is_looked_up_is_the_same_for_every_descriptor(tmp_path: Path) -> None:
    rules = {f"r{number}": rule(f"r{number}", {"descriptor.id": {"equals": f"x{number}"}}) for number in range(10)}
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", **rules)])
    for _ in range(2):
        assert [refusing(gate, {"id": f"x{number}"}) for number in (3, 4, 12)] == [["r3"], ["r4"], []]


def test_the_same_variable_in_several_stages_is_another_each_time(tmp_path: Path) -> None:
    of_tools = rule("of-tools", {"item.name": {"equals": "b"}}, stage="backstop", for_each={"item": "subject.tools"})
    of_hosts = rule("of-hosts", {"not": {"item": {"type": "object"}}}, for_each={"item": "descriptor.bounds.hosts"})
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", of_tools=of_tools, of_hosts=of_hosts)])
    assert refusing(gate, {"bounds": {"hosts": ["a"]}}) == ["of-hosts"]
    assert refusing(gate, {"bounds": {"hosts": [{}]}}) == []


def own(folder: Path, catalog: Catalog, **rules: Any) -> Gate:
    """A gate with rules of its own in place of the shipped ones, in the stages that they name."""
    stages: dict[str, dict[str, Any]] = {}
    for data in rules.values():
        stage = data["triggers"][0]["stage"]
        loop = {"for_each": {"fault": "subject.faults"}} if stage == "shape" else {}
        stages.setdefault(stage, {"name": stage, "rules": [], **loop})["rules"].append(data["id"])
    ruleset = {"language": 1, "stages": list(stages.values())}
    return Gate(catalog, load_ruleset(catalog, RuleFolder(overlay(folder, ruleset=ruleset, **rules), "own")))


def test_where_not_every_fault_refuses_what_is_malformed_is_judged_by_all_rules(tmp_path: Path) -> None:
    ids = rule("ids", {"fault.path": {"equals": "$.id"}}, stage="shape")
    tools = rule("tools", {"tool.name": {"not_in": ["a"]}}, stage="later", for_each={"tool": "subject.tools"})
    gate = own(tmp_path / "rules", capgate.open_gate().catalog, ids=ids, tools=tools)
    assert refusing(gate, {"id": 7, "tools": [None]}) == ["ids"]
    assert refusing(gate, {"id": "x", "tools": [None, 5, {"name": []}, {"name": "a"}]}) == ["tools"] * 3
    assert refusing(gate, {"bounds": 5}) == []


def test_a_warning_about_faults_ends_nothing(tmp_path: Path) -> None:
    faults = rule("faults", {"fault": {"exists": True}}, stage="shape", severity="warn")
    names = rule("names", {"descriptor.name": {"equals": 5}}, stage="later")
    gate = own(tmp_path / "rules", capgate.open_gate().catalog, faults=faults, names=names)
    found = [(refusal.rule, refusal.severity) for refusal in gate.admit({"name": 5}).refusals]
    assert found == [("faults", "warn"), ("names", "refuse")]
    assert gate.decide({"name": 5}) == "names"


def test_a_warning_asks_the_operator_of_a_plugin_below_each_before_anything_is_decided(tmp_path: Path) -> None:
    def fail(value: Any, operand: Any) -> bool:
        raise RuntimeError("no")

    near = Operator("near", lambda operand: None, fail)
    warns = rule("warns", {"descriptor.bounds.hosts": {"each": {"near": 1}}}, severity="warn")
    gate = capgate.open_gate(
        rules=[overlay(tmp_path / "rules", warns=warns)], plugins=[Plugin(capgate_operators=[near])]
    )
    descriptor = {**TOOLS, "bounds": {"hosts": ["a.test"]}}
    assert gate.decide(descriptor) == gate.admit(descriptor).rule == "fact-unavailable"
    assert gate.decide(TOOLS) is None


def test_whoever_listens_is_told_of_each_verdict_once_and_of_what_it_was(tmp_path: Path) -> None:
    told: list[tuple[Any, str]] = []
    shipped = capgate.open_gate()
    gate = Gate(
        shipped.catalog, shipped.rules, decided=lambda subject, verdict: told.append((subject, verdict.decision))
    )
    assert gate.decide({}) == gate.admit({}).rule == "no-tools"
    assert gate.decide(TOOLS) is None
    assert told == [({}, "refused"), ({}, "refused"), (TOOLS, "admitted")]
