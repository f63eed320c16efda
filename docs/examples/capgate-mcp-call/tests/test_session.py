"""The protocol, with a server that a test writes: what is sent, and what hostile answers come to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from capgate_mcp_call.plugin import mcp_call
from capgate_mcp_call.session import MOST_PAGES

from capgate.plugins.api import Call, Given, Refused, Response

URL = "https://tides.example.com/mcp"
HELLO = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "tides", "version": "2"}}
JSON = {"content-type": "application/json; charset=utf-8"}
EVENTS = {"content-type": "text/event-stream"}


def events(*messages: Any) -> bytes:
    return b"".join(b"event: message\r\ndata: %s\r\n\r\n" % json.dumps(message).encode() for message in messages)


class Server:
    """Answers a request with the next of what a test lays out: a result, or a whole answer."""

    def __init__(self, *answers: Any):
        self.answers = list(answers)
        self.sent: list[tuple[dict[str, Any], dict[str, str], Mapping[str, str]]] = []

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        secret_headers: Mapping[str, str],
    ) -> Response:
        message = json.loads(body)
        assert (method, url, message["jsonrpc"]) == ("POST", URL, "2.0")
        self.sent.append((message, dict(headers), secret_headers))
        used = f"{len(self.sent)}/30"
        if "id" not in message:
            return Response(202, "tides.example.com", "", (url,), used, {}, b"")
        answer = self.answers.pop(0)
        if isinstance(answer, dict):
            answer = (200, JSON, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}).encode())
        status, made, content = answer
        return Response(status, "tides.example.com", "", (url,), used, made, content)

    def call(self, tool: str | None = "next_tide", said: Mapping[str, str] | None = None, **params: Any) -> Any:
        """What a call comes to; of a refusal, its id."""
        pinned = {} if tool is None else {"tool": tool}
        call = Call("tide", said or {}, {"url": URL, **pinned, **params})
        try:
            return mcp_call(call, Given({"network": self}))
        except Refused as refused:
            return refused.id


def test_a_call_agrees_on_a_session_and_keeps_to_it() -> None:
    hello = (200, JSON | {"mcp-session-id": "s1"}, json.dumps({"id": 1, "result": HELLO}).encode())
    server = Server(hello, {"content": [{"type": "text", "text": "06:12"}], "structuredContent": {"at": "06:12"}})
    result = server.call(said={"arguments": '{"harbour": "Oban"}'}, headers={"Authorization": "$TOKEN"})

    assert result == {
        "server": {"name": "tides", "version": "2"},
        "tool": "next_tide",
        "content": [{"type": "text", "text": "06:12"}],
        "structuredContent": {"at": "06:12"},
        "isError": False,
        "request": "3/30",
    }
    assert [message["method"] for message, _, _ in server.sent] == [
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]
    assert server.sent[2][0]["params"] == {"name": "next_tide", "arguments": {"harbour": "Oban"}}
    assert [headers.get("mcp-session-id") for _, headers, _ in server.sent] == [None, "s1", "s1"]
    assert [headers.get("mcp-protocol-version") for _, headers, _ in server.sent] == [None, "2025-06-18", "2025-06-18"]
    assert all(secrets == {"Authorization": "$TOKEN"} for _, _, secrets in server.sent)
    assert "TOKEN" not in str([(message, headers) for message, headers, _ in server.sent])


def test_an_answer_may_come_in_a_stream_after_other_messages() -> None:
    other = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "sampling/createMessage", "params": {}}
    answer = {"jsonrpc": "2.0", "id": 2, "result": {"content": [], "isError": True}}
    stream = b": hello\r\n\r\nid: 7\ndata:\n\n" + events(other, asked, answer | {"id": 9}, answer) + b"data: {cut off"
    server = Server(HELLO, (200, EVENTS, stream))

    assert server.call()["isError"] is True


def test_data_of_one_event_may_stand_on_several_lines() -> None:
    server = Server(HELLO, (200, EVENTS, b'\xef\xbb\xbfdata: {"id": 2,\ndata: "result": {"content": []}}\n\n'))
    assert server.call()["content"] == []


def test_tools_are_listed_page_by_page() -> None:
    tool = {"name": "next_tide", "description": "When", "inputSchema": {"type": "object"}, "annotations": {"x": 1}}
    server = Server(HELLO, {"tools": [tool], "nextCursor": "2"}, {"tools": []})
    result = server.call("*")

    assert result["tools"] == [{"name": "next_tide", "description": "When", "inputSchema": {"type": "object"}}]
    assert [message["params"] for message, _, _ in server.sent[2:]] == [{}, {"cursor": "2"}]
    assert result["request"] == "4/30"


def test_a_list_without_end_is_read_for_so_many_pages() -> None:
    server = Server(HELLO, *({"tools": [{"name": str(page)}], "nextCursor": "x"} for page in range(99)))
    assert len(server.call("*")["tools"]) == MOST_PAGES


@pytest.mark.parametrize(
    ("pinned", "said", "called"),
    [
        ("next_tide", {}, "next_tide"),
        ("next_tide", {"tool": "next_tide"}, "next_tide"),
        ("next_tide", {"tool": "delete_all"}, "tool-not-allowed"),
        ("*", {"tool": "delete_all"}, "delete_all"),
        (None, {"tool": "delete_all"}, "delete_all"),
    ],
)
def test_only_the_tool_that_was_admitted_is_called(pinned: str | None, said: dict[str, str], called: str) -> None:
    server = Server(HELLO, {"content": []})
    result = server.call(pinned, said)

    assert (result if isinstance(result, str) else result["tool"]) == called
    assert (server.sent == []) is (called == "tool-not-allowed")


def test_where_it_leads_is_for_the_descriptor_to_say() -> None:
    server = Server(HELLO, {"content": []})
    server.call(said={"url": "https://elsewhere.test", "headers": "x"})
    assert len(server.sent) == 3  # All to URL, as the server asserts.


@pytest.mark.parametrize("arguments", ["nonsense", "[]", "7", "[" * 100_000])
def test_arguments_are_an_object(arguments: str) -> None:
    server = Server()
    assert server.call(said={"arguments": arguments}) == "invalid-argument"
    assert server.sent == []


def said(message: Any) -> tuple[int, dict[str, str], bytes]:
    return 200, JSON, json.dumps(message).encode()


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ((401, JSON, b"{}"), "mcp-unavailable"),
        ((404, {}, b""), "mcp-unavailable"),
        ((500, JSON, b'{"id": 2, "result": {}}'), "mcp-unavailable"),
        ((202, {}, b""), "mcp-malformed"),
        ((200, {"content-type": "text/html"}, b"<p>"), "mcp-malformed"),
        ((200, JSON, b""), "mcp-malformed"),
        ((200, JSON, b"\xff\xfe"), "mcp-malformed"),
        ((200, JSON, b"[]"), "mcp-malformed"),
        ((200, JSON, b'{"id": 2, "result": {"content": [NaN]}}'), "mcp-malformed"),
        ((200, JSON, b'{"a":' * 100_000), "mcp-malformed"),
        ((200, EVENTS, b""), "mcp-malformed"),
        ((200, EVENTS, b"data: nonsense\n\n"), "mcp-malformed"),
        ((200, EVENTS, b'data: {"id": 2, "result": {}}'), "mcp-malformed"),
        (said({"id": 3, "result": {"content": []}}), "mcp-malformed"),
        (said({"id": 2}), "mcp-malformed"),
        (said({"id": 2, "result": []}), "mcp-malformed"),
        (said({"id": 2, "error": "no"}), "mcp-malformed"),
        (said({"id": 2, "error": {"code": "x"}}), "mcp-malformed"),
        (said({"id": 2, "result": {"content": "text"}}), "mcp-malformed"),
        (said({"id": 2, "error": {"code": -32602, "message": "no such tool"}}), "mcp-error"),
    ],
)
def test_what_is_no_answer_is_refused_by_name(answer: Any, refused: str) -> None:
    assert Server(HELLO, answer).call() == refused


@pytest.mark.parametrize("version", [None, 7, "2024-11-05", "2099-01-01", ["2025-06-18"]])
def test_another_version_of_the_protocol_is_refused(version: Any) -> None:
    assert Server({"protocolVersion": version}).call() == "mcp-version"


@pytest.mark.parametrize("tools", [None, {}, [7], "x"])
def test_a_list_that_is_none_is_refused(tools: Any) -> None:
    assert Server(HELLO, {"tools": tools}).call("*") == "mcp-malformed"


def test_an_error_tells_what_the_server_said_and_no_more_than_that() -> None:
    server = Server(HELLO, said({"id": 2, "error": {"code": -1, "message": "x" * 9000, "data": "y"}}))
    with pytest.raises(Refused) as caught:
        mcp_call(Call("tide", {}, {"url": URL, "tool": "a"}), Given({"network": server}))

    assert caught.value.why == "tides.example.com answered with the error -1"
    assert caught.value.details == {"code": -1, "message": "x" * 500, "request": "3/30"}
