"""The life of an extension on the command line, without a server."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Done
from host_samples import clock_descriptor, exec_descriptor, fetch_descriptor

Capgate = Callable[..., Done]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty, and of no influence from outside."""
    for name in [name for name in os.environ if name.startswith(("VOICEBOX_", "CAPGATE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, data: Any) -> str:
    Path(name).write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return name


def test_a_descriptor_is_proposed_admitted_and_revoked(capgate: Capgate) -> None:
    done = capgate("propose", write("clock.json", clock_descriptor()))
    assert done.code == 0
    assert done.out.startswith("Filed proposal 'tide-clock', revision 1: pending.\n")
    assert "NOT loaded" in done.out
    done = capgate("admit", "tide-clock", "--yes")
    assert done.code == 0
    assert "Never granted" in done.out
    assert done.out.endswith("Admitted 'tide-clock'.\n")
    done = capgate("inventory")
    assert "tide-clock: tide_now; no capability" in done.out
    done = capgate("revoke", "tide-clock", "--yes")
    assert (done.code, "tide_now" in done.out) == (0, True)
    assert capgate("inventory", "--format", "json").json["extensions"] == []


def test_the_folders_are_the_current_ones_unless_told_otherwise(capgate: Capgate, folder: Path) -> None:
    capgate("propose", write("clock.json", clock_descriptor()), "--workspace", "w", "--extensions", "e")
    assert (folder / "w/proposals/tide-clock.json").exists()
    capgate("propose", "clock.json")
    assert (folder / "workspace/proposals/tide-clock.json").exists()


def test_nothing_is_admitted_unasked(capgate: Capgate) -> None:
    capgate("propose", write("clock.json", clock_descriptor()))
    done = capgate("admit", "tide-clock")
    assert done.code == 1
    assert "Binding" in done.out
    assert "--yes does it" in done.err
    done = capgate("admit", "tide-clock", "--format", "json")
    assert (done.code, done.json["confirmFirst"]) == (1, True)
    assert capgate("inventory", "--format", "json").json["extensions"] == []


def test_only_the_plan_that_was_read_is_admitted(capgate: Capgate) -> None:
    capgate("propose", write("clock.json", clock_descriptor()))
    read = capgate("admit", "tide-clock", "--format", "json").json["plan"]["digest"]
    capgate("propose", write("clock.json", clock_descriptor(description="changed")))
    done = capgate("admit", "tide-clock", "--yes", "--plan-digest", read)
    assert (done.code, "plan-changed" in done.err) == (1, True)
    capgate("propose", write("clock.json", clock_descriptor()))
    assert capgate("admit", "tide-clock", "--yes", "--plan-digest", read).code == 0


def test_a_refusal_names_the_rule_and_ends_with_one(capgate: Capgate) -> None:
    assert capgate("propose", write("runner.json", exec_descriptor())).code == 0
    done = capgate("admit", "runner", "--yes")
    assert done.code == 1
    assert "Refused by exec-absent" in done.out
    assert "runner: refused by exec-absent" in capgate("inventory").out


def test_what_runs_is_changed(capgate: Capgate) -> None:
    capgate("propose", write("buoy.json", fetch_descriptor()))
    capgate("admit", "buoy-feed", "--yes")
    done = capgate(
        "reconfigure", "buoy-feed", "--max-requests", "3", "--hosts", "buoys.test, a.test", "--window", "day"
    )
    assert (done.code, "--yes does it" in done.err) == (1, True)
    assert "requests: at most 3 a day (window: day)" in done.out
    (extension,) = capgate("inventory", "--format", "json").json["extensions"]
    assert extension["bounds"] == {"hosts": ["buoys.test"], "maxRequests": 12}
    bounds = ["--max-requests", "3", "--hosts", "buoys.test, a.test"]
    done = capgate("reconfigure", "buoy-feed", *bounds, "--window", "day")
    assert (done.code, "--yes does it" in done.err) == (1, True)
    assert "requests: at most 3 a day (window: day)" in done.out
    (extension,) = capgate("inventory", "--format", "json").json["extensions"]
    assert extension["bounds"] == {"hosts": ["buoys.test"], "maxRequests": 12}
    done = capgate("reconfigure", "buoy-feed", *bounds, "--yes")
    assert (done.code, done.out.splitlines()[-1]) == (
        0,
        "Changed 'buoy-feed'. It runs with the new bounds from now on.",
    )
    (extension,) = capgate("inventory", "--format", "json").json["extensions"]
    assert extension["bounds"] == {"hosts": ["buoys.test", "a.test"], "maxRequests": 3}


def test_a_change_comes_from_a_file(capgate: Capgate) -> None:
    capgate("propose", write("buoy.json", fetch_descriptor()))
    capgate("admit", "buoy-feed", "--yes")
    change = {"params": {"buoy_get": {"url": "https://buoys.test/v2"}}}
    done = capgate("reconfigure", "buoy-feed", "--change", write("change.json", change), "--format", "json")
    assert (done.code, done.json["plan"]["tools"][0]["params"]["url"]) == (1, "https://buoys.test/v2")
    done = capgate("reconfigure", "buoy-feed", "--change", "change.json", "--yes", "--format", "json")
    assert (done.code, done.json["decision"]) == (0, "reconfigured")


def test_a_change_that_the_gate_refuses_changes_nothing_and_shows_why(capgate: Capgate) -> None:
    capgate("propose", write("buoy.json", fetch_descriptor()))
    capgate("admit", "buoy-feed", "--yes")
    done = capgate("reconfigure", "buoy-feed", "--max-requests", "0", "--yes")
    assert done.code == 1
    assert "buoy-feed: would be refused" in done.out
    assert "network-unbounded" in done.err
    (extension,) = capgate("inventory", "--format", "json").json["extensions"]
    assert extension["bounds"]["maxRequests"] == 12


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name what is to change"),
        (["--max-requests", "-1"], 2, "-1"),
        (["--max-requests", "3", "--change", "change.json"], 2, "either"),
        (["--change", "missing.json"], 4, "missing.json"),
        (["--change", "list.json"], 1, "bounds, tools, params"),
        (["--change", "other.json"], 1, "bounds, tools, params"),
        (["--change", "empty.json"], 1, "bounds, tools, params"),
        (["--change", "change.json"], 1, "bounds-invalid"),
    ],
)
def test_a_change_that_makes_no_sense_is_an_error(capgate: Capgate, arguments: list[str], code: int, said: str) -> None:
    write("list.json", [])
    write("other.json", {"bounds": {}, "bound": {}})
    write("empty.json", {})
    write("change.json", {"bounds": {"maxRequests": -3}})
    capgate("propose", write("buoy.json", fetch_descriptor()))
    capgate("admit", "buoy-feed", "--yes")
    done = capgate("reconfigure", "buoy-feed", *arguments, "--yes")
    assert done.code == code
    assert said in done.err


def test_a_denial_is_overridden_only_when_asked(capgate: Capgate) -> None:
    capgate("propose", write("clock.json", clock_descriptor()))
    assert capgate("deny", "tide-clock").out == "Denied 'tide-clock': the host denied it; nothing of it runs.\n"
    done = capgate("admit", "tide-clock", "--yes")
    assert (done.code, "host-deny" in done.out) == (1, True)
    assert capgate("admit", "tide-clock", "--yes", "--override-deny").code == 0


def test_the_catalogue_is_sideloaded(capgate: Capgate) -> None:
    done = capgate("sideload", "web-search", "--yes")
    assert (done.code, "NOT loaded" in done.out) == (0, True)
    assert capgate("sideload", "nothing", "--yes").code == 4
    assert capgate("admit", "web-search", "--yes").code == 0


def test_an_extension_is_made_from_options(capgate: Capgate) -> None:
    words = ["--id", "my-clock", "--name", "My clock", "--desc", "Tells the time", "--primitive", "now"]
    done = capgate("create-extension", *words, "--stage")
    assert (done.code, done.out.splitlines()[0]) == (0, "Staged local extension proposal 'my-clock'")
    done = capgate("create-extension", *words, "--admit")
    assert (done.code, done.out) == (0, "Created and admitted local extension 'my-clock'\n")
    assert capgate("inventory", "--format", "json").json["extensions"][0]["tools"] == ["my_clock"]


def test_what_options_leave_open_has_defaults(capgate: Capgate, folder: Path) -> None:
    said = ["--name", "A to B", "--desc", "Goes there"]
    capgate("create-extension", "--id", "a-b", *said, "--primitive", "http-get", "--admit")
    (extension,) = capgate("inventory", "--format", "json").json["extensions"]
    assert extension["bounds"] == {"hosts": ["127.0.0.1"], "maxRequests": 50}
    assert (extension["name"], extension["tools"], extension["runsIn"]) == ("A to B", ["a_b"], "host")
    words = ["--name", "N", "--desc", "D", "--tool", "t", "--tooldesc", "TD", "--hosts", "a.test, b.test"]
    capgate("create-extension", "--id", "c", "--primitive", "http-get", "--max-requests", "3", *words)
    filed = json.loads((folder / "workspace/proposals/c.json").read_text(encoding="utf-8"))
    assert filed["bounds"] == {"hosts": ["a.test", "b.test"], "maxRequests": 3}
    assert (filed["name"], filed["description"], filed["source"], filed["state"]) == ("N", "D", "local", "pending")
    assert filed["tools"] == [{"name": "t", "primitive": "http-get", "params": {}, "description": "TD"}]


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (["--desc", "D"], "missing-name"),
        (["--name", "", "--desc", "D"], "missing-name"),
        (["--name", "N"], "missing-description"),
        (["--name", "N", "--desc", ""], "missing-description"),
    ],
)
def test_a_name_and_a_description_are_needed(capgate: Capgate, words: list[str], id: str) -> None:
    done = capgate("create-extension", "--id", "a-b", "--primitive", "now", *words)
    assert done.code == 1
    assert id in done.err


def test_an_extension_is_made_from_a_file(capgate: Capgate) -> None:
    assert capgate("create-extension", write("clock.json", clock_descriptor()), "--admit").code == 0
    done = capgate("create-extension", write("runner.json", exec_descriptor()), "--admit")
    assert (done.code, "exec-absent" in done.err) == (1, True)
    done = capgate("create-extension", write("runner.json", exec_descriptor()), "--stage")
    assert (done.code, "The gate would refuse it: exec-absent" in done.out) == (0, True)
    done = capgate("create-extension", write("bad.json", {"id": "BAD"}), "--stage", "--format", "json")
    assert (done.code, done.json["refused"]) == (1, "invalid-id")


@pytest.mark.parametrize(
    "arguments",
    [
        ["create-extension"],
        ["create-extension", "x.json", "--id", "x"],
        ["create-extension", "--id", "x"],
        ["create-extension", "--id", "x", "--primitive", "http-get", "--max-requests", "0"],
        ["admit"],
        ["propose"],
        ["propose", "x.json", "--workspace", "w", "--extensions", "w/inside"],
    ],
)
def test_a_command_that_makes_no_sense_ends_with_two(capgate: Capgate, arguments: list[str]) -> None:
    write("x.json", clock_descriptor())
    assert capgate(*arguments).code == 2


@pytest.mark.parametrize("text", ["", "{", "[1", '{"id": "a", "id": "b"}', "\ufeff{}"])
def test_what_is_no_json_is_named_with_its_place(capgate: Capgate, text: str) -> None:
    done = capgate("propose", write("bad.json", text))
    assert done.code == 4
    assert "bad.json:1:" in done.err


def test_a_file_that_is_not_there_is_named(capgate: Capgate) -> None:
    done = capgate("propose", "nothing.json")
    assert (done.code, "nothing.json" in done.err) == (4, True)


def test_a_descriptor_comes_by_standard_input(capgate: Capgate) -> None:
    done = capgate("propose", "-", stdin=json.dumps(clock_descriptor()).encode())
    assert (done.code, "tide-clock" in done.out) == (0, True)


def test_what_is_not_there_ends_with_four(capgate: Capgate) -> None:
    for command in (["admit", "nothing"], ["deny", "nothing"], ["revoke", "nothing", "--yes"]):
        done = capgate(*command)
        assert (done.code, "nothing" in done.err) == (4, True)


def test_rules_of_ones_own_hold_here_too(capgate: Capgate, folder: Path) -> None:
    (folder / "mine").mkdir()
    rule = {
        "id": "no-clocks",
        "title": "No clocks",
        "applies_to": "descriptor",
        "remedy": "Do without.",
        "triggers": [{"stage": "bounds", "when": {"descriptor.id": {"equals": "tide-clock"}}, "reason": "no clocks"}],
    }
    write("mine/no-clocks.yaml", rule)
    capgate("propose", write("clock.json", clock_descriptor()))
    assert "no-clocks" in capgate("admit", "tide-clock", "--yes", "--rules", "mine").out
    write("mine/no-clocks.yaml", "{")
    assert capgate("admit", "tide-clock", "--yes", "--rules", "mine").code == 3


def test_what_a_stranger_wrote_cannot_steer_the_terminal(capgate: Capgate) -> None:
    evil = "\x1b[2J\u202eevil"
    capgate("propose", write("evil.json", clock_descriptor(name=evil, description=evil)))
    for command in (["admit", "tide-clock"], ["inventory"], ["admit", "tide-clock", "--yes"], ["inventory"]):
        done = capgate(*command)
        assert "\x1b" not in done.out + done.err
        assert "\u202e" not in done.out + done.err


def test_a_ledger_that_was_tampered_with_stops_every_act_and_is_named(capgate: Capgate, folder: Path) -> None:
    capgate("create-extension", write("clock.json", clock_descriptor()), "--admit")
    ledger = folder / "extensions/.ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"tide-clock", b"tide-clocl"))
    done = capgate("create-extension", "--id", "x", "--name", "X", "--desc", "Y", "--primitive", "now", "--admit")
    assert (done.code, "ledger-broken" in done.err, "line 1" in done.err) == (5, True, True)
    assert "ledger-broken" in capgate("inventory").out
