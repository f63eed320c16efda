"""The audit of calls: every outcome, in the file and with the fields of the contract (section 6, 11.19)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from capgate.plugins.api import Refused
from host_samples import HUMAN, clock_descriptor, fetch_descriptor

World = Any  # of conftest.py
FILE_TOOLS = [
    {"name": "peek", "primitive": "read-file", "params": {"path": "notes.txt"}},
    {"name": "poke", "primitive": "write-file", "params": {}},
    {"name": "look", "primitive": "list-files"},
]


def files() -> dict[str, Any]:
    return clock_descriptor("files", capabilities=["read", "write"], tools=FILE_TOOLS)


def test_a_line_has_the_fields_of_the_contract(world: World) -> None:
    world.admit(clock_descriptor())
    outcome = world.outcome("tide_now")

    (line,) = world.audited()
    assert line == {
        "v": 1,
        "kind": "act",
        "seq": 2,
        "instance": "server",
        "actor": {"name": "model", "harness": "turn", "session": None},
        "project": "atlas@machine",
        "root": "workspace",
        "turn": None,
        "at": "2027-01-15T08:00:00.000Z",
        "act": {"kind": "read", "target": "tide_now", "tool": "tide_now"},
        "decision": "allow",
        "rule": "tide-clock",
        "result": "ok",
        "observed": None,
        "correlationId": outcome.result["correlationId"],
    }
    assert outcome.audited == str(world.settings.workspace / "audit.jsonl")


@pytest.mark.parametrize(
    ("tool", "args", "kind", "target", "observed"),
    [
        ("peek", {}, "read", "notes.txt", {"bytes": 14}),
        ("peek", {"path": "other.txt"}, "read", "other.txt", {"bytes": 3}),
        ("poke", {"path": "a.txt", "content": "é"}, "write", "a.txt", {"bytes": 2}),
        ("look", {}, "read", "look", {"names": 2}),
    ],
)
def test_acts_on_files_are_told_in_the_audit_of_the_root(
    world: World, tool: str, args: Any, kind: str, target: str, observed: Any
) -> None:
    world.interfaces.files["other.txt"] = "low"
    world.admit(files())
    world.call(tool, args)

    (line,) = world.of_root()
    assert line["act"] == {"kind": kind, "target": target, "tool": tool}
    assert (line["root"], line["rule"], line["result"]) == (f"machine:{world.settings.workspace}", "files", "ok")
    assert line["observed"] == observed
    assert world.audited() == []


@pytest.mark.parametrize(
    ("answer", "observed"),
    [
        (
            {"via": ("https://buoys.test/a", "https://buoys.test/b")},
            {"bytes": 4, "servedBy": "https://buoys.test", "via": ["https://buoys.test/a", "https://buoys.test/b"]},
        ),
        (Refused("fetch-failed", "down"), {"requested": "https://buoys.test/v1/latest?token=[redacted]"}),
    ],
)
def test_a_request_is_told_in_the_audit_of_the_workspace(world: World, answer: Any, observed: Any) -> None:
    world.admit(fetch_descriptor())
    world.interfaces.answers = [answer]
    world.call("buoy_get", {"url": "https://buoys.test/v1/latest?token=hidden"})

    (line,) = world.audited()
    assert line["act"] == {
        "kind": "network",
        "target": "https://buoys.test/v1/latest?token=[redacted]",
        "tool": "buoy_get",
    }
    assert line["observed"] == observed
    assert world.of_root() == []


def test_what_the_network_left_out_is_told(world: World) -> None:
    world.admit(fetch_descriptor())
    world.interfaces.network_notes = ["the header X-Feed-Key is left out: the operator does not allow BUOY_KEY"]
    world.call("buoy_get")

    (line,) = world.audited()
    assert line["observed"]["notes"] == world.interfaces.network_notes


@pytest.mark.parametrize(
    ("tool", "args", "refusal", "in_root"),
    [
        (None, {}, "missing-argument", False),
        ("peek", {"odd": "x"}, "invalid-argument", False),
        ("missing", {}, "unknown-tool", False),
        ("waiting", {}, "not-admitted", False),
        ("peek", {"path": "gone.txt"}, "missing", True),
        ("buoy_get", {}, "host-not-allowed", False),
        ("buoy_get", {}, "budget-exhausted", False),
    ],
)
def test_every_refusal_is_told(world: World, tool: Any, args: Any, refusal: str, in_root: bool) -> None:
    world.admit(files())
    world.admit(fetch_descriptor())
    world.host.propose(clock_descriptor("waits", "waiting"), actor=HUMAN)
    world.interfaces.answers = [Refused(refusal, "no")]
    world.call(tool, args)

    (line,) = world.of_root() if in_root else world.audited()
    assert (line["decision"], line["rule"], line["result"]) == ("refuse", refusal, "refused")
    assert line["why"]


def test_a_write_that_is_too_large_is_told_in_the_audit_of_the_workspace(world: World) -> None:
    world.admit(files())
    world.interfaces.files["a.txt"] = Refused("over-budget", "5 bytes, and bounds.maxBytes is 4")
    world.call("poke", {"path": "a.txt", "content": "xxxxx"})

    (line,) = world.audited()
    assert (line["rule"], line["act"]["kind"], line["root"]) == ("over-budget", "write", "workspace")
    assert world.of_root() == []


@pytest.mark.parametrize(("kind", "refused"), [(None, "root-not-declared"), ("opfs", "no-page")])
def test_without_a_folder_the_workspace_is_told(
    make_world: Callable[..., World], kind: str | None, refused: str
) -> None:
    world = make_world(has_root=False)
    if kind:
        world.roots.declare({"root": {"kind": kind}})
    world.admit(files())

    assert world.call("look")["refused"] == refused
    (line,) = world.audited()
    assert (line["rule"], line["root"], line["act"]["kind"]) == (refused, "workspace", "read")


def test_a_page_is_named_where_it_holds_the_root(make_world: Callable[..., World]) -> None:
    world = make_world(has_root=False)
    world.roots.declare({"root": {"kind": "handle"}})
    world.admit(files())

    assert world.call("look") == {
        "ok": False,
        "refused": "no-page",
        "why": "the root belongs to a page, and none is connected",
        "via": "page",
    }


def test_another_root_has_an_audit_of_its_own(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "harbour"
    folder.mkdir()
    world.admit(files())
    world.call("look")
    world.roots.declare({"project": "harbour", "root": {"kind": "machine", "path": str(folder)}})
    outcome = world.outcome("look")

    assert outcome.audited == str(folder / ".audit" / "extensions.jsonl")
    (line,) = map(json.loads, (folder / ".audit" / "extensions.jsonl").read_text().splitlines())
    assert (line["root"], line["project"], line["seq"]) == (f"machine:{folder}", "harbour@machine", 1)
    assert len(world.of_root()) == 1


def test_the_root_of_a_call_is_the_one_when_it_began(world: World, tmp_path: Path) -> None:
    world.admit(files())
    make_reader = world.interfaces.reader
    harbour = tmp_path / "harbour"
    harbour.mkdir()

    def swap(root: Any) -> Any:
        world.roots.declare({"root": {"kind": "machine", "path": str(harbour)}})
        return make_reader(root)

    world.interfaces.reader = swap
    assert world.call("look")["ok"] is True
    assert [line["root"] for line in world.of_root()] == [f"machine:{world.settings.workspace}"]
    assert world.roots.active.path == harbour


def test_a_link_in_place_of_the_audit_folder_is_not_followed(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (world.settings.workspace / ".audit").symlink_to(elsewhere)
    world.admit(files())

    assert world.outcome("look").audited == str(world.settings.workspace / "audit.jsonl")
    assert list(elsewhere.iterdir()) == []
    (line,) = world.audited()
    assert line["root"] == f"machine:{world.settings.workspace}"
    assert ".audit is no folder" in world.err.getvalue()


def test_where_nothing_can_be_written_the_call_goes_on_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.admit(clock_descriptor())
    path = world.settings.workspace / "audit.jsonl"
    path.unlink()
    path.mkdir()
    outcome = world.outcome("tide_now")

    assert (outcome.result["ok"], outcome.audited) == (True, None)
    assert "[audit] audit-unwritable: " in world.err.getvalue()


def test_numbers_are_one_after_the_other_from_many_threads(world: World) -> None:
    world.admit(files())
    with ThreadPoolExecutor(8) as threads:
        assert all(result["ok"] for result in threads.map(lambda _: world.call("look"), range(64)))

    assert [line["seq"] for line in world.of_root()] == list(range(1, 65))


def test_the_environment_has_no_part_in_a_line(make_world: Callable[..., World]) -> None:
    world = make_world(environ={"SOME_TOKEN": "canary-7f3a9c"})
    world.admit(files())
    world.call("peek", {"path": "canary-7f3a9c"})
    world.call("canary-7f3a9c")

    written = "".join(
        path.read_text() for path in world.settings.workspace.rglob("*") if path.is_file() and os.access(path, os.R_OK)
    )
    assert "canary" not in written + world.out.getvalue() + world.err.getvalue()
