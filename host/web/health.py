"""What whoever runs the host asks: whether it can decide, what it counts, and what it answers."""

from __future__ import annotations

from typing import Final

from capgate import __version__
from capgate.host.web.answers import Answer, json_answer
from capgate.host.web.metrics import CONTENT_TYPE
from capgate.host.web.openapi import description
from capgate.host.web.routes import Call, Operation

__all__ = ["OPERATIONS"]


async def health(call: Call) -> Answer:
    """200 where there is a policy to decide by, else 503 with what is wrong with it."""
    problems = call.shim.problems
    if problems is not None:
        policy = {"fingerprint": None, "problems": [problem.to_json() for problem in problems.problems]}
        return json_answer({"ok": False, "policy": policy, "version": __version__}, 503)
    fingerprint = call.shim.host.gate.fingerprint
    return json_answer({"ok": True, "policy": {"fingerprint": fingerprint}, "version": __version__})


async def metrics(call: Call) -> Answer:
    """The counters, as Prometheus reads them."""
    return Answer(200, call.shim.metrics.text(), CONTENT_TYPE)


async def openapi(call: Call) -> Answer:
    """The description of all routes."""
    return Answer(200, description())


OPERATIONS: Final = (
    Operation("GET", "/api/health", health, open=True),
    Operation("GET", "/metrics", metrics),
    Operation("GET", "/openapi.json", openapi),
)
