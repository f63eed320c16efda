"""The routes under ``/api/extensions`` (contract 4): each parses, calls the host once, and renders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.web import approval
from capgate.host.web.answers import Answer, error_answer, json_answer
from capgate.host.web.authority import Authority
from capgate.host.web.bodies import BodyRule
from capgate.host.web.routes import Call, Operation
from capgate.host.web.shim import method_of
from capgate.policy.text import show

__all__ = ["OPERATIONS"]

_ROOT: Final = "/api/extensions"
_BODY: Final = BodyRule()
#: What of a running extension can be changed.
_CHANGEABLE: Final = ("bounds", "tools", "params")


async def inventory(call: Call) -> Answer:
    """What there is."""
    return json_answer(await call.shim.ask(call.shim.host.inventory))


async def catalogue(call: Call) -> Answer:
    """What can be sideloaded."""
    return json_answer(await call.shim.ask(call.shim.host.catalogue))


async def proposal_plan(call: Call) -> Answer:
    """The plan of what is filed."""
    return json_answer(await call.shim.ask(call.shim.host.proposal_plan, call.id))


async def catalogue_plan(call: Call) -> Answer:
    """The plan of a catalogue entry."""
    return json_answer(await call.shim.ask(call.shim.host.catalogue_plan, call.id))


async def propose(call: Call) -> Answer:
    """Files ``{descriptor}``."""
    descriptor = _object(call.body).get("descriptor")
    return json_answer(await call.shim.act(call.shim.host.propose, descriptor, actor=call.exchange.caller.actor))


async def sideload(call: Call) -> Answer:
    """Files the catalogue entry ``{id, confirm?}``."""
    body, actor = _object(call.body), call.exchange.caller.actor
    confirm = body.get("confirm") is True
    return json_answer(await call.shim.act(call.shim.host.sideload, body.get("id"), confirm=confirm, actor=actor))


async def local(call: Call) -> Answer:
    """Files ``{descriptor, admit?}`` or a bare descriptor; to admit it takes the host token."""
    body = _object(call.body)
    admit = body.get("admit")
    descriptor = body["descriptor"] if "descriptor" in body else {k: v for k, v in body.items() if k != "admit"}
    host, caller = call.shim.host, call.exchange.caller
    # What other languages take for true counts too: nobody is let pass on the form of a value.
    if admit is None or admit is False or admit in (0, ""):
        return json_answer(await call.shim.act(host.stage_local, descriptor, actor=caller.actor))
    caller.check(Authority.HOST)
    return decided(call, await call.shim.act(host.create, descriptor, actor=caller.actor))


async def admit(call: Call) -> Answer:
    """Admits or denies ``{id, confirm, decision?, planDigest?, overrideDeny?}``."""
    body = _object(call.body)
    answer = await call.shim.act(
        call.shim.host.admit,
        body.get("id"),
        confirm=body.get("confirm") is True,
        decision=body.get("decision"),
        plan_digest=body.get("planDigest"),
        override_deny=body.get("overrideDeny") is True,
        actor=call.exchange.caller.actor,
    )
    return decided(call, answer)


async def revoke(call: Call) -> Answer:
    """Stops ``{id, confirm}``."""
    body = _object(call.body)
    return await _revoke(call, body.get("id"), confirm=body.get("confirm") is True)


async def revoke_now(call: Call) -> Answer:
    """Stops the extension in the path."""
    return await _revoke(call, call.id, confirm=True)


async def _revoke(call: Call, id: object, *, confirm: bool) -> Answer:
    actor = call.exchange.caller.actor
    host = call.shim.host
    return json_answer(await call.shim.act(host.revoke, id, confirm=confirm, actor=actor, method=method_of(actor)))


async def refuse(call: Call) -> Answer:
    """Denies ``{id}``."""
    return await _deny(call, _object(call.body).get("id"))


async def refuse_now(call: Call) -> Answer:
    """Denies what the path names."""
    return await _deny(call, call.id)


async def _deny(call: Call, id: object) -> Answer:
    actor = call.exchange.caller.actor
    return json_answer(await call.shim.act(call.shim.host.deny, id, actor=actor, method=method_of(actor)))


async def reconfigure(call: Call) -> Answer:
    """Changes ``{id, bounds?, tools?, params?, confirm, planDigest?}``."""
    body = _object(call.body)
    return await _reconfigure(call, body.get("id"), body, confirm=body.get("confirm") is True)


async def reconfigure_now(call: Call) -> Answer:
    """Changes what the path names by ``{bounds?, tools?, params?, planDigest?}``."""
    try:
        return await _reconfigure(call, call.id, _object(call.body), confirm=True)
    except AdmissionError as error:
        if error.id != "extension-not-admitted":
            raise
        call.shim.metrics.failed(error.id)
        return error_answer(error, 400)  # Here, and not at POST, it is 400 (contract 4).


async def _reconfigure(call: Call, id: object, body: Mapping[str, Any], *, confirm: bool) -> Answer:
    change = {key: body[key] for key in _CHANGEABLE if key in body}
    override_deny = body.get("overrideDeny") is True
    if override_deny:
        call.exchange.caller.check(Authority.HOST)
    actor = call.exchange.caller.actor
    host, method = call.shim.host, method_of(actor)
    answer = await call.shim.act(
        host.reconfigure,
        id,
        change,
        confirm=confirm,
        plan_digest=body.get("planDigest"),
        override_deny=override_deny,
        actor=actor,
        method=method,
    )
    return json_answer(answer)


def decided(call: Call, answer: dict[str, Any]) -> Answer:
    """Counts what was decided, and answers with it."""
    if "decision" in answer:
        call.shim.metrics.decided("admit", answer.get("rule"))
    return json_answer(answer)


def _object(body: Any) -> dict[str, Any]:
    if type(body) is not dict:
        raise AdmissionError("bad-request", f"the body is {show(body)}, not an object")
    return body


OPERATIONS: Final = (
    Operation("GET", _ROOT, inventory),
    Operation("GET", f"{_ROOT}/catalogue", catalogue),
    Operation("GET", f"{_ROOT}/catalogue/{{id}}/plan", catalogue_plan),
    Operation("GET", f"{_ROOT}/proposals/{{id}}/plan", proposal_plan),
    Operation("POST", f"{_ROOT}/proposals", propose, body=_BODY._replace(unreadable="bad-descriptor")),
    Operation("POST", f"{_ROOT}/sideload", sideload, body=_BODY),
    Operation("POST", f"{_ROOT}/local", local, body=_BODY),
    Operation("POST", f"{_ROOT}/create", local, body=_BODY),
    Operation("POST", f"{_ROOT}/admit", admit, Authority.HOST, _BODY),
    *approval.OPERATIONS,
    Operation("POST", f"{_ROOT}/revoke", revoke, Authority.ROOM, _BODY),
    Operation("POST", f"{_ROOT}/refuse", refuse, Authority.ROOM, _BODY),
    Operation("POST", f"{_ROOT}/reconfigure", reconfigure, Authority.ROOM, _BODY),
    Operation("DELETE", f"{_ROOT}/{{id}}", revoke_now, Authority.ROOM),
    Operation("PATCH", f"{_ROOT}/{{id}}", reconfigure_now, Authority.ROOM, _BODY),
    Operation("POST", f"{_ROOT}/{{id}}/refuse", refuse_now, Authority.ROOM),
)
