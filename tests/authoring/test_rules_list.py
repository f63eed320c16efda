"""``capgate rules list``, ``show`` and ``schema`` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Overlay = Callable[..., Path]


def test_the_rules_are_listed_in_the_order_in_which_they_are_asked(rules: Run, overlay: Overlay) -> None:
    done = rules("list", "--rules", overlay())
    assert (done.code, done.err) == (0, "")
    ids = [line.partition(":")[0] for line in done.out.splitlines() if not line.startswith(" ")]
    assert len(ids) == 15
    assert ids[0] == "malformed-descriptor"
    assert ids.index("network-unbounded") < ids.index("few-requests") < ids.index("no-tools")
    assert "few-requests: No more than 15 requests\n    from mine, in bounds\n" in done.out
    assert "under-declared: What a tool uses is declared\n    from capgate, in launch, tools\n" in done.out


def test_a_rule_that_warns_is_marked(rules: Run, overlay: Overlay) -> None:
    overlay(old="applies_to", new="severity: warn\napplies_to")
    assert "few-requests (warn): No more" in rules("list", "--rules", "mine").out


def test_the_list_as_json_holds_what_tools_need(rules: Run, overlay: Overlay) -> None:
    found = {rule["id"]: rule for rule in rules("list", "--rules", overlay(), "--format", "json").json["rules"]}
    assert found["few-requests"] == {
        "id": "few-requests",
        "title": "No more than 15 requests",
        "severity": "refuse",
        "stages": ["bounds"],
        "triggers": 1,
        "examples": {"refused": 2, "admitted": 2},
        "references": [],
        "provider": "mine",
        "file": "mine/few-requests.yaml",
    }


def test_a_rule_is_shown_with_its_triggers_and_examples(rules: Run, overlay: Overlay) -> None:
    done = rules("show", "few-requests", "--rules", overlay())
    assert (done.code, done.err) == (0, "")
    assert (
        done.out
        == """\
few-requests: No more than 15 requests
  refuse, from mine: mine/few-requests.yaml
  remedy: Set bounds.maxRequests to 15 or less.

  trigger 1 (line 6), stage bounds
    all
      subject.capabilities: {contains: network}
      not
        descriptor.bounds.maxRequests: {max: 15}
    reason: up to {descriptor.bounds.maxRequests} requests, and 15 are allowed
    at: descriptor.bounds.maxRequests

  refuses
    {capabilities: [network], bounds: {hosts: [a.test], maxRequests: 16}, tools: [{name: a, primitive: now}]}
    {capabilities: [network], bounds: {hosts: [a.test], maxRequests: "5"}, tools: [{name: a, primitive: now}]}

  is silent on
    {capabilities: [network], bounds: {hosts: [a.test], maxRequests: 15}, tools: [{name: a, primitive: now}]}
    {tools: [{name: a, primitive: now}]}
"""
    )


def test_a_rule_without_examples_is_shown_without(rules: Run, overlay: Overlay) -> None:
    shown = rules("show", "few-requests", "--rules", overlay("")).out
    assert shown.endswith("    at: descriptor.bounds.maxRequests\n")


def test_loops_references_and_what_is_given_are_shown(rules: Run) -> None:
    shown = rules("show", "under-declared").out
    assert "stage tools, for each tool of subject.tools, for each field of tool.layout\n" in shown
    assert "  see gate contract, sections 3.E.3 and 3.E.4\n" in shown
    assert "{runsIn: process, tools: [{name: a, primitive: now}]}, given {mechanisms: [exec]}\n" in shown


def test_a_rule_as_json_is_what_its_file_says(rules: Run, overlay: Overlay) -> None:
    found = rules("show", "few-requests", "--rules", overlay(), "--format", "json").json
    assert found["file"] == "mine/few-requests.yaml"
    assert found["rule"]["triggers"][0]["stage"] == "bounds"
    assert found["rule"]["examples"]["refused"][1]["descriptor"]["bounds"]["maxRequests"] == "5"
    assert found["stages"] == [{"trigger": 1, "walks": {}}]


def test_an_unknown_rule_is_not_shown(rules: Run) -> None:
    done = rules("show", "no-tool")
    assert (done.code, done.out) == (2, "")
    assert "no rule is called 'no-tool'. Did you mean 'no-tools'?" in done.err


@pytest.mark.parametrize("command", [["list"], ["show", "no-tools"], ["schema"]])
def test_an_invalid_policy_is_not_shown(rules: Run, write: Callable[..., Path], command: list[str]) -> None:
    write("mine/half.yaml", "id: half\ntitle: No triggers\napplies_to: descriptor\n")
    done = rules(*command, "--rules", "mine")
    assert (done.code, done.out) == (3, "")
    assert "key-missing" in done.err
    if command != ["schema"]:
        done = rules(*command, "--rules", "mine", "--format", "json")
        assert done.code == 3
        assert done.json["policy"]["problems"][0]["id"] == "key-missing"


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ([], "A capgate rule"),
        (["rule"], "A capgate rule"),
        (["ruleset"], "The ruleset.yaml of an overlay"),
        (["cases"], "Cases for capgate rules"),
        (["descriptor"], "A capgate descriptor"),
        (["shipped-ruleset"], "The ruleset.yaml of the shipped rules"),
    ],
)
def test_a_schema_is_printed(rules: Run, kind: list[str], title: str) -> None:
    done = rules("schema", *kind)
    assert (done.code, done.err) == (0, "")
    assert done.json["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert done.json["title"] == title


def test_a_schema_can_go_to_a_file(rules: Run) -> None:
    assert rules("schema", "--output", "rule.schema.json").out == ""
    assert json.loads(Path("rule.schema.json").read_text(encoding="utf-8"))["title"] == "A capgate rule"


def test_no_other_kind_has_a_schema(rules: Run) -> None:
    assert rules("schema", "manifest").code == 2


@pytest.mark.parametrize("command", ["test", "coverage", "explain", "list", "show", "schema"])
def test_every_command_has_help_that_names_its_exit_codes(rules: Run, command: str) -> None:
    done = rules(command, "--help")
    assert done.code == 0
    assert "\n    3  the policy is invalid" in done.out
    assert "--output" in done.out


def test_help_on_rules_lists_the_commands_and_loads_no_rules() -> None:
    code = (
        "import sys\nfrom capgate.host.cli.main import main\nassert main(['rules', '--help']) == 0\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for command in ("coverage", "explain", "list", "schema", "show", "test"):
        assert f"\n  {command} " in done.stdout
    assert set(done.stderr.split()).isdisjoint({"pluggy", "rich", "cerberus", "capgate.host.assembly"})
