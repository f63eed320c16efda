"""``--format junit``: valid against a schema of its readers, with a case for each document."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.checking import Finding, Result, Summary
from capgate.host.cli.render_junit import JunitReport

Run = Callable[..., Any]
Write = Callable[..., Path]

SCHEMA = Path(__file__).parents[1] / "corpus" / "schemas" / "junit-10.xsd"


@cache
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(SCHEMA)


def valid(text: str) -> ElementTree.Element:
    """The root of a document that keeps to the schema, and whose suites count right."""
    root = ElementTree.fromstring(text.encode())
    schema().validate(text)
    for suite in root:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
    return root


@pytest.fixture
def junit(capgate: Run) -> Callable[..., ElementTree.Element]:
    def check(*arguments: Any, **options: Any) -> ElementTree.Element:
        return valid(capgate("check", "--format", "junit", *arguments, **options).out)

    return check


def test_a_document_that_breaks_the_schema_is_not_valid() -> None:
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        valid("<testsuites><testsuite name='x' tests='0' failures='0' errors='0'><bogus/></testsuite></testsuites>")


def test_each_file_is_a_suite_with_a_case(junit: Run, write: Write, clock: Any, launcher: Any) -> None:
    write("a.json", clock)
    write("b.json", launcher)
    write("c.json", "{")
    shown = [
        (suite.get("name"), case.get("name"), case.get("classname"), [part.tag for part in case])
        for suite in junit()
        for case in suite.findall("testcase")
    ]
    assert shown == [
        ("a.json", "a.json", "capgate.check", []),
        ("b.json", "b.json", "capgate.check", ["failure"]),
        ("c.json", "c.json", "capgate.check", ["error"]),
    ]


def test_a_failure_has_every_refusal_with_its_place(junit: Run, capgate: Run, write: Write) -> None:
    write("x.json", '{"capabilities": ["bogus"],\n"tools": [{"name": "A", "primitive": "now"}]}')
    first, second = capgate("check", "--format", "json").results[0]["refusals"]
    (failure,) = junit().iter("failure")
    start = f"x.json:1:19: unknown-capability: {first['reason']}"
    assert (failure.get("type"), failure.get("message")) == ("unknown-capability", f"{start} (and 1 more)")
    assert failure.text == (
        f"{start}\n  at $.capabilities[0]\n  fix: {first['remedy']}\n"
        f"x.json:2:20: bad-tool-name: {second['reason']}\n  at $.tools[0].name\n  fix: {second['remedy']}"
    )


def test_an_error_has_its_place_and_what_to_do(junit: Run, write: Write) -> None:
    write("x.json", '{"tools": [],}')
    (error,) = junit().iter("error")
    assert error.get("type") == "json-syntax"
    assert str(error.get("message")).startswith("x.json:1:13: json-syntax: ")
    assert "\n  fix: " in (error.text or "")


def test_a_warning_fails_nothing_and_stands_in_the_output_of_its_suite(
    junit: Run, write: Write, warning_rules: Path
) -> None:
    write("x.json", {"capabilities": ["write"], "tools": [{"name": "a", "primitive": "now"}]})
    (suite,) = junit("--rules", warning_rules)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    assert suite.findtext("system-out") == (
        "x.json:1:18: warning: writes-files: this extension writes files\n"
        "  at $.capabilities\n  fix: Look at what it writes."
    )


def test_a_case_of_json_lines_has_the_number_of_its_line(junit: Run, write: Write, clock: Any, launcher: Any) -> None:
    write("cases.jsonl", f"{json.dumps(clock)}\n\n{json.dumps(launcher)}\n")
    (suite,) = junit("--lines")
    assert [case.get("name") for case in suite.findall("testcase")] == ["cases.jsonl:1", "cases.jsonl:3"]


def test_a_mistake_of_the_policy_is_an_error(capgate: Run, write: Write, clock: Any, broken_rules: Path) -> None:
    write("x.json", clock)
    done = capgate("check", "--format", "junit", "--rules", broken_rules)
    (error,) = valid(done.out).iter("error")
    assert (done.code, error.get("type")) == (3, "key-missing")


@settings(deadline=None, derandomize=True, max_examples=200)
@given(file=st.text(min_size=1), text=st.text(st.characters()))
def test_any_text_gives_a_valid_document(file: str, text: str) -> None:
    report = JunitReport()
    for severity, decision in (("refuse", "refused"), ("warn", "admitted")):
        finding = Finding("some-rule", text, text, severity, f"$.{text}", 1, 2)
        assert report.result(Result(file, 1, 1, decision, rule=text, refusals=(finding,))) == ""  # type: ignore[arg-type]
    assert report.result(Result(file, None, None, "error", rule=text, why=text, remedy=text)) == ""
    root = valid(report.end(Summary(admitted=1, refused=1, errors=1)))
    assert [(suite.get("tests"), suite.get("failures"), suite.get("errors")) for suite in root] == [("3", "1", "1")]


@pytest.mark.parametrize("text", ["\x00", "\x0b", "\ufffe", "\uffff", "\ud800", "]]>", "<!--", "&lt;", "\r\n"])
def test_what_xml_cannot_hold_is_escaped(text: str) -> None:
    report = JunitReport()
    report.result(Result(text, 1, 1, "error", rule=text, why=text, remedy=text))
    (error,) = valid(report.end(Summary(errors=1))).iter("error")
    assert error.get("type")
    assert "fix" in str(error.text)
