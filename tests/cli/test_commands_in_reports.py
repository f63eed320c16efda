"""No line of a report begins with two colons: build servers that read it would take that for a command to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from capgate.host.cli.page import Page, at_start
from capgate.host.cli.render_text import TextReport
from capgate.policy.errors import PolicyInvalid, Span
from capgate.policy.rule_errors import RuleError

Run = Callable[..., Any]
Write = Callable[..., Path]

NAMES = ["::error ::pwn.json", "a\n::error ::pwn.json", " ::set-env name=PATH::x.json", "::.json"]
RULE = """\
id: mine
title: Mine
applies_to: descriptor
triggers: [{stage: bounds, when: {descriptor.name: {exists: true}}, reason: because}]
examples: {refused: [{descriptor: {name: a, tools: []}}], admitted: [{descriptor: {}}]}
"""


def commands(text: str) -> list[str]:
    """The lines that would be taken for commands, as such a server splits and trims them."""
    return [line for line in text.splitlines() if line.lstrip().startswith("::")]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("::a", "./::a"), (" ::a", "./ ::a"), ("a::b", "a::b"), (":a", ":a"), ("./::a", "./::a"), ("", ""),
    ],
)  # fmt: skip
def test_only_what_would_be_a_command_is_changed(path: str, shown: str) -> None:
    assert at_start(path) == shown


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", ["{", {}, {"tools": [{"name": "A", "primitive": "now"}]}])
@pytest.mark.parametrize("form", ["text", "junit"])
def test_a_name_of_a_file_is_no_command(capgate: Run, write: Write, name: str, content: Any, form: str) -> None:
    write(name, content)
    done = capgate("check", "--format", form, name)
    assert done.code in (1, 4)
    assert (commands(done.out), commands(done.err)) == ([], [])
    if form == "junit":
        (suite,) = ElementTree.fromstring(done.out)
        assert suite.attrib["name"] == name.replace("\n", "\\u000A")


def test_the_path_that_is_shown_leads_to_the_same_file(capgate: Run, write: Write) -> None:
    write("::error ::pwn.json", {})
    done = capgate("check", "::error ::pwn.json")
    assert done.out.startswith("./::error ::pwn.json: refused by ")
    assert "\n  ./::error ::pwn.json:1:1: " in done.out


def test_what_is_read_from_the_xml_is_what_it_was(capgate: Run, write: Write) -> None:
    write("::error ::pwn.json", {})
    done = capgate("check", "--format", "junit", "::error ::pwn.json")
    (failure,) = ElementTree.fromstring(done.out).iter("failure")
    assert str(failure.text).startswith("::error ::pwn.json:1:1: ")


@pytest.mark.parametrize("form", ["text", "junit"])
def test_names_of_files_and_cases_of_rules_are_no_commands(capgate: Run, write: Write, form: str) -> None:
    write("::mine\n::r/mine.yaml", RULE)
    name = '"::error ::x\\n::error ::pwn"'
    cases = f"cases: [{{name: {name}, descriptor: {{}}, refused: [mine]}}, {{name: b, path: none, exactly: []}}]\n"
    write("::mine\n::r/tests/::add-mask::a.yaml", cases)
    write("::mine\n::r/tests/::b.yml", cases)
    for command in (["test"], ["coverage"]):
        done = capgate("rules", *command, "::mine\n::r", "--format", form)
        assert done.code == 4
        assert "none" in done.out
        assert (commands(done.out), commands(done.err)) == ([], [])


@pytest.mark.parametrize("form", ["text", "junit"])
@pytest.mark.parametrize("command", [["check", "x.json", "--rules"], ["rules", "test"], ["rules", "coverage"]])
def test_a_mistake_in_a_rule_file_is_no_command(capgate: Run, write: Write, command: list[str], form: str) -> None:
    write("x.json", {})
    write("::mine\n::r/mine.yaml", "id: mine\n")
    for output in ([], ["--output", "report"]):
        done = capgate(*command, "::mine\n::r", "--format", form, *output)
        assert done.code == 3
        assert (commands(done.out), commands(done.err)) == ([], [])
        if output and command[1] != "coverage":
            text = Path("report").read_text(encoding="utf-8")
            assert "key-missing" in text
            assert commands(text) == []


def test_the_cases_that_are_written_are_named_by_no_command(capgate: Run, write: Write) -> None:
    write("::mine/mine.yaml", RULE)
    done = capgate("rules", "test", "--init", "mine", "::mine")
    assert done.out.startswith("./::mine/tests/mine.yaml: ")
    write("::mine/mine.yaml", RULE.partition("examples")[0])
    done = capgate("rules", "test", "--init", "mine", "::mine")
    assert done.out.startswith("./::mine/tests/mine.yaml: is there already")


def test_what_is_explained_is_named_by_no_command(capgate: Run, write: Write) -> None:
    write("::x.json", {"name": "a"})
    write("::mine/mine.yaml", RULE)
    done = capgate("rules", "explain", "mine", "::x.json", "--rules", "::mine")
    assert done.out.startswith("./::x.json: ")
    assert commands(done.out) == []


def test_coloured_and_wrapped_lines_begin_so_too() -> None:
    assert Page(colour=True).place("::a") == "\x1b[1m./::a\x1b[0m"
    assert Page(width=40).lines("::a b") == ["./::a b"]
    problem = RuleError("key-missing", "id is missing", span=Span("::a"))
    assert TextReport().invalid(PolicyInvalid([problem])).startswith("./::a: key-missing: ")
