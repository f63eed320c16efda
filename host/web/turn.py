"""``POST /api/turn`` and the calls of live model APIs: actions in, results out (contract 4 and 11.29)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.store import Actor
from capgate.host.calls.declarations import FORMATS
from capgate.host.calls.errors import ToolError, refusal
from capgate.host.calls.tools import COMMANDS
from capgate.host.web.answers import Answer, HttpError, json_answer
from capgate.host.web.authority import Authority
from capgate.host.web.bodies import BodyRule
from capgate.host.web.routes import Call, Operation
from capgate.host.web.shim import Shim
from capgate.host.web.speech import action_of
from capgate.policy.documents import DocumentError, load_json
from capgate.policy.text import show

__all__ = ["OPERATIONS"]

_MODEL: Final = Actor("model", "turn")


async def turn(call: Call) -> Answer:
    """Does what ``{transcript}`` or ``{action: {verb, ...}}`` asks for."""
    body = call.body if type(call.body) is dict else {}
    transcript, action = body.get("transcript"), body.get("action")
    if action is not None:
        action = _command(action)
    elif type(transcript) is str and transcript.strip():
        action = action_of(transcript)
    else:
        raise AdmissionError("bad-request", "neither a transcript nor an action was sent")
    result = await call.shim.call(_done, call.shim, action, _MODEL)
    said = transcript if type(transcript) is str else None
    return json_answer({"transcript": said, "action": action, "result": result})


def _command(action: object) -> dict[str, Any]:
    """The action that was sent, if its verb is one of the host's own tools."""
    verb = action.get("verb") if isinstance(action, dict) else None
    if not isinstance(action, dict) or verb not in COMMANDS.values():
        raise HttpError("unknown-command", f"there is no command {show(verb)}")
    rest = {key: value for key, value in action.items() if key not in ("verb", "name", "args")}
    return {"verb": verb, "name": action.get("name"), "args": action.get("args", rest)}


def _done(shim: Shim, action: dict[str, Any] | None, actor: Actor) -> dict[str, Any]:
    """What comes of an action."""
    if action is None:
        return refusal(ToolError("not-understood", "the script resolver does not know this sentence"))
    return _VERBS[action["verb"]](shim, action["name"], action.get("args"), actor)


def _list(shim: Shim, name: Any, args: Any, actor: Actor) -> dict[str, Any]:
    return shim.tools.list_extensions()


def _extension(shim: Shim, name: Any, args: Any, actor: Actor) -> dict[str, Any]:
    return shim.tools.call_tool(name, args, actor=actor)


def _propose(shim: Shim, name: Any, args: Any, actor: Actor) -> dict[str, Any]:
    named = {"name": name} if name and isinstance(args, dict) and "name" not in args else {}
    return shim.tools.propose_extension({**args, **named} if isinstance(args, dict) else args, actor=actor)


def _make(shim: Shim, name: Any, args: Any, actor: Actor) -> dict[str, Any]:
    try:
        filed = shim.host.propose(args["descriptor"], actor=actor)
    except AdmissionError as error:
        return refusal(error)
    id = filed["id"]
    return {"ok": True, "action": f"proposed tool '{id}'", "id": id, "state": filed["state"], "note": filed["note"]}


def _create_file(shim: Shim, name: Any, args: Any, actor: Actor) -> dict[str, Any]:
    return shim.tools.create_file(name, args["content"], actor=actor)


#: What each verb does.
_VERBS: Final[dict[str, Callable[[Shim, Any, Any, Actor], dict[str, Any]]]] = {
    "extensions": _list,
    "extension": _extension,
    "propose_extension": _propose,
    "make_tool": _make,
    "create_file": _create_file,
}


async def native(call: Call) -> Answer:
    """Takes a function call as a live API sends it, and answers as that API takes a result."""
    form = call.parameter("format")
    answer = _NATIVE.get(form or "")
    if answer is None:
        raise HttpError("unknown-format", f"the format is {show(form)}")
    actor = Actor("model", f"{form}-live", call.exchange.caller.actor.session)
    return json_answer(await call.shim.call(answer, call.shim, call.body, actor))


async def declarations(call: Call) -> Answer:
    """The tools, as an API wants them declared."""
    form = call.parameter("format")
    if form is None or form not in FORMATS:
        raise HttpError("unknown-format", f"the format is {show(form)}")
    return json_answer(await call.shim.ask(call.shim.tools.declared, form))


def _openai(shim: Shim, body: Any, actor: Actor) -> dict[str, Any]:
    is_call = type(body) is dict and body.get("type") == "function_call"
    if not is_call or type(body.get("call_id")) is not str or type(body.get("arguments")) is not str:
        raise AdmissionError("bad-request", "the body is no function_call with call_id, name and arguments")
    try:
        args = load_json(body["arguments"].encode() or b"{}", "<arguments>").data
        result = _called(shim, body.get("name"), args, actor)
    except DocumentError as error:
        result = refusal(ToolError("invalid-argument", f"the arguments are not strict JSON: {error.message}"))
    output = json.dumps(result, ensure_ascii=False)
    return {"type": "function_call_output", "call_id": body["call_id"], "output": output}


def _gemini(shim: Shim, body: Any, actor: Actor) -> dict[str, Any]:
    calls = body.get("functionCalls") if type(body) is dict else None
    if type(calls) is not list or not all(type(one) is dict for one in calls):
        raise AdmissionError("bad-request", "the body has no functionCalls: a list of objects")
    responses = []
    for one in calls:
        name = one.get("name")
        response = _called(shim, name, one.get("args"), actor)
        responses.append({"id": one.get("id"), "name": name, "response": response})
    return {"functionResponses": responses}


def _called(shim: Shim, name: object, args: object, actor: Actor) -> dict[str, Any]:
    """The result of a call; what is neither a command nor a tool is an unknown command to these APIs (contract 9)."""
    result = shim.tools.call(name, args, actor=actor)
    if name != "call_extension" and result.get("refused") == "unknown-tool":
        return result | {"refused": "unknown-command"}
    return result


#: What answers in the form of each live API.
_NATIVE: Final[dict[str, Callable[[Shim, Any, Actor], dict[str, Any]]]] = {"openai": _openai, "gemini": _gemini}

OPERATIONS: Final = (
    Operation("POST", "/api/turn", turn, body=BodyRule()),
    Operation("GET", "/api/extensions/tools", declarations),
    Operation("POST", "/api/extensions/tools/call", native, Authority.ROOM, BodyRule()),
)
