"""The routes under /api/extensions: each with its statuses and shapes (contract 4)."""

from __future__ import annotations

from typing import Any

import pytest

from web_server import Server

ROOT = "/api/extensions"


@pytest.fixture
def tide() -> dict[str, Any]:
    return {
        "id": "tide-clock",
        "name": "Tide clock",
        "description": "Says what time the host thinks it is",
        "tools": [{"name": "tide_now", "primitive": "now"}],
    }


@pytest.fixture
def buoy() -> dict[str, Any]:
    return {
        "id": "buoy-feed",
        "name": "Buoy feed",
        "description": "Reads one buoy",
        "capabilities": ["network"],
        "bounds": {"hosts": ["buoys.test"], "maxRequests": 12},
        "tools": [{"name": "buoy_get", "primitive": "http-get", "params": {"url": "https://buoys.test/?hidden=1"}}],
    }


@pytest.fixture
def launcher(tide: dict[str, Any]) -> dict[str, Any]:
    return tide | {"id": "launcher", "capabilities": ["exec"]}


# Staging


def test_a_proposal_waits_and_nothing_of_it_runs(server: Server, tide: Any) -> None:
    answer = server.post(f"{ROOT}/proposals", {"descriptor": tide})

    assert answer.status_code == 200
    body = answer.json()
    assert (body["ok"], body["id"], body["state"]) == (True, "tide-clock", "pending")
    assert body["proposal"]["tools"] == tide["tools"]
    assert "NOT loaded" in body["note"]
    assert server.running() == []
    assert server.proposed() == {"tide-clock": "pending"}


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({}, "bad-descriptor"),
        ({"descriptor": []}, "bad-descriptor"),
        ({"descriptor": {"id": "../x", "tools": []}}, "invalid-id"),
        ({"descriptor": {"id": 7, "tools": []}}, "invalid-id"),
        ({"descriptor": {"id": "x"}}, "no-tools"),
        ([], "bad-request"),
    ],
)
def test_a_proposal_that_cannot_be_filed_is_refused_with_400(server: Server, body: Any, refused: str) -> None:
    answer = server.post(f"{ROOT}/proposals", body)

    assert answer.status_code == 400
    assert (answer.json()["ok"], answer.json()["refused"]) == (False, refused)
    assert answer.json()["error"]
    assert answer.json()["why"]
    assert server.proposed() == {}


def test_a_sideload_is_confirmed_first(server: Server) -> None:
    first = server.post(f"{ROOT}/sideload", {"id": "web-search"})
    assert first.status_code == 200
    assert first.json()["confirmFirst"] is True
    assert first.json()["plan"]["id"] == "web-search"
    assert server.proposed() == {}

    done = server.post(f"{ROOT}/sideload", {"id": "web-search", "confirm": True})
    assert (done.status_code, done.json()["ok"], done.json()["state"]) == (200, True, "pending")
    assert "NOT loaded" in done.json()["note"]
    assert server.proposed() == {"web-search": "pending"}


@pytest.mark.parametrize("confirm", ["true", 1, [True], None])
def test_only_true_confirms(server: Server, confirm: Any) -> None:
    answer = server.post(f"{ROOT}/sideload", {"id": "web-search", "confirm": confirm})

    assert answer.json().get("confirmFirst") is True
    assert server.proposed() == {}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"id": ""}, 400),
        ({"id": "nowhere"}, 404),
        ({"id": "../web-search", "confirm": True}, 400),
    ],
)
def test_a_sideload_of_nothing_is_an_error(server: Server, body: Any, status: int) -> None:
    answer = server.post(f"{ROOT}/sideload", body)

    assert answer.status_code == status
    assert answer.json()["error"]
    assert server.proposed() == {}


@pytest.mark.parametrize("door", ["local", "create"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_a_descriptor_of_ones_own_is_staged_whatever_the_gate_says(
    server: Server, launcher: Any, door: str, wrapped: bool
) -> None:
    answer = server.post(f"{ROOT}/{door}", {"descriptor": launcher} if wrapped else launcher)

    assert answer.status_code == 200
    body = answer.json()
    assert (body["ok"], body["id"], body["state"]) == (True, "launcher", "pending")
    assert body["plan"]["gate"]["decision"] == "refused"
    assert body["note"]
    assert server.proposed() == {"launcher": "pending"}


@pytest.mark.parametrize("door", ["local", "create"])
@pytest.mark.parametrize("admit", [True, 1, "false", [], {}])
def test_admitting_ones_own_takes_the_host_token(server: Server, tide: Any, door: str, admit: Any) -> None:
    answer = server.post(f"{ROOT}/{door}", {"descriptor": tide, "admit": admit})
    assert answer.status_code == 403
    assert answer.json()["refused"] == "host-token-required"
    assert server.proposed() == {}

    done = server.post(f"{ROOT}/{door}", {"descriptor": tide, "admit": admit}, token=True)
    assert done.status_code == 200
    assert (done.json()["ok"], done.json()["decision"], done.json()["enforced"]) == (True, "admitted", {})
    assert "gets" in done.json()
    assert server.running() == ["tide-clock"]


@pytest.mark.parametrize("admit", [False, None, 0, ""])
def test_what_is_not_asked_to_be_admitted_is_only_staged(server: Server, tide: Any, admit: Any) -> None:
    assert server.post(f"{ROOT}/local", tide | {"admit": admit}).status_code == 200
    assert server.running() == []
    assert server.proposed() == {"tide-clock": "pending"}


def test_admitting_ones_own_is_up_to_the_gate(server: Server, launcher: Any) -> None:
    answer = server.post(f"{ROOT}/create", {"descriptor": launcher, "admit": True}, token=True)

    assert answer.status_code == 400
    body = answer.json()
    assert (body["ok"], body["refused"]) == (False, "exec-absent")
    assert body["plan"]["gate"]["decision"] == "refused"
    assert server.running() == []


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ([], "bad-request"),
        (7, "bad-request"),
        ({"descriptor": []}, "bad-descriptor"),
        ({"id": "Ä"}, "invalid-id"),
        ({"id": "x"}, "missing-name"),
        ({"id": "x", "name": "X"}, "missing-description"),
        ({"id": "x", "name": "X", "description": "x", "tools": []}, "no-tools"),
        ({"id": "x", "name": "X", "description": "x", "tools": [{"name": "A"}]}, "bad-tool-name"),
        ({"id": "x", "name": "X", "description": "x", "tools": [{"name": "a"}]}, "unknown-primitive"),
    ],
)
def test_ones_own_that_cannot_be_filed_is_refused_with_400(server: Server, body: Any, refused: str) -> None:
    answer = server.post(f"{ROOT}/local", body)

    assert (answer.status_code, answer.json()["refused"]) == (400, refused)


# Reading


def test_the_inventory_has_no_params_and_no_token(server: Server, buoy: Any) -> None:
    server.admit(buoy)
    answer = server.get(ROOT)

    body = answer.json()
    assert body["placement"] == "machine"
    assert [(one["id"], one["tools"], one["enforced"]) for one in body["extensions"]] == [
        ("buoy-feed", ["buoy_get"], {"network": "mediated-fetch"})
    ]
    assert "hidden" not in answer.text
    assert server.token not in answer.text


def test_the_catalogue_has_a_verdict_on_each_entry(server: Server) -> None:
    entries = {entry["id"]: entry for entry in server.get(f"{ROOT}/catalogue").json()["catalogue"]}

    assert entries["web-search"]["preview"]["decision"] == "admitted"
    assert entries["mcp-server-local"]["preview"]["rule"] == "exec-absent"
    assert entries.keys() >= {"brave-search", "mcp-server-remote", "notes", "local-notes"}


def test_the_plan_of_a_proposal_has_its_state(server: Server, launcher: Any) -> None:
    server.post(f"{ROOT}/proposals", {"descriptor": launcher})
    plan = server.get(f"{ROOT}/proposals/launcher/plan").json()
    assert (plan["state"], plan["refusal"], plan["gate"]["rule"]) == ("pending", None, "exec-absent")

    server.post(f"{ROOT}/admit", {"id": "launcher", "confirm": True}, token=True)
    plan = server.get(f"{ROOT}/proposals/launcher/plan").json()
    assert (plan["state"], plan["refusal"]["rule"]) == ("refused", "exec-absent")


def test_the_plan_of_a_catalogue_entry_has_no_state(server: Server) -> None:
    plan = server.get(f"{ROOT}/catalogue/web-search/plan").json()

    assert plan["gate"]["decision"] == "admitted"
    assert plan["digest"].startswith("sha256:")
    assert plan.keys().isdisjoint({"state", "refusal"})


@pytest.mark.parametrize("kind", ["proposals", "catalogue"])
@pytest.mark.parametrize("id", ["nowhere", "A", "..", "a%2Fb", "a%00", "a.b", "%C3%A4", "x" * 101])
def test_there_is_no_plan_of_nothing(server: Server, kind: str, id: str) -> None:
    answer = server.get(f"{ROOT}/{kind}/{id}/plan")

    assert answer.status_code == 404
    assert answer.json()["error"]


# The host decides


def test_admitting_is_confirmed_first(server: Server, tide: Any) -> None:
    server.post(f"{ROOT}/proposals", {"descriptor": tide})
    first = server.post(f"{ROOT}/admit", {"id": "tide-clock"}, token=True)
    assert first.status_code == 200
    assert (first.json()["confirmFirst"], first.json()["plan"]["id"]) == (True, "tide-clock")
    assert server.running() == []

    done = server.post(f"{ROOT}/admit", {"id": "tide-clock", "confirm": True}, token=True)
    assert done.status_code == 200
    assert done.json() == {"ok": True, "id": "tide-clock", "decision": "admitted", "enforced": {}, "gets": []}
    assert server.running() == ["tide-clock"]


def test_the_gate_decides_on_what_is_admitted(server: Server, launcher: Any) -> None:
    server.post(f"{ROOT}/proposals", {"descriptor": launcher})
    answer = server.post(f"{ROOT}/admit", {"id": "launcher", "confirm": True}, token=True)

    assert answer.status_code == 200
    body = answer.json()
    assert (body["ok"], body["decision"], body["rule"]) == (True, "refused", "exec-absent")
    assert body["why"]
    assert server.running() == []


def test_the_host_denies(server: Server, tide: Any) -> None:
    server.post(f"{ROOT}/proposals", {"descriptor": tide})
    body = {"id": "tide-clock", "confirm": True, "decision": "deny"}
    assert server.post(f"{ROOT}/admit", body, token=True).json()["rule"] == "host-deny"

    again = {"id": "tide-clock", "confirm": True}
    assert server.post(f"{ROOT}/admit", again, token=True).json()["rule"] == "host-deny"
    assert server.running() == []
    overridden = again | {"overrideDeny": "yes"}
    assert server.post(f"{ROOT}/admit", overridden, token=True).json()["rule"] == "host-deny"
    assert server.post(f"{ROOT}/admit", again | {"overrideDeny": True}, token=True).json()["decision"] == "admitted"


def test_what_runs_already_is_said_with_200(server: Server, tide: Any) -> None:
    server.admit(tide)
    answer = server.post(f"{ROOT}/admit", {"id": "tide-clock", "confirm": True}, token=True)

    assert (answer.status_code, answer.json()["ok"]) == (200, False)
    assert "already" in answer.json()["error"]


def test_a_plan_that_changed_is_not_decided_on(server: Server, tide: Any) -> None:
    server.post(f"{ROOT}/proposals", {"descriptor": tide})
    digest = server.get(f"{ROOT}/proposals/tide-clock/plan").json()["digest"]
    server.post(f"{ROOT}/proposals", {"descriptor": tide | {"name": "Another"}})

    body = {"id": "tide-clock", "confirm": True, "planDigest": digest}
    answer = server.post(f"{ROOT}/admit", body, token=True)
    assert (answer.status_code, answer.json()["refused"]) == (409, "plan-changed")
    assert server.running() == []

    body["planDigest"] = server.get(f"{ROOT}/proposals/tide-clock/plan").json()["digest"]
    assert server.post(f"{ROOT}/admit", body, token=True).json()["decision"] == "admitted"


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 400), ({"id": 7}, 400), ({"id": "nowhere"}, 404), ({"id": "nowhere", "confirm": True}, 404)],
)
def test_admitting_nothing_is_an_error(server: Server, body: Any, status: int) -> None:
    answer = server.post(f"{ROOT}/admit", body, token=True)

    assert answer.status_code == status
    assert answer.json()["error"]
    assert answer.json()["ok"] is False
