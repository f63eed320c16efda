"""POST /v1/decide: the gate's own verdict, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

import capgate
from web_server import Server

TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}
REFUSED: dict[str, dict[str, Any]] = {
    "exec-absent": TIDE | {"capabilities": ["exec"]},
    "network-unbounded": TIDE | {"capabilities": ["network"]},
    "no-tools": {"id": "x"},
    "duplicate-tool": {"tools": [{"name": "delegate_task", "primitive": "now"}]},
}


@pytest.mark.parametrize("descriptor", [TIDE, *REFUSED.values(), None, 7, "x", [], {"tools": [None]}])
@pytest.mark.parametrize("placement", [None, "machine", "browser"])
def test_the_answer_is_the_verdict_of_the_gate(
    server: Server, gate: capgate.Gate, descriptor: Any, placement: str | None
) -> None:
    body = {"descriptor": descriptor} | ({"placement": placement} if placement else {})
    answer = server.post("/v1/decide", body)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == gate.admit(descriptor, placement or "machine").to_json()


@pytest.mark.parametrize(("rule", "descriptor"), REFUSED.items())
def test_a_refusal_names_its_rule(server: Server, rule: str, descriptor: Any) -> None:
    assert server.post("/v1/decide", {"descriptor": descriptor}).json()["rule"] == rule


def test_the_names_that_are_given_are_in_use_and_no_others(server: Server) -> None:
    server.admit(TIDE)
    other = TIDE | {"id": "other"}

    def rule(**more: Any) -> Any:
        return server.post("/v1/decide", {"descriptor": other, **more}).json().get("rule")

    assert rule() == "duplicate-tool"
    assert rule(existingTools=["tide_now", "x"]) == "duplicate-tool"
    assert rule(existingTools=[]) is None
    assert rule(existingTools=["tide"]) is None


def test_what_runs_is_not_refused_for_its_own_names(server: Server) -> None:
    server.admit(TIDE)
    server.admit({"id": "log", "tools": [{"name": "log_now", "primitive": "now"}]})
    both = [{"name": "tide_now", "primitive": "now"}, {"name": "log_now", "primitive": "now"}]

    assert server.post("/v1/decide", {"descriptor": TIDE}).json()["decision"] == "admitted"
    assert server.post("/v1/decide", {"descriptor": TIDE | {"tools": both}}).json()["rule"] == "duplicate-tool"
    assert server.post("/v1/decide", {"descriptor": {"tools": TIDE["tools"]}}).json()["rule"] == "duplicate-tool"


def test_what_was_revoked_is_no_longer_in_use(server: Server) -> None:
    server.admit(TIDE)
    server.ask("DELETE", "/api/extensions/tide-clock", token=True)

    assert server.post("/v1/decide", {"descriptor": TIDE | {"id": "other"}}).json()["decision"] == "admitted"


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ([], "bad-request"),
        (7, "bad-request"),
        ({}, "bad-request"),
        ({"Descriptor": TIDE}, "bad-request"),
        ({"descriptor": TIDE, "existing_tools": []}, "bad-request"),
        ({"descriptor": TIDE, "taken": []}, "bad-request"),
        ({"descriptor": TIDE, "placement": "moon"}, "unknown-placement"),
        ({"descriptor": TIDE, "placement": None}, "unknown-placement"),
        ({"descriptor": TIDE, "placement": ["machine"]}, "unknown-placement"),
        ({"descriptor": TIDE, "existingTools": None}, "bad-tool-names"),
        ({"descriptor": TIDE, "existingTools": "tide_now"}, "bad-tool-names"),
        ({"descriptor": TIDE, "existingTools": {"tide_now": 1}}, "bad-tool-names"),
        ({"descriptor": TIDE, "existingTools": [["tide_now"]]}, "bad-tool-names"),
        ({"descriptor": TIDE, "existingTools": ["tide_now", 7]}, "bad-tool-names"),
    ],
)
def test_another_request_is_400_and_no_verdict(server: Server, body: Any, refused: str) -> None:
    answer = server.post("/v1/decide", body)

    assert answer.status_code == 400
    assert answer.json().keys() == {"ok", "refused", "why", "error", "hint"}
    assert (answer.json()["ok"], answer.json()["refused"]) == (False, refused)
    assert answer.json()["hint"]


def test_nothing_is_kept_of_a_decision(server: Server) -> None:
    server.post("/v1/decide", {"descriptor": TIDE})

    assert server.running() == []
    assert server.proposed() == {}
    assert not (server.settings.extensions / ".ledger.jsonl").exists()
