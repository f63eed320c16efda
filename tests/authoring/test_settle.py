"""Descriptors in which a path is given a value: whatever stands in its way, and without touching the one given."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.plugins.api import Fact
from capgate.policy.authoring.coverage import cover
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.seeds import first
from capgate.policy.authoring.settle import Subject, place_of, settings_of, settle
from capgate.policy.authoring.starters import start, text_of
from capgate.policy.authoring.suite import gather, run
from capgate.policy.authoring.truth import Truth
from capgate.policy.conditions import leaves_of
from capgate.policy.operators import ABSENT
from capgate.policy.rulefile import Example
from capgate.policy.vocabulary import Vocabulary
from plugin_samples.faulty import Plugin
from reference.rulesets import Overlay
from reference.shipped import write_overlay

CLOCK = {"tools": [{"name": "a", "primitive": "now"}]}


@pytest.mark.parametrize(
    ("descriptor", "place", "value", "made"),
    [
        ({}, ("id",), "x", {"id": "x"}),
        ({}, ("bounds", "hosts"), ["a"], {"bounds": {"hosts": ["a"]}}),
        ({"bounds": 5}, ("bounds", "hosts"), ["a"], {"bounds": {"hosts": ["a"]}}),
        ({}, ("tools", 0, "name"), "x", {"tools": [{"name": "x"}]}),
        ({"tools": [{"name": "a"}]}, ("tools", 1, "name"), "x", {"tools": [{"name": "a"}, {"name": "x"}]}),
        ({"tools": [5]}, ("tools", 0, "name"), "x", {"tools": [{"name": "x"}]}),
        ({"id": "a"}, ("id",), ABSENT, {}),
        ({}, ("id",), ABSENT, {}),
        ({}, ("bounds", "hosts"), ABSENT, {}),
        ({"bounds": 5}, ("bounds", "hosts"), ABSENT, {"bounds": 5}),
        ({"tools": ["a", "b"]}, ("tools", 0), ABSENT, {"tools": ["b"]}),
        ({"id": "a"}, (), {"x": 1}, {"x": 1}),
        ({"id": "a"}, (), ABSENT, None),
        (5, ("id",), "x", None),
        ({"tools": []}, ("tools", 3), "x", None),
        ({"tools": []}, ("tools", 3, "name"), "x", None),
    ],
)
def test_a_value_is_put_in_its_place(descriptor: Any, place: tuple[Any, ...], value: Any, made: Any) -> None:
    before = copy.deepcopy(descriptor)
    found = settle(Subject(descriptor), place, value)
    assert (found and found.descriptor) == made
    assert descriptor == before


def test_what_is_not_on_the_way_is_shared_and_not_copied() -> None:
    large = [{"a": 1}] * 3
    descriptor = {"bounds": {"hosts": large, "other": 1}, "tools": large}
    found = settle(Subject(descriptor), ("bounds", "other"), large)
    assert found
    assert found.descriptor["tools"] is found.descriptor["bounds"]["other"] is large
    assert found.descriptor["bounds"]["hosts"] is large
    assert descriptor == {"bounds": {"hosts": large, "other": 1}, "tools": large}


def test_what_an_outer_loop_stands_for_is_found_in_the_element_of_the_inner_one(tmp_path: Path) -> None:
    text = """\
id: outer
title: A tool beside itself
applies_to: descriptor
remedy: Leave it out.
triggers:
  - stage: tools
    for_each: {again: descriptor.tools}
    when: {tool.name: {equals: zeta}}
    reason: so
"""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "outer.yaml").write_text(text, encoding="utf-8")
    rules = Gates(capgate.open_gate(rules=[folder])).rules
    (trigger,) = rules.rules["outer"].triggers
    stage = next(stage for stage in rules.stages if stage.name == "tools")
    assert stage.loop is not None
    assert trigger.loop is not None
    (leaf,) = leaves_of(trigger.when)
    loops = [stage.loop, trigger.loop]
    assert place_of(leaf.reference, loops, ("tools", 1)) == ("tools", 1, "name")
    assert place_of(leaf.reference, loops, ("bounds", "hosts", 0)) is None


def test_a_tool_that_is_none_is_not_repeated(gates: Gates) -> None:
    vocabulary = Vocabulary(gates.catalog)
    tool = next(stage.loop.element for stage in gates.rules.stages if stage.loop and stage.loop.variable == "tool")
    reference = vocabulary.resolve("tool.first_use", {"tool": tool})
    assert settings_of(reference, [], Subject({"tools": ["a"]}), ("tools", 0), gates.catalog) == []
    assert len(settings_of(reference, [], Subject(CLOCK), ("tools", 0), gates.catalog)) == 3


def gates_with(
    tmp_path: Path, trigger: dict[str, Any], stage: dict[str, Any] | None = None, plugins: tuple[object, ...] = ()
) -> Gates:
    """The shipped rules and one more, called ``mine``."""
    rule = {
        "id": "mine",
        "title": "Mine",
        "applies_to": "descriptor",
        "triggers": [{"stage": "own" if stage else "bounds", "reason": "because", **trigger}],
    }
    stages = [{"name": "own", "after": "tools", "for_each": stage}] if stage else []
    folder = write_overlay(Overlay({"mine": rule}, stages), tmp_path / "rules")
    return Gates(capgate.open_gate(rules=[folder], plugins=plugins))


@pytest.mark.parametrize(
    ("stage", "trigger"),
    [
        ({"it": "subject.destinations"}, {"when": {"it.name": {"equals": "a.example"}}}),
        ({"it": "subject.destinations"}, {"when": {"it": {"exists": True}}}),
        ({"it": "subject.destinations"}, {"when": {"it.port": {"exists": False}}}),
        ({"it": "host.taken"}, {"when": {"it": {"equals": "task_status"}}}),
        ({"it": "catalog.primitives"}, {"when": {"it": {"equals": "now"}}}),
        ({"it": "descriptor.tools"}, {"when": {"it.params.depth": {"min": 5}}}),
        ({"it": "descriptor.bounds.hosts"}, {"when": {"it": {"equals": "x"}}}),
        ({"it": "subject.tools"}, {"for_each": {"need": "it.needs"}, "when": {"need": {"equals": "write"}}}),
        (
            {"it": "subject.tools"},
            {"for_each": {"field": "it.layout"}, "when": {"field.name": {"equals": "input.addr"}}},
        ),
        ({"it": "subject.tools"}, {"for_each": {"field": "it.layout"}, "when": {"field": {"type": "object"}}}),
        (
            {"it": "subject.tools"},
            {
                "for_each": {"field": "it.layout"},
                "when": {"all": [{"it.wasm.abi": {"equals": "buffer-abi/1"}}, {"field.value": {"max": 3}}]},
            },
        ),
        ({"it": "subject.capabilities"}, {"for_each": {"host": "subject.hosts"}, "when": {"it": {"equals": "read"}}}),
        (None, {"when": {"placement.mechanism.exec": {"exists": False}}}),
        (None, {"when": {"descriptor.name": {"equals": {"fact": "placement.mechanism.exec"}}}}),
        (None, {"when": {"descriptor.bounds.maxBytes": {"min": {"fact": "descriptor.bounds.maxRequests"}}}}),
        (
            {"it": "subject.tools"},
            {
                "when": {
                    "all": [{"descriptor.id": {"exists": True}}, {"it.name": {"equals": {"fact": "descriptor.id"}}}]
                }
            },
        ),
        ({"it": "subject.tools"}, {"when": {"not": {"descriptor.id": {"in": {"fact": "it.needs"}}}}}),
        (None, {"when": {"descriptor.bounds.maxRequests": {"min": 9007199254740992}}}),
        (None, {"when": {"descriptor.id": {"minlength": 99}}}),
        (None, {"when": {"not": {"descriptor.id": {"matches": "a^b"}}}}),
    ],
)
def test_cases_are_found_for_any_kind_of_path(
    tmp_path: Path, stage: dict[str, Any] | None, trigger: dict[str, Any]
) -> None:
    gates = gates_with(tmp_path, trigger, stage)
    rule = gates.rules.rules["mine"]
    starter = start(rule, gates)
    assert starter.open == ()
    text_of(starter, gates)
    assert all(part.possible for part in cover([rule], [], gates))


def test_nothing_is_found_for_a_list_that_no_descriptor_has(tmp_path: Path) -> None:
    # A parameter is no list in any descriptor that shape lets pass, so nothing walks over one.
    trigger = {"for_each": {"part": "it.params.parts"}, "when": {"part": {"exists": False}}}
    gates = gates_with(tmp_path, trigger, {"it": "subject.tools"})
    rule = gates.rules.rules["mine"]
    assert start(rule, gates).starts == ()
    loop, leaf = cover([rule], [], gates)
    assert (loop.operator, leaf.possible) == ("for_each", {Truth.FALSE})


def test_a_descriptor_that_is_no_object_is_left_as_it_is(tmp_path: Path) -> None:
    gates = gates_with(tmp_path, {"stage": "shape", "when": {"descriptor.id": {"exists": False}}})
    odd = Example(refused=True, descriptor=5, given={}, source=("examples", "refused", 0))
    rule = replace(gates.rules.rules["mine"], examples=(odd,))
    assert [case.subject.descriptor for case in start(rule, gates).starts] == [5]


def fail(descriptor: Any, placement: str) -> Any:
    raise RuntimeError("no tide")


def test_a_fact_that_cannot_be_had_fails_a_case_with_its_reason(tmp_path: Path) -> None:
    plugin = Plugin(capgate_facts=[Fact("level", "number", "height", fail)])
    gates = gates_with(tmp_path, {"when": {"plugin.tides.level": {"min": 5}}}, plugins=(plugin,))
    tests = tmp_path / "rules" / "tests"
    tests.mkdir()
    (tests / "a.yaml").write_text(
        "cases:\n"
        "  - {name: silent, descriptor: {tools: []}, exactly: []}\n"
        "  - {name: expected, descriptor: {tools: []}, refused: [fact-unavailable]}\n"
        "  - {name: first, descriptor: {id: 5}, absent: [malformed-descriptor]}\n",
        encoding="utf-8",
    )
    suite = gather(gates, [tmp_path / "rules"])
    silent, expected, malformed = [run(trial, gates) for trial in suite.trials]
    assert silent.messages[0] == "the refusals are [fact-unavailable], and were to be []"
    assert "no tide" in silent.messages[1] or "level" in silent.messages[1]
    assert silent.explanations == ()
    assert expected.messages == ()
    assert [explanation.rule.id for explanation in malformed.explanations] == ["malformed-descriptor"]
    (part,) = cover(suite.rules, suite.trials, gates)
    assert part.seen == frozenset()


def test_a_fact_that_only_an_explanation_asks_for_leaves_the_message(tmp_path: Path) -> None:
    plugin = Plugin(capgate_facts=[Fact("level", "number", "height", fail)])
    condition = {"all": [{"descriptor.id": {"equals": "x"}}, {"plugin.tides.level": {"min": 5}}]}
    gates = gates_with(tmp_path, {"when": condition}, plugins=(plugin,))
    tests = tmp_path / "rules" / "tests"
    tests.mkdir()
    (tests / "a.yaml").write_text(
        "cases:\n  - {name: a, descriptor: {tools: []}, absent: [no-tools]}\n", encoding="utf-8"
    )
    (trial,) = gather(gates, [tmp_path / "rules"]).trials
    outcome = run(trial, gates)
    assert outcome.messages == ("no-tools refuses, and was to be silent",)
    assert outcome.explanations == ()


def test_no_seed_is_found_where_no_pattern_can_be_met(tmp_path: Path) -> None:
    gates = gates_with(tmp_path, {"when": {"descriptor.id": {"matches": "a^b"}}})
    assert first(gates.rules.rules["mine"], 0, gates) is None
