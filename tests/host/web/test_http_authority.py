"""Who may ask, by which name, and when that is looked at (contract 4, 11.1 to 11.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from capgate.host.web.app import OPERATIONS
from capgate.host.web.authority import Authority, Doorkeeper
from web_server import Server

ROOT = "/api/extensions"
TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}
HOST_ROUTES = [(operation.method, operation.path) for operation in OPERATIONS if operation.authority is Authority.HOST]


def path_of(template: str) -> str:
    return template.replace("{id}", "tide-clock")


@pytest.mark.parametrize(
    "name",
    [
        "127.0.0.1", "127.0.0.1:8787", "127.0.0.1:1", "127.9.9.9", "localhost", "LOCALHOST:80", "localhost.", "[::1]",
        "[::1]:8787", "2130706433",
    ],
)  # fmt: skip
def test_a_loopback_name_is_answered(server: Server, name: str) -> None:
    assert server.get("/api/health", headers={"host": name}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "evil.test", "evil.test:8787", "localhost.evil.test", "127.0.0.1.evil.test", "127.evil.test", "128.0.0.1",
        "10.0.0.1", "0.0.0.0", "[::2]", "[::1", "127.0.0.1:x", "127.0.0.1:0", "127.0.0.1:99999", "a b", "",
        "@127.0.0.1", "127.0.0.1/", "127.0.0.1,evil.test", "localhost evil.test",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/health", ROOT, "/v1/decide", "/nowhere"])
def test_any_other_name_is_refused_wherever_it_asks(server: Server, name: str, path: str) -> None:
    answer = server.get(path, headers={"host": name})

    assert (answer.status_code, answer.json()["refused"]) == (421, "host-header-refused")


def test_another_name_is_refused_the_second_time_too(server: Server) -> None:
    for _ in range(2):
        assert server.get("/api/health", headers={"host": "evil.test"}).status_code == 421
        assert server.get("/api/health", headers={"host": "127.0.0.1"}).status_code == 200


def test_a_configured_name_is_answered(make_server: Callable[..., Server]) -> None:
    server = make_server(allowed_hosts=frozenset({"gate.test", "other.test:81", "bücher.test"}))

    for name in ("gate.test", "GATE.test:9", "other.test:81", "xn--bcher-kva.test"):
        assert server.get("/api/health", headers={"host": name}).status_code == 200, name
    for name in ("other.test", "other.test:82", "sub.gate.test"):
        assert server.get("/api/health", headers={"host": name}).status_code == 421, name


@pytest.mark.parametrize("names", [[], [b"127.0.0.1", b"evil.test"], [b"127.0.0.1", b"127.0.0.1"]])
def test_one_name_is_needed(server: Server, names: list[bytes]) -> None:
    door = server.shim.door
    assert isinstance(door, Doorkeeper)
    with pytest.raises(Exception, match="host-header-refused"):
        door.check_host([(b"host", name) for name in names])


# The host token


@pytest.mark.parametrize(("method", "path"), HOST_ROUTES)
@pytest.mark.parametrize("token", [None, "", "0" * 64, "no", "\u00e4"])
def test_the_host_token_is_needed(server: Server, method: str, path: str, token: str | None) -> None:
    headers = {} if token is None else {b"x-voicebox-host-token": token.encode("latin-1")}
    answer = server.ask(method, path_of(path), json={}, headers=headers)

    assert (answer.status_code, answer.json()["ok"]) == (403, False)
    assert answer.json()["refused"] == "host-token-required"
    assert "the page cannot hold it" in answer.json()["why"]


@pytest.mark.parametrize(("method", "path"), HOST_ROUTES)
def test_no_session_and_no_origin_stands_for_the_host_token(server: Server, method: str, path: str) -> None:
    headers = server.sign_in() | {"origin": "http://127.0.0.1:8787"}

    assert server.ask(method, path_of(path), json={}, headers=headers).json()["refused"] == "host-token-required"


@pytest.mark.parametrize("spelling", ["{token} ", "{token}\n", "X{token}", "{upper}"])
def test_the_token_is_compared_exactly(server: Server, spelling: str) -> None:
    text = spelling.format(token=server.token, upper=server.token.upper())
    answer = server.post(f"{ROOT}/admit", {}, headers={b"x-voicebox-host-token": text.encode()})

    assert answer.status_code == 403


@pytest.mark.parametrize(("method", "path"), HOST_ROUTES)
def test_the_body_is_not_read_before_the_host_token(server: Server, method: str, path: str) -> None:
    async def receive() -> Any:
        raise AssertionError("the body was read")

    status, body = ask_raw(server, method, path_of(path), receive)
    assert status == 403
    assert b"host-token-required" in body


def ask_raw(server: Server, method: str, path: str, receive: Any) -> tuple[int, bytes]:
    """Asks the application with a way to read the body of the test's own."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }
    asyncio.run(server.app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_who_acts_is_never_what_a_body_says(server: Server) -> None:
    body = {"descriptor": TIDE, "actor": "somebody-else"}
    server.post(f"{ROOT}/proposals", body)
    server.post(f"{ROOT}/admit", {"id": "tide-clock", "confirm": True, "actor": {"name": "somebody-else"}}, token=True)

    assert server.running() == ["tide-clock"]
    written = [path.read_text() for path in server.settings.extensions.glob(".ledger*")]
    written += [path.read_text() for path in server.settings.workspace.glob("audit*")]
    assert len(written) == 2
    for text in written:
        assert "somebody-else" not in text
        assert '"host-token"' in text


# Sessions


def test_a_ticket_is_redeemed_once_for_a_cookie_that_no_script_reads(server: Server) -> None:
    ticket = server.sessions.ticket()
    first = server.get(f"/sign-in?ticket={ticket}")

    assert first.status_code == 200
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ticket not in first.text
    secret = cookie.partition(";")[0]
    csrf = server.get("/api/session", headers={"cookie": f"other=1; {secret}"}).json()["csrf"]
    assert csrf
    assert csrf not in cookie
    again = server.get(f"/sign-in?ticket={ticket}")
    assert (again.status_code, again.json()["refused"]) == (403, "session-required")
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("query", ["", "?ticket=", "?ticket=no", "?other=1", "?ticket=%00%ff"])
def test_nothing_else_is_redeemed(server: Server, query: str) -> None:
    assert server.get(f"/sign-in{query}").status_code == 403


def test_a_new_ticket_is_made_for_the_host_alone(server: Server) -> None:
    assert server.post("/api/session/ticket").status_code == 403
    path = server.post("/api/session/ticket", token=True).json()["path"]

    assert server.get(path).status_code == 200


def test_the_csrf_token_is_for_the_session(server: Server) -> None:
    for cookie in ({}, {"cookie": "capgate_session=no"}, {"cookie": "capgate_session="}):
        answer = server.get("/api/session", headers=cookie)
        assert (answer.status_code, answer.json()["refused"]) == (403, "session-required")


def test_a_session_ends(server: Server) -> None:
    headers = server.sign_in()
    assert server.get("/api/session", headers=headers).status_code == 200
    server.clock.time += 13 * 3600

    assert server.get("/api/session", headers=headers).status_code == 403


# The wall


def test_behind_the_wall_only_health_and_signing_in_ask_nobody(make_server: Callable[..., Server]) -> None:
    server = make_server(loopback_auth=True)
    walled = [("GET", "/nowhere"), ("OPTIONS", "/v1/decide")]
    walled += [(one.method, path_of(one.path)) for one in OPERATIONS if one.path not in ("/api/health", "/sign-in")]
    for method, path in walled:
        answer = server.ask(method, path, headers={"x-voicebox-host-token": "0" * 64, "cookie": "capgate_session=no"})
        assert (answer.status_code, answer.json()["refused"]) == (401, "loopback-unauthenticated"), path

    assert server.get("/api/health").status_code == 200
    assert server.get(f"/sign-in?ticket={server.sessions.ticket()}").status_code == 200
    assert server.get(ROOT, token=True).status_code == 200
    assert server.get(ROOT, headers={"cookie": server.sign_in()["cookie"]}).status_code == 200


def test_without_the_wall_reading_asks_nobody(server: Server) -> None:
    assert server.get(ROOT).status_code == 200
