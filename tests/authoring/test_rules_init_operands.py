"""``capgate rules test --init``: operands that are read from facts below ``each``, and lengths without bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.starters import LARGEST, Starter, start, text_of
from capgate.policy.documents import canonical, load_yaml
from overlays import overlay, rule

Run = Callable[..., Any]
HOSTS, MOST = "descriptor.bounds.hosts", "descriptor.bounds.maxRequests"


def started(tmp_path: Path, when: dict[str, Any], stage: str = "bounds", **more: Any) -> tuple[Starter, list[str]]:
    folder = overlay(tmp_path / "mine", mine=rule("mine", when, stage=stage) | more)
    gates = Gates(capgate.open_gate(rules=[folder]))
    starter = start(gates.rules.rules["mine"], gates)
    names = (
        [case["name"] for case in load_yaml(text_of(starter, gates).encode()).data["cases"]] if starter.starts else []
    )
    return starter, names


@pytest.mark.parametrize(
    ("stage", "path", "inner", "name"),
    [
        ("bounds", HOSTS, {"equals": {"fact": "placement.name"}}, "$.bounds.hosts is the list [machine]"),
        ("bounds", HOSTS, {"each": {"equals": {"fact": "placement.name"}}}, '$.bounds.hosts is the list [["machine"]]'),
        ("bounds", HOSTS, {"contains": {"fact": "placement.name"}}, '$.bounds.hosts is the list [["machine"]]'),
        ("bounds", HOSTS, {"in": {"fact": "catalog.mediated"}}, "$.bounds.hosts is the list [read]"),
        ("bounds", HOSTS, {"equals": {"fact": "descriptor.id"}}, "$.id is 5"),
        ("hosts", MOST, {"equals": {"fact": "host"}}, "$.bounds.maxRequests is the list [a.test]"),
        ("tools", "tool.wasm.path", {"equals": {"fact": "tool.name"}}, "$.tools[0].wasm.path is the list [a]"),
    ],
)
def test_a_fact_below_each_is_tried_with_its_value(
    tmp_path: Path, stage: str, path: str, inner: dict[str, Any], name: str
) -> None:
    starter, names = started(tmp_path, {path: {"each": inner}}, stage)
    assert starter.open == ()
    assert name in names


@pytest.mark.parametrize("operator", "equals in not_in contains lacks subset_of min max minlength maxlength".split())
@pytest.mark.parametrize("fact", ["placement.name", "descriptor.id", "host.taken", "catalog.mediated"])
def test_no_operator_with_a_fact_below_each_is_in_the_way(tmp_path: Path, operator: str, fact: str) -> None:
    _, names = started(tmp_path, {HOSTS: {"each": {operator: {"fact": fact}}}})
    assert names


def many(number: int) -> dict[str, Any]:
    parts = [
        {HOSTS: {"minlength": number}},
        {MOST: {"maxlength": number}},
        {"descriptor.bounds": {"minlength": number}},
    ]
    return {"all": parts}


@pytest.mark.parametrize(
    ("when", "cases", "left"),
    [
        (many(131072), False, 3),
        ({"all": [{HOSTS: {"maxlength": 100000}}, {MOST: {"maxlength": 65536}}]}, True, 2),
        ({HOSTS: {"each": {"minlength": 500000}}}, True, 2),
        ({"descriptor.name": {"minlength": 3000}}, True, 2),
        ({"descriptor.name": {"minlength": 1000}}, True, 0),
        ({"descriptor.name": {"maxlength": LARGEST}}, True, 1),
    ],
)
def test_what_takes_a_large_descriptor_is_left_out_and_named(
    tmp_path: Path, when: dict[str, Any], cases: bool, left: int
) -> None:
    starter, names = started(tmp_path, when)
    assert bool(names) is cases
    assert len(starter.large) == left
    assert all(len(canonical(case.subject.descriptor)) <= LARGEST for case in starter.starts)


def test_what_is_left_out_is_said_with_its_place(rules: Run, write: Callable[..., Path]) -> None:
    write(
        "mine/long.yaml",
        "id: long\ntitle: Short names\napplies_to: descriptor\ntriggers:\n  - stage: bounds\n"
        "    when:\n      not: {descriptor.name: {maxlength: 5000}}\n    reason: long\n",
    )
    done = rules("test", "--init", "long", "mine")
    assert done.code == 0
    assert (
        "capgate: mine/long.yaml:7:31: this takes a descriptor of more than 2000 bytes, and no case has one; "
        "write it by hand\n"
    ) in done.err


def test_an_example_that_is_large_is_in_no_case(tmp_path: Path) -> None:
    large = {"name": "x" * 3000, "tools": [{"name": "a", "primitive": "now"}]}
    examples = {"refused": [{"descriptor": large}]}
    starter, names = started(tmp_path, {"descriptor.name": {"exists": True}}, examples=examples)
    assert "the rule refuses" not in names
    assert starter.rule.document.span(("triggers", 0)) in starter.large
