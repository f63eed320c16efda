"""``--format github``: what a runner reads back from the workflow commands, by a reader of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.checking import Finding, Result
from capgate.host.cli.render_github import GithubReport

Run = Callable[..., Any]
Write = Callable[..., Path]


class Command(NamedTuple):
    """A workflow command."""

    name: str
    properties: dict[str, str]
    message: str


def decoded(text: str, codes: dict[str, str]) -> str:
    made = ""
    while text:
        code = next((code for code in codes if text.startswith(code)), text[0])
        made += codes.get(code, code)
        text = text[len(code) :]
    return made


def read(line: str) -> Command | None:
    """Reads a line as a runner does: ``::name key=value,key=value::message``, white space before it ignored."""
    line = line.lstrip()
    if not line.startswith("::") or "::" not in line[2:]:
        return None
    head, _, message = line[2:].partition("::")
    name, _, rest = head.strip().partition(" ")
    codes = {"%0D": "\r", "%0A": "\n", "%25": "%"}
    properties = {}
    for pair in filter(None, rest.strip().split(",")):
        key, _, value = pair.partition("=")
        properties[key] = decoded(value, {**codes, "%3A": ":", "%2C": ","})
    return Command(name, properties, decoded(message, codes))


def commands(out: str, *, counts: bool = True) -> list[Command]:
    """The commands of a report. Whatever else a runner would take for a line of its own has to be the count."""
    *lines, last = out.splitlines()
    assert out.endswith("\n")
    if counts:
        assert last.startswith("capgate: ")
        assert read(last) is None
    else:
        lines.append(last)
    made = []
    for line in lines:
        command = read(line)
        assert command is not None, line
        made.append(command)
    return made


def test_a_refusal_is_an_error_at_its_line(capgate: Run, write: Write) -> None:
    text = '{\n  "tools": [\n    {"name": "Bad", "primitive": "now"}]\n}'
    write("sub/x.json", text)
    done = capgate("check", "sub", "--format", "github")
    (refusal,) = capgate("check", "sub", "--format", "json").results[0]["refusals"]
    assert done.code == 1
    assert commands(done.out) == [
        Command(
            "error",
            {"file": "sub/x.json", "line": "3", "endLine": "3", "col": "14", "title": "bad-tool-name"},
            f"{refusal['reason']}\nFix: {refusal['remedy']}",
        )
    ]


def test_what_is_admitted_has_no_annotation_and_is_counted(capgate: Run, write: Write, clock: Any) -> None:
    write("x.json", clock)
    done = capgate("check", "--format", "github")
    assert (done.code, done.out) == (0, "capgate: 1 admitted, 0 refused, 0 warned, 0 errors\n")


def test_a_warning_is_a_warning(capgate: Run, write: Write, warning_rules: Path) -> None:
    write("x.json", {"capabilities": ["write"], "tools": [{"name": "a", "primitive": "now"}]})
    (command,) = commands(capgate("check", "--format", "github", "--rules", warning_rules).out)
    assert (command.name, command.properties["title"]) == ("warning", "writes-files")


def test_an_input_that_cannot_be_read_is_an_error_at_its_place(capgate: Run, write: Write) -> None:
    write("a.json", '{"tools": [],}')
    syntax, missing = commands(capgate("check", "a.json", "missing.json", "--format", "github").out)
    assert (syntax.name, syntax.properties) == (
        "error",
        {"file": "a.json", "line": "1", "endLine": "1", "col": "13", "title": "json-syntax"},
    )
    assert (missing.name, missing.properties) == ("error", {"file": "missing.json", "title": "unreadable"})


def test_a_mistake_in_a_rule_is_an_error_in_the_rule_file(
    capgate: Run, write: Write, clock: Any, broken_rules: Path
) -> None:
    write("x.json", clock)
    done = capgate("check", "--format", "github", "--rules", broken_rules)
    (command,) = commands(done.out, counts=False)
    assert (done.code, command.name) == (3, "error")
    assert command.properties["file"] == str(broken_rules / "half.yaml")
    assert command.properties["title"] == "key-missing"


def test_standard_input_is_no_file(capgate: Run, launcher: Any) -> None:
    done = capgate("check", "-", "--format", "github", stdin=json.dumps(launcher).encode())
    (command,) = commands(done.out)
    assert command.properties == {"title": "exec-absent"}


@pytest.mark.parametrize(
    "name",
    [
        "a,line=9::x.json",
        "100%.json",
        "%0A::error::x.json",
        "a:b,c=d.json",
        "new\nline.json",
        "::error::x.json",
        " x.json",
    ],
)
def test_the_name_of_a_file_is_read_back(name: str, capgate: Run, write: Write, launcher: Any) -> None:
    write(name, launcher)
    (command,) = commands(capgate("check", name, "--format", "github").out)
    assert command.properties["file"] == name
    assert command.properties["line"] == "1"


@pytest.mark.parametrize(
    "text",
    [
        "::error::x",
        "\n::add-mask::x",
        "\r::add-mask::x",
        "\r\n::stop-commands::x",
        "\u2028::add-mask::x",
        "\x85::add-mask::x",
        "%0A::add-mask::x",
        "%250A::add-mask::x",
        "a::b,line=9",
        "##[group]x",
    ],
)
def test_the_text_of_a_descriptor_is_never_a_command(text: str, capgate: Run, write: Write) -> None:
    write("x.json", {"id": text, "capabilities": [text], "tools": [{"name": text, "primitive": text}]})
    found = commands(capgate("check", "--format", "github").out)
    reasons = [refusal["reason"] for refusal in capgate("check", "--format", "json").results[0]["refusals"]]
    assert len(reasons) == 3
    assert [command.name for command in found] == ["error"] * 3
    assert [command.message.split("\nFix: ")[0] for command in found] == reasons


@settings(deadline=None, derandomize=True, max_examples=300)
@given(file=st.text(min_size=1), rule=st.text(), text=st.text(), remedy=st.text())
def test_any_text_gives_one_command_a_line(file: str, rule: str, text: str, remedy: str) -> None:
    finding = Finding(rule, text, remedy, "warn", "$", 1, 2)
    refused = Result(file, 1, 1, "admitted", refusals=(finding,))
    error = Result(file, 3, 4, "error", rule=rule, why=text, remedy=remedy)
    report = GithubReport()
    first, second = commands(report.result(refused) + report.result(error), counts=False)
    assert [first.name, second.name] == ["warning", "error"]
    assert {*first.properties} <= {"file", "line", "endLine", "col", "title"}
    if file != "<stdin>":
        assert (first.properties["line"], second.properties["col"]) == ("1", "4")
