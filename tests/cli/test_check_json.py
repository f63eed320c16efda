"""The report as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate as package
from capgate.policy.documents import load_json

Run = Callable[..., Any]
Write = Callable[..., Path]

RESULT_KEYS = [
    "file",
    "line",
    "column",
    "id",
    "decision",
    "rule",
    "why",
    "remedy",
    "refusals",
    "enforced",
    "gets",
    "cannotHave",
]
REFUSAL_KEYS = ["rule", "reason", "remedy", "severity", "path", "line", "column"]


def test_the_report_has_policy_results_and_summary(capgate: Run, write: Write, clock: Any) -> None:
    write("clock.json", clock)
    done = capgate("check", "--format", "json")
    assert done.code == 0
    assert list(done.json) == ["policy", "results", "summary"]
    assert done.json["policy"] == {"fingerprint": package.open_gate().fingerprint}
    assert done.json["summary"] == {"admitted": 1, "refused": 0, "warned": 0, "errors": 0}
    assert done.err == ""


def test_an_admitted_result(capgate: Run, write: Write, clock: Any) -> None:
    write("clock.json", {**clock, "capabilities": ["read"]})
    (result,) = capgate("check", "--format", "json").results
    assert list(result) == RESULT_KEYS
    assert [entry.partition(" ")[0] for entry in result.pop("cannotHave")] == ["exec", "eval", "import"]
    (gets,) = result.pop("gets")
    assert "root-scoped read function" in gets
    assert result == {
        "file": "clock.json",
        "line": 1,
        "column": 1,
        "id": "tide-clock",
        "decision": "admitted",
        "rule": None,
        "why": None,
        "remedy": None,
        "refusals": [],
        "enforced": {"read": "host-primitive-scope"},
    }


def test_a_refused_result_has_every_refusal_and_the_first_is_the_rule(capgate: Run, write: Write) -> None:
    write("x.json", '\n {"id": 7,\n  "capabilities": ["exec"], "tools": [{"name": 1}]}')
    write("y.json", '\n {"capabilities": ["exec", "eval"],\n  "tools": []}')
    done = capgate("check", "--format", "json")
    malformed, refused = done.results
    assert done.code == 1
    assert list(refused) == RESULT_KEYS
    assert (refused["line"], refused["column"]) == (2, 2)
    assert [list(refusal) for refusal in refused["refusals"]] == [REFUSAL_KEYS] * 3
    places = [(r["rule"], r["path"], r["line"], r["column"]) for r in refused["refusals"]]
    assert places == [
        ("exec-absent", "$.capabilities[0]", 2, 20),
        ("eval-not-a-tool-path", "$.capabilities[1]", 2, 28),
        ("no-tools", "$.tools", 3, 12),
    ]
    first = refused["refusals"][0]
    assert (refused["rule"], refused["why"], refused["remedy"]) == (first["rule"], first["reason"], first["remedy"])
    assert all(refusal["severity"] == "refuse" and refusal["remedy"] for refusal in refused["refusals"])
    assert (refused["enforced"], refused["gets"]) == ({}, [])
    assert refused["id"] is None
    assert (malformed["rule"], malformed["id"]) == ("malformed-descriptor", None)
    assert [r["path"] for r in malformed["refusals"]] == ["$.id", "$.tools[0].name"]


def test_a_descriptor_that_is_no_object_is_refused_not_an_error(capgate: Run) -> None:
    done = capgate("check", "--format", "json", "-", stdin=b"[]")
    assert done.code == 1
    assert [(r["decision"], r["rule"], r["id"]) for r in done.results] == [("refused", "malformed-descriptor", None)]


def test_an_error_is_a_result_with_its_id_and_place(capgate: Run, write: Write) -> None:
    write("x.json", '{"a": 1,\n  oops}')
    done = capgate("check", "--format", "json")
    (result,) = done.results
    assert done.code == 4
    assert list(result) == RESULT_KEYS
    assert (result["decision"], result["rule"], result["line"], result["column"]) == ("error", "json-syntax", 2, 3)
    assert result["why"]
    assert result["remedy"]
    assert (result["refusals"], result["enforced"], result["gets"], result["cannotHave"]) == ([], {}, [], [])
    assert done.json["summary"]["errors"] == 1


def test_warnings_stand_among_the_refusals_and_decide_nothing(
    capgate: Run, write: Write, clock: Any, launcher: Any, warning_rules: Path
) -> None:
    write("a.json", {**clock, "capabilities": ["write"]})
    write("b.json", {**launcher, "capabilities": ["write", "delete"]})
    done = capgate("check", "--format", "json", "--rules", warning_rules)
    warned, refused = done.results
    assert done.code == 1
    assert (warned["decision"], warned["rule"], warned["remedy"]) == ("admitted", None, None)
    assert [(r["rule"], r["severity"]) for r in warned["refusals"]] == [("writes-files", "warn")]
    assert refused["rule"] == "capability-unmediated"
    assert {r["rule"]: r["severity"] for r in refused["refusals"]} == {
        "capability-unmediated": "refuse",
        "writes-files": "warn",
    }
    assert done.json["summary"] == {"admitted": 1, "refused": 1, "warned": 2, "errors": 0}


def test_results_come_in_the_order_of_the_inputs_and_a_path_given_twice_is_judged_twice(
    capgate: Run, write: Write, clock: Any
) -> None:
    for name in ("b.json", "a.json", "in/c.json"):
        write(name, clock)
    done = capgate("check", "--format", "json", "b.json", "-", "in", "missing.json", "b.json", stdin=b"{}")
    files = [result["file"] for result in done.results]
    assert files == ["b.json", "<stdin>", "in/c.json", "missing.json", "b.json"]
    assert [result["decision"] for result in done.results] == ["admitted", "refused", "admitted", "error", "admitted"]


def test_another_policy_has_another_fingerprint(capgate: Run, write: Write, clock: Any, warning_rules: Path) -> None:
    write("clock.json", clock)
    prints = {
        capgate("check", "--format", "json", *more).json["policy"]["fingerprint"]
        for more in ([], ["--rules", warning_rules], ["--rules", warning_rules])
    }
    assert len(prints) == 2
    assert all(print.startswith("sha256:") for print in prints)


def test_an_invalid_policy_is_reported_with_its_problems(
    capgate: Run, write: Write, clock: Any, broken_rules: Path
) -> None:
    write("clock.json", clock)
    done = capgate("check", "--format", "json", "--rules", broken_rules)
    problems = done.json["policy"].pop("problems")
    assert done.code == 3
    assert done.json == {
        "policy": {"fingerprint": None, "problems": problems},
        "results": [],
        "summary": {"admitted": 0, "refused": 0, "warned": 0, "errors": 0},
    }
    assert problems
    assert {tuple(problem) for problem in problems} == {("id", "message", "hint", "file", "line", "column")}
    assert {Path(problem["file"]).name for problem in problems} == {"half.yaml"}
    assert "half.yaml" in done.err


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202edcba", "\u200b", "\U000e0041", "\x9b", "\u2028"])
def test_hostile_strings_are_escaped_and_read_back_as_they_were(
    text: str, capgate: Run, write: Write, clock: Any
) -> None:
    write(f"x{text}.json", {**clock, "id": text})
    done = capgate("check", "--format", "json")
    assert text not in done.out
    (result,) = done.results
    assert (result["file"], result["id"]) == (f"x{text}.json", text)


def test_plain_letters_of_any_script_stay_readable(capgate: Run, write: Write, clock: Any) -> None:
    write("bücher-図書.json", clock)
    done = capgate("check", "--format", "json")
    assert '"file": "bücher-図書.json"' in done.out
    assert "exec — absent" in done.out


def test_a_file_name_that_is_no_utf8_still_makes_a_sound_report(process: Run, folder: Path, clock: Any) -> None:
    name = b"odd\xff.json"
    with open(os.path.join(os.fsencode(folder), name), "w") as file:
        json.dump(clock, file)
    done = process("check", "--format", "json")
    (result,) = load_json(done.out.encode()).data["results"]
    assert (done.code, result["file"], result["decision"]) == (0, "odd\\uDCFF.json", "admitted")
    named = process("check", name)
    assert (named.code, named.out.splitlines()[0]) == (0, "odd\\uDCFF.json: admitted")


def test_the_report_is_utf8_whatever_the_locale(process: Run, write: Write, clock: Any) -> None:
    write("bücher.json", clock)
    done = process("check", "--format", "json", env={"PYTHONIOENCODING": "latin-1"})
    assert done.results[0]["file"] == "bücher.json"
