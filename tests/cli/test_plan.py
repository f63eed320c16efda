"""``capgate plan``: what the admission of a descriptor would mean, for people and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate as package
from capgate.policy.documents import digest

Run = Callable[..., Any]
Write = Callable[..., Path]


@pytest.fixture
def feed() -> dict[str, Any]:
    """A descriptor that is admitted and discloses something in every section."""
    return {
        "id": "buoy-feed",
        "name": "Buoy feed",
        "description": "Reads one buoy",
        "source": "local",
        "runsIn": "remote",
        "capabilities": ["network", "write"],
        "bounds": {"hosts": ["Buoys.test.", "api.test:8443"], "maxRequests": 12, "window": "day"},
        "tools": [
            {
                "name": "buoy_get",
                "primitive": "http-get",
                "params": {
                    "url": "https://buoys.test/v1",
                    "headers": {"X-Feed-Key": "$BUOY_KEY", "Authorization": "Bearer s3cret"},
                },
            },
            {"name": "buoy_keep", "description": "Keeps it", "primitive": "write-file", "params": {"path": "buoy.txt"}},
        ],
    }


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section of a plan, by its title; what stands before the first is under the empty one."""
    made: dict[str, list[str]] = {"": []}
    title = ""
    for line in text.splitlines():
        if line[:1].isupper():
            title = line
            made[title] = []
        elif line:
            made[title].append(line.strip())
    return made


def test_the_text_has_every_part_of_the_disclosure(capgate: Run, write: Write, feed: Any) -> None:
    write("feed.json", feed)
    gate = package.open_gate()
    plan = gate.plan(feed)
    done = capgate("plan", "feed.json")
    assert (done.code, done.err) == (0, "")
    assert sections(done.out) == {
        "": ["feed.json: admitted with network (mediated-fetch), write (host-primitive-scope)"],
        "Extension": [
            "id: buoy-feed",
            "name: Buoy feed",
            "description: Reads one buoy",
            "source: local",
            "runsIn: remote",
        ],
        "Declared, and enforced by": ["network: mediated-fetch", "write: host-primitive-scope"],
        "Handed over": list(plan.verdict.gets),
        "Hosts": ["Buoys.test.: that is buoys.test", "api.test:8443"],
        "Budgets": [
            "requests: at most 12 a day (window: day)",
            "bytes in one write: at most 65536, the default",
        ],
        "Secrets": ["header X-Feed-Key: from the variable BUOY_KEY, for Buoys.test., api.test:8443"],
        "Tools": [
            "buoy_get: http-get (url https://buoys.test/v1; sends X-Feed-Key)",
            "buoy_keep: write-file (Keeps it; path buoy.txt)",
        ],
        "Never granted": list(plan.verdict.cannot_have),
        "Binding": ["placement: machine", f"policy: {gate.fingerprint}", f"digest: {plan.digest}"],
    }


def test_a_plan_that_needs_nothing_says_so(capgate: Run, write: Write, clock: Any) -> None:
    del clock["id"]
    write("x.json", clock)
    found = sections(capgate("plan", "x.json").out)
    assert found["Extension"] == ["it says nothing of itself"]
    assert found["Declared, and enforced by"] == ["nothing is declared"]
    assert found["Handed over"] == ["nothing but what needs no capability"]
    assert found["Budgets"] == ["none needed"]
    assert found["Secrets"] == ["none"]
    assert found["Tools"] == ["tide_now: now"]
    assert "Hosts" not in found


@pytest.mark.parametrize(
    ("window", "line"),
    [
        (None, "requests: at most 12 for each run of the host (window: process, the default)"),
        ("process", "requests: at most 12 for each run of the host (window: process)"),
        ("hour", "requests: at most 12 an hour (window: hour)"),
        ("admission", "requests: at most 12 in all, until it is admitted again (window: admission)"),
    ],
)
def test_the_text_says_when_a_budget_renews(
    window: str | None, line: str, capgate: Run, write: Write, feed: Any
) -> None:
    del feed["bounds"]["window"]
    if window:
        feed["bounds"]["window"] = window
    write("feed.json", feed)
    assert line in sections(capgate("plan", "feed.json").out)["Budgets"]


def test_a_wasm_tool_shows_its_module(capgate: Run, write: Write) -> None:
    module = {"path": "m.wasm", "digest": "0" * 64, "abi": "buffer-abi/1", "call": {"export": "f"}}
    module |= {"input": {"addr": 0, "maxBytes": 8}, "output": {"addr": 64, "bytes": 32}}
    write("x.json", {"tools": [{"name": "w", "primitive": "wasm", "wasm": module}]})
    done = capgate("plan", "x.json")
    assert done.code == 0
    (tool,) = sections(done.out)["Tools"]
    assert f'"digest": "{"0" * 64}"' in tool
    assert '"path": "m.wasm"' in tool


def test_a_refusal_is_shown_as_check_shows_it_and_nothing_is_handed_over(
    capgate: Run, write: Write, launcher: Any
) -> None:
    write("x.json", launcher)
    done = capgate("plan", "x.json")
    checked = capgate("check", "x.json").out.rpartition("\n\n")[0]
    assert done.code == 1
    assert done.out.startswith(f"{checked}\n\nExtension\n")
    found = sections(done.out)
    assert found["Declared"] == ["exec"]
    assert found["Handed over"] == ["nothing, as it is refused"]


def test_warnings_are_shown(capgate: Run, write: Write, feed: Any, warning_rules: Path) -> None:
    write("feed.json", feed)
    done = capgate("plan", "feed.json", "--rules", warning_rules)
    assert done.code == 0
    assert "warning: writes-files: this extension writes files" in done.out


# JSON


def test_the_json_is_the_plan_that_the_gate_makes(capgate: Run, write: Write, feed: Any, warning_rules: Path) -> None:
    write("feed.json", feed)
    options = ["--placement", "browser", "--taken", "buoy_keep", "--taken", "x", "--rules", warning_rules]
    done = capgate("plan", "feed.json", "--format", "json", *options)
    plan = package.open_gate(rules=[warning_rules]).plan(feed, "browser", {"buoy_keep", "x"})
    assert (done.code, done.json) == (1, plan.to_json())
    assert plan.verdict.rule == "duplicate-tool"


def test_the_digest_can_be_checked_by_whoever_reads_the_json(capgate: Run, write: Write, feed: Any) -> None:
    write("feed.json", feed)
    data = capgate("plan", "feed.json", "--format", "json").json
    assert data.pop("digest") == digest(data)


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_value_of_a_header_or_a_variable_is_shown(
    form: str, capgate: Run, write: Write, feed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUOY_KEY", "value-of-the-variable")
    write("feed.json", feed)
    done = capgate("plan", "feed.json", "--format", form)
    assert "BUOY_KEY" in done.out
    assert "s3cret" not in done.out + done.err
    assert "value-of-the-variable" not in done.out + done.err


# Inputs and outputs


def test_standard_input_is_read(capgate: Run, feed: Any) -> None:
    done = capgate("plan", "-", stdin=json.dumps(feed).encode())
    assert done.code == 0
    assert done.out.startswith("<stdin>: admitted")


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("path", "id", "place"),
    [
        ("broken.json", "json-syntax", "broken.json:1:13"),
        ("missing.json", "unreadable", "missing.json"),
        ("folder", "unreadable", "folder"),
    ],
)
def test_what_cannot_be_read_has_no_plan(
    path: str, id: str, place: str, form: str, capgate: Run, write: Write, folder: Path
) -> None:
    write("broken.json", '{"tools": [],}')
    (folder / "folder").mkdir()
    done = capgate("plan", path, "--format", form)
    assert (done.code, done.err) == (4, "")
    if form == "json":
        error = done.json["error"]
        assert error["id"] == id
        assert error["hint"]
        assert ":".join(str(part) for part in (error["file"], error["line"], error["column"]) if part) == place
    else:
        assert f"{place}: {id}: " in done.out
        assert "fix: " in done.out
        assert "Extension" not in done.out


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_file_holds_what_standard_output_would(
    form: str, capgate: Run, write: Write, feed: Any, folder: Path
) -> None:
    write("feed.json", feed)
    shown = capgate("plan", "feed.json", "--format", form).out
    done = capgate("plan", "feed.json", "--format", form, "--output", "plan")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (folder / "plan").read_text() == shown


def test_an_invalid_policy_is_said(capgate: Run, write: Write, feed: Any, broken_rules: Path, folder: Path) -> None:
    write("feed.json", feed)
    done = capgate("plan", "feed.json", "--rules", broken_rules)
    assert (done.code, done.out) == (3, "")
    assert "key-missing" in done.err
    done = capgate("plan", "feed.json", "--rules", broken_rules, "--format", "json")
    assert done.code == 3
    assert [problem["id"] for problem in done.json["policy"]["problems"]] == ["key-missing"]
    done = capgate("plan", "feed.json", "--rules", broken_rules, "--output", "plan")
    assert (done.code, (folder / "plan").read_text()) == (3, done.err)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "PATH"),
        (["x.json", "y.json"], "y.json"),
        (["x.json", "--placement", "moon"], "'moon' is not one of machine, browser"),
        (["x.json", "--format", "sarif"], "--format"),
        (["x.json", "--rules", "missing"], "--rules"),
    ],
)
def test_a_wrong_command_line_is_said(arguments: list[str], said: str, capgate: Run, write: Write, clock: Any) -> None:
    write("x.json", clock)
    done = capgate("plan", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


# Odd descriptors


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        5,
        '"text"',
        {},
        {"capabilities": "network"},
        {"capabilities": ["network"], "tools": "x"},
        {"capabilities": ["network"], "bounds": 5, "tools": [None, 5, {"name": [], "primitive": {}, "params": []}]},
        {
            "capabilities": ["network"],
            "bounds": {"hosts": [5, "*", None], "window": "week", "maxRequests": 3},
            "tools": [],
        },
        {"id": 7, "name": None, "tools": [{"description": 5, "params": {"headers": 5, "x": None}, "wasm": 5}]},
        {"tools": [{"name": "w", "primitive": "wasm"}]},
    ],
)
def test_a_malformed_descriptor_has_a_plan_that_says_what_is_wrong(odd: Any, capgate: Run, write: Write) -> None:
    write("x.json", odd)
    done = capgate("plan", "x.json")
    assert (done.code, done.err) == (1, "")
    assert "refused by " in done.out
    assert re.search(r"^  digest: sha256:[0-9a-f]{64}$", done.out, re.MULTILINE)


def test_the_text_of_a_descriptor_steers_no_terminal_and_makes_no_line(capgate: Run, write: Write) -> None:
    odd = "\x1b[31m\r\n\u202e\u200bTools\n  all: granted"
    write(
        "x.json",
        {
            "id": odd,
            "name": odd,
            "description": odd,
            "source": odd,
            "capabilities": [odd, "network"],
            "bounds": {"hosts": [odd], "maxRequests": 1},
            "tools": [
                {
                    "name": odd,
                    "primitive": "http-get",
                    "description": odd,
                    "params": {odd: odd, "headers": {odd: f"${odd}"}},
                },
                {"name": "w", "primitive": "wasm", "wasm": {odd: odd}},
            ],
        },
    )
    done = capgate("plan", "x.json")
    assert done.out.isprintable() is False
    assert [line for line in done.out.splitlines() if not line.isprintable()] == []
    assert done.out.count("\nTools\n") == 1
    assert "\n  all: granted" not in done.out


def test_a_long_value_is_cut_and_says_so(capgate: Run, write: Write, clock: Any) -> None:
    write("x.json", {**clock, "description": "d" * 1500})
    assert f"description: {'d' * 1000}… (and 500 more characters)\n" in capgate("plan", "x.json").out
    assert capgate("plan", "x.json", "--format", "json").json["description"] == "d" * 1500
