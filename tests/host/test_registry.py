"""What runs after a start: only what the ledger admits, unchanged, and what the gate still passes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate import open_gate
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from host_samples import HUMAN, MODEL, clock_descriptor, fetch_descriptor
from overlays import overlay, rule


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Files: what is done to them here cannot be done to a database by accident."""
    return Settings(tmp_path / "workspace", True, tmp_path / "extensions", tmp_path / "shelf")


@pytest.fixture
def two(host: AdmissionHost) -> AdmissionHost:
    """A host with two extensions."""
    for descriptor in (clock_descriptor(), fetch_descriptor()):
        host.propose(descriptor, actor=MODEL)
        host.admit(descriptor["id"], confirm=True, actor=HUMAN)
    return host


def failures(host: AdmissionHost) -> dict[str, dict[str, Any]]:
    listed = host.inventory()["failedLoads"]
    assert all(entry["refused"] and entry["why"] and entry["next"] for entry in listed)
    return {entry["id"]: entry for entry in listed}


def edit(path: Path, **parts: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | parts), encoding="utf-8")


def test_an_edited_descriptor_never_runs_and_hides_nothing_else(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost]
) -> None:
    edit(settings.extensions / "buoy-feed.json", bounds={"hosts": ["evil.test"], "maxRequests": 12})
    host = open_another()
    assert list(host.registry.extensions) == ["tide-clock"]
    assert failures(host)["buoy-feed"]["refused"] == "changed-since-admission"
    assert host.inventory()["present"] == []


def test_keys_that_the_host_sets_are_no_change(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost]
) -> None:
    edit(settings.extensions / "buoy-feed.json", source="builtin", state="pending")
    (extension,) = (entry for entry in open_another().inventory()["extensions"] if entry["id"] == "buoy-feed")
    assert extension["source"] == "model"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"id": "buoy-feed", "id": "buoy-feed"}', '{"id": "other"}'])
def test_a_file_that_is_no_descriptor_is_named_and_stops_nothing_else(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost], text: str
) -> None:
    for name in ("buoy-feed.json", "never-admitted.json"):
        (settings.extensions / name).write_text(text, encoding="utf-8")
    host = open_another()
    assert list(host.registry.extensions) == ["tide-clock"]
    found = failures(host)
    assert {entry["refused"] for entry in found.values()} == {"unreadable"}
    if text in ("", "{"):
        assert "never-admitted.json" in found["never-admitted"]["next"]
        assert "JSON" in found["never-admitted"]["why"]


def test_a_descriptor_that_is_gone_is_missed_until_it_is_back(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost]
) -> None:
    path = settings.extensions / "buoy-feed.json"
    text = path.read_bytes()
    path.unlink()
    host = open_another()
    failure = failures(host)["buoy-feed"]
    assert failure["refused"] == "descriptor-missing"
    assert "no descriptor file" in failure["why"]
    assert "restore" in failure["next"]
    assert "revoke" in failure["next"]
    path.write_bytes(text)
    host = open_another()
    assert failures(host) == {}
    assert "buoy-feed" in host.registry.extensions


def test_what_failed_to_load_can_be_revoked_or_admitted_again(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost]
) -> None:
    for id in ("buoy-feed", "tide-clock"):
        (settings.extensions / f"{id}.json").unlink()
    host = open_another()
    assert host.revoke("buoy-feed", confirm=False, actor=HUMAN)["confirmFirst"] is True
    assert host.revoke("buoy-feed", confirm=True, actor=HUMAN)["decision"] == "revoked"
    assert host.admit("tide-clock", confirm=True, actor=HUMAN)["decision"] == "admitted"
    assert failures(host) == {}
    assert list(host.registry.extensions) == ["tide-clock"]


def test_what_the_present_rules_refuse_does_not_run_and_names_the_rule(
    two: AdmissionHost, settings: Settings, tmp_path: Path
) -> None:
    no_buoys = rule("no-buoys", {"descriptor.id": {"equals": "buoy-feed"}})
    stricter = open_gate(rules=[overlay(tmp_path / "rules", no_buoys=no_buoys)])
    host = open_host(stricter, settings)
    failure = failures(host)["buoy-feed"]
    assert (failure["refused"], failure["rule"]) == ("gate-refused-at-load", "no-buoys")
    assert "no longer passes the gate (no-buoys)" in failure["why"]
    assert "re-admit" in failure["next"]
    assert list(host.registry.tools) == ["tide_now"]


def test_the_first_file_to_claim_a_tool_name_has_it(host: AdmissionHost, settings: Settings) -> None:
    """Two that were admitted apart, and that only a change of files can bring together."""
    host.propose(clock_descriptor("b-clock"), actor=MODEL)
    host.admit("b-clock", confirm=True, actor=HUMAN)
    away = settings.extensions / "b-clock.json"
    text = away.read_bytes()
    away.unlink()
    other = open_host(host.gate, settings)
    other.propose(clock_descriptor("a-clock"), actor=MODEL)
    other.admit("a-clock", confirm=True, actor=HUMAN)
    away.write_bytes(text)
    third = open_host(host.gate, settings)
    assert list(third.registry.extensions) == ["a-clock"]
    assert failures(third)["b-clock"]["rule"] == "duplicate-tool"


@pytest.mark.parametrize("name", [".hidden.json", "notes.txt", "a.json.bak"])
def test_other_files_are_left_alone(host: AdmissionHost, settings: Settings, name: str) -> None:
    (settings.extensions / name).write_text("{", encoding="utf-8")
    inventory = host.inventory()
    assert (inventory["present"], inventory["failedLoads"]) == ([], [])


@pytest.mark.parametrize("text", ['{"id": "another"}', "{}", "[]", "7"])
def test_json_that_nobody_admitted_lies_there_whatever_it_says(
    host: AdmissionHost, settings: Settings, text: str
) -> None:
    (settings.extensions / "copy.json").write_text(text, encoding="utf-8")
    for _ in range(2):
        inventory = host.inventory()
        assert [(one["id"], one["state"]) for one in inventory["present"]] == [("copy", "present-not-admitted")]
        assert inventory["failedLoads"] == []
        host.propose(clock_descriptor(), actor=MODEL)
        host.admit("tide-clock", confirm=True, actor=HUMAN)  # so that it is loaded anew
        host.revoke("tide-clock", confirm=True, actor=HUMAN)


def test_an_admitted_file_that_says_another_id_is_no_longer_readable(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost]
) -> None:
    edit(settings.extensions / "buoy-feed.json", id="another")
    host = open_another()
    assert failures(host)["buoy-feed"]["refused"] == "unreadable"
    assert host.inventory()["present"] == []


@pytest.mark.parametrize("text", [None, "{", '{"id": "tide-clock"}'])
def test_what_is_gone_from_the_hosts_folder_can_be_admitted_anew(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost], text: str | None
) -> None:
    file = settings.extensions / "tide-clock.json"
    assert "tide-clock" in two.registry.extensions  # it was loaded before
    file.unlink()
    if text is not None:
        file.write_text(text, encoding="utf-8")
    assert two.request_approval("tide-clock")["ok"] is True
    assert two.admit("tide-clock", confirm=True, actor=HUMAN)["decision"] == "admitted"
    assert json.loads(file.read_text(encoding="utf-8"))["tools"][0]["name"] == "tide_now"
    assert failures(open_another()) == {}


def test_a_broken_ledger_runs_nothing_and_says_so(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost]
) -> None:
    ledger = settings.extensions / ".ledger.jsonl"
    first, *rest = ledger.read_text(encoding="utf-8").splitlines()
    ledger.write_text("\n".join([first.replace("admitted", "revoked", 1), *rest]) + "\n", encoding="utf-8")
    host = open_another()
    assert host.registry.extensions == {}
    assert {entry["refused"] for entry in failures(host).values()} == {"ledger-broken"}


def test_a_reader_sees_the_old_registry_or_the_new_one(host: AdmissionHost) -> None:
    """Content that changes back and forth has one of two whole sets of tools at every moment."""
    pair = [clock_descriptor(tool="one"), clock_descriptor(tool="two")]
    for descriptor in pair:
        descriptor["tools"].append({"name": descriptor["tools"][0]["name"] + "_more", "primitive": "now"})
    whole = [{"one", "one_more"}, {"two", "two_more"}]
    host.propose(pair[0], actor=MODEL)
    host.admit("tide-clock", confirm=True, actor=HUMAN)
    seen: list[Any] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            registry = host.registry
            if set(registry.tools) not in whole or registry.failed or registry.names != set(registry.tools):
                seen.append((set(registry.tools), registry.failed))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for turn in range(60):
        host.reconfigure("tide-clock", {"tools": pair[(turn + 1) % 2]["tools"]}, confirm=True, actor=HUMAN)
    done.set()
    for reader in readers:
        reader.join()
    assert seen == []


def test_loading_takes_a_time_proportional_to_the_number(host: AdmissionHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in what the gate is asked: once for each extension, whatever their number."""
    asked: list[str] = []
    admit = host.gate.admit

    def counting(descriptor: Any, *arguments: Any) -> Any:
        asked.append(descriptor["id"])
        return admit(descriptor, *arguments)

    for number in range(20):
        host.create(clock_descriptor(f"clock-{number}", f"tool_{number}"), actor=HUMAN)
    monkeypatch.setattr(host.gate, "admit", counting)
    host.deny("clock-7", actor=HUMAN)
    asked.clear()
    assert len(host.registry.extensions) == 19
    assert sorted(asked) == sorted(f"clock-{number}" for number in range(20) if number != 7)


def test_the_tools_of_the_shelf_run_without_a_line_in_the_ledger(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost]
) -> None:
    settings.shelf.mkdir()
    module = {"wasm": "hash.wasm", "digest": "0" * 64, "description": "a hash", "capability": "none"}
    manifest = {"name": "shelf", "version": "1", "tools": [{"id": "hash"} | module, {"id": "other"} | module]}
    (settings.shelf / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    host = open_another()
    assert list(host.registry.tools) == ["buoy_get", "tide_now", "hash"]
    (shelf,) = (entry for entry in host.inventory()["extensions"] if entry["id"] == "wasm-shelf-hash")
    assert (shelf["source"], shelf["tools"]) == ("wasm-shelf", ["hash"])
    listed = {entry["id"]: entry for entry in host.catalogue()["catalogue"]}
    assert listed["wasm-shelf-hash"]["preview"]["decision"] == "admitted"
    assert listed["wasm-shelf-hash"]["wasm"]["imports"] == 0
    assert "no layout" in listed["wasm-shelf-other"]["error"]
    host.propose(clock_descriptor("thief", "hash"), actor=MODEL)
    assert host.admit("thief", confirm=True, actor=HUMAN)["rule"] == "duplicate-tool"


def test_a_broken_shelf_is_named_and_stops_nothing_else(
    two: AdmissionHost, settings: Settings, open_another: Callable[[], AdmissionHost]
) -> None:
    settings.shelf.mkdir()
    (settings.shelf / "manifest.json").write_text("{", encoding="utf-8")
    host = open_another()
    assert failures(host)["wasm-shelf"]["refused"] == "unreadable"
    assert list(host.registry.tools) == ["buoy_get", "tide_now"]
