"""Servers that mean harm: too much, too slow, broken off, or not HTTP at all (contract 11.15)."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.mediation.deadline import Deadline
from capgate.host.mediation.guarded import guard
from capgate.host.mediation.network import NetworkSettings
from capgate.plugins.api import Refused, Response
from host_samples import Clock
from network_samples import Names, Script, Server, Session, Wire, answer, says, serving, session

LIMIT = 10_000
#: Seconds that are waited for nothing.
SHORT = 0.3
HEAD = b"HTTP/1.1 200 OK\r\n"


def small(seconds: float = 30.0, limit: int = LIMIT) -> Session:
    return session(settings=NetworkSettings(max_bytes=limit, seconds=seconds))


def outcome(script: Script, *, seconds: float = 30.0, limit: int = LIMIT) -> str | bytes:
    """The id of the refusal, or the content."""
    with serving(script) as server:
        found = small(seconds, limit).get(f"{server.url}/x")
    assert isinstance(found, Refused | Response)
    return found.id if isinstance(found, Refused) else found.body


def forever(connection: socket.socket, piece: bytes) -> None:
    """Sends until the other side goes away."""
    while True:
        connection.sendall(piece)


# Too much


@pytest.mark.parametrize("size", [0, 1, LIMIT - 1, LIMIT])
@pytest.mark.parametrize("framing", ["length", "chunks", "end"])
def test_what_is_within_the_cap_arrives_whole(size: int, framing: str) -> None:
    body = bytes(index % 251 for index in range(size))
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(part), part) for at in range(0, size, 1000) if (part := body[at : at + 1000])
    )
    raw = {
        "length": answer(body),
        "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
        "end": HEAD + b"\r\n" + body,
    }[framing]

    assert outcome(says(raw)) == body


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 99999999999\r\n\r\n", b"\r\n", b"Content-Length: x\r\n\r\n", b"Content-Length: -5\r\n\r\n"],
)
def test_a_body_without_end_is_over_budget(head: bytes) -> None:
    def script(path: str, connection: socket.socket) -> None:
        connection.sendall(HEAD + head)
        forever(connection, b"x" * 4096)

    assert outcome(script) == "over-budget"


@pytest.mark.parametrize("piece", [b"400\r\n" + b"x" * 1024 + b"\r\n", b"1\r\nx\r\n" * 100])
def test_chunks_without_end_are_over_budget(piece: bytes) -> None:
    def script(path: str, connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        forever(connection, piece)

    assert outcome(script) == "over-budget"


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
        (b"", b"HTTP/1.1 100 Continue\r\nX: " + b"x" * 1000 + b"\r\n\r\n"),
        (HEAD, b"X-Long: " + b"x" * 60_000 + b"\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: x\r\n" * 100),
    ],
)
def test_what_surrounds_a_body_counts_too(start: bytes, piece: bytes) -> None:
    def script(path: str, connection: socket.socket) -> None:
        connection.sendall(start)
        forever(connection, piece)

    assert outcome(script) == "over-budget"


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"HTTP/1.1 200 ", b"x" * 4096),
        (b"", b"x" * 4096),
        (HEAD + b"X: ", b"x" * 4096),
        (HEAD, b"X: x\r\n" * 100),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1" * 4096),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 4096),
    ],
)
def test_a_line_without_end_and_headers_without_end_are_refused(start: bytes, piece: bytes) -> None:
    def script(path: str, connection: socket.socket) -> None:
        connection.sendall(start)
        forever(connection, piece)

    assert outcome(script, limit=1 << 20) == "fetch-failed"


# Broken off


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"H", b"HTTP/1.1 200 OK", b"HTTP/1.1", b"HTTP/1.1 \r\n\r\n", b"HTTP/1.1 x OK\r\n\r\n",
        b"HTTP/1.1 99 OK\r\n\r\n", b"HTTP/1.1 1000 OK\r\n\r\n", b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/x 200 OK\r\n\r\n",
        b"\x16\x03\x01\x02\x00", b"\0" * 100, b"SSH-2.0-OpenSSH\r\n", b"<html>", b"200 OK\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        HEAD + b"Content-Length: 10\r\n\r\nshort",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nx\r\nabc",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n\r\n",
    ],
)  # fmt: skip
def test_an_answer_that_breaks_off_or_is_no_http_fails(raw: bytes) -> None:
    found = outcome(says(raw))

    assert found == "fetch-failed"


def test_a_refusal_repeats_nothing_of_what_the_server_sent() -> None:
    with serving(says(b"HTTP/1.1 geheim OK\r\n\r\n")) as server:
        refused = small().get(f"{server.url}/?token=geheim")

    assert isinstance(refused, Refused)
    assert refused.why == f"127.0.0.1:{server.port} gave no answer that is HTTP"


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    st.binary(max_size=300)
    | st.tuples(st.sampled_from([HEAD, b"HTTP/1.1 302 Found\r\n"]), st.binary(max_size=200)).map(b"".join)
    | st.lists(
        st.sampled_from(
            [b"Location: ", b"Content-Encoding: ", b"Transfer-Encoding: chunked", b"Content-Type: ", b"\r\n",
             b"\r\n\r\n", b"Set-Cookie: a=b; expires=x", b"\xff", b"\0", b"5\r\n", b"gzip",
             b"=?utf-8?q?x?=", b";charset=", b" folded"]
        )
    ).map(lambda parts: HEAD + b"".join(parts))
)  # fmt: skip
def test_no_answer_ends_in_anything_but_a_response_or_a_refusal(raw: bytes) -> None:
    near, far = socket.socketpair()

    class Pair(Wire):
        def dial(self, address: str, port: int, seconds: float) -> socket.socket:
            return near

    with far:
        far.sendall(raw)
        far.shutdown(socket.SHUT_WR)
        found = session(most=1, dialer=Pair()).get("http://127.0.0.1/")
    assert isinstance(found, Refused | Response)


# Too slow


@pytest.fixture
def idle() -> Iterator[Server]:
    """A server that says a bit and then nothing for as long as the client waits."""
    with serving(
        lambda path, connection: (connection.sendall(bytes.fromhex(path[1:])), connection.recv(1))[0]
    ) as server:
        yield server


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 ", HEAD, HEAD + b"\r\n", HEAD + b"Content-Length: 9\r\n\r\nabc"])
def test_a_server_that_falls_silent_is_left_at_the_deadline(idle: Server, said: bytes) -> None:
    refused = small(SHORT).get(f"{idle.url}/{said.hex()}")

    assert isinstance(refused, Refused)
    assert (refused.id, refused.why) == ("time-exceeded", f"127.0.0.1:{idle.port} took more than 300 ms")


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 ", HEAD + b"X: ", HEAD + b"\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n"]
)
def test_drops_that_never_stop_do_not_move_the_deadline(start: bytes) -> None:
    gone = threading.Event()

    def script(path: str, connection: socket.socket) -> None:
        try:
            connection.sendall(start)
            while not gone.wait(0.02):
                connection.sendall(b"1")
        finally:
            gone.set()

    began = time.monotonic()
    assert outcome(script, seconds=SHORT) == "time-exceeded"
    assert SHORT * 0.9 <= time.monotonic() - began < SHORT + 10


def test_all_hops_share_one_deadline() -> None:
    clock = Clock()

    def script(path: str, connection: socket.socket) -> None:
        clock.time += 2
        connection.sendall(answer(status=302, Location=f"{path}x"))

    with serving(script) as server:
        one = session(clock=clock)
        refused = one.get(f"{server.url}/")

    assert isinstance(refused, Refused)
    assert (refused.id, refused.why) == ("time-exceeded", f"127.0.0.1:{server.port} took more than 5000 ms")
    assert len(server.requests) == 3


def test_the_look_up_and_the_dialling_are_given_what_is_left() -> None:
    clock, given_to = Clock(), []

    class Slow(Names):
        def resolve(self, name: str, seconds: float) -> tuple[str, ...]:
            given_to.append(seconds)
            clock.time += 2
            return ("8.8.8.8", "8.8.4.4")

    class Slower(Wire):
        def dial(self, address: str, port: int, seconds: float) -> socket.socket:
            given_to.append(seconds)
            clock.time += seconds
            raise TimeoutError("timed out")

    one = session(["a.test"], clock=clock, resolver=Slow(), dialer=Slower())

    assert one.refusal("http://a.test/") == "time-exceeded"
    assert given_to == [5.0, 1.5, 1.5]


def test_after_the_deadline_nothing_is_sent_or_read() -> None:
    clock = Clock()
    near, far = socket.socketpair()
    with far, guard(near, None, "a.test", Deadline(clock, 5), 100) as guarded:
        clock.time += 5
        for act in (lambda: guarded.send(b"x"), lambda: guarded.recv_into(bytearray(1))):
            with pytest.raises(TimeoutError, match="5 seconds have passed"):
                act()
        far.setblocking(False)
        with pytest.raises(BlockingIOError):
            far.recv(1)


def test_a_body_that_nobody_reads_does_not_hold_the_sender() -> None:
    over = threading.Event()

    def unread(plain: socket.socket) -> socket.socket:
        over.wait(60)
        return plain

    with serving(says(), wrap=unread) as server:
        with pytest.raises(Refused) as raised:
            small(SHORT).fetch.request("POST", f"{server.url}/x", body=bytes(50_000_000))
        over.set()

    assert raised.value.id == "time-exceeded"
