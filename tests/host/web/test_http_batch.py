"""POST /v1/decide/batch: JSON Lines in, JSON Lines out, as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capgate
from capgate.host.web import batch, bodies
from capgate.policy.documents.source import MAX_BYTES
from web_server import Server

PATH = "/v1/decide/batch"
NDJSON = {"content-type": "application/x-ndjson"}
TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}
LAUNCHER = TIDE | {"capabilities": ["exec"]}


def line(descriptor: Any, **more: Any) -> bytes:
    return json.dumps({"descriptor": descriptor, **more}).encode() + b"\n"


def answers(text: bytes | str) -> list[Any]:
    return [json.loads(one) for one in text.splitlines()]


class Connection:
    """The two directions of a connection, in the hands of a test."""

    def __init__(self, server: Server):
        self.app = server.app
        self.out: list[Any] = []
        self.asked = 0
        self.incoming: asyncio.Queue[Any] = asyncio.Queue()
        self.may_send = asyncio.Event()
        self.may_send.set()
        self.sent = asyncio.Event()

    async def receive(self) -> Any:
        self.asked += 1
        return await self.incoming.get()

    async def send(self, message: Any) -> None:
        await self.may_send.wait()
        self.out.append(message)
        self.sent.set()

    def give(self, body: bytes, *, more: bool = True) -> None:
        self.incoming.put_nowait({"type": "http.request", "body": body, "more_body": more})

    async def answered(self) -> list[Any]:
        """Waits until something more was sent; what was sent so far."""
        await self.sent.wait()
        self.sent.clear()
        return answers(self.body())

    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.out[1:])

    def start(self) -> asyncio.Task[None]:
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/x-ndjson")]
        scope = {"type": "http", "method": "POST", "path": PATH, "query_string": b"", "headers": headers}
        return asyncio.create_task(self.app(scope, self.receive, self.send))


@pytest.mark.parametrize("content_type", batch.BATCH_TYPES)
def test_each_line_is_answered_with_its_verdict(server: Server, gate: capgate.Gate, content_type: str) -> None:
    body = line(TIDE) + line(LAUNCHER) + line(TIDE, existingTools=["tide_now"]) + line(7, placement="browser")
    answer = server.ask("POST", PATH, content=body, headers={"content-type": content_type})

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    verdicts = [
        gate.admit(TIDE),
        gate.admit(LAUNCHER),
        gate.admit(TIDE, existing_tools={"tide_now"}),
        gate.admit(7, "browser"),
    ]
    assert answers(answer.text) == [{"line": number} | verdict.to_json() for number, verdict in enumerate(verdicts, 1)]


@pytest.mark.parametrize(
    ("bad", "refused"),
    [
        (b"{", "json-syntax"),
        (b'{"descriptor": 1, "descriptor": 2}', "duplicate-key"),
        (b"\xff", "invalid-utf8"),
        (b"[]", "bad-request"),
        (b'{"descriptor": {}, "placement": "moon"}', "unknown-placement"),
        (b'{"descriptor": {}, "existingTools": 7}', "bad-tool-names"),
        (b"[" * 100_000, "document-too-deep"),
        (b"\x00", "json-syntax"),
    ],
)
def test_a_bad_line_is_answered_on_its_line_and_the_rest_goes_on(server: Server, bad: bytes, refused: str) -> None:
    answer = server.ask("POST", PATH, content=line(TIDE) + bad + b"\n" + line(TIDE), headers=NDJSON)

    first, second, third = answers(answer.text)
    assert (first["line"], first["decision"]) == (1, "admitted")
    assert (second["line"], second["ok"], second["refused"]) == (2, False, refused)
    assert second.keys() == {"line", "ok", "refused", "why", "error", "hint"}
    assert (third["line"], third["decision"]) == (3, "admitted")


def test_the_place_in_a_bad_line_is_the_place_in_the_whole(server: Server) -> None:
    answer = server.ask("POST", PATH, content=line(TIDE) + b' {"a" 1}\n', headers=NDJSON)

    assert "<batch>:2:7" in answers(answer.text)[1]["why"]


def test_blank_lines_are_counted_and_not_answered(server: Server) -> None:
    body = b"\n \t\n" + line(TIDE).rstrip() + b"\r\n\r\n" + line(TIDE).rstrip()
    answer = server.ask("POST", PATH, content=body, headers=NDJSON)

    assert [one["line"] for one in answers(answer.text)] == [3, 5]


@pytest.mark.parametrize("body", [b"", b"\n\n"])
def test_no_lines_are_no_answers(server: Server, body: bytes) -> None:
    answer = server.ask("POST", PATH, content=body, headers=NDJSON)

    assert (answer.status_code, answer.text) == (200, "")


def test_a_line_has_at_most_a_mebibyte(server: Server) -> None:
    def padded(size: int) -> bytes:
        return line(TIDE).rstrip().ljust(size)

    body = b"".join(
        padded(size) + end
        for size, end in [
            (MAX_BYTES, b"\r\n"),
            (MAX_BYTES + 1, b"\n"),
            (MAX_BYTES + 1, b"\r\n"),
            (3 * MAX_BYTES, b"\n"),
            (100, b""),
        ]
    )
    answer = server.ask("POST", PATH, content=body, headers=NDJSON)

    assert [(one["line"], one.get("refused")) for one in answers(answer.text)] == [
        (1, None),
        *((number, "body-too-large") for number in (2, 3, 4)),
        (5, None),
    ]


def test_the_end_of_a_line_that_is_too_long_is_no_line(server: Server) -> None:
    async def talk() -> list[Any]:
        connection = Connection(server)
        serving = connection.start()
        for part in (b" " * MAX_BYTES, b" " * 100, line(TIDE), line(TIDE)):
            connection.give(part)
        connection.give(b"", more=False)
        await serving
        return answers(connection.body())

    first, second = asyncio.run(talk())
    assert (first["line"], first["refused"]) == (1, "body-too-large")
    assert (second["line"], second["decision"]) == (2, "admitted")


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}, {"content-type": "text/plain"}])
def test_another_content_type_is_415(server: Server, headers: dict[str, str]) -> None:
    answer = server.ask("POST", PATH, content=line(TIDE), headers=headers)

    assert (answer.status_code, answer.json()["refused"]) == (415, "unsupported-content-type")


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    lines=st.lists(
        st.one_of(
            st.sampled_from([line(TIDE).rstrip(), line(LAUNCHER).rstrip(), b"", b" ", b"{", b"\r", b"\r\r", b"[]"]),
            st.binary(max_size=8).filter(lambda text: b"\n" not in text),
        ),
        max_size=8,
    ),
    cuts=st.lists(st.integers(0, 400), max_size=6),
    ends=st.booleans(),
)
def test_the_answers_do_not_depend_on_how_the_lines_come(lines: list[bytes], cuts: Sequence[int], ends: bool) -> None:
    body = b"\n".join(lines) + (b"\n" if ends else b"")
    places = sorted({min(cut, len(body)) for cut in cuts})
    pieces = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]

    def cut(pieces: Sequence[bytes]) -> list[Any]:
        cutting = batch._Lines()
        return [
            found for index, piece in enumerate(pieces, 1) for found in cutting.feed(piece, last=index == len(pieces))
        ]

    expected = [
        (number, one.removesuffix(b"\r"))
        for number, one in enumerate(body.split(b"\n"), 1)
        if one.removesuffix(b"\r").strip(b" \t\r\n")
    ]
    assert cut(pieces) == cut([body]) == expected


def test_answers_come_while_the_lines_still_do(server: Server) -> None:
    async def talk() -> None:
        connection = Connection(server)
        serving = connection.start()
        connection.give(line(TIDE) + line(LAUNCHER)[:20])
        await connection.sent.wait()
        assert [one["line"] for one in answers(connection.body())] in ([], [1])
        while not connection.body():
            await connection.answered()
        assert [one["line"] for one in answers(connection.body())] == [1]
        assert not serving.done()
        connection.give(line(LAUNCHER)[20:], more=False)
        await serving
        assert [one["line"] for one in answers(connection.body())] == [1, 2]

    asyncio.run(talk())


def test_nothing_more_is_read_while_the_answers_are_not(server: Server) -> None:
    async def talk() -> None:
        connection = Connection(server)
        connection.may_send.clear()
        serving = connection.start()
        for _ in range(50):
            connection.give(line(TIDE) * 500)
        connection.give(b"", more=False)
        for _ in range(2000):  # Far more turns than it would take to read all.
            await asyncio.sleep(0)
        assert connection.asked == 1
        connection.may_send.set()
        await serving
        assert len(answers(connection.body())) == 25_000

    asyncio.run(talk())


def test_others_get_their_turn_while_a_batch_is_judged(server: Server) -> None:
    async def talk() -> None:
        connection = Connection(server)
        serving = connection.start()
        connection.give(line(TIDE) * 1000, more=False)
        turns = 0
        while not serving.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns > 10

    asyncio.run(talk())


@pytest.mark.parametrize("begun", [b"", line(TIDE)])
def test_a_sender_that_pauses_is_given_up(server: Server, begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "SECONDS", 0.0)

    async def talk() -> list[Any]:
        connection = Connection(server)
        if begun:
            connection.give(begun)
        await connection.start()
        return connection.out

    out = asyncio.run(talk())
    if begun:
        # What was answered stays; the answer has no end, so nobody takes it for whole.
        assert out[0]["status"] == 200
        assert out[-1]["more_body"] is True
    else:
        assert out[0]["status"] == 408


def test_a_reader_that_never_reads_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk() -> list[Any]:
        connection = Connection(server)
        serving = connection.start()
        connection.give(line(TIDE))
        while not connection.body():
            await connection.answered()
        monkeypatch.setattr(bodies, "SECONDS", 0.0)
        connection.may_send.clear()
        connection.give(line(TIDE), more=False)
        await serving
        return connection.out

    assert asyncio.run(talk())[-1]["more_body"] is True
    assert b'id="request-timeout"' in server.shim.metrics.text()


def test_a_sender_that_goes_away_ends_it(server: Server) -> None:
    async def talk() -> list[Any]:
        connection = Connection(server)
        connection.incoming.put_nowait({"type": "http.disconnect"})
        await connection.start()
        return connection.out

    assert asyncio.run(talk()) == []


def test_every_line_is_counted(make_server: Callable[..., Server]) -> None:
    server = make_server()
    server.ask("POST", PATH, content=line(TIDE) + line(LAUNCHER) + b"{\n", headers=NDJSON)
    text = server.get("/metrics").text

    assert 'capgate_decisions_total{decision="admitted",door="batch",rule=""} 1.0' in text
    assert 'capgate_decisions_total{decision="refused",door="batch",rule="exec-absent"} 1.0' in text
    assert 'capgate_errors_total{id="json-syntax"} 1.0' in text
