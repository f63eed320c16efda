"""``capgate rules lint`` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.policy.authoring.lint.checks import CHECKS

Run = Callable[..., Any]
Overlay = Callable[..., Path]
Write = Callable[..., Path]
Mine = Callable[..., Path]

BAD = """\
id: few-requests
title: No more than 15 requests
applies_to: descriptor
remedy: Set bounds.maxRequests to 15 or less.
triggers:
  - stage: bounds
    when: {subject.capabilities: {contains: netwrok}}
    reason: it asks the network
"""


@pytest.fixture
def mine(write: Write) -> Callable[[str], Path]:
    """Writes a rule into the folder ``mine``."""

    def mine(text: str = BAD) -> Path:
        write("mine/few-requests.yaml", text)
        return Path("mine")

    return mine


def test_rules_without_a_finding_are_clean(rules: Run, overlay: Overlay) -> None:
    done = rules("lint", overlay())
    assert (done.code, done.out, done.err) == (0, "1 rule: 0 findings\n", "")


def test_the_shipped_rules_are_clean(rules: Run) -> None:
    done = rules("lint")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("14 rules: 0 findings, ")


def test_a_finding_names_place_check_and_what_to_do(rules: Run, mine: Mine) -> None:
    done = rules("lint", mine())
    assert done.code == 1
    start = "mine/few-requests.yaml"
    assert done.out.splitlines() == [
        f"{start}:1:1: example-missing-kind: the rule has no example under 'examples.refused'",
        "    fix: Add one; 'capgate rules test --init few-requests mine' shows one to paste.",
        f"{start}:1:1: example-missing-kind: the rule has no example under 'examples.admitted'",
        "    fix: Add one; 'capgate rules test --init few-requests mine' shows one to paste.",
        f"{start}:7:35: value-outside-domain: no capability is called 'netwrok'",
        "    fix: Did you mean 'network'?",
        "",
        "1 rule: 3 findings",
    ]


def test_findings_come_by_file_and_line(rules: Run, mine: Mine, write: Write) -> None:
    mine()
    write("mine/another.yaml", BAD.replace("few-requests", "another"))
    places = [line.partition(": ")[0] for line in rules("lint", "mine").out.splitlines() if line.startswith("mine/")]
    assert places == sorted(places)
    assert len(places) > 2


def test_json_has_every_finding_with_its_page_and_a_witness(rules: Run, mine: Mine) -> None:
    shadowed = BAD.replace("subject.capabilities: {contains: netwrok}", "descriptor.id: {not_in: [5]}")
    done = rules("lint", mine(shadowed), "--format", "json")
    assert done.code == 1
    data = done.json
    assert set(data) == {"policy", "results", "errors", "ignored", "undecided", "summary"}
    assert data["policy"]["fingerprint"].startswith("sha256:")
    (always,) = [one for one in data["results"] if one["id"] == "trigger-always-holds"]
    assert (always["file"], always["line"], always["rule"]) == ("mine/few-requests.yaml", 7, "few-requests")
    assert always["page"] == "docs/lint/trigger-always-holds.md"
    assert always["witness"] == {"descriptor": {}, "given": {}}
    assert data["summary"] == {
        "rules": 1,
        "findings": len(data["results"]),
        "ignored": 0,
        "undecided": 0,
        "errors": 0,
    }


def test_json_has_what_was_ignored_and_why_and_what_was_not_decided(rules: Run, mine: Mine) -> None:
    parts = ", ".join(f"{{descriptor.bounds.maxBytes: {{min: {number}}}}}" for number in range(3))
    other = ", ".join(f"{{tool.params.p{number}: {{min: {number}, max: 90}}}}" for number in range(9))
    text = BAD.replace("{subject.capabilities: {contains: netwrok}}", f"{{all: [{parts}]}}")
    text += f"  - stage: tools\n    when: {{all: [{other}]}}\n    reason: so\n"
    text = f"# capgate: ignore condition-implied because it reads well\n{text}"
    data = rules("lint", mine(text), "--format", "json").json
    assert {(one["id"], one["because"]) for one in data["ignored"]} == {("condition-implied", "it reads well")}
    assert data["undecided"][0]["line"] == 10
    assert set(data["undecided"][0]["ids"]) <= set(CHECKS)
    done = rules("lint", "mine")
    assert "mine/few-requests.yaml:10:5: not decided: " in done.out
    assert done.out.endswith(", 1 ignored, 1 not decided\n")


def test_a_case_that_cannot_be_read_is_an_error_and_no_claim_is_made_about_what_it_tests(
    rules: Run, mine: Mine, write: Write
) -> None:
    folder = mine(
        """\
id: few-requests
title: No more than 15 requests, and none of a certain name
applies_to: descriptor
remedy: Set bounds.maxRequests to 15 or less.
triggers:
  - stage: bounds
    when: {descriptor.bounds.maxRequests: {min: 16}}
    reason: it asks for {descriptor.bounds.maxRequests} requests
  - stage: bounds
    when: {descriptor.id: {equals: certain}}
    reason: it has a certain name
examples:
  refused: [{descriptor: {bounds: {maxRequests: 16}, tools: [{name: a, primitive: now}]}}]
  admitted: [{descriptor: {bounds: {maxRequests: 15}, tools: [{name: a, primitive: now}]}}]
"""
    )
    case = """\
cases:
  - name: a certain name
    descriptor: {id: certain, tools: [{name: a, primitive: now}]}
    refused: [few-requests]
"""
    write("mine/tests/some.yaml", case)
    assert rules("lint", folder).out == "1 rule: 0 findings\n"
    write("mine/tests/some.yaml", f"{case}   - name: another\n")
    done = rules("lint", folder)
    assert done.code == 4
    assert done.out.startswith("mine/tests/some.yaml:5:4: yaml-syntax: ")
    assert done.out.endswith("\n1 rule: 0 findings, 1 error\n")
    done = rules("lint", folder, "--format", "json")
    assert done.code == 4
    (error,) = json.loads(done.out)["errors"]
    assert (error["id"], error["line"], json.loads(done.out)["summary"]["errors"]) == ("yaml-syntax", 5, 1)


def test_an_invalid_policy_is_reported_and_nothing_is_looked_at(rules: Run, mine: Mine) -> None:
    folder = mine(BAD.replace("contains", "contain"))
    done = rules("lint", folder)
    assert (done.code, done.out) == (3, "")
    assert "operator-unknown" in done.err
    data = rules("lint", folder, "--format", "json").json
    assert data["policy"]["problems"][0]["id"] == "operator-unknown"
    assert data["summary"] == {"rules": 0, "findings": 0, "ignored": 0, "undecided": 0, "errors": 0}


def test_a_report_goes_to_a_file(rules: Run, overlay: Overlay) -> None:
    done = rules("lint", overlay(), "--format", "json", "--output", "report.json")
    assert (done.code, done.out) == (0, "")
    assert json.loads(Path("report.json").read_text())["results"] == []


@pytest.mark.parametrize("arguments", [["nowhere"], ["--format", "xml"], ["--output", "no/where"]])
def test_a_wrong_command_line_is_a_usage_error(rules: Run, arguments: list[str]) -> None:
    assert rules("lint", *arguments).code == 2
