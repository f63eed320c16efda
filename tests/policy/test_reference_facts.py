"""The reference evaluator by itself: facts, faults, loops and the order of refusals."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from reference.descriptors import descriptor
from reference.facts import Element, Facts
from reference.rulesets import overlay
from reference.shape import faults
from reference.shipped import assembled, shipped_rules, shipped_stages
from reference.values import ABSENT
from reference.verdict import Finding, decision, judge
from reference.world import CATALOG, PLACEMENTS

NOW = {"name": "a", "primitive": "now"}
LOOKALIKE = {**dict.fromkeys(("known", "needs", "undeclared", "layout", "first_use"), 0), "colour": "green"}
LOOKALIKE |= {"name": "a", "primitive": "read-file"}


def facts_of(descriptor: Any) -> Facts:
    return Facts(descriptor, PLACEMENTS["machine"], {"b"}, CATALOG)


def tool_of(descriptor: Any, at: int = 0) -> dict[str, Element]:
    elements = facts_of(descriptor).elements("subject.tools", {})
    assert elements is not None
    return {"tool": elements[at]}


def say(descriptor: Any, path: str, at: int | None = None) -> Any:
    return facts_of(descriptor).value(path, {} if at is None else tool_of(descriptor, at))


@pytest.mark.parametrize(
    ("descriptor", "expected"),
    [
        ({"tools": [NOW]}, []),
        ({"capabilities": None, "bounds": None, "tools": None}, []),
        ({"capabilities": [5, None], "bounds": {"hosts": 5, "maxRequests": {}}, "tools": {}}, []),
        ({"tools": [{}, {"wasm": 5, "primitive": "wasm"}]}, []),
        ({"id": "x" * 100, "runsIn": "remote", "source": "anything", "other": None}, []),
        ({"bounds": {"maxBytes": 8.0, "window": "day", "command": None}}, []),
        ({"tools": [{"params": {"a": "b", "c": 1.5, "d": True, "headers": {"X": "y"}}}]}, []),
        ({"tools": [{}] * 256}, []),
        (None, ["$"]),
        ([], ["$"]),
        ("{}", ["$"]),
        ({"id": 7, "name": None, "description": [], "source": True}, ["$.id", "$.name", "$.description", "$.source"]),
        ({"id": "x" * 101}, ["$.id"]),
        ({"runsIn": "Process"}, ["$.runsIn"]),
        ({"runsIn": None}, ["$.runsIn"]),
        ({"runsIn": ["host"]}, ["$.runsIn"]),
        ({"capabilities": "read"}, ["$.capabilities"]),
        ({"capabilities": {}}, ["$.capabilities"]),
        ({"bounds": []}, ["$.bounds"]),
        ({"bounds": {"maxBytes": None}}, ["$.bounds.maxBytes"]),
        ({"bounds": {"maxBytes": True}}, ["$.bounds.maxBytes"]),
        ({"bounds": {"maxBytes": -1, "window": "week"}}, ["$.bounds.maxBytes", "$.bounds.window"]),
        ({"bounds": {"maxBytes": 0.5, "window": None}}, ["$.bounds.maxBytes", "$.bounds.window"]),
        ({"tools": [None, NOW, 5]}, ["$.tools[0]", "$.tools[2]"]),
        ({"tools": [{"name": None, "primitive": 5}]}, ["$.tools[0].name", "$.tools[0].primitive"]),
        ({"tools": [{"description": 5, "promptSnippet": {}}]}, ["$.tools[0].description", "$.tools[0].promptSnippet"]),
        ({"tools": [{"params": None}]}, ["$.tools[0].params"]),
        ({"tools": [{"params": {"a": None, "b c": []}}]}, ["$.tools[0].params.a", "$.tools[0].params['b c']"]),
        ({"tools": [{"params": {"headers": []}}]}, ["$.tools[0].params.headers"]),
        ({"tools": [{"params": {"headers": {"X-Key": 5}}}]}, ["$.tools[0].params.headers['X-Key']"]),
        ({"tools": [{}] * 257}, ["$.tools"]),
        # In reading order, whatever the order of the checks.
        ({"tools": [None], "bounds": {"window": 1}, "id": 7}, ["$.tools[0]", "$.bounds.window", "$.id"]),
    ],
)
def test_faults_are_what_the_contract_calls_malformed(descriptor: Any, expected: list[str]) -> None:
    assert [fault["path"] for fault in faults(descriptor)] == expected


@pytest.mark.parametrize(
    ("descriptor", "expected"),
    [
        ({"capabilities": ["network"], "bounds": {"hosts": ["a.test"]}}, ["a.test"]),
        ({"capabilities": ["read"], "bounds": {"hosts": ["a.test"]}}, []),
        ({"capabilities": "network", "bounds": {"hosts": ["a.test"]}}, []),
        ({"capabilities": ["network"], "bounds": {"hosts": ["a.test", 5]}}, []),
        ({"capabilities": ["network"], "bounds": {"hosts": "a.test"}}, []),
        ({"capabilities": ["network"], "bounds": None}, []),
        ([], []),
    ],
)
def test_hosts_are_those_of_a_list_of_strings_where_network_is_declared(descriptor: Any, expected: list[str]) -> None:
    assert say(descriptor, "subject.hosts") == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tool.known", True),
        ("tool.needs", ["read"]),
        ("tool.undeclared", ["read"]),
        ("tool.layout", []),
        ("tool.first_use", ABSENT),
        ("tool.name", "a"),
        ("tool.colour", "green"),
        ("tool", LOOKALIKE),
    ],
)
def test_keys_of_a_tool_that_look_like_facts_are_hidden_by_the_facts(path: str, expected: Any) -> None:
    assert say({"tools": [LOOKALIKE]}, path, 0) == expected


@pytest.mark.parametrize(
    ("tool", "known", "needs"),
    [
        ({"primitive": "http-get"}, True, ["network"]),
        ({"primitive": "HTTP-get"}, False, []),
        ({"primitive": ["http-get"]}, False, []),
        ({"primitive": None}, False, []),
        ({}, False, []),
        (5, False, []),
        (None, False, []),
    ],
)
def test_what_a_primitive_needs_is_known_for_known_ones_alone(tool: Any, known: bool, needs: list[str]) -> None:
    assert (say({"tools": [tool]}, "tool.known", 0), say({"tools": [tool]}, "tool.needs", 0)) == (known, needs)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b", "a", "a"], [ABSENT, ABSENT, "$.tools[0].name", "$.tools[0].name"]),
        (["a", "A", "a "], [ABSENT, ABSENT, ABSENT]),
        ([1, 1, True], [ABSENT, ABSENT, ABSENT]),
        (["", ""], [ABSENT, "$.tools[0].name"]),
    ],
)
def test_first_use_is_where_the_same_name_stood_first(names: list[Any], expected: list[Any]) -> None:
    descriptor = {"tools": [{"name": name} for name in names]}
    assert [say(descriptor, "tool.first_use", at) for at in range(len(names))] == expected


def test_a_layout_has_each_field_of_a_known_abi_with_its_value_if_there_is_one() -> None:
    wasm = {"abi": "buffer-abi/1", "input": {"addr": "8", "maxBytes": 1}, "output": 5}
    tool = {"primitive": "wasm", "wasm": wasm}
    expected = [
        {"name": "input.addr", "value": "8"},
        {"name": "input.maxBytes", "value": 1},
        {"name": "output.addr"},
        {"name": "output.bytes"},
    ]
    assert say({"tools": [tool]}, "tool.layout", 0) == expected
    for change in ({"primitive": "now"}, {"wasm": {**wasm, "abi": ["buffer-abi/1"]}}, {"wasm": None}):
        assert say({"tools": [{**tool, **change}]}, "tool.layout", 0) == []


def rule(name: str, *triggers: dict[str, Any], **more: Any) -> dict[str, dict[str, Any]]:
    return {name: {"triggers": list(triggers), **more}}


ALWAYS = {"subject.faults": {"exists": True}}
NEVER = {"not": ALWAYS}
UNKNOWN = {"descriptor": {"min": 1}}


def run(rules: dict[str, Any], stages: list[dict[str, Any]], descriptor: Any) -> list[Finding]:
    return judge(rules, stages, descriptor, PLACEMENTS["machine"], set(), CATALOG)


def test_refusals_come_by_stage_then_element_then_rule_then_trigger_then_inner_element() -> None:
    rules = {
        **rule("one", {"stage": "second", "when": ALWAYS}, {"stage": "first", "when": ALWAYS}),
        **rule(
            "two",
            {"stage": "first", "for_each": {"x": "tool.needs"}, "when": UNKNOWN},
            {"stage": "first", "when": {"tool.name": {"equals": "b"}}},
            {"stage": "first", "when": NEVER},
            severity="warn",
        ),
    }
    first = {"name": "first", "for_each": {"tool": "subject.tools"}, "rules": ["two", "one"]}
    tools = [{"name": "a", "primitive": "read-file"}, {"name": "b", "primitive": "now"}]
    found = run(rules, [first, {"name": "second", "rules": ["one"]}], {"tools": tools})
    assert [(finding.rule, finding.severity) for finding in found] == [
        ("two", "warn"),
        ("one", "refuse"),
        ("two", "warn"),
        ("one", "refuse"),
        ("one", "refuse"),
    ]
    assert [finding.element for finding in found[1:]] == ["$.tools[0]", "$.tools[1]", "$.tools[1]", None]
    assert decision(found) == "one"
    assert decision(found[:1]) is None


@pytest.mark.parametrize(
    ("hosts", "times"),
    [(["a", "b"], 2), ([], 0), (None, 1), ("ab", 1), ({"a": 1}, 1), (ABSENT, 0)],
)
def test_a_loop_over_no_list_refuses_once_and_one_over_nothing_never(hosts: Any, times: int) -> None:
    bounds = {} if hosts is ABSENT else {"hosts": hosts}
    inner = rule("one", {"stage": "s", "for_each": {"x": "descriptor.bounds.hosts"}, "when": ALWAYS})
    assert len(run(inner, [{"name": "s", "rules": ["one"]}], {"bounds": bounds})) == times
    outer = rule("one", {"stage": "s", "when": ALWAYS})
    stage = {"name": "s", "for_each": {"x": "descriptor.bounds.hosts"}, "rules": ["one"]}
    assert len(run(outer, [stage], {"bounds": bounds})) == times


@pytest.mark.parametrize(("severity", "rules"), [("refuse", ["one"]), ("warn", ["one", "two"])])
def test_nothing_else_is_asked_where_stage_shape_refuses(severity: str, rules: list[str]) -> None:
    both = {
        **rule("one", {"stage": "shape", "when": ALWAYS}, severity=severity),
        **rule("two", {"stage": "s", "when": ALWAYS}),
    }
    found = run(both, [{"name": "shape", "rules": ["one"]}, {"name": "s", "rules": ["two"]}], {})
    assert [finding.rule for finding in found] == rules


def test_the_generators_reach_every_shipped_rule_and_the_three_ends() -> None:
    random = Random("reach")
    reached: dict[str | None, int] = {}
    for _ in range(1500):
        found = run(shipped_rules(), shipped_stages(), descriptor(random))
        reached[decision(found)] = reached.get(decision(found), 0) + 1
    # The backstop needs a placement without a mechanism for read, write or network.
    assert set(reached) == {None, *shipped_rules()} - {"absent-capability"}
    assert reached[None] > 300
    assert reached["malformed-descriptor"] > 150


def test_generated_rules_are_neither_always_silent_nor_always_loud() -> None:
    random = Random("balance")
    spoke = silent = 0
    for _ in range(60):
        made = overlay(random, shipped_stages())
        rules, stages = assembled(shipped_rules(), shipped_stages(), made)
        for _ in range(5):
            said = {finding.rule for finding in run(rules, stages, descriptor(random))}
            spoke += len(said & made.rules.keys())
            silent += len(made.rules.keys() - said)
    assert 0.25 < spoke / (spoke + silent) < 0.75


def test_generators_give_the_same_for_the_same_seed() -> None:
    def drawn() -> str:
        random = Random("seed")
        made = overlay(random, shipped_stages())
        return json.dumps([made.rules, made.stages, [descriptor(random) for _ in range(20)]])

    assert drawn() == drawn()
