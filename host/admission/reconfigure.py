"""Changing what runs: its bounds, its tools, their params. The gate judges the result (contract 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from capgate.host.admission.context import Context, Subject, Turn
from capgate.host.admission.errors import AdmissionError, GateRefused
from capgate.host.admission.identity import stem
from capgate.host.admission.records import HOST_DENY, OVERRIDE, descriptor_text
from capgate.host.admission.registry import PLACEMENT, Extension, Registry
from capgate.host.admission.staging import settle
from capgate.host.admission.store import Actor, NewEntry
from capgate.policy.documents import DocumentError, canonical, load_json
from capgate.policy.text import show
from capgate.policy.verdict import content_digest, submitted

__all__ = ["reconfigure"]

_COUNTS: Final = ("maxRequests", "maxBytes")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})(?:[eE][+-]?[0-9]{1,3})?")
_PREFIXED: Final = re.compile(r"0(?:[xX][0-9A-Fa-f]{1,14}|[oO][0-7]{1,18}|[bB][01]{1,54})")


def reconfigure(
    context: Context,
    id: object,
    change: Mapping[str, Any],
    *,
    confirm: bool,
    plan_digest: object = None,
    override_deny: bool = False,
    actor: Actor,
    method: str,
) -> dict[str, Any]:
    """Changes an extension that runs, once that is confirmed.

    Args:
        context: the host.
        id: which.
        change: ``bounds`` to merge into its bounds, ``tools`` to take the place of its tools, ``params``
            (name of a tool to params) to merge into theirs. Other keys are not looked at.
        confirm: False only shows what it would mean: its ``plan`` is that of what would run.
        plan_digest: the plan that was read; another one now is an error. None checks nothing.
        override_deny: let a result run that the host denied before (contract 11.8); for the host alone.
        actor: who decides.
        method: by what authority.

    Raises:
        AdmissionError: ``bad-request``, ``extension-not-admitted``, ``bounds-invalid``, ``params-invalid``,
            ``params-unknown-tool``, ``plan-changed``.
        GateRefused: the gate refuses the result, or the host denied it; nothing is changed.
    """
    name = stem(id)
    registry = context.running.current()
    extension = _running(registry, name)
    changed = _changed(extension.descriptor, change)
    if not confirm:
        descriptor = extension.descriptor
        return {
            "confirmFirst": True,
            "id": name,
            "current": {
                "bounds": descriptor.get("bounds") or {},
                "declared": descriptor.get("capabilities") or [],
                "tools": [tool["name"] for tool in descriptor["tools"]],
            },
            "proposed": {"bounds": changed.get("bounds") or {}},
            "plan": _plan(context, registry, extension, changed),
            "note": "Nothing is changed yet; ask again with confirm: true, and this plan's digest.",
        }
    with context.turn() as turn:
        registry = turn.registry
        extension = _running(registry, name)
        changed = _changed(extension.descriptor, change)
        if plan_digest is not None:
            plan = _plan(context, registry, extension, changed)
            if plan_digest != plan["digest"]:
                why = "the plan is no longer the one that was read"
                raise AdmissionError("plan-changed", why, details={"plan": plan})
        source = extension.entry.source
        digest = content_digest(changed)
        verdict = context.gate.admit(changed, PLACEMENT, registry.taken(excluding=name))
        if not verdict.admitted:
            raise _refused(turn, name, str(verdict.rule), str(verdict.why), actor)
        if digest in turn.ledger.denied.get(name, ()) and not override_deny:
            raise _refused(turn, name, HOST_DENY, OVERRIDE, actor)
        before = context.find(name, turn.ledger) if context.store.proposal(name) is not None else None
        turn.change.append(
            NewEntry(
                name,
                "reconfigured",
                digest,
                context.clock.now(),
                actor,
                context.gate.fingerprint,
                method,
                source=source,
                descriptor=changed,
            ),
            descriptor_text(changed, source),
        )
        _follow(turn, before, changed, digest)
        turn.note(
            "extensions.reconfigure",
            f"extensions/{name}",
            actor=actor,
            rule="reconfigured",
            observed={"exists": True},
            binding={"digest": digest, "replaces": extension.entry.digest},
        )
    return {
        "ok": True,
        "id": name,
        "decision": "reconfigured",
        "bounds": changed.get("bounds") or {},
        "note": "It runs with the new bounds from now on.",
    }


def _refused(turn: Turn, id: str, rule: str, why: str, actor: Actor) -> GateRefused:
    turn.note("extensions.reconfigure", f"extensions/{id}", actor=actor, refused=True, rule=rule, why=why)
    return GateRefused(rule, why, details={"id": id})


def _plan(context: Context, registry: Registry, extension: Extension, changed: dict[str, Any]) -> dict[str, Any]:
    plan = context.gate.plan(
        changed | {"source": extension.entry.source}, PLACEMENT, registry.taken(excluding=extension.id)
    )
    return plan.to_json()


def _follow(turn: Turn, before: Subject | None, changed: dict[str, Any], digest: str) -> None:
    """Lets a proposal that was admitted say what runs now; one that waits with other content is left alone."""
    if before is not None and before.proposal is not None and before.state == "admitted":
        proposal = before.proposal._replace(descriptor=changed, digest=digest)
        settle(turn, before._replace(proposal=proposal), "admitted", None)


def _running(registry: Registry, id: str) -> Extension:
    extension = registry.extensions.get(id)
    if extension is None:
        raise AdmissionError("extension-not-admitted", f"no extension {id!r} runs")
    return extension


def _changed(descriptor: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The descriptor with the change in it, as JSON data that can be kept."""
    changed = submitted(dict(descriptor))
    if "bounds" in change:
        changed["bounds"] = (descriptor.get("bounds") or {}) | _bounds(change["bounds"])
    if "tools" in change:
        changed["tools"] = change["tools"]
    if "params" in change:
        changed["tools"] = _with_params(changed["tools"], change["params"])
    try:
        result = load_json(canonical(changed)).data
    except DocumentError as error:
        raise AdmissionError("bad-request", f"the change cannot be kept: {error.message}") from None
    return dict(result)


def _bounds(bounds: object) -> dict[str, Any]:
    if type(bounds) is not dict:
        raise AdmissionError("bounds-invalid", f"bounds is {show(bounds)}, not an object")
    made = dict(bounds)
    for key in _COUNTS:
        if key in made:
            made[key] = _count(key, made[key])
    if "hosts" in made:
        made["hosts"] = _hosts(made["hosts"])
    return made


def _count(key: str, written: object) -> int:
    value = written
    # A form sends numbers as text; nothing else is read as one (contract 11, malformed input).
    if type(value) is str:
        value = _number(value.strip())
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or value < 0:
        raise AdmissionError("bounds-invalid", f"{key} must be a non-negative integer, and is {show(written)}")
    return value


def _number(text: str) -> object:
    """The number that a text spells in one of JavaScript's ways, or the text."""
    if _DECIMAL.fullmatch(text):
        return float(text)
    if prefixed := _PREFIXED.fullmatch(text):
        return int(prefixed[0], 0)
    return text


def _hosts(value: object) -> list[str]:
    items = value.split(",") if type(value) is str else value
    if type(items) is not list or not all(type(item) is str for item in items):
        raise AdmissionError("bounds-invalid", f"hosts must be a list of names, and is {show(value)}")
    return [item.strip() for item in items if item.strip()]


def _with_params(tools: object, params: object) -> Any:
    if type(params) is not dict:
        raise AdmissionError("params-invalid", f"params is {show(params)}, not an object")
    if type(tools) is not list or not all(type(tool) is dict for tool in tools):
        return tools  # The gate says what is wrong with them.
    names = [tool.get("name") for tool in tools if type(tool.get("name")) is str]
    for name, overlay in params.items():
        if name not in names:
            carried = ", ".join(show(carried) for carried in names)
            raise AdmissionError("params-unknown-tool", f"there is no tool {show(name)}; it has {carried}")
        if type(overlay) is not dict:
            raise AdmissionError("params-invalid", f"params.{name} is {show(overlay)}, not an object")
    return [_merged(tool, params) for tool in tools]


def _merged(tool: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    name, own = tool.get("name"), tool.get("params") or {}
    if type(name) is not str or name not in params or type(own) is not dict:
        return tool  # Nothing is to be merged, or the gate says what is wrong with it.
    return tool | {"params": own | params[name]}
