"""The two routes of approval codes, over HTTP (contract 5 and 11.1, 11.20)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from web_server import Server

ROOT = "/api/extensions"
TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}


@pytest.fixture
def proposed(server: Server) -> Any:
    server.post(f"{ROOT}/proposals", {"descriptor": TIDE})
    return server


def request(server: Server) -> Any:
    return server.post(f"{ROOT}/approval-request", {"id": "tide-clock"})


def code_on_console(server: Server) -> str:
    (code,) = re.findall(r'approve "tide-clock": (\d{8}) ', server.out.getvalue())
    return str(code)


def test_a_person_approves_by_the_code_on_the_console(proposed: Server) -> None:
    asked = request(proposed)
    assert asked.status_code == 200
    body = asked.json()
    assert body.keys() == {"ok", "requestId", "expiresAt", "plan"}
    assert body["expiresAt"] == int((proposed.clock.time + 120) * 1000)
    assert body["plan"]["id"] == "tide-clock"
    code = code_on_console(proposed)
    assert code not in asked.text
    assert proposed.token not in asked.text

    entered = {"id": "tide-clock", "requestId": body["requestId"], "code": code}
    answer = proposed.post(f"{ROOT}/approve", entered)
    assert answer.status_code == 200
    assert answer.json() == {"ok": True, "id": "tide-clock", "decision": "admitted", "enforced": {}, "gets": []}
    assert proposed.running() == ["tide-clock"]
    again = proposed.post(f"{ROOT}/approve", entered)
    assert (again.status_code, again.json()["refused"]) == (403, "approval-used")


@pytest.mark.parametrize("code", [None, "", "1", "00000000x", 7, ["1"], "１２３４５６７８"])
def test_another_code_admits_nothing(proposed: Server, code: Any) -> None:
    body = {"id": "tide-clock", "requestId": request(proposed).json()["requestId"], "code": code}
    for refused in [*["approval-code-invalid"] * 4, "approval-attempts-exhausted", "approval-used"]:
        answer = proposed.post(f"{ROOT}/approve", body)
        assert (answer.status_code, answer.json()["refused"]) == (403, refused)
    assert proposed.running() == []


def test_without_a_code_only_the_host_token_approves(proposed: Server) -> None:
    body = {"id": "tide-clock"}
    for headers in (
        {},
        proposed.sign_in(),
        {"origin": "http://127.0.0.1:8787"},
        {"x-voicebox-session-token": "0" * 48},
    ):
        answer = proposed.post(f"{ROOT}/approve", body, headers=headers)
        assert (answer.status_code, answer.json()["refused"]) == (403, "approval-unknown")
    assert proposed.running() == []

    answer = proposed.post(f"{ROOT}/approve", body, token=True)
    assert (answer.status_code, answer.json()["decision"]) == (200, "admitted")
    assert proposed.running() == ["tide-clock"]


def test_a_wrong_code_is_wrong_for_the_host_too(proposed: Server) -> None:
    body = {"id": "tide-clock", "requestId": request(proposed).json()["requestId"], "code": "no"}

    assert proposed.post(f"{ROOT}/approve", body, token=True).json()["refused"] == "approval-code-invalid"


def test_an_approval_that_the_gate_refuses_is_403(server: Server) -> None:
    server.post(f"{ROOT}/proposals", {"descriptor": TIDE | {"capabilities": ["exec"]}})
    answer = request(server)
    assert (answer.status_code, answer.json()["refused"]) == (403, "approval-unavailable")

    answer = server.post(f"{ROOT}/approve", {"id": "tide-clock"}, token=True)
    assert answer.status_code == 403
    assert answer.json()["ok"] is False


def test_a_refusal_in_the_last_moment_carries_its_rule_with_403(
    proposed: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = {"ok": False, "id": "tide-clock", "decision": "refused", "rule": "duplicate-tool", "why": "taken"}
    monkeypatch.setattr(proposed.host, "approve", lambda id, request, code: refusal)
    answer = proposed.post(f"{ROOT}/approve", {"id": "tide-clock", "requestId": "x", "code": "1"})

    assert (answer.status_code, answer.json()) == (403, refusal)


@pytest.mark.parametrize("route", ["approval-request", "approve"])
def test_the_checks_come_in_the_contracts_order(server: Server, route: str) -> None:
    def refused(content: Any, content_type: str | None = "application/json; x") -> tuple[int, str]:
        headers = {} if content_type is None else {"content-type": content_type}
        answer = server.ask("POST", f"{ROOT}/{route}", content=content, headers=headers)
        return answer.status_code, answer.json()["refused"]

    named = json.dumps({"id": "nowhere"})
    assert refused(named, "text/plain") == (415, "approval-json-required")
    assert refused(named, None) == (415, "approval-json-required")
    assert refused("", None) == (415, "approval-json-required")
    assert refused(named + " " * 4096) == (400, "approval-invalid-id")
    assert refused("{") == (400, "approval-invalid-id")
    assert refused("[]") == (400, "approval-invalid-id")
    assert refused("") == (400, "approval-invalid-id")
    for id in ("../escape", "", "A", "a" * 101, 7, None, ["a"]):
        assert refused(json.dumps({"id": id})) == (400, "approval-invalid-id")
    last = {"approval-request": "approval-no-proposal", "approve": "approval-unknown"}
    assert refused(named) == (403, last[route])
