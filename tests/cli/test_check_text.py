"""The report for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Write = Callable[..., Path]

TWO_FAULTS = """\
{
  "id": "launcher",
  "capabilities": ["read", "exec"],
  "tools": [
    {"name": "ok", "primitive": "now"},
    {"name": "bad-name", "primitive": "now"}
  ]
}
"""


def test_an_admitted_descriptor_takes_one_line(capgate: Run, write: Write, clock: Any) -> None:
    write("clock.json", clock)
    done = capgate("check", "clock.json")
    assert done.code == 0
    assert done.out == "clock.json: admitted\n\n1 admitted, 0 refused, 0 warned, 0 errors\n"
    assert done.err == ""


def test_what_enforces_each_capability_is_named(capgate: Run, write: Write, clock: Any) -> None:
    write("log.json", {**clock, "capabilities": ["read", "write"]})
    done = capgate("check", "log.json")
    assert (
        done.out.splitlines()[0] == "log.json: admitted with read (host-primitive-scope), write (host-primitive-scope)"
    )


def test_every_refusal_has_its_place_reason_and_remedy(capgate: Run, write: Write) -> None:
    write("launcher.json", TWO_FAULTS)
    done = capgate("check", "launcher.json")
    rows = done.out.splitlines()
    assert done.code == 1
    assert rows[0] == "launcher.json: refused by exec-absent"
    assert rows[1].startswith("  launcher.json:3:28: exec-absent: ")
    assert "no mechanism" in rows[1]
    assert rows[2] == "      at $.capabilities[1]"
    assert rows[3].startswith("      fix: ")
    assert rows[4].startswith("  launcher.json:6:14: bad-tool-name: ")
    assert "bad-name" in rows[4]
    assert rows[5] == "      at $.tools[1].name"
    assert rows[6].startswith("      fix: ")
    assert rows[7:] == ["", "0 admitted, 1 refused, 0 warned, 0 errors"]


def test_what_is_absent_is_shown_at_its_nearest_parent(capgate: Run, write: Write) -> None:
    write("empty.json", "\n  {}\n")
    done = capgate("check", "empty.json")
    assert "  empty.json:2:3: no-tools: " in done.out


def test_a_warning_is_shown_as_one_and_decides_nothing(
    capgate: Run, write: Write, clock: Any, warning_rules: Path
) -> None:
    write("log.json", {**clock, "capabilities": ["write"]})
    done = capgate("check", "log.json", "--rules", warning_rules)
    rows = done.out.splitlines()
    assert done.code == 0
    assert rows[0] == "log.json: admitted with write (host-primitive-scope), 1 warning"
    assert rows[1].startswith("  log.json:1:")
    assert rows[1].endswith(": warning: writes-files: this extension writes files")
    assert rows[3] == "      fix: Look at what it writes."
    assert rows[-1] == "1 admitted, 0 refused, 1 warned, 0 errors"


def test_an_input_that_cannot_be_read_is_shown_and_the_rest_goes_on(capgate: Run, write: Write, clock: Any) -> None:
    write("twice.json", '{"id": "a",\n "id": "b"}')
    write("x.json", clock)
    done = capgate("check", "twice.json", "x.json")
    rows = done.out.splitlines()
    assert done.code == 4
    assert rows[0] == "twice.json: not judged: duplicate-key"
    assert rows[1].startswith("  twice.json:2:2: duplicate-key: ")
    assert rows[2].startswith("      fix: ")
    assert rows[3] == "x.json: admitted"
    assert rows[-1] == "1 admitted, 0 refused, 0 warned, 1 error"


def test_a_report_to_a_pipe_or_a_file_has_no_colour(
    capgate: Run, write: Write, launcher: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    write("launcher.json", launcher)
    assert "\x1b" not in capgate("check").out
    capgate("check", "--output", "report.txt")
    assert "\x1b" not in (folder / "report.txt").read_text()


HOSTILE = {
    "control": "\x1b[2Jclean",
    "newline": "a\nfake.json: admitted",
    "carriage return": "a\rfake",
    "bidirectional override": "abc\u202edcba",
    "bidirectional isolate": "abc\u2066def\u2069",
    "zero-width space": "a\u200bb",
    "zero-width joiner": "a\u200db",
    "byte order mark": "a\ufeffb",
    "tag": "a\U000e0041b",
    "C1 control": "a\x9b2Jb",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("where", ["tool name", "capability", "key", "duplicate key"])
def test_a_hostile_string_of_a_descriptor_is_shown_as_escapes(
    text: str, where: str, capgate: Run, write: Write, clock: Any
) -> None:
    descriptors = {
        "tool name": {**clock, "tools": [{"name": text, "primitive": "now"}]},
        "capability": {**clock, "capabilities": [text]},
        "key": {**clock, "tools": [{"name": "a", "primitive": "now", "params": {text: []}}]},
    }
    key = json.dumps(text)
    write("x.json", descriptors.get(where, f"{{{key}: 1, {key}: 2}}"))
    done = capgate("check", "x.json")
    assert done.code == (4 if where == "duplicate key" else 1)
    assert done.out.replace("\n", "").isprintable()
    # A verdict, the refusal in three lines (an error has no path), an empty line, the summary: none came from outside.
    assert done.out.count("\n") == (5 if where == "duplicate key" else 6)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("new\nline.json", "new\\u000Aline.json"),
        ("turn\u202enosj.json", "turn\\u202Enosj.json"),
        ("esc\x1b[1m.json", "esc\\u001B[1m.json"),
        ("bücher.json", "bücher.json"),
    ],
)
def test_an_odd_file_name_is_shown_as_escapes(name: str, shown: str, capgate: Run, write: Write, clock: Any) -> None:
    write(name, clock)
    assert capgate("check").out.splitlines()[0] == f"{shown}: admitted"


def test_what_the_encoding_of_the_output_lacks_is_shown_as_escapes(process: Run, write: Write, clock: Any) -> None:
    write("bücher.json", clock)
    done = process("check", env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert done.out.splitlines()[0] == "b\\xfccher.json: admitted"
