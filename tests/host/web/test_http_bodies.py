"""What a body may be: its type, its size, its form, its time (contract 4, 11.4)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from capgate.host.web import bodies
from capgate.host.web.app import OPERATIONS
from capgate.host.web.bodies import MAX_BODY
from web_server import Server

ROOT = "/api/extensions"
JSON = {"content-type": "application/json"}
#: Each route that reads JSON, and what it calls a body that cannot be read.
READING = [
    (operation.method, operation.path.replace("{id}", "tide-clock"), operation.body.unreadable)
    for operation in OPERATIONS
    if operation.body
]
APPROVING = {f"{ROOT}/approval-request", f"{ROOT}/approve"}


def test_every_route_that_takes_a_body_is_held_here() -> None:
    assert len(READING) == 15
    assert {path for _, path, _ in READING} >= APPROVING


@pytest.mark.parametrize(("method", "path", "unreadable"), READING)
@pytest.mark.parametrize(
    "content_type", ["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "", "json"]
)
def test_another_content_type_is_415(
    server: Server, method: str, path: str, unreadable: str, content_type: str
) -> None:
    answer = server.ask(method, path, content=b"{}", headers={"content-type": content_type}, token=True)

    assert answer.status_code == 415
    expected = "approval-json-required" if path in APPROVING else "unsupported-content-type"
    assert answer.json()["refused"] == expected


@pytest.mark.parametrize(("method", "path", "unreadable"), READING)
def test_a_body_without_a_content_type_is_415(server: Server, method: str, path: str, unreadable: str) -> None:
    assert server.ask(method, path, content=b"{}", token=True).status_code == 415


@pytest.mark.parametrize(("method", "path", "unreadable"), READING)
@pytest.mark.parametrize(
    "body",
    [
        b"{", b"{}{}", b'{"id": 1, "id": 2}', b'{"a": NaN}', b'{"a": 1e400}', b"\xff", b"\xef\xbb\xbf{}", b'"\\ud800"',
        b"[" * 33 + b"]" * 33, b"[" * 200_000, b"{'id': 1}", b" ",
    ],
)  # fmt: skip
def test_what_is_not_strict_json_is_the_routes_own_400(
    server: Server, method: str, path: str, unreadable: str, body: bytes
) -> None:
    answer = server.ask(method, path, content=body, headers=JSON, token=True)

    assert (answer.status_code, answer.json()["refused"]) == (400, unreadable)
    assert "strict JSON" in answer.json()["why"] or "bytes" in answer.json()["why"]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON ;x=1"]
)
def test_json_may_be_called_so_in_any_spelling(server: Server, content_type: str) -> None:
    body = b'{"descriptor": {}}'
    assert server.ask("POST", "/v1/decide", content=body, headers={"content-type": content_type}).status_code == 200


def test_what_is_wrong_with_the_json_is_said_with_its_place(server: Server) -> None:
    answer = server.ask("POST", "/v1/decide", content=b'{"a": 1,\n "a": 2}', headers=JSON)

    assert "<body>:2:2: duplicate-key" in answer.json()["why"]


@pytest.mark.parametrize(("method", "path", "unreadable"), READING)
def test_an_empty_body_is_an_empty_object(server: Server, method: str, path: str, unreadable: str) -> None:
    bare = server.ask(method, path, token=True)
    empty = server.ask(method, path, content=b"{}", headers=JSON, token=True)

    if path in APPROVING:
        assert bare.status_code == 415
    else:
        assert (bare.status_code, bare.content) == (empty.status_code, empty.content)
    assert empty.status_code == 400


@pytest.mark.parametrize(("method", "path", "unreadable"), READING)
def test_a_body_over_a_mebibyte_is_413(server: Server, method: str, path: str, unreadable: str) -> None:
    fits = b'{"a": "' + b"x" * (MAX_BODY - 9) + b'"}'
    assert len(fits) == MAX_BODY
    answers = [server.ask(method, path, content=fits + more, headers=JSON, token=True) for more in (b"", b" ")]

    if path in APPROVING:
        assert [(answer.status_code, answer.json()["refused"]) for answer in answers] == [(400, unreadable)] * 2
    else:
        assert answers[0].status_code == 400
        assert (answers[1].status_code, answers[1].json()["refused"]) == (413, "body-too-large")


@pytest.mark.parametrize("path", sorted(APPROVING))
def test_the_approval_routes_read_4096_bytes(server: Server, path: str) -> None:
    def why(size: int) -> str:
        body = json.dumps({"id": "nowhere"}).encode().ljust(size)
        answer = server.ask("POST", path, content=body, headers=JSON)
        refused: str = answer.json()["refused"]
        return refused

    assert why(4096) in ("approval-no-proposal", "approval-unknown")
    assert why(4097) == "approval-invalid-id"


def drive(server: Server, path: str, messages: list[Any], content_type: bytes = b"application/json") -> list[Any]:
    """Asks with a body that comes in these pieces, and never goes on after them."""
    sent: list[Any] = []
    waiting = iter(messages)

    async def receive() -> Any:
        for message in waiting:
            return message
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", content_type)]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(server.app(scope, receive, send))
    return sent


def piece(body: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_may_come_in_pieces(server: Server) -> None:
    text = b'{"descriptor": {"tools": [{"name": "a", "primitive": "now"}]}}'
    messages = [piece(text[at : at + 1]) for at in range(len(text))]
    sent = drive(server, "/v1/decide", [*messages, piece(b"", more=False)])

    assert sent[0]["status"] == 200
    assert json.loads(sent[1]["body"])["decision"] == "admitted"


@pytest.mark.parametrize("path", ["/v1/decide", f"{ROOT}/proposals", f"{ROOT}/approve"])
@pytest.mark.parametrize("begun", [[], [piece(b'{"a"')]])
def test_a_body_that_does_not_come_is_given_up(
    server: Server, path: str, begun: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "SECONDS", 0.0)
    sent = drive(server, path, begun)

    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["refused"] == "request-timeout"


def test_a_server_that_stops_is_not_taken_for_a_slow_body() -> None:
    async def stop() -> None:
        waiting = asyncio.create_task(bodies.in_time(asyncio.Event().wait(), "nothing"))
        await asyncio.sleep(0)
        waiting.cancel()
        await waiting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stop())


def test_a_body_without_end_is_not_read_to_the_end(server: Server) -> None:
    sent = drive(server, "/v1/decide", [piece(b" " * 65536) for _ in range(17)])

    assert sent[0]["status"] == 413


def test_nobody_is_answered_who_is_gone(server: Server) -> None:
    assert drive(server, "/v1/decide", [piece(b"{"), {"type": "http.disconnect"}]) == []
