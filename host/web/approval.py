"""The two routes of approval codes (contract 5)."""

from __future__ import annotations

from typing import Any, Final

from capgate.host.admission.approvals import approval_id
from capgate.host.web.answers import Answer, json_answer
from capgate.host.web.bodies import BodyRule
from capgate.host.web.routes import Call, Operation

__all__ = ["OPERATIONS"]

#: Whatever cannot be read has no id in it (contract 5, checks 1 to 3).
_BODY: Final = BodyRule(
    cap=4096, wrong_type="approval-json-required", unreadable="approval-invalid-id", own_cap=True, type_needed=True
)


async def request_approval(call: Call) -> Answer:
    """Prints a code for the plan of ``{id}`` on the host's console."""
    id = approval_id(_field(call.body, "id"))
    return json_answer(await call.shim.act(call.shim.host.request_approval, id))


async def approve(call: Call) -> Answer:
    """Admits ``{id, requestId, code}``; whoever holds the host token needs no code, and nobody else (contract 11.1)."""
    body, caller, host = call.body, call.exchange.caller, call.shim.host
    id = approval_id(_field(body, "id"))
    request, code = _field(body, "requestId"), _field(body, "code")
    if request is None and code is None and caller.is_host:
        answer = await call.shim.act(host.approve_directly, id, actor=caller.actor)
    else:
        answer = await call.shim.act(host.approve, id, request, code)
    if "decision" in answer:
        call.shim.metrics.decided("admit", answer.get("rule"))
    return json_answer(answer, 200 if answer.get("ok") else 403)


def _field(body: Any, name: str) -> Any:
    return body.get(name) if type(body) is dict else None


OPERATIONS: Final = (
    Operation("POST", "/api/extensions/approval-request", request_approval, body=_BODY),
    Operation("POST", "/api/extensions/approve", approve, body=_BODY),
)
