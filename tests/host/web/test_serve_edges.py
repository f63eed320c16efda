"""The edges of HTTP: headers that do not come or do not end, what is no HTTP, large bodies, streams."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import httpx
import pytest

from served import PATIENCE, Served, answer_of, one_answer

TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}


def limited(**limits: float) -> str:
    """A server with other limits on headers."""
    lines = [f"protocol.{name} = {value}" for name, value in limits.items()]
    before = ["import sys", "import capgate.host.web.protocol as protocol"]
    return "\n".join([*before, *lines, "from capgate.host.cli.main import main", "sys.exit(main())"])


@pytest.mark.parametrize("begun", [b"", b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n", b"GET"])
def test_headers_that_do_not_come_end_the_connection(serve: Callable[..., Served], begun: bytes) -> None:
    served = serve(code=limited(HEADER_SECONDS=0.1))
    served.start()
    with served.connect() as connection:
        connection.sendall(begun)
        assert answer_of(connection) == b""


def test_headers_of_a_second_request_have_to_come_too(serve: Callable[..., Served]) -> None:
    served = serve(code=limited(HEADER_SECONDS=0.2))
    served.start()
    request = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with served.connect() as connection:
        connection.sendall(request)
        assert one_answer(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(request[:20])
        assert answer_of(connection) == b""


def test_an_idle_connection_may_stay(serve: Callable[..., Served]) -> None:
    served = serve(code=limited(HEADER_SECONDS=0.2))
    served.start()
    request = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    slow = served.connect()
    with served.connect() as connection:
        connection.sendall(request)
        assert one_answer(connection).startswith(b"HTTP/1.1 200")
        assert answer_of(slow) == b""  # So long it took for another to be given up.
        slow.close()
        connection.sendall(request)
        assert one_answer(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("endless", [b"x: " + b"y" * 200_000, b"a: b\r\n" * 40_000, b""])
def test_headers_without_end_are_431(serve: Callable[..., Served], endless: bytes) -> None:
    served = serve()
    served.start()
    begin = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n" if endless else b"GET /" + b"x" * 200_000
    with served.connect() as connection:
        try:
            connection.sendall(begin + endless)
            answer = answer_of(connection)
        except ConnectionError:
            answer = b"HTTP/1.1 431"  # It was closed while we still sent.
    assert answer.startswith(b"HTTP/1.1 431")
    assert httpx.get(f"{served.address}/api/health").status_code == 200


@pytest.mark.parametrize(
    "request_line", [b"nonsense", b"GET  HTTP/1.1", b"GET /api/health HTTP/9.9", b"GET http://[ HTTP/1.1"]
)
def test_what_is_no_http_is_400(serve: Callable[..., Served], request_line: bytes) -> None:
    served = serve()
    served.start()
    with served.connect() as connection:
        connection.sendall(request_line + b"\r\nhost: localhost\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 400")
    assert served.errors() == ""


def test_two_lengths_of_one_body_are_no_http(serve: Callable[..., Served]) -> None:
    served = serve()
    served.start()
    for lengths in (b"content-length: 2\r\ncontent-length: 3", b"content-length: 2\r\ntransfer-encoding: chunked"):
        with served.connect() as connection:
            head = b"POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            connection.sendall(head + lengths + b"\r\n\r\n{}")
            assert answer_of(connection).startswith(b"HTTP/1.1 400")


def test_a_large_body_gets_its_answer(serve: Callable[..., Served]) -> None:
    served = serve()
    address = served.start()
    answer = httpx.post(
        f"{address}/v1/decide", content=b" " * 5_000_000, headers={"content-type": "application/json"}, timeout=PATIENCE
    )
    assert answer.status_code == 413
    refused = httpx.post(
        f"{address}/api/extensions/admit", content=b" " * 5_000_000, headers={"content-type": "application/json"}
    )
    assert refused.status_code == 403


def test_a_batch_streams_both_ways(serve: Callable[..., Served]) -> None:
    served = serve()
    served.start()
    line = json.dumps({"descriptor": TIDE}).encode() + b"\n"
    with served.connect() as connection:
        connection.sendall(
            b"POST /v1/decide/batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
            b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        )
        seen = b""
        for number in range(1, 4):
            connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            while b'{"line":%d,' % number not in seen:
                seen += connection.recv(65536)
        connection.sendall(b"0\r\n\r\n")
        seen += answer_of(connection)
    assert seen.endswith(b"0\r\n\r\n")
    assert seen.count(b'"decision":"admitted"') == 3


def test_trailers_say_nothing(serve: Callable[..., Served]) -> None:
    served = serve()
    served.start()
    head = (
        b"POST /api/extensions/admit HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    )
    trailers = f"x-voicebox-host-token: {served.token}\r\ncontent-type: application/json\r\n\r\n".encode()
    with served.connect() as connection:
        connection.sendall(head + trailers)
        assert one_answer(connection).startswith(b"HTTP/1.1 403")


def ended(connection: socket.socket) -> bool:
    """Sends a little more of a body; says whether the other side is done."""
    try:
        connection.sendall(b"1\r\nx\r\n")
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_body_that_never_ends_does_not_hold_an_answered_connection(serve: Callable[..., Served]) -> None:
    served = serve(code=limited(REST_SECONDS=0.1))
    served.start()
    request = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    with served.connect() as connection:
        connection.sendall(request)
        assert one_answer(connection).startswith(b"HTTP/1.1 200")
        connection.settimeout(0.05)
        # A byte now and then keeps a connection from being idle.
        assert any(ended(connection) for _ in range(100))


def test_a_large_descriptor_is_judged_while_others_are_answered(serve: Callable[..., Served]) -> None:
    served = serve()
    address = served.start()
    hosts = [f"é{number}.test" for number in range(3000)]
    descriptor = {"id": "a", "capabilities": ["network"], "bounds": {"hosts": hosts, "maxRequests": 1}, "tools": []}
    for request in ({"descriptor": descriptor}, {"descriptor": TIDE}):
        answer = httpx.post(f"{address}/v1/decide", json=request, timeout=PATIENCE)
        assert answer.json()["decision"] == ("admitted" if request["descriptor"] is TIDE else "refused")
    lines = f"{json.dumps({'descriptor': descriptor})}\n{json.dumps({'descriptor': TIDE})}\n"
    headers = {"content-type": "application/x-ndjson"}
    answers = httpx.post(f"{address}/v1/decide/batch", content=lines, headers=headers, timeout=PATIENCE).text
    assert [json.loads(line)["line"] for line in answers.splitlines()] == [1, 2]
