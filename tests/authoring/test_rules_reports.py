"""What ``rules test`` and ``rules coverage`` write for programs: JSON, and JUnit XML of the common form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from capgate.host.cli.junit import Case, Trouble, document
from capgate.host.cli.page import Page

Run = Callable[..., Any]
Overlay = Callable[..., Path]
Write = Callable[..., Path]

BAD = "{capabilities: [network], bounds: {hosts: [a.test], maxRequests: 16}, tools: [{name: a, primitive: now}]}"
MIXED = f"""\
cases:
  - {{name: passes, descriptor: {BAD}, refused: [few-requests]}}
  - {{name: fails, descriptor: {BAD}, absent: [few-requests], given: {{taken: [z]}}}}
  - {{name: broken, path: none.json, exactly: []}}
"""
#: Where the number stands in the case that fails.
COLUMN = MIXED.splitlines()[2].index("16") + 1
#: The attributes that both common schemas know, and those that the stricter one asks for.
SUITE = {"id", "package", "name", "timestamp", "hostname", "tests", "failures", "errors", "time"}


def suites(text: str) -> list[ElementTree.Element]:
    """The suites of a JUnit document, once it was held against the schemas' common form."""
    root = ElementTree.fromstring(text)
    assert (root.tag, root.attrib) == ("testsuites", {})
    for number, suite in enumerate(root):
        assert suite.tag == "testsuite"
        assert set(suite.attrib) == SUITE
        assert suite.get("id") == str(number)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        tags = [part.tag for part in suite]
        assert tags[0] == "properties"
        assert tags[-2:] == ["system-out", "system-err"]
        assert set(tags[1:-2]) <= {"testcase"}
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        for kind in ("failure", "error"):
            assert suite.get(f"{kind}s") == str(len(suite.findall(f"testcase/{kind}")))
        for case in cases:
            assert set(case.attrib) == {"name", "classname", "time"}
            assert re.fullmatch(r"\d+\.\d{3}", case.attrib["time"])
            assert len(case) <= 1
            for trouble in case:
                assert trouble.tag in ("failure", "error")
                assert set(trouble.attrib) == {"message", "type"}
    return list(root)


def test_the_json_of_a_run_holds_everything(rules: Run, overlay: Overlay) -> None:
    done = rules("test", overlay(cases=MIXED), "--format", "json")
    assert done.code == 4
    assert done.json["policy"]["fingerprint"].startswith("sha256:")
    assert done.json["summary"] == {"rules": 1, "passed": 5, "failed": 1, "lacking": 0, "errors": 1}
    failed = done.json["results"][-1]
    assert failed["kind"] == "case"
    assert failed["name"] == "fails"
    assert failed["at"] == {"file": "mine/tests/cases.yaml", "line": 3, "column": 5}
    assert failed["given"] == {"taken": ["z"]}
    assert failed["expected"] == {
        "refused": [],
        "absent": ["few-requests"],
        "exactly": None,
        "places": None,
        "decision": None,
    }
    assert failed["refusals"] == ["few-requests"]
    assert failed["messages"] == ["few-requests refuses, and was to be silent"]
    (explanation,) = failed["explanations"]
    leaf = explanation["questions"][0]["condition"]["parts"][1]["parts"][0]
    assert leaf == {
        "truth": "false",
        "at": {"file": "mine/few-requests.yaml", "line": 11, "column": 49},
        "path": "descriptor.bounds.maxRequests",
        "operator": "max",
        "operand": 15,
        "exists": True,
        "shown": "16",
        "value": 16,
        "found_at": "$.bounds.maxRequests",
        "place": {"file": "mine/tests/cases.yaml", "line": 3, "column": COLUMN},
    }
    (error,) = done.json["errors"]
    assert error["id"] == "case-unreadable"
    assert done.json["results"][0]["name"] == "refused 1"
    assert done.json["results"][0]["rule"] == "few-requests"


def test_the_json_of_a_run_names_what_is_lacking(rules: Run, overlay: Overlay) -> None:
    done = rules("test", overlay(""), "--format", "json")
    assert [lack["rule"] for lack in done.json["lacks"]] == [None, "few-requests", "few-requests"]
    assert done.json["lacks"][1]["at"] == {"file": "mine/few-requests.yaml", "line": 1, "column": 5}


def test_the_junit_of_a_run_has_a_suite_for_each_file(rules: Run, overlay: Overlay) -> None:
    done = rules("test", overlay(cases=MIXED), "--format", "junit")
    assert done.code == 4
    rule, cases = suites(done.out)
    assert rule.get("name") == "mine/few-requests.yaml"
    assert [case.get("name") for case in rule.findall("testcase")] == [
        "refused 1", "refused 2", "admitted 1", "admitted 2"
    ]  # fmt: skip
    assert {case.get("classname") for case in rule.findall("testcase")} == {"few-requests"}
    assert cases.get("name") == "mine/tests/cases.yaml"
    assert (cases.get("tests"), cases.get("failures"), cases.get("errors")) == ("3", "1", "1")
    (failure,) = cases.findall("testcase/failure")
    assert failure.get("message") == "few-requests refuses, and was to be silent"
    assert failure.text is not None
    assert f"found 16, at mine/tests/cases.yaml:3:{COLUMN} ($.bounds.maxRequests)" in failure.text


def test_the_junit_of_a_run_fails_for_what_is_lacking(rules: Run, overlay: Overlay) -> None:
    (everything, rule) = suites(rules("test", overlay(""), "--format", "junit").out)
    assert (everything.get("name"), everything.get("failures")) == ("rules", "1")
    assert (rule.get("name"), rule.get("failures")) == ("mine/few-requests.yaml", "2")


def test_the_junit_of_the_shipped_rules_has_no_failure(rules: Run) -> None:
    found = suites(rules("test", "--format", "junit").out)
    assert len(found) >= 14
    assert {(suite.get("failures"), suite.get("errors")) for suite in found} == {("0", "0")}


def test_what_xml_cannot_hold_is_shown_as_an_escape(rules: Run, overlay: Overlay) -> None:
    name = '"a\\u0001\\u001b[31m\\uffff<&\\"\\u202e"'
    cases = f"cases:\n  - {{name: {name}, descriptor: {{id: {name}, tools: []}}, exactly: []}}\n"
    done = rules("test", overlay(cases=cases), "--format", "junit")
    _, found = suites(done.out)
    (case,) = found.findall("testcase")
    assert case.get("name") == 'a\\u0001\\u001B[31m\\uFFFF<&"\\u202E'


@pytest.mark.parametrize("code", [*range(0x20), 0x7F, 0x85, 0x2028, 0x202E, 0xD800, 0xFFFE, 0xFFFF, 0x10FFFF])
def test_any_character_makes_a_document_that_can_be_read(code: int) -> None:
    text = f"a{chr(code)}b"
    (suite,) = suites(document([Case(text, text, text, Trouble("failure", text, text, text))]))
    assert suite.attrib["name"].startswith("a")
    suite.attrib["name"].encode()


@pytest.mark.parametrize("command", ["test", "coverage"])
def test_an_invalid_policy_gives_a_whole_report_all_the_same(rules: Run, write: Write, command: str) -> None:
    write("mine/half.yaml", "id: half\ntitle: No triggers\napplies_to: descriptor\n")
    done = rules(command, "mine", "--format", "json")
    assert done.code == 3
    assert done.json["policy"]["fingerprint"] is None
    assert done.json["policy"]["problems"][0]["id"] == "key-missing"
    assert done.json["results"] == []
    (suite,) = suites(rules(command, "mine", "--format", "junit").out)
    assert (suite.get("name"), suite.get("errors")) == ("mine/half.yaml", "1")


@pytest.mark.parametrize("command", ["test", "coverage"])
@pytest.mark.parametrize("form", ["text", "json", "junit"])
def test_a_report_can_go_to_a_file(rules: Run, overlay: Overlay, folder: Path, command: str, form: str) -> None:
    done = rules(command, overlay(), "--format", form, "--output", "report")
    assert (done.code, done.out, done.err) == (0, "", "")
    written = (folder / "report").read_text(encoding="utf-8")
    if form == "json":
        assert json.loads(written)["summary"]["rules"] == 1
    elif form == "junit":
        assert suites(written)
    else:
        assert written.startswith("1 rule")


def test_a_report_that_cannot_be_written_is_an_error(rules: Run, overlay: Overlay) -> None:
    done = rules("test", overlay(), "--output", "nowhere/report")
    assert done.code == 2
    assert "output-failed" in done.err


def test_the_json_of_coverage_lists_what_is_missing(rules: Run, overlay: Overlay) -> None:
    examples = f"examples:\n  refused: [{{descriptor: {BAD}}}]\n  admitted: [{{descriptor: {{tools: []}}}}]\n"
    done = rules("coverage", overlay(examples), "--format", "json")
    assert done.code == 1
    assert done.json["summary"] == {"rules": 1, "conditions": 2, "possible": 5, "seen": 3, "percent": 60.0}
    first, second = done.json["results"]
    assert first["missing"] == []
    assert second == {
        "rule": "few-requests",
        "trigger": 1,
        "at": {"file": "mine/few-requests.yaml", "line": 11, "column": 49},
        "path": "descriptor.bounds.maxRequests",
        "operator": "max",
        "operand": 15,
        "possible": ["true", "false", "unknown"],
        "seen": ["false"],
        "missing": ["true", "unknown"],
    }


def test_the_junit_of_coverage_has_a_failure_for_each_condition_that_is_not_covered(
    rules: Run, overlay: Overlay
) -> None:
    examples = f"examples:\n  refused: [{{descriptor: {BAD}}}]\n  admitted: [{{descriptor: {{tools: []}}}}]\n"
    (suite,) = suites(rules("coverage", overlay(examples), "--format", "junit").out)
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == "never true and unknown"


LOOP = {
    "id": "loop",
    "title": "Loop",
    "applies_to": "descriptor",
    "triggers": [
        {
            "stage": "bounds",
            "for_each": {"entry": "descriptor.bounds.hosts"},
            "when": {"entry": {"equals": "a"}},
            "reason": "because",
        }
    ],
}


def test_a_list_that_is_none_is_reported_everywhere(rules: Run, write: Write) -> None:
    write("loops/loop.yaml", LOOP)
    write("x.json", {"bounds": {"hosts": "a"}, "tools": []})
    done = rules("explain", "loop", "x.json", "--rules", "loops")
    assert "trigger 1 in stage bounds: unknown, so it refuses: what it is to walk over is no list\n" in done.out
    assert rules("explain", "loop", "x.json", "--rules", "loops", "--format", "json").json["questions"][0] == {
        "trigger": 1,
        "stage": "bounds",
        "at": {"file": "loops/loop.yaml", "line": 1, "column": 74},
        "truth": "unknown",
        "element": None,
        "place": None,
        "condition": None,
    }
    missing = "never unknown: for_each over descriptor.bounds.hosts, where it is no list\n"
    assert missing in rules("coverage", "loops").out
    (suite,) = suites(rules("coverage", "loops", "--format", "junit").out)
    assert suite.get("failures") == "2"


def test_a_test_that_cannot_be_read_is_an_error_in_every_report(rules: Run, overlay: Overlay) -> None:
    overlay(cases="cases: []\n")
    for command in ("test", "coverage"):
        *_, last = suites(rules(command, "mine", "--format", "junit").out)
        assert (last.get("name"), last.get("errors")) == ("mine/tests/cases.yaml", "1")


def test_a_text_report_of_an_invalid_policy_goes_to_its_file(rules: Run, write: Write, folder: Path) -> None:
    write("mine/half.yaml", "id: half\ntitle: No triggers\napplies_to: descriptor\n")
    assert rules("test", "mine", "--output", "report").code == 3
    assert "mine/half.yaml:1:1: key-missing" in (folder / "report").read_text(encoding="utf-8")
    assert rules("coverage", "mine", "--format", "text").code == 3


def test_long_lines_are_wrapped_on_a_narrow_page() -> None:
    assert Page(width=40).lines("one two three four five six seven eight nine", 2, 4) == [
        "  one two three four five six seven",
        "      eight nine",
    ]
    assert Page(width=40).lines("a" * 60, 2, 4) == ["  " + "a" * 60]
    assert Page(colour=True).word("failed", "1 failed") != "1 failed"
    assert Page(colour=True).word("other") == "other"
    assert Page(colour=True).bold("a\x1b") == "\x1b[1ma\\u001B\x1b[0m"
