"""``POST /v1/decide``: one descriptor, one verdict. The small ones take microseconds, in the event loop."""

from __future__ import annotations

from typing import Final

from capgate.host.web import batch
from capgate.host.web.answers import Answer
from capgate.host.web.bodies import BodyRule
from capgate.host.web.judging import LARGE, judge
from capgate.host.web.routes import Call, Operation

__all__ = ["OPERATIONS"]


async def decide(call: Call) -> Answer:
    """Answers with the verdict, whether it admits or refuses."""
    length = call.exchange.headers.get(b"content-length", b"")
    if length.isdigit() and int(length) <= LARGE:
        verdict = judge(call.shim.host, call.body)
    else:
        verdict = await call.shim.ask(judge, call.shim.host, call.body)
    call.shim.metrics.decided("decide", verdict.rule)
    return Answer(200, call.shim.texts.text(verdict))


OPERATIONS: Final = (
    Operation("POST", "/v1/decide", decide, body=BodyRule()),
    Operation("POST", "/v1/decide/batch", batch.decide_batch),
)
