"""Acts of the host or of a session: revoke, refuse, reconfigure (contract 4)."""

from __future__ import annotations

from typing import Any

import pytest

from web_server import Server

ROOT = "/api/extensions"
FEED = {
    "id": "buoy-feed",
    "capabilities": ["network"],
    "bounds": {"hosts": ["buoys.test"], "maxRequests": 12},
    "tools": [{"name": "buoy_get", "primitive": "http-get", "params": {"url": "https://buoys.test/"}}],
}

#: Every route of this kind, with a body that would do something.
ACTS = [
    ("POST", f"{ROOT}/revoke", {"id": "buoy-feed", "confirm": True}),
    ("DELETE", f"{ROOT}/buoy-feed", None),
    ("POST", f"{ROOT}/refuse", {"id": "buoy-feed"}),
    ("POST", f"{ROOT}/buoy-feed/refuse", None),
    ("POST", f"{ROOT}/reconfigure", {"id": "buoy-feed", "bounds": {"maxRequests": 3}, "confirm": True}),
    ("PATCH", f"{ROOT}/buoy-feed", {"bounds": {"maxRequests": 3}}),
]


def ask(server: Server, method: str, path: str, body: Any, **options: Any) -> Any:
    return server.ask(method, path, **({} if body is None else {"json": body}), **options)


@pytest.mark.parametrize(("method", "path", "body"), ACTS)
def test_an_act_takes_the_token_or_a_session_with_its_csrf_token(
    server: Server, method: str, path: str, body: Any
) -> None:
    server.admit(FEED)
    session = server.sign_in()
    before = server.get(ROOT).json()
    for headers, refused in [
        ({}, "session-required"),
        ({"x-voicebox-host-token": "0" * 64}, "session-required"),
        ({"origin": "http://127.0.0.1:8787"}, "session-required"),
        ({"x-capgate-csrf": session["x-capgate-csrf"]}, "session-required"),
        ({"cookie": session["cookie"]}, "csrf-required"),
        ({"cookie": session["cookie"], "x-capgate-csrf": ""}, "csrf-required"),
        ({"cookie": session["cookie"], "x-capgate-csrf": "no"}, "csrf-required"),
    ]:
        answer = ask(server, method, path, body, headers=headers)
        assert (answer.status_code, answer.json()["refused"]) == (403, refused), headers
    assert server.get(ROOT).json() == before

    assert ask(server, method, path, body, headers=session).status_code == 200
    assert server.get(ROOT).json() != before


@pytest.mark.parametrize(("method", "path", "body"), ACTS)
def test_the_ledger_says_by_whose_authority(server: Server, method: str, path: str, body: Any) -> None:
    server.admit(FEED)
    ask(server, method, path, body, headers=server.sign_in())
    last = (server.settings.extensions / ".ledger.jsonl").read_text().splitlines()[-1]

    assert '"method":"session"' in last
    assert '"name":"session"' in last
    assert '"method":"host-token"' not in last


def test_revoking_is_confirmed_first(server: Server) -> None:
    server.admit(FEED)
    first = server.post(f"{ROOT}/revoke", {"id": "buoy-feed"}, token=True)
    assert first.status_code == 200
    body = first.json()
    assert (body["confirmFirst"], body["id"]) == (True, "buoy-feed")
    assert body["plan"].keys() >= {"enforced", "gets", "bounds", "tools"}
    assert body["whatStopsWorking"].keys() >= {"tools", "may", "bounds"}
    assert server.running() == ["buoy-feed"]

    done = server.post(f"{ROOT}/revoke", {"id": "buoy-feed", "confirm": True}, token=True)
    assert (done.status_code, done.json()["ok"], done.json()["decision"]) == (200, True, "revoked")
    assert done.json()["note"]
    assert server.running() == []


def test_deleting_revokes_at_once(server: Server) -> None:
    server.admit(FEED)

    assert server.ask("DELETE", f"{ROOT}/buoy-feed", token=True).json()["decision"] == "revoked"
    assert server.running() == []
    assert server.ask("DELETE", f"{ROOT}/buoy-feed", token=True).status_code == 404


@pytest.mark.parametrize("confirm", [True, False])
def test_what_does_not_run_cannot_be_revoked(server: Server, confirm: bool) -> None:
    answer = server.post(f"{ROOT}/revoke", {"id": "buoy-feed", "confirm": confirm}, token=True)
    assert (answer.status_code, answer.json()["refused"]) == (404, "extension-not-admitted")
    assert server.post(f"{ROOT}/revoke", {}, token=True).status_code == 400


@pytest.mark.parametrize("in_path", [True, False])
def test_a_proposal_is_denied_at_once(server: Server, in_path: bool) -> None:
    server.post(f"{ROOT}/proposals", {"descriptor": FEED})
    path, body = (f"{ROOT}/buoy-feed/refuse", None) if in_path else (f"{ROOT}/refuse", {"id": "buoy-feed"})
    answer = server.post(path, body, token=True)

    assert answer.status_code == 200
    assert (answer.json()["ok"], answer.json()["decision"], answer.json()["rule"]) == (True, "refused", "host-deny")
    assert answer.json()["why"]
    assert server.proposed() == {"buoy-feed": "refused"}


def test_nothing_cannot_be_denied(server: Server) -> None:
    for answer in (
        server.post(f"{ROOT}/refuse", {"id": "nowhere"}, token=True),
        server.post(f"{ROOT}/nowhere/refuse", token=True),
    ):
        assert (answer.status_code, answer.json()["ok"]) == (404, False)
        assert answer.json()["error"]
    answer = server.post(f"{ROOT}/refuse", {}, token=True)
    assert (answer.status_code, answer.json()["refused"]) == (400, "bad-request")


def test_reconfiguring_is_confirmed_first(server: Server) -> None:
    server.admit(FEED)
    change = {"id": "buoy-feed", "bounds": {"maxRequests": 3}, "actor": "somebody"}
    first = server.post(f"{ROOT}/reconfigure", change, token=True)
    assert first.status_code == 200
    body = first.json()
    assert (body["confirmFirst"], body["id"]) == (True, "buoy-feed")
    assert (body["current"]["bounds"]["maxRequests"], body["proposed"]["bounds"]["maxRequests"]) == (12, 3)

    done = server.post(f"{ROOT}/reconfigure", change | {"confirm": True}, token=True)
    assert (done.status_code, done.json()["decision"], done.json()["bounds"]["maxRequests"]) == (200, "reconfigured", 3)
    assert "somebody" not in (server.settings.extensions / ".ledger.jsonl").read_text()


def test_only_the_host_token_overrides_a_denial_by_a_change(server: Server) -> None:
    denied = {**FEED, "bounds": {**FEED["bounds"], "maxRequests": 3}}
    server.post(f"{ROOT}/proposals", {"descriptor": denied})
    server.post(f"{ROOT}/refuse", {"id": "buoy-feed"}, token=True)
    server.admit(FEED)
    change = {"id": "buoy-feed", "bounds": {"maxRequests": 3}, "confirm": True, "overrideDeny": True}
    session = server.sign_in()
    answer = server.post(f"{ROOT}/reconfigure", change, headers=session)
    assert (answer.status_code, answer.json()["refused"]) == (403, "host-token-required")
    answer = server.post(f"{ROOT}/reconfigure", change | {"overrideDeny": False}, headers=session)
    assert (answer.status_code, answer.json()["refused"]) == (400, "host-deny")
    answer = server.post(f"{ROOT}/reconfigure", change, token=True)
    assert (answer.status_code, answer.json()["decision"]) == (200, "reconfigured")


def test_only_the_change_that_was_read_is_made_by_both_doors(server: Server) -> None:
    server.admit(FEED)
    change = {"id": "buoy-feed", "bounds": {"maxRequests": 3}}
    read = server.post(f"{ROOT}/reconfigure", change, token=True).json()["plan"]["digest"]
    change |= {"confirm": True, "planDigest": "sha256:" + "0" * 64}
    for answer in (
        server.post(f"{ROOT}/reconfigure", change, token=True),
        server.ask("PATCH", f"{ROOT}/buoy-feed", json=change, token=True),
    ):
        assert (answer.status_code, answer.json()["refused"]) == (409, "plan-changed")
        assert answer.json()["plan"]["digest"] == read
    done = server.post(f"{ROOT}/reconfigure", change | {"planDigest": read}, token=True)
    assert (done.status_code, done.json()["decision"]) == (200, "reconfigured")


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"bounds": {"maxRequests": -15}}, "bounds-invalid"),
        ({"bounds": None}, "bounds-invalid"),
        ({"params": []}, "params-invalid"),
        ({"params": {"other": {}}}, "params-unknown-tool"),
        ({"params": {"buoy_get": 7}}, "params-invalid"),
        ({"bounds": {"hosts": []}}, "network-unbounded"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_by_both_doors(server: Server, change: Any, refused: str) -> None:
    server.admit(FEED)
    posted = server.post(f"{ROOT}/reconfigure", {"id": "buoy-feed", "confirm": True} | change, token=True)
    patched = server.ask("PATCH", f"{ROOT}/buoy-feed", json=change, token=True)

    for answer in (posted, patched):
        assert (answer.status_code, answer.json()["ok"], answer.json()["refused"]) == (400, False, refused)
    if refused == "bounds-invalid":
        unconfirmed = server.post(f"{ROOT}/reconfigure", {"id": "buoy-feed"} | change, token=True)
        assert unconfirmed.json()["refused"] == refused
    assert server.get(ROOT).json()["extensions"][0]["bounds"] == FEED["bounds"]


def test_what_does_not_run_is_400_at_patch_and_404_at_post(server: Server) -> None:
    change = {"bounds": {"maxRequests": 3}}
    patched = server.ask("PATCH", f"{ROOT}/buoy-feed", json=change, token=True)
    posted = server.post(f"{ROOT}/reconfigure", {"id": "buoy-feed", "confirm": True} | change, token=True)

    assert (patched.status_code, patched.json()["refused"]) == (400, "extension-not-admitted")
    assert (posted.status_code, posted.json()["refused"]) == (404, "extension-not-admitted")
    assert server.post(f"{ROOT}/reconfigure", change, token=True).json()["refused"] == "bad-request"


@pytest.mark.parametrize("id", ["admit", "catalogue", "proposals", "refuse"])
def test_an_extension_may_be_called_like_a_route(server: Server, id: str) -> None:
    server.admit(FEED | {"id": id})
    patched = server.ask("PATCH", f"{ROOT}/{id}", json={"bounds": {"maxRequests": 3}}, token=True)

    assert patched.json()["decision"] == "reconfigured"
    assert server.ask("DELETE", f"{ROOT}/{id}", token=True).json()["decision"] == "revoked"
