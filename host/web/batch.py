"""``POST /v1/decide/batch``: JSON Lines in, JSON Lines out, one line at a time and never all in memory.

Nothing is read while the answers are not read, so a sender that never reads is stopped, and ended in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from starlette.types import Send

from capgate.host.admission.errors import AdmissionError
from capgate.host.web.answers import Answer, error_body, json_bytes
from capgate.host.web.bodies import BodyRule, ClientGone, check_content_type, in_time
from capgate.host.web.judging import LARGE, judge
from capgate.host.web.routes import Call
from capgate.host.web.shim import Shim
from capgate.policy.documents import load_json
from capgate.policy.documents.source import MAX_BYTES
from capgate.policy.errors import CapgateError

__all__ = ["BATCH_TYPES", "decide_batch"]

#: What JSON Lines are called; nobody registered a name.
BATCH_TYPES: Final = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines", "application/json-lines")
#: Answers are sent when so many bytes of them are there, and at the end of what has come in.
_CHUNK: Final = 64 * 1024
#: So many lines are judged before others get their turn.
_TURN: Final = 64
_HEADERS: Final = [
    (b"content-type", b"application/x-ndjson"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
_BLANK: Final = b" \t\r\n"


async def decide_batch(call: Call) -> Answer | None:
    """Answers each line that is not blank on a line of its own, in order, with the number of the line.

    A line that cannot be judged is answered with the error; the rest goes on. The answer begins with what
    came first, so an error after that ends the connection.

    Raises:
        AdmissionError: ``unsupported-content-type``.
        HttpError: ``request-timeout``: nothing came, or nothing was read, for 30 seconds.
        ClientGone: nobody is there any more.
    """
    _ = call.shim.host  # Without a policy no line is read.
    check_content_type(BodyRule(types=BATCH_TYPES, type_needed=True), call.exchange.headers)
    lines = _Lines()
    out = _Out(call)
    more = True
    while more:
        message = await in_time(call.stream.receive(), "nothing more came")
        if message["type"] != "http.request":
            raise ClientGone
        more = message.get("more_body", False)
        for count, (number, line) in enumerate(lines.feed(message.get("body", b""), last=not more), 1):
            if line is not None and len(line) > LARGE:
                answer = await call.shim.ask(_answer, number, line, call.shim)
            else:
                answer = _answer(number, line, call.shim)
            await out.write(answer)
            if count % _TURN == 0:
                await asyncio.sleep(0)
        await out.flush(last=not more)
    return None


class _Lines:
    """Cuts what comes in into lines, and keeps no more than one line of it."""

    def __init__(self) -> None:
        self._number = 0
        self._begun = bytearray()
        self._too_long = False

    def feed(self, data: bytes, *, last: bool) -> Iterator[tuple[int, bytes | None]]:
        """The lines that end in `data`: number, and bytes or None for a line that is too long."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            yield from self._take()
            start = end + 1
        self._keep(data[start:])
        if last:
            yield from self._take()

    def _keep(self, part: bytes) -> None:
        # A line may be one byte longer, for the CR of a CR LF.
        if len(self._begun) + len(part) > MAX_BYTES + 1:
            self._too_long = True
            self._begun.clear()
        if not self._too_long:
            self._begun += part

    def _take(self) -> Iterator[tuple[int, bytes | None]]:
        self._number += 1
        line = bytes(self._begun).removesuffix(b"\r")
        too_long, self._too_long = self._too_long or len(line) > MAX_BYTES, False
        self._begun.clear()
        if too_long or line.strip(_BLANK):
            yield self._number, None if too_long else line


def _answer(number: int, line: bytes | None, shim: Shim) -> bytes:
    """The answer to a line, which ends a line itself."""
    try:
        if line is None:
            raise AdmissionError("body-too-large", f"the line has more than {MAX_BYTES} bytes")
        verdict = judge(shim.host, load_json(line, "<batch>", first_line=number).data)
        shim.metrics.decided("batch", verdict.rule)
        body = shim.texts.text(verdict)
    except CapgateError as error:
        shim.metrics.failed(error.id)
        body = json_bytes(error_body(error))
    return b'{"line":%d,%s\n' % (number, body[1:])


class _Out:
    """Sends answers in pieces; the first piece begins the answer."""

    def __init__(self, call: Call):
        self._call = call
        self._send: Send = call.stream.send
        self._pieces: list[bytes] = []
        self._size = 0

    async def write(self, line: bytes) -> None:
        self._pieces.append(line)
        self._size += len(line)
        if self._size >= _CHUNK:
            await self.flush(last=False)

    async def flush(self, *, last: bool) -> None:
        if not self._pieces and not last:
            return
        if not self._call.exchange.status:
            self._call.exchange.status = 200
            await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        body = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        message = {"type": "http.response.body", "body": body, "more_body": not last}
        await in_time(self._send(message), "the answers were not read")
