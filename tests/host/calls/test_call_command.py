"""``capgate call``: the outcome, the budget, the place in the audit; and ``capgate audit`` to look it up."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.redaction import Redactor
from commands import Done
from failing import QuickDisk
from host_samples import Clock, clock_descriptor, fetch_descriptor

Capgate = Callable[..., Done]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a workspace that is named; nothing else of the environment counts."""
    for name in [name for name in os.environ if name.startswith(("VOICEBOX_", "CAPGATE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOICEBOX_WORKSPACE", "workspace")
    return tmp_path


class Buoy(http.server.BaseHTTPRequestHandler):
    """Answers everything."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"calm")

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def buoy() -> Iterator[str]:
    """The address of a server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Buoy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def admit(capgate: Capgate, descriptor: dict[str, Any]) -> None:
    Path("descriptor.json").write_text(json.dumps(descriptor))
    assert capgate("create-extension", "descriptor.json", "--admit").code == 0


def files() -> dict[str, Any]:
    tools = [{"name": "peek", "primitive": "read-file"}, {"name": "poke", "primitive": "write-file"}]
    return clock_descriptor("files", capabilities=["read", "write"], tools=tools)


# Calling


def test_a_call_shows_the_outcome_and_where_it_was_audited(capgate: Capgate, folder: Path) -> None:
    admit(capgate, files())
    done = capgate("call", "poke", "--path", "notes.txt", "--content", "high tide\nat 6")
    assert (done.code, done.out.splitlines()[:2]) == (0, ["done", "  action: wrote notes.txt (14 bytes)"])

    done = capgate("call", "peek", "--path", "notes.txt")
    *shown, audited = done.out.splitlines()
    assert done.code == 0
    assert shown == [
        "done",
        "  action: notes.txt",
        "  content:",
        "    high tide",
        "    at 6",
        "",
        "budget: none used",
    ]
    call = audited.partition("(")[2].rstrip(")")
    assert audited == f"audited: {folder}/workspace/.audit/extensions.jsonl ({call})"
    assert capgate("audit", "grep", call, "--root", "workspace").out.count("\n") == 1
    assert done.err == '[extension] calling \'peek\' args={"path":"notes.txt"}\n'


def test_a_refused_call_exits_with_1(capgate: Capgate) -> None:
    admit(capgate, files())
    done = capgate("call", "peek", "--path", "../x")

    assert done.code == 1
    assert done.out.startswith("refused by outside-root: the path ../x has a '..' segment\n")


def test_a_call_shows_what_is_used_of_the_budget(capgate: Capgate, buoy: str) -> None:
    admit(capgate, fetch_descriptor(bounds={"hosts": ["127.0.0.1"], "maxRequests": 2, "window": "day"}))
    outcomes = [capgate("call", "buoy_get", "--url", buoy) for _ in range(3)]

    assert [done.code for done in outcomes] == [0, 0, 1]
    assert ["budget: 1/2" in outcomes[0].out, "budget: 2/2" in outcomes[1].out] == [True, True]
    assert "refused by budget-exhausted: 2 of 2 requests used" in outcomes[2].out
    assert "  body: calm" in outcomes[0].out


def test_a_call_is_answered_in_json(capgate: Capgate, folder: Path) -> None:
    admit(capgate, files())
    answer = capgate("call", "peek", "--format", "json", "--path", "gone.txt").json

    assert answer.keys() == {"result", "budget", "audited"}
    assert (answer["result"]["refused"], answer["budget"]) == ("missing", None)
    assert answer["audited"] == f"{folder}/workspace/.audit/extensions.jsonl"


def test_a_root_may_be_another_folder(capgate: Capgate, folder: Path) -> None:
    admit(capgate, files())
    (folder / "harbour").mkdir()
    (folder / "harbour" / "berths.txt").write_text("three")

    assert "content: three" in capgate("call", "peek", "--root", "harbour", "--path", "berths.txt").out
    done = capgate("call", "peek", "--root", "nowhere", "--path", "berths.txt")
    assert "bad-root" in done.err
    assert done.code == 1


def test_without_a_named_workspace_there_is_no_root(capgate: Capgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VOICEBOX_WORKSPACE")
    admit(capgate, files())

    assert "refused by root-not-declared" in capgate("call", "peek", "--path", "x").out


def test_parameters_of_a_plugins_tool_are_given_by_name(capgate: Capgate) -> None:
    admit(capgate, files())

    assert capgate("call", "poke", "--arg", "path=a.txt", "--arg", "content=a=b").code == 0
    assert "content: a=b" in capgate("call", "peek", "--arg", "path=a.txt").out
    assert capgate("call", "peek", "--arg", "path").code == 2
    assert "refused by invalid-argument" in capgate("call", "peek", "--arg", "odd=x").out


def test_what_a_file_holds_cannot_steer_the_terminal(capgate: Capgate, folder: Path) -> None:
    admit(capgate, files())
    (folder / "workspace" / "notes.txt").write_text("\x1b[2J\u202e")

    done = capgate("call", "peek", "--path", "notes.txt")
    assert "\x1b" not in done.out
    assert r"content: \u001B[2J\u202E" in done.out


def test_the_input_of_a_module_is_given_by_name(capgate: Capgate) -> None:
    admit(capgate, clock_descriptor())

    done = capgate("call", "tide_now", "--input", "x", "--a", "y", "--b", "z", "--query", "q", "--url", "u")
    assert done.code == 0
    assert '"input":"x"' in done.err


def test_one_extension_is_followed_from_proposal_to_revocation(capgate: Capgate, folder: Path, buoy: str) -> None:
    """As a stranger: propose, read the plan, admit exactly that, call, look it up, revoke, be refused."""
    bounds = {"hosts": ["127.0.0.1"], "maxRequests": 2}
    Path("buoy.json").write_text(json.dumps(fetch_descriptor(bounds=bounds)))
    assert "pending" in capgate("propose", "buoy.json").out
    assert "refused by not-admitted" in capgate("call", "buoy_get", "--url", buoy).out
    shown = capgate("admit", "buoy-feed", "--format", "json")
    assert (shown.code, shown.json["plan"]["gate"]["decision"]) == (1, "admitted")
    done = capgate("admit", "buoy-feed", "--yes", "--plan-digest", shown.json["plan"]["digest"])
    assert done.code == 0
    called = capgate("call", "buoy_get", "--url", buoy, "--format", "json").json
    assert (called["result"]["body"], called["budget"]) == ("calm", "1/2")
    found = capgate("audit", "grep", called["result"]["correlationId"])
    assert "buoy_get: network https://buoys.test/v1/latest?token=[redacted]: allow (buoy-feed)" in found.out
    assert capgate("revoke", "buoy-feed", "--yes").code == 0
    refused = capgate("call", "buoy_get", "--url", buoy)
    assert (refused.code, "unknown-tool" in refused.out) == (1, True)


# The audit


@pytest.fixture
def filled(folder: Path) -> Path:
    """A workspace whose audit has 25 lines in several files."""
    path = folder / "workspace" / "audit.jsonl"
    audit = AuditLog(path, QuickDisk(), clock=Clock(), redactor=Redactor({}), rotate_at=2000)
    for number in range(25):
        refused = number % 5 == 4
        audit.write(
            kind="network",
            target=f"https://buoys.test/{number}",
            tool="buoy_get",
            decision="refuse" if refused else "allow",
            rule="fetch-failed" if refused else "buoy-feed",
            result="refused" if refused else "ok",
            observed=None if refused else {"bytes": 4},
            why="the network is down" if refused else None,
            actor={"name": "model", "harness": "turn", "session": None},
            correlation=f"call-{number}",
        )
    assert len(list(path.parent.glob("audit.jsonl.*"))) > 2
    return path


def test_the_newest_lines_are_shown_for_people(capgate: Capgate, filled: Path) -> None:
    done = capgate("audit", "tail", "-n", "2")

    assert done.code == 0
    told = "2027-01-15T08:00:00.000Z #{} buoy_get: network https://buoys.test/{}: {}; by model/turn (call-{})"
    assert done.out.splitlines() == [
        told.format(24, 23, 'allow (buoy-feed) {"bytes": 4}', 23),
        told.format(25, 24, "refused by fetch-failed: the network is down", 24),
    ]


@pytest.mark.parametrize(("asked", "shown"), [((), 20), (("-n", "1"), 1), (("--lines", "24"), 24), (("-n", "99"), 25)])
def test_lines_come_from_all_files_in_order(capgate: Capgate, filled: Path, asked: tuple[str, ...], shown: int) -> None:
    done = capgate("audit", "tail", *asked, "--format", "json")

    found = [json.loads(line)["seq"] for line in done.out.splitlines()]
    assert found == list(range(26 - shown, 26))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("fetch-failed", [5, 10, 15, 20, 25]),
        ('"seq": 1[0-2],', [10, 11, 12]),
        (r"buoys\.test/7\b", [8]),
        ("call-0", [1]),
        (r'^\{"v": 1.*call-24"', [25]),
        ("nothing", []),
    ],
)
def test_lines_are_found_by_a_pattern(capgate: Capgate, filled: Path, pattern: str, found: list[int]) -> None:
    done = capgate("audit", "grep", pattern, "--format", "json")

    assert [json.loads(line)["seq"] for line in done.out.splitlines()] == found
    assert done.code == (0 if found else 1)


@pytest.mark.parametrize("pattern", ["(", "a)|(b", r"(?=x)", "x" * 2000, "(?i)x"])
def test_a_pattern_that_is_none_is_said(capgate: Capgate, filled: Path, pattern: str) -> None:
    done = capgate("audit", "grep", pattern)

    assert done.code == 2
    assert "PATTERN" in done.err


def test_there_may_be_no_audit_yet(capgate: Capgate) -> None:
    assert (capgate("audit", "tail").code, capgate("audit", "tail").out) == (0, "")
    assert capgate("audit", "grep", "x").code == 1


def test_an_audit_that_cannot_be_read_is_said(capgate: Capgate, folder: Path) -> None:
    (folder / "workspace").mkdir()
    (folder / "workspace" / "audit.jsonl").symlink_to("/etc/passwd")

    done = capgate("audit", "tail")
    assert done.code == 4
    assert "cannot be read" in done.err


def test_lines_of_somebody_else_are_shown_as_they_are(capgate: Capgate, folder: Path) -> None:
    (folder / "workspace").mkdir()
    lines = ["hello \x1b[2J", "[1]", "{}", '{"act": 7, "at": 1, "seq": 2}', "[" * 9000]
    (folder / "workspace" / "audit.jsonl").write_text("\n".join(lines) + "\n")

    done = capgate("audit", "tail")
    assert done.out.count("(no line of this host)") == 5
    assert "\x1b" not in done.out + capgate("audit", "tail", "--format", "json").out


def test_a_folder_that_cannot_be_a_workspace_is_said(capgate: Capgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEBOX_EXTENSIONS_DIR", "workspace/inside")
    assert capgate("audit", "tail").code == 2
