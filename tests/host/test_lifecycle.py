"""From a proposal to what runs, and back: every act of the host, over files and over a database."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from capgate.host.admission import records
from capgate.host.admission.errors import GateRefused
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.settings import Settings
from host_samples import (
    ANYONE,
    HUMAN,
    MODEL,
    Clock,
    admitted,
    audit,
    clock_descriptor,
    exec_descriptor,
    fetch_descriptor,
    refused,
    running,
)

OpenAnother = Callable[[], AdmissionHost]


def test_a_proposal_is_filed_and_nothing_of_it_runs(host: AdmissionHost) -> None:
    answer = host.propose(clock_descriptor(), actor=MODEL)
    assert (answer["ok"], answer["id"], answer["state"]) == (True, "tide-clock", "pending")
    assert "NOT loaded" in answer["note"]
    assert answer["proposal"]["source"] == "model"
    assert answer["proposal"]["proposedAt"] == "2027-01-15T08:00:00.000Z"
    inventory = host.inventory()
    assert inventory["extensions"] == []
    assert inventory["proposals"] == [
        {
            "id": "tide-clock",
            "name": "Tide-Clock",
            "state": "pending",
            "source": "model",
            "declared": [],
            "refusal": None,
        }
    ]


def test_what_is_admitted_runs_from_then_on(host: AdmissionHost) -> None:
    answer = admitted(host, fetch_descriptor())
    assert answer == {
        "ok": True,
        "id": "buoy-feed",
        "decision": "admitted",
        "enforced": {"network": "mediated-fetch"},
        "gets": answer["gets"],
    }
    assert list(host.registry.tools) == ["buoy_get"]
    (extension,) = host.inventory()["extensions"]
    assert extension["source"] == "model"
    assert extension["toolDetails"] == [
        {"name": "buoy_get", "description": "", "primitive": "http-get", "arguments": ["url"]}
    ]
    assert "token=hidden" not in json.dumps(host.inventory())


def test_an_admission_outlives_the_process(host: AdmissionHost, open_another: OpenAnother) -> None:
    admitted(host, clock_descriptor())
    host.close()
    assert running(open_another()) == ["tide-clock"]


def test_what_one_host_admits_and_revokes_another_sees_at_once(host: AdmissionHost, open_another: OpenAnother) -> None:
    other = open_another()
    assert running(other) == []
    admitted(host, clock_descriptor())
    assert running(other) == ["tide-clock"]
    other.revoke("tide-clock", confirm=True, actor=HUMAN)
    assert running(host) == []


def test_nothing_is_decided_without_confirmation(host: AdmissionHost) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    shown = host.admit("tide-clock", confirm=False, actor=HUMAN)
    assert shown["confirmFirst"] is True
    assert shown["plan"]["gate"]["decision"] == "admitted"
    assert running(host) == []
    host.admit("tide-clock", confirm=True, actor=HUMAN)
    shown = host.revoke("tide-clock", confirm=False, actor=HUMAN)
    assert shown["whatStopsWorking"] == {"tools": ["tide_now"], "may": [], "bounds": {}}
    assert running(host) == ["tide-clock"]


def test_the_plan_that_was_read_is_the_one_that_is_admitted(host: AdmissionHost) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    read = host.proposal_plan("tide-clock")["digest"]
    host.propose(clock_descriptor(description="something else"), actor=MODEL)
    error = refused(lambda: host.admit("tide-clock", confirm=True, plan_digest=read, actor=HUMAN))
    assert (error.id, error.http_status) == ("plan-changed", 409)
    assert running(host) == []
    now = host.proposal_plan("tide-clock")["digest"]
    assert host.admit("tide-clock", confirm=True, plan_digest=now, actor=HUMAN)["decision"] == "admitted"


def test_what_the_gate_refuses_is_refused_and_says_why_from_then_on(host: AdmissionHost, settings: Settings) -> None:
    answer = admitted(host, exec_descriptor())
    assert (answer["ok"], answer["decision"], answer["rule"]) == (True, "refused", "exec-absent")
    plan = host.proposal_plan("runner")
    assert (plan["state"], plan["refusal"]) == ("refused", {"rule": "exec-absent", "why": answer["why"]})
    assert running(host) == []
    entry = audit(settings)[-1]
    assert entry["act"] == {"kind": "import", "target": "proposals/runner", "tool": "extensions.admit"}
    assert (entry["decision"], entry["rule"], entry["result"]) == ("refuse", "exec-absent", "refused")


def test_a_tool_name_of_another_extension_is_taken(host: AdmissionHost) -> None:
    admitted(host, clock_descriptor())
    answer = admitted(host, clock_descriptor("other"))
    assert (answer["decision"], answer["rule"]) == ("refused", "duplicate-tool")
    host.revoke("tide-clock", confirm=True, actor=HUMAN)
    assert admitted(host, clock_descriptor("other"))["decision"] == "admitted"


def test_what_runs_is_not_admitted_a_second_time(host: AdmissionHost) -> None:
    admitted(host, clock_descriptor())
    error = refused(lambda: host.admit("tide-clock", confirm=True, actor=HUMAN))
    assert (error.id, error.http_status, error.to_body()["ok"]) == ("already-admitted", 200, False)


def test_other_content_under_an_id_that_runs_takes_its_place_when_it_is_admitted(
    host: AdmissionHost, settings: Settings
) -> None:
    admitted(host, clock_descriptor())
    host.propose(clock_descriptor(tool="tide_then"), actor=MODEL)
    assert list(host.registry.tools) == ["tide_now"]
    assert host.proposal_plan("tide-clock")["state"] == "pending"
    host.admit("tide-clock", confirm=True, actor=HUMAN)
    assert list(host.registry.tools) == ["tide_then"]
    replaced = next(entry for entry in audit(settings) if entry["act"]["tool"] == "extensions.stage")
    assert replaced["actor"]["name"] == "model"
    assert replaced["binding"]["revision"] == 2


@pytest.mark.parametrize("state", ["admitted", "refused", "present-not-admitted", 7, None])
def test_a_submitted_descriptor_cannot_say_its_own_state(host: AdmissionHost, state: object) -> None:
    said = {"state": state, "refusal": {"rule": "x", "why": "y"}, "proposedAt": "never", "source": "builtin"}
    proposal = host.propose(clock_descriptor(**said), actor=MODEL)["proposal"]
    assert (proposal["state"], proposal["source"]) == ("pending", "model")
    assert proposal["proposedAt"] != "never"
    assert "refusal" not in proposal


def test_filing_the_same_content_again_changes_no_plan(host: AdmissionHost, clock: Clock) -> None:
    first = host.propose(clock_descriptor(), actor=MODEL)
    plan = host.proposal_plan("tide-clock")
    clock.time += 60
    again = host.propose(clock_descriptor(), actor=MODEL)
    assert (first["revision"], again["revision"]) == (1, 1)
    assert host.proposal_plan("tide-clock") == plan


def test_a_denial_sticks_to_the_content(host: AdmissionHost, open_another: OpenAnother) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    assert host.deny("tide-clock", actor=HUMAN)["rule"] == "host-deny"
    host.propose(clock_descriptor(), actor=MODEL)
    assert host.proposal_plan("tide-clock")["state"] == "refused"
    answer = open_another().admit("tide-clock", confirm=True, actor=HUMAN)
    assert (answer["decision"], answer["rule"]) == ("refused", "host-deny")
    assert refused(lambda: host.request_approval("tide-clock")).id == "approval-unavailable"
    host.propose(clock_descriptor(description="mended"), actor=MODEL)
    assert host.proposal_plan("tide-clock")["state"] == "pending"
    host.propose(clock_descriptor(), actor=MODEL)
    answer = host.admit("tide-clock", confirm=True, override_deny=True, actor=HUMAN)
    assert answer["decision"] == "admitted"


def test_denying_what_runs_revokes_it(host: AdmissionHost) -> None:
    admitted(host, clock_descriptor())
    answer = host.admit("tide-clock", confirm=True, decision="deny", actor=HUMAN)
    assert (answer["decision"], answer["rule"]) == ("refused", "host-deny")
    assert running(host) == []


def test_what_was_revoked_can_be_admitted_again(host: AdmissionHost) -> None:
    admitted(host, clock_descriptor())
    answer = host.revoke("tide-clock", confirm=True, actor=HUMAN)
    assert (answer["ok"], answer["decision"]) == (True, "revoked")
    assert host.proposal_plan("tide-clock")["state"] == "revoked"
    assert host.inventory()["present"] == []
    assert host.admit("tide-clock", confirm=True, actor=HUMAN)["decision"] == "admitted"


def test_what_is_not_there_is_not_found(host: AdmissionHost) -> None:
    for act in (
        lambda: host.admit("nothing", confirm=True, actor=HUMAN),
        lambda: host.admit("nothing", confirm=False, actor=HUMAN),
        lambda: host.deny("nothing", actor=HUMAN),
        lambda: host.proposal_plan("nothing"),
        lambda: host.proposal_plan("a\0b"),
        lambda: host.catalogue_plan("nothing"),
        lambda: host.sideload("nothing", confirm=True, actor=HUMAN),
        lambda: host.revoke("nothing", confirm=True, actor=HUMAN),
        lambda: host.revoke("nothing", confirm=False, actor=HUMAN),
        lambda: host.reconfigure("nothing", {}, confirm=True, actor=HUMAN),
    ):
        assert refused(act).http_status == 404


@pytest.mark.parametrize("id", [None, 7, "", [], {"a": 1}])
def test_an_act_needs_an_id(host: AdmissionHost, id: object) -> None:
    for act in (
        lambda: host.admit(id, confirm=True, actor=HUMAN),
        lambda: host.deny(id, actor=HUMAN),
        lambda: host.sideload(id, confirm=False, actor=HUMAN),
        lambda: host.revoke(id, confirm=True, actor=HUMAN),
        lambda: host.reconfigure(id, {}, confirm=True, actor=HUMAN),
    ):
        assert refused(act).id == "bad-request"


@pytest.mark.parametrize(
    ("descriptor", "id"),
    [
        (None, "bad-descriptor"),
        ([], "bad-descriptor"),
        ("{}", "bad-descriptor"),
        ({"id": "a", "tools": [], "x": float("nan")}, "bad-descriptor"),
        ({"id": "a", "tools": [], "x": 1e20}, "bad-descriptor"),
        ({"id": "a", "tools": [], "x": "\ud800"}, "bad-descriptor"),
        ({"id": "a", "tools": [], "x": object()}, "bad-descriptor"),
        ({"id": "a", "tools": [], "x": "y" * 1024 * 1024}, "bad-descriptor"),
        ({}, "invalid-id"),
        ({"id": 7, "tools": []}, "invalid-id"),
        ({"id": "A", "tools": []}, "invalid-id"),
        ({"id": "a\n", "tools": []}, "invalid-id"),
        ({"id": "../a", "tools": []}, "invalid-id"),
        ({"id": "a" * 101, "tools": []}, "invalid-id"),
        ({"id": "a"}, "no-tools"),
        ({"id": "a", "tools": None}, "no-tools"),
        ({"id": "a", "tools": {}}, "no-tools"),
    ],
)
def test_the_proposal_door_refuses_what_cannot_be_filed(host: AdmissionHost, descriptor: object, id: str) -> None:
    assert refused(lambda: host.propose(descriptor, actor=MODEL)).id == id
    assert host.inventory()["proposals"] == []


def test_an_empty_list_of_tools_is_filed_and_refused_later(host: AdmissionHost) -> None:
    assert admitted(host, {"id": "empty", "tools": []})["rule"] == "no-tools"


@pytest.mark.parametrize(
    ("change", "id"),
    [
        ({"id": "B"}, "invalid-id"),
        ({"name": ""}, "missing-name"),
        ({"name": 7}, "missing-name"),
        ({"description": " "}, "missing-description"),
        ({"tools": []}, "no-tools"),
        ({"tools": "x"}, "no-tools"),
        ({"tools": [None]}, "bad-tool-name"),
        ({"tools": [{"name": "a-b", "primitive": "nope"}]}, "bad-tool-name"),
        ({"tools": [{"name": "a", "primitive": "nope"}]}, "unknown-primitive"),
        ({"tools": [{"name": "a", "primitive": ["now"]}]}, "unknown-primitive"),
    ],
)
def test_the_local_door_asks_for_more(host: AdmissionHost, change: dict[str, Any], id: str) -> None:
    for act in (host.stage_local, host.create):
        assert refused(lambda act=act: act(clock_descriptor() | change, actor=HUMAN)).id == id  # type: ignore[misc]


def test_a_local_extension_is_staged_with_its_plan_even_where_the_gate_refuses(host: AdmissionHost) -> None:
    answer = host.stage_local(exec_descriptor(), actor=HUMAN)
    assert (answer["ok"], answer["state"]) == (True, "pending")
    assert answer["plan"]["gate"]["rule"] == "exec-absent"
    assert answer["plan"]["source"] == "local"


def test_a_local_extension_runs_on_the_host_unless_it_says_otherwise(host: AdmissionHost) -> None:
    assert host.stage_local(clock_descriptor(), actor=HUMAN)["plan"]["runsIn"] == "host"
    assert host.stage_local(fetch_descriptor(), actor=HUMAN)["plan"]["runsIn"] == "remote"


def test_creating_stages_and_admits_or_says_the_rule(host: AdmissionHost) -> None:
    assert host.create(clock_descriptor(), actor=HUMAN)["decision"] == "admitted"
    error = refused(lambda: host.create(exec_descriptor(), actor=HUMAN))
    assert isinstance(error, GateRefused)
    body = error.to_body()
    assert (error.http_status, body["refused"], body["plan"]["gate"]["decision"]) == (400, "exec-absent", "refused")


def test_the_catalogue_says_of_each_entry_what_would_become_of_it(host: AdmissionHost) -> None:
    listed = {entry["id"]: entry for entry in host.catalogue()["catalogue"]}
    assert listed["web-search"]["preview"]["decision"] == "admitted"
    assert listed["mcp-server-local"]["preview"]["rule"] == "exec-absent"
    assert host.inventory()["catalogueCount"] == len(listed)
    host.sideload("web-search", confirm=True, actor=HUMAN)
    host.admit("web-search", confirm=True, actor=HUMAN)
    listed = {entry["id"]: entry for entry in host.catalogue()["catalogue"]}
    assert listed["web-search"]["preview"]["decision"] == "admitted"


def test_sideloading_stages_once_it_is_confirmed(host: AdmissionHost) -> None:
    shown = host.sideload("web-search", confirm=False, actor=ANYONE)
    assert shown["confirmFirst"] is True
    assert host.inventory()["proposals"] == []
    answer = host.sideload("web-search", confirm=True, actor=ANYONE)
    assert (answer["state"], answer["proposal"]["source"]) == ("pending", "catalogue")


def test_a_path_finds_its_entry_and_stages_nothing(host: AdmissionHost) -> None:
    assert host.sideload("../web-search", confirm=False, actor=ANYONE)["plan"]["id"] == "web-search"
    assert refused(lambda: host.sideload("../web-search", confirm=True, actor=ANYONE)).id == "invalid-id"
    assert host.inventory()["proposals"] == []


def test_a_file_that_lies_there_is_not_live_until_it_is_admitted(host: AdmissionHost, settings: Settings) -> None:
    (settings.extensions / "found.json").write_text(json.dumps(clock_descriptor("found")), encoding="utf-8")
    assert running(host) == []
    (present,) = host.inventory()["present"]
    assert (present["id"], present["state"]) == ("found", "present-not-admitted")
    assert "never live" in present["note"]
    assert host.proposal_plan("found")["state"] == "present-not-admitted"
    assert host.admit("found", confirm=True, actor=HUMAN)["decision"] == "admitted"
    assert running(host) == ["found"]
    assert host.inventory()["present"] == []


def test_a_found_file_that_is_denied_stays_where_it_lies(host: AdmissionHost, settings: Settings) -> None:
    (settings.extensions / "found.json").write_text(json.dumps(clock_descriptor("found")), encoding="utf-8")
    assert host.deny("found", actor=HUMAN)["rule"] == "host-deny"
    assert [entry["id"] for entry in host.inventory()["present"]] == ["found"]
    assert host.admit("found", confirm=True, actor=HUMAN)["rule"] == "host-deny"


def test_the_inventory_reads_a_proposal_anew_only_where_it_changed(
    host: AdmissionHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    parse = records.parse_descriptor

    def counting(data: bytes, name: str, id: str) -> dict[str, Any]:
        read.append(id)
        return parse(data, name, id)

    monkeypatch.setattr(records, "parse_descriptor", counting)
    for id in ("first", "second"):
        host.propose(clock_descriptor(id, id), actor=MODEL)
    host.inventory()
    read.clear()
    host.inventory()
    assert read == []
    host.propose(clock_descriptor("second", "changed"), actor=MODEL)
    host.inventory()
    assert set(read) == {"second"}
