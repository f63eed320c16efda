"""``capgate rules coverage``, and what a condition can answer at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import capgate
from capgate.plugins.api import Fact, Operator, Primitive
from capgate.policy.authoring.coverage import Covered, cover
from capgate.policy.authoring.domains import Domains
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.possible import answers_of
from capgate.policy.authoring.suite import gather
from capgate.policy.authoring.truth import Truth, truth_of
from capgate.policy.conditions import leaves_of
from plugin_samples.faulty import Plugin
from reference.descriptors import descriptor
from reference.rulesets import Overlay as RandomOverlay
from reference.rulesets import overlay as random_overlay
from reference.shipped import shipped_stages, write_overlay

Run = Callable[..., Any]
Overlay = Callable[..., Path]

BAD = "{capabilities: [network], bounds: {hosts: [a.test], maxRequests: 16}, tools: [{name: a, primitive: now}]}"
GOOD = "{tools: [{name: a, primitive: now}]}"
T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN


def test_the_shipped_rules_are_covered_whole(rules: Run) -> None:
    done = rules("coverage")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("14 rules, ")
    assert done.out.endswith(" answers seen, 100 %\n")


def test_what_no_test_brings_about_is_named_with_its_place(rules: Run, overlay: Overlay) -> None:
    examples = f"examples:\n  refused: [{{descriptor: {BAD}}}]\n  admitted: [{{descriptor: {GOOD}}}]\n"
    done = rules("coverage", overlay(examples))
    assert done.code == 1
    assert (
        done.out
        == """\
mine/few-requests.yaml:11:49: few-requests: never true and unknown: descriptor.bounds.maxRequests: {max: 15}

1 rule, 2 conditions: 3 of 5 answers seen, 60 %
capgate: that is less than 100 %
"""
    )


def test_cases_count_as_examples_do(rules: Run, overlay: Overlay) -> None:
    examples = f"examples:\n  refused: [{{descriptor: {BAD}}}]\n  admitted: [{{descriptor: {GOOD}}}]\n"
    cases = f"""\
cases:
  - {{name: few, descriptor: {BAD.replace("16", "15")}, exactly: []}}
  - {{name: odd, descriptor: {BAD.replace("16", "lots")}, refused: [few-requests]}}
"""
    assert rules("coverage", overlay(examples, cases=cases)).code == 0


@pytest.mark.parametrize(("least", "code"), [("0", 0), ("60", 0), ("60.01", 1), ("100", 1)])
def test_less_than_asked_for_fails(rules: Run, overlay: Overlay, least: str, code: int) -> None:
    examples = f"examples:\n  refused: [{{descriptor: {BAD}}}]\n  admitted: [{{descriptor: {GOOD}}}]\n"
    assert rules("coverage", overlay(examples), "--fail-under", least).code == code


@pytest.mark.parametrize("least", ["-1", "101", "half", "nan"])
def test_a_share_that_is_none_is_refused(rules: Run, least: str) -> None:
    assert rules("coverage", "--fail-under", least).code == 2


def test_rules_without_a_test_are_not_covered(rules: Run, overlay: Overlay) -> None:
    done = rules("coverage", overlay(""))
    assert done.code == 1
    assert "0 of 5 answers seen, 0 %" in done.out


def test_a_test_that_cannot_be_read_is_an_error(rules: Run, overlay: Overlay) -> None:
    done = rules("coverage", overlay(cases="cases: []\n"))
    assert done.code == 4
    assert "mine/tests/cases.yaml:1:8: value-unfit: " in done.out


# What can be answered


def covered(
    tmp_path: Path,
    trigger: dict[str, Any],
    examples: dict[str, Any] | None = None,
    plugins: Sequence[object] = (),
) -> list[Covered]:
    """The conditions of a rule with this trigger."""
    rule = {
        "id": "mine",
        "title": "Mine",
        "applies_to": "descriptor",
        "triggers": [{"reason": "because", **trigger}],
        "examples": examples or {},
    }
    folder = write_overlay(RandomOverlay({"mine": rule}), tmp_path / "overlay")
    gates = Gates(capgate.open_gate(rules=[folder], plugins=plugins))
    rules = [gates.rules.rules["mine"]]
    return cover(rules, gather(gates, [folder]).trials, gates)


@pytest.mark.parametrize(
    ("stage", "when", "possible"),
    [
        # What is in the descriptor, as far as the stage shape lets it pass.
        ("bounds", {"descriptor.id": {"matches": "[a-z]+"}}, {T, F}),
        ("bounds", {"descriptor.id": {"type": "string"}}, {T, F}),
        ("bounds", {"descriptor.id": {"type": "number"}}, {F}),
        ("bounds", {"descriptor.id": {"minlength": 100}}, {T, F}),
        ("bounds", {"descriptor.id": {"minlength": 101}}, {F}),
        ("bounds", {"descriptor.id": {"min": 1}}, {F, U}),
        ("bounds", {"descriptor.runsIn": {"equals": "process"}}, {T, F}),
        ("bounds", {"descriptor.runsIn": {"equals": "Process"}}, {F}),
        ("bounds", {"descriptor.runsIn": {"in": ["host", "process", "remote"]}}, {T, F}),
        ("bounds", {"descriptor.runsIn": {"matches": "h.*"}}, {T, F}),
        ("bounds", {"descriptor.runsIn": {"matches": "[A-Z]+"}}, {F}),
        ("bounds", {"descriptor": {"exists": True}}, {T}),
        ("bounds", {"descriptor": {"type": "object"}}, {T}),
        ("bounds", {"descriptor.capabilities": {"contains": "read"}}, {T, F, U}),
        ("bounds", {"descriptor.capabilities": {"minlength": 1}}, {T, F, U}),
        ("bounds", {"descriptor.bounds.maxBytes": {"min": 5}}, {T, F}),
        ("bounds", {"descriptor.bounds.maxBytes": {"min": 5.5}}, {T, F}),
        ("bounds", {"descriptor.bounds.maxBytes": {"min": 0}}, {T, F}),
        ("bounds", {"descriptor.bounds.maxBytes": {"max": -1}}, {F}),
        ("bounds", {"descriptor.bounds.maxRequests": {"min": 5}}, {T, F, U}),
        ("bounds", {"descriptor.bounds.hosts": {"each": {"matches": "a.*"}}}, {T, F, U}),
        ("bounds", {"descriptor.bounds.hosts": {"each": {"type": "host"}}}, {T, F, U}),
        ("bounds", {"descriptor.tools": {"maxlength": 256}}, {T, F, U}),
        ("bounds", {"descriptor.tools": {"minlength": 257}}, {T, F, U}),  # of a text, which no-tools is for
        ("tools", {"tool.name": {"matches": "[a-z]+"}}, {T, F}),
        ("tools", {"tool": {"type": "object"}}, {T}),
        ("tools", {"tool.params.depth": {"min": 5}}, {T, F, U}),
        ("tools", {"tool.params.depth": {"type": "list"}}, {F}),
        ("tools", {"tool.params.headers.X-Key": {"minlength": 1}}, {T, F}),
        ("tools", {"tool.wasm.abi": {"matches": "a"}}, {T, F, U}),
        # In the stage shape itself anything may stand anywhere.
        ("shape", {"descriptor.id": {"matches": "[a-z]+"}}, {T, F, U}),
        ("shape", {"descriptor": {"type": "object"}}, {T, F}),
        ("shape", {"fault": {"exists": True}}, {T}),
        ("shape", {"fault": {"empty": False}}, {T}),
        ("shape", {"fault": {"maxlength": 2}}, {F}),
        ("launch", {"subject.faults": {"contains": {}}}, {F}),
        ("shape", {"fault.expected": {"equals": "string"}}, {T, F}),
        # What the gate works out.
        ("bounds", {"subject.capabilities": {"contains": "read"}}, {T, F}),
        ("bounds", {"subject.capabilities": {"minlength": 3}}, {T, F}),
        ("bounds", {"subject.capabilities": {"minlength": 0}}, {T}),
        ("bounds", {"subject.capabilities": {"each": {"type": "string"}}}, {T, F}),
        ("bounds", {"subject.capabilities": {"each": {"minlength": 1}}}, {T, F, U}),
        ("bounds", {"subject.hosts": {"each": {"minlength": 1}}}, {T, F}),
        ("bounds", {"subject.tools": {"minlength": 2}}, {T, F}),
        ("bounds", {"subject.faults": {"empty": True}}, {T}),
        ("tools", {"tool.known": {"equals": True}}, {T, F}),
        ("tools", {"tool.known": {"type": "boolean"}}, {T}),
        ("tools", {"tool.undeclared": {"contains": "read"}}, {T, F}),
        ("tools", {"tool.undeclared": {"contains": "exec"}}, {F}),
        ("tools", {"tool.layout": {"empty": True}}, {T, F}),
        ("tools", {"tool.first_use": {"exists": True}}, {T, F}),
        ("tools", {"tool.first_use": {"type": "string"}}, {T, F}),
        ("capabilities", {"capability": {"equals": "read"}}, {T, F}),
        ("capabilities", {"capability": {"exists": True}}, {T}),
        ("capabilities", {"capability": {"matches": "a"}}, {T, F, U}),
        ("hosts", {"host": {"matches": "a"}}, {T, F}),
        ("bounds", {"subject.destinations": {"each": {"empty": True}}}, {T, F}),
        # What tests can suppose of placements, and what is fixed.
        ("bounds", {"placement.mechanisms": {"contains": "exec"}}, {T, F}),
        ("bounds", {"placement.mechanisms": {"contains": "raed"}}, {F}),
        ("bounds", {"placement.mechanisms": {"minlength": 7}}, {T, F}),
        ("bounds", {"placement.name": {"equals": "browser"}}, {T, F}),
        ("bounds", {"placement.name": {"equals": "moon"}}, {F}),
        ("bounds", {"placement.mechanism.read": {"equals": "handle-scope"}}, {T, F}),
        ("bounds", {"placement.mechanism": {"empty": True}}, {T, F}),
        ("bounds", {"catalog.primitives": {"contains": "now"}}, {T}),
        ("bounds", {"catalog.primitives": {"lacks": "now"}}, {F}),
        # Operands that are facts.
        ("tools", {"tool.name": {"in": {"fact": "host.taken"}}}, {T, F}),
        ("tools", {"tool.name": {"equals": {"fact": "descriptor.id"}}}, {T, F, U}),
        ("tools", {"tool.name": {"equals": {"fact": "placement.name"}}}, {T, F}),
        ("tools", {"tool.primitive": {"in": {"fact": "catalog.primitives"}}}, {T, F}),
        ("bounds", {"descriptor.bounds.maxBytes": {"max": {"fact": "descriptor.bounds.maxRequests"}}}, {T, F, U}),
        ("bounds", {"subject.capabilities": {"subset_of": {"fact": "placement.mechanisms"}}}, {T, F}),
        ("bounds", {"subject.capabilities": {"subset_of": {"fact": "descriptor.capabilities"}}}, {T, F, U}),
    ],
)  # fmt: skip
def test_a_condition_can_answer_what_some_descriptor_brings_about(
    tmp_path: Path, stage: str, when: dict[str, Any], possible: set[Truth]
) -> None:
    (part,) = covered(tmp_path, {"stage": stage, "when": when})
    assert part.possible == possible


@pytest.fixture
def tides() -> Plugin:
    """A plugin with a fact and an operator of its own."""
    return Plugin(
        capgate_facts=[Fact("words", "list", "some words", lambda descriptor, placement: ["a"])],
        capgate_operators=[Operator("near", lambda operand: None, lambda value, operand: True, absent=True)],
    )


@pytest.mark.parametrize(
    ("when", "possible"),
    [
        ({"plugin.tides.words": {"contains": "a"}}, {T, F}),
        ({"plugin.tides.words": {"type": "list"}}, {T}),
        ({"plugin.tides.words": {"matches": "a"}}, {U}),
        ({"descriptor.id": {"near": 5}}, {T, F}),
        ({"subject.capabilities": {"near": 5}}, {T, F}),
        ({"descriptor.bounds.hosts": {"each": {"near": 5}}}, {T, F, U}),
    ],
)
def test_a_condition_on_what_a_plugin_says_can_answer_what_its_type_allows(
    tmp_path: Path, tides: Plugin, when: dict[str, Any], possible: set[Truth]
) -> None:
    (part,) = covered(tmp_path, {"stage": "bounds", "when": when}, plugins=[tides])
    assert part.possible == possible


@pytest.mark.parametrize(
    ("when", "possible"),
    [
        ({"tool.undeclared": {"equals": ["read"]}}, {T, F}),
        ({"tool.undeclared": {"equals": ["read", "network"]}}, {T, F}),
        ({"tool.undeclared": {"equals": ["network", "read"]}}, {F}),
        ({"tool.undeclared": {"equals": ["c3"]}}, {T, F}),
        ({"tool.undeclared": {"minlength": 11}}, {T, F}),
        ({"tool.undeclared": {"minlength": 12}}, {F}),
    ],
)
def test_of_many_needs_any_can_be_left_undeclared(tmp_path: Path, when: dict[str, Any], possible: set[Truth]) -> None:
    names = [f"c{number}" for number in range(11)]
    plugin = Plugin(
        capgate_capabilities=dict.fromkeys(names, "something"),
        capgate_primitives=[Primitive("three", ["read", "write", "network"]), Primitive("many", names)],
    )
    (part,) = covered(tmp_path, {"stage": "tools", "when": when}, plugins=[plugin])
    assert part.possible == possible


@pytest.mark.parametrize(
    ("trigger", "possible"),
    [
        ({"for_each": {"field": "tool.layout"}, "when": {"field": {"minlength": 2}}}, {T, F}),
        ({"for_each": {"field": "tool.layout"}, "when": {"field": {"minlength": 3}}}, {F}),
        (
            {"for_each": {"field": "tool.layout"}, "when": {"field": {"equals": {"name": "input.addr", "value": 5}}}},
            {T, F},
        ),
        (
            {"for_each": {"field": "tool.layout"}, "when": {"field": {"equals": {"name": "input.size", "value": 5}}}},
            {F},
        ),
        ({"when": {"tool.layout": {"contains": {"name": "input.addr"}}}}, {T, F}),
        ({"when": {"tool.layout": {"equals": [{"name": "input.addr", "value": "x"}]}}}, {F}),
        ({"when": {"tool.layout": {"each": {"minlength": 2}}}}, {T, F}),
    ],
)
def test_the_fields_of_a_layout_have_values_or_none(
    tmp_path: Path, trigger: dict[str, Any], possible: set[Truth]
) -> None:
    (part,) = [part for part in covered(tmp_path, {"stage": "tools", **trigger}) if part.operator != "for_each"]
    assert part.possible == possible


@pytest.mark.parametrize(
    ("trigger", "counted"),
    [
        ({"stage": "bounds", "for_each": {"entry": "descriptor.bounds.hosts"}}, True),
        ({"stage": "bounds", "for_each": {"entry": "subject.hosts"}}, False),
        ({"stage": "bounds", "for_each": {"entry": "descriptor.id"}}, True),
        ({"stage": "tools", "for_each": {"entry": "tool.params"}}, True),
        ({"stage": "tools", "for_each": {"entry": "tool.needs"}}, False),
        ({"stage": "bounds"}, False),
    ],
)
def test_a_list_that_may_be_none_counts_too(tmp_path: Path, trigger: dict[str, Any], counted: bool) -> None:
    trigger = {**trigger, "when": {"descriptor.id": {"equals": "a"}}}
    found = [part for part in covered(tmp_path, trigger) if part.operator == "for_each"]
    assert [(part.possible, part.missing) for part in found] == [(frozenset({U}), (U,))] * counted


def test_a_test_in_which_a_list_is_none_covers_it(tmp_path: Path) -> None:
    trigger = {"stage": "bounds", "for_each": {"entry": "descriptor.bounds.hosts"}, "when": {"entry": {"equals": "a"}}}
    odd = {"descriptor": {"bounds": {"hosts": "a"}, "tools": [{"name": "a", "primitive": "now"}]}}
    loop, leaf = covered(tmp_path, trigger, {"refused": [odd]})
    assert (loop.path, loop.seen, leaf.seen) == ("descriptor.bounds.hosts", {U}, frozenset())


def test_the_lists_of_stage_and_trigger_are_told_apart(tmp_path: Path) -> None:
    rule = {
        "id": "mine",
        "title": "Mine",
        "applies_to": "descriptor",
        "triggers": [
            {
                "stage": "own",
                "for_each": {"inner": "outer.hosts"},
                "when": {"inner": {"equals": "a"}},
                "reason": "because",
            }
        ],
        "examples": {"refused": [{"descriptor": {"bounds": {"hosts": 5}, "tools": []}}]},
    }
    rule["triggers"][0]["for_each"] = {"inner": "descriptor.bounds.hosts"}
    stages = [{"name": "own", "after": "bounds", "for_each": {"outer": "descriptor.bounds.window"}}]
    folder = write_overlay(RandomOverlay({"mine": rule}, stages), tmp_path / "overlay")
    gates = Gates(capgate.open_gate(rules=[folder]))
    outer, inner, _ = cover([gates.rules.rules["mine"]], gather(gates, [folder]).trials, gates)
    assert (outer.path, outer.seen) == ("descriptor.bounds.window", frozenset())
    assert (inner.path, inner.seen) == ("descriptor.bounds.hosts", frozenset())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(25))
def test_nothing_answers_what_it_cannot(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    folder = write_overlay(random_overlay(random, shipped_stages()), tmp_path / "rules")
    gate = capgate.open_gate(rules=[folder])
    domains = Domains(gate.rules, gate.catalog)
    for _ in range(20):
        for asked in gate.explain(descriptor(random)):
            trigger = gate.rules.rules[asked.rule].triggers[asked.trigger]
            for leaf, answer in zip(leaves_of(trigger.when), asked.answers, strict=False):
                said = truth_of(answer.can_hold, answer.can_fail)
                assert said in answers_of(leaf, trigger, domains), (leaf, answer)
