"""The JSON Schemas for editors agree with the loader, on good files and on every broken one of the corpus."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import capgate
from capgate.plugins.api import Fact, Operator
from capgate.policy import schema
from capgate.policy.authoring.cases import read_cases
from capgate.policy.authoring.grammar import _MEANINGS, _OPERANDS
from capgate.policy.authoring.json_schema import KINDS, json_schema
from capgate.policy.documents import DocumentError, load_json, load_yaml
from capgate.policy.operators import BUILT_IN
from capgate.policy.rule_errors import Problems
from capgate.policy.shapes import Shape
from plugin_samples.faulty import Plugin
from reference.descriptors import descriptor as random_descriptor
from reference.rulesets import overlay as random_overlay
from reference.shipped import shipped_stages

CORPUS = Path(__file__).parents[1] / "corpus"
DOCS = Path(__file__).parents[2] / "docs"
CASES = [json.loads(line) for line in (CORPUS / "rules" / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
#: Mistakes that no JSON Schema can see in the data of one file, and what it would have to know.
LOADER_ONLY = {
    "loop-variable": "the variable of the stage, which stands in another file",
    "path-unknown": "the variables in scope",
    "pattern-unfit": "a grammar of patterns",
    "rule-absent": "the other files",
    "rule-id": "the name of the file",
    "stage-taken": "the stages of other files",
    "stage-unknown": "the stages of other files",
}


@cache
def validator(kind: str) -> Draft202012Validator:
    gate = capgate.open_gate()
    made = json_schema(kind, gate.catalog, gate.rules)
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)


def faults(kind: str, data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(kind).iter_errors(data)]


def read(file: Path) -> Any:
    """The data of a file; None where it is no strict YAML or JSON, as the loader says and the editor too."""
    load = load_json if file.suffix == ".json" else load_yaml
    try:
        return load(file.read_bytes(), file.name).data
    except DocumentError:
        return None


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_a_schema_and_json(kind: str) -> None:
    assert json.loads(json.dumps(validator(kind).schema)) == validator(kind).schema


# Good files


@pytest.mark.parametrize(
    "file", [file.name for file in files("capgate.rules").iterdir() if file.name.endswith(".yaml")]
)
def test_the_shipped_rules_are_in_order(file: str) -> None:
    kind = "shipped-ruleset" if file == "ruleset.yaml" else "rule"
    assert faults(kind, load_yaml(files("capgate.rules").joinpath(file).read_bytes()).data) == []


@pytest.mark.parametrize("seed", range(60))
def test_what_the_loader_takes_is_in_order(seed: int) -> None:
    overlay = random_overlay(Random(seed), shipped_stages())
    assert [fault for rule in overlay.rules.values() for fault in faults("rule", rule)] == []
    if overlay.stages:
        assert faults("ruleset", {"language": 1, "stages": overlay.stages}) == []


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_the_rules_of_the_documentation_are_in_order(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```yaml\n(# \S+\.yaml\n.*?)^```$", text, re.MULTILINE | re.DOTALL):
        name = block.partition("\n")[0]
        kind = "ruleset" if name.endswith("ruleset.yaml") else "cases" if "/tests/" in name else "rule"
        found = faults(kind, load_yaml(block.encode()).data)
        assert all("bounds.maxRequest'" in fault for fault in found), (name, found)


# Broken files


def single_files() -> Iterator[tuple[str, Any, set[str]]]:
    """Name, data and mistakes of each broken rule that can be read at all."""
    for case in CASES:
        if case["case"].endswith(".yaml"):
            data = read(CORPUS / "rules" / case["case"])
            if data is not None:
                yield case["case"], data, {problem["id"] for problem in case["problems"]}


def rulesets() -> Iterator[tuple[str, str, Any, set[str]]]:
    """Name, kind, data and mistakes of each ruleset.yaml in a broken folder."""
    for case in CASES:
        file = CORPUS / "rules" / case["case"] / "ruleset.yaml"
        data = read(file) if file.is_file() else None
        if data is not None:
            kind = "shipped-ruleset" if case["case"].startswith("shipped-") else "ruleset"
            ids = {problem["id"] for problem in case["problems"] if problem["file"] == "ruleset.yaml"}
            yield case["case"], kind, data, ids


BROKEN = [(name, "rule", data, ids) for name, data, ids in single_files()] + list(rulesets())


@pytest.mark.parametrize(("name", "kind", "data", "ids"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_schema_and_loader_agree_on_a_broken_file(name: str, kind: str, data: Any, ids: set[str]) -> None:
    found = faults(kind, data)
    if found:
        assert ids, found
    else:
        assert ids <= LOADER_ONLY.keys()


def test_what_is_left_to_the_loader_is_no_more_than_the_corpus_shows() -> None:
    assert len(BROKEN) > 280
    left = [ids for _, kind, data, ids in BROKEN if ids and not faults(kind, data)]
    assert {id for ids in left for id in ids} == set(LOADER_ONLY)


@pytest.mark.parametrize(
    ("when", "fits"),
    [
        ({"descriptor.bounds.maxRequests": {"min": 1}}, True),
        ({"descriptor.bounds.maxRequest": {"min": 1}}, False),
        ({"descriptor.bounds.maxRequests": {"minimum": 1}}, False),
        ({"descriptor.bounds.maxRequests": {"min": True}}, False),
        ({"descriptor.bounds.maxRequests": {"minlength": 2.0}}, True),
        ({"descriptor.bounds.maxRequests": {"minlength": 2.5}}, False),
        ({"descriptor.bounds.maxRequests": {"type": "integer"}}, False),
        ({"descriptor.bounds.maxRequests": {"equals": {"fact": "descriptor.id"}}}, True),
        ({"descriptor.bounds.maxRequests": {"equals": {"fact": "descriptor.id", "or": 1}}}, False),
        ({"descriptor.bounds.maxRequests": {"equals": {"facts": 1}}}, True),
        ({"descriptor.bounds.maxRequests": {"matches": {"fact": "descriptor.id"}}}, False),
        ({"descriptor.bounds.hosts": {"each": {"each": {"type": "host"}}}}, True),
        ({"descriptor.bounds.hosts": {"each": {}}}, False),
        ({"host.taken": {"contains": "a"}}, True),
        ({"host": {"type": "host"}}, True),
        ({"tool.params.url": {"matches": "x"}}, True),
        ({"anything.at-all": {"exists": True}}, True),
        ({"all": {"exists": True}}, False),
        ({"subject": {"exists": True}}, False),
        ({"subject.tools.name": {"exists": True}}, False),
        ({"Tool.name": {"exists": True}}, False),
        ({"not": {"not": {"descriptor.id": {"exists": True}}}}, True),
        ({"any": []}, False),
        ({"descriptor.id": {"exists": True}, "descriptor.name": {"exists": True}}, False),
    ],
)
def test_a_condition_is_checked_as_far_as_a_schema_can(when: dict[str, Any], fits: bool) -> None:
    trigger = {"stage": "bounds", "when": when, "reason": "because"}
    rule = {"id": "a", "title": "A", "applies_to": "descriptor", "triggers": [trigger]}
    assert (faults("rule", rule) == []) is fits


def test_every_operator_says_what_it_takes_and_means() -> None:
    assert list(_MEANINGS) == list(BUILT_IN)
    assert {operator.takes for operator in BUILT_IN.values()} == set(_OPERANDS)


def test_an_editor_can_offer_every_path_and_the_paths_of_tools() -> None:
    offered = validator("rule").schema["$defs"]["condition"]["properties"]
    assert {"descriptor.bounds.hosts", "subject.capabilities", "tool.wasm.abi", "host.taken"} <= set(offered)
    assert offered["tool.known"]["description"] == "whether a plugin defines the tool's primitive"
    assert "subject" not in offered


def test_the_operators_and_facts_of_plugins_are_offered() -> None:
    plugin = Plugin(
        capgate_facts=[Fact("level", "number", "height of the water", lambda descriptor, placement: 1)],
        capgate_operators=[Operator("near", lambda operand: None, lambda value, operand: True)],
    )
    gate = capgate.open_gate(plugins=[plugin])
    made = json_schema("rule", gate.catalog, gate.rules)
    assert made["$defs"]["condition"]["properties"]["plugin.tides.level"]["description"] == "height of the water"
    assert "near" in made["$defs"]["operators"]["properties"]


# Descriptors and cases


DESCRIPTORS = {file.name: data for file in (CORPUS / "descriptors").glob("*.json") if (data := read(file)) is not None}


@pytest.mark.parametrize("name", sorted(DESCRIPTORS))
def test_schema_and_gate_agree_on_the_shape_of_the_corpus(name: str) -> None:
    data = DESCRIPTORS[name]
    assert (faults("descriptor", data) == []) is Shape(schema.DESCRIPTOR, "descriptor").holds(data)


@pytest.mark.parametrize("seed", range(10))
def test_schema_and_gate_agree_on_the_shape_of_any_descriptor(seed: int) -> None:
    random, holds = Random(seed), Shape(schema.DESCRIPTOR, "descriptor").holds
    for _ in range(40):
        data = random_descriptor(random)
        assert (faults("descriptor", data) == []) is holds(data), data


CASE = {"name": "a", "descriptor": {}, "exactly": []}


@pytest.mark.parametrize(
    ("data", "loader_only"),
    [
        ({"cases": [CASE]}, False),
        ({"cases": [{"name": "a", "descriptor": None, "refused": ["no-tools"], "absent": ["exec-absent"]}]}, False),
        (
            {"cases": [{"name": "a", "descriptor": 5, "refused": ["no-tools"], "given": {"mechanisms": ["read"]}}]},
            False,
        ),
        ({"cases": []}, False),
        ({}, False),
        ([], False),
        ({"cases": [CASE], "more": 1}, False),
        ({"cases": [{**CASE, "more": 1}]}, False),
        ({"cases": [{"name": "a", "exactly": []}]}, False),
        ({"cases": [{**CASE, "path": "x.json"}]}, False),
        ({"cases": [{"name": "a", "descriptor": {}}]}, False),
        ({"cases": [{**CASE, "refused": ["no-tools"]}]}, False),
        ({"cases": [{**CASE, "absent": ["no-tools"]}]}, False),
        ({"cases": [{"name": "a", "descriptor": {}, "refused": []}]}, False),
        ({"cases": [{"descriptor": {}, "exactly": []}]}, False),
        ({"cases": [{**CASE, "name": 5}]}, False),
        ({"cases": [{**CASE, "given": {"placement": "moon"}}]}, False),
        ({"cases": [{**CASE, "given": {"mechanisms": ["raed"]}}]}, False),
        ({"cases": [{**CASE, "given": {"taken": [5]}}]}, False),
        ({"cases": [CASE, CASE]}, True),
        ({"cases": [{"name": "a", "descriptor": {}, "refused": ["no-tools"], "absent": ["no-tools"]}]}, True),
    ],
)
def test_schema_and_loader_agree_on_cases(data: Any, loader_only: bool) -> None:
    problems = Problems()
    list(read_cases(json.dumps(data).encode(), "cases.yaml", capgate.open_gate().catalog, problems))
    found = faults("cases", data)
    assert bool(problems) is (bool(found) or loader_only)
    assert not (found and loader_only)
