"""Descriptors as developers write them, right and wrong: the verdict on each, and the line and column it points at."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.documents import DocumentError, load_json
from capgate.policy.errors import Span
from capgate.policy.paths import parse_path

CORPUS = Path(__file__).parents[1] / "corpus"
DESCRIPTORS = CORPUS / "descriptors"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


EXPECTED = lines(DESCRIPTORS / "expected.jsonl")
CASES = lines(CORPUS / "admission.jsonl")


def entries(*decisions: str) -> list[Any]:
    return [pytest.param(entry, id=entry["file"]) for entry in EXPECTED if entry["decision"] in decisions]


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


@pytest.mark.parametrize("entry", entries("refused"))
def test_a_refused_file_points_at_the_rule_the_line_and_the_column(gate: capgate.Gate, entry: dict[str, Any]) -> None:
    document = load_json((DESCRIPTORS / entry["file"]).read_bytes(), entry["file"])
    verdict = gate.admit(document.data)
    place = parse_path(verdict.refusals[0].path)

    assert (verdict.decision, verdict.rule, verdict.refusals[0].path) == ("refused", entry["rule"], entry["path"])
    assert place is not None
    assert document.span(place) == Span(entry["file"], entry["line"], entry["column"])
    assert gate.decide(document.data) == entry["rule"]


@pytest.mark.parametrize("entry", entries("admitted"))
def test_an_admitted_file_is_admitted(gate: capgate.Gate, entry: dict[str, Any]) -> None:
    document = load_json((DESCRIPTORS / entry["file"]).read_bytes(), entry["file"])

    assert gate.admit(document.data).refusals == ()


@pytest.mark.parametrize("entry", entries("unreadable"))
def test_a_broken_file_is_an_error_with_line_and_column_and_no_verdict(entry: dict[str, Any]) -> None:
    with pytest.raises(DocumentError) as caught:
        load_json((DESCRIPTORS / entry["file"]).read_bytes(), entry["file"])

    assert caught.value.id == entry["rule"]
    assert caught.value.span == Span(entry["file"], entry["line"], entry["column"])


def test_the_index_names_every_file_and_every_rule_that_a_file_can_meet() -> None:
    assert sorted(entry["file"] for entry in EXPECTED) == sorted(file.name for file in DESCRIPTORS.glob("*.json"))
    shipped = (file.name for file in files("capgate.rules").iterdir() if file.name.endswith(".yaml"))
    rules = {name.removesuffix(".yaml") for name in shipped} - {"ruleset"}
    # No placement of ours lacks a mechanism for a mediated capability.
    assert {entry["rule"] for entry in EXPECTED if entry["decision"] == "refused"} == rules - {"absent-capability"}


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case['n']}: {case['was']}") for case in CASES])
def test_a_case_of_the_gate_that_clients_know_is_decided_as_expected(gate: capgate.Gate, case: dict[str, Any]) -> None:
    taken = frozenset(case["taken"])
    verdict = gate.admit(case["descriptor"], case["placement"], taken)

    assert (verdict.decision, verdict.rule) == (case["expect"]["decision"], case["expect"].get("rule"))
    assert gate.decide(case["descriptor"], case["placement"], taken) == case["expect"].get("rule")
