"""What is answered at all, and in which shape: routes, their description, errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from capgate.host.web.answers import HttpError, error_body, json_bytes
from capgate.host.web.app import OPERATIONS, make_app
from capgate.host.web.authority import Authority
from capgate.host.web.file_errors import FileError
from capgate.host.web.openapi import description
from capgate.host.web.routes import Operation
from capgate.policy.errors import CapgateError, PolicyInvalid
from capgate.policy.rule_errors import RuleError
from web_server import Server

DESCRIPTION = json.loads(description())
#: Each operation of the description: method, path, and what is said of it.
DESCRIBED = {
    (method.upper(), path): operation
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
}
REAL = {(operation.method, operation.path): operation for operation in OPERATIONS}


# The description


def test_every_route_is_described_and_nothing_else() -> None:
    assert DESCRIBED.keys() == REAL.keys()


def test_the_description_is_served(server: Server) -> None:
    answer = server.get("/openapi.json")

    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == DESCRIPTION


@pytest.mark.parametrize("route", REAL, ids=" ".join)
def test_what_is_described_of_a_route_is_what_it_asks(route: tuple[str, str]) -> None:
    operation, described = REAL[route], DESCRIBED[route]
    statuses = set(described["responses"])

    assert statuses >= {"200", "421", "500", "503"}
    assert ("401" in statuses) is not operation.open
    if operation.body:
        assert statuses >= {"400", "408", "415"}
        assert set(described["requestBody"]["content"]) == set(operation.body.types)
    security = described.get("security", [])
    expected = {
        Authority.HOST: [{"hostToken": []}],
        Authority.ROOM: [{"hostToken": []}, {"session": [], "csrf": []}],
    }
    if operation.authority in expected:
        assert security == expected[operation.authority]
        assert "403" in statuses


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "$ref":
                yield part
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def test_every_reference_of_the_description_leads_somewhere_and_everything_is_used() -> None:
    used = set(references(DESCRIPTION))
    there = {
        f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in DESCRIPTION["components"][kind]
    }

    assert used == there


# Nothing else


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/extensions/register"),
        ("POST", "/api/extensions/reload"),
        ("GET", "/api/extensions/tide-clock"),
        ("PUT", "/api/extensions/tide-clock"),
        ("GET", "/api/extensions/admit"),
        ("POST", "/api/extensions"),
        ("POST", "/api/extensions/"),
        ("GET", "/api/extensions/"),
        ("GET", "/api//extensions"),
        ("DELETE", "/api/extensions/A"),
        ("DELETE", "/api/extensions/.."),
        ("DELETE", "/api/extensions/a%2Fb"),
        ("DELETE", "/api/extensions/x%00"),
        ("DELETE", "/api/extensions/x%0A"),
        ("POST", "/api/extensions/../refuse"),
        ("PATCH", "/api/extensions/%F0%9F%98%80"),
        ("GET", "/"),
        ("GET", "/v1/decide"),
        ("OPTIONS", "/v1/decide"),
        ("TRACE", "/api/health"),
        ("GET", "/api/health/"),
        ("GET", "/API/health"),
        ("GET", "/docs"),
    ],
)
def test_anything_else_is_404_in_the_one_shape(server: Server, method: str, path: str) -> None:
    answer = server.ask(method, path, token=True, **({"json": {}} if method in ("POST", "PATCH") else {}))

    assert answer.status_code == 404
    assert answer.json().keys() == {"ok", "refused", "why", "error", "hint"}
    assert answer.json()["refused"] == "not-found"


def test_what_can_be_read_can_be_asked_for_its_head(server: Server) -> None:
    assert server.ask("HEAD", "/api/health").status_code == 200
    assert server.ask("HEAD", "/v1/decide").status_code == 404


def test_a_head_does_not_sign_in(server: Server) -> None:
    path = f"/sign-in?ticket={server.sessions.ticket()}"

    assert server.ask("HEAD", path).status_code == 404
    assert server.get(path).status_code == 200


# Errors


def families() -> Iterator[type[CapgateError]]:
    waiting: list[type[CapgateError]] = [CapgateError]
    while waiting:
        family = waiting.pop()
        waiting += family.__subclasses__()
        if family.__module__.startswith("capgate.host.web"):
            yield family


def test_every_error_of_the_server_has_the_one_shape_and_a_status_that_is_described() -> None:
    found = list(families())
    assert {HttpError, FileError} <= set(found)
    for family in found:
        for id in family.ids:
            error = family(id, "something is wrong")
            body = error_body(error)
            assert body.keys() == {"ok", "refused", "why", "error", "hint"}
            assert body["hint"]
            assert (body["ok"], body["refused"], body["error"]) == (False, id, f"{id}: something is wrong")


def failing(error: Exception) -> tuple[Operation, ...]:
    async def fail(call: Any) -> None:
        raise error

    return (Operation("GET", "/fail", fail), *OPERATIONS)


def test_a_defect_is_answered_without_what_it_says(server: Server) -> None:
    server.redactor.learn("hunter2-hunter2")
    server.app = make_app(server.shim, failing(KeyError("hunter2-hunter2 is \x1b[31m not there")))
    answer = server.get("/fail")

    assert (answer.status_code, answer.json()["refused"]) == (500, "internal-error")
    assert "not there" not in answer.text
    shown = server.err.getvalue()
    assert "KeyError" in shown
    assert "GET /fail" in shown
    assert "hunter2" not in shown
    assert "\x1b" not in shown


def test_a_defect_after_the_answer_has_begun_adds_nothing_to_it(server: Server) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def begin(call: Any) -> None:
        call.exchange.status = 200
        await call.stream.send({"type": "http.response.start", "status": 200, "headers": []})
        raise KeyError("half way")

    app = make_app(server.shim, (Operation("GET", "/fail", begin),))
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/fail",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    asyncio.run(app(scope, receive, send))

    # The server ends the connection, so that nobody takes the answer for whole.
    assert [message["type"] for message in sent] == ["http.response.start"]
    assert "half way" in server.err.getvalue()


@pytest.mark.parametrize(("debug", "lines"), [(None, False), ("1", True)])
def test_the_traceback_is_shown_when_it_is_asked_for(
    server: Server, monkeypatch: pytest.MonkeyPatch, debug: str | None, lines: bool
) -> None:
    monkeypatch.delenv("CAPGATE_DEBUG", raising=False)
    if debug:
        monkeypatch.setenv("CAPGATE_DEBUG", debug)
    server.app = make_app(server.shim, failing(KeyError("x")))
    server.get("/fail")

    assert ("Traceback" in server.err.getvalue()) is lines


def test_too_many_requests_at_a_time_are_turned_away(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capgate.host.web.app.MOST_REQUESTS", 0)
    answer = server.get("/api/extensions")
    assert (answer.status_code, answer.json()["refused"]) == (503, "too-busy")

    monkeypatch.setattr("capgate.host.web.app.MOST_REQUESTS", 1)
    for _ in range(3):
        assert server.get("/api/extensions").status_code == 200
        assert server.get("/nowhere").status_code == 404


def test_half_a_character_does_not_break_an_answer() -> None:
    assert json.loads(json_bytes({"name": "a\udcff", "other": "ä"})) == {"name": "a\udcff", "other": "ä"}
    assert json_bytes("ä") == '"ä"'.encode()


# Without a policy


@pytest.fixture
def broken(make_server: Callable[..., Server]) -> Any:
    problems = [RuleError("rules-unreadable", "half a rule", hint="Mend it.")]
    return make_server(PolicyInvalid(problems))


def test_without_a_policy_nothing_is_decided(broken: Server) -> None:
    needs_none = {"/api/health", "/metrics", "/openapi.json", "/sign-in", "/api/session", "/api/session/ticket"}
    needs_none |= {"/api/root", "/api/files", "/api/file"}
    bodies: dict[str, Any] = {
        "/api/extensions/approval-request": {"id": "x"},
        "/api/extensions/approve": {"id": "x"},
        "/api/turn": {"transcript": "list extensions"},
    }
    for operation in OPERATIONS:
        if operation.path in needs_none:
            continue
        path = operation.path.replace("{id}", "x")
        body = {"json": bodies.get(operation.path, {})} if operation.body else {}
        parameters = {"format": "openai"} if operation.path.startswith("/api/extensions/tools") else {}
        if operation.path.endswith("/call"):
            body = {"json": {"type": "function_call", "call_id": "1", "name": "list_extensions", "arguments": "{}"}}
        answer = broken.ask(operation.method, path, token=True, params=parameters, **body)
        assert answer.status_code == 503, operation
        assert answer.json()["refused"] == "policy-invalid"
        assert answer.json()["problems"][0]["message"] == "half a rule"


def test_without_a_policy_health_says_what_is_wrong(broken: Server) -> None:
    answer = broken.get("/api/health")

    assert answer.status_code == 503
    body = answer.json()
    assert body["ok"] is False
    assert body["policy"]["fingerprint"] is None
    assert [problem["id"] for problem in body["policy"]["problems"]] == ["rules-unreadable"]
    assert "capgate_ready 0.0" in broken.get("/metrics").text
