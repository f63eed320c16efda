"""The whole verdict by hand: every refusal with the same reason, remedy, path and element as the shipped rules give.

Where `handwritten` stops at the first refusal, this goes on; it walks the descriptor once for its shape, in the order
in which it is written, and once for the rules. What a reason shows of a descriptor goes through `show`, as in the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from bench.handwritten import (
    ABIS,
    CAPABILITIES,
    MECHANISMS,
    MEDIATED,
    NEEDS,
    RESERVED,
    RUNS_IN,
    WINDOWS,
    is_digest,
    is_tool_name,
    is_well_formed,
    is_whole,
)
from bench.texts import Text, texts
from capgate.policy.hosts import is_host
from capgate.policy.operators import ABSENT
from capgate.policy.paths import format_path
from capgate.policy.shapes import found_type, number_text
from capgate.policy.text import show

__all__ = ["Refusal", "Verdict", "admit"]

_UNKNOWN, _NO_CAPABILITY = texts("unknown-capability")
(_EVAL,) = texts("eval-not-a-tool-path")
_EXEC, _LAUNCH = texts("exec-absent")
(_UNMEDIATED,) = texts("capability-unmediated")
(_ABSENT,) = texts("absent-capability")
(_UNBOUNDED,) = texts("network-unbounded")
(_BAD_HOST,) = texts("host-invalid")
_NO_TOOLS, _TOOLS_NO_LIST, _TOOLS_EMPTY = texts("no-tools")
_NAMELESS, _BAD_NAME = texts("bad-tool-name")
_NO_PRIMITIVE, _UNKNOWN_PRIMITIVE = texts("unknown-primitive")
_LAUNCH_UNDECLARED, _UNDECLARED, _NO_MODULE, _NO_PATH, _BAD_DIGEST, _BAD_LAYOUT, _NO_EXPORT = texts("under-declared")
(_UNKNOWN_ABI,) = texts("unsupported-abi")
_TAKEN, _USED_BEFORE = texts("duplicate-tool")
(_MALFORMED,) = texts("malformed-descriptor")


class Refusal(NamedTuple):
    """One refusal; the fields are those of the gate's own."""

    rule: str
    reason: str
    remedy: str
    severity: str
    path: str
    element: str | None


class Verdict(NamedTuple):
    """The decision, the first refusal and all of them."""

    decision: str
    rule: str | None
    why: str | None
    refusals: tuple[Refusal, ...]


def admit(descriptor: Any, placement: str = "machine", taken: Collection[str] = frozenset()) -> Verdict:
    """The verdict on `descriptor`."""
    refusals = _refusals(descriptor, placement, taken) if is_well_formed(descriptor) else _faults(descriptor)
    if refusals:
        first = refusals[0]
        return Verdict("refused", first.rule, first.reason, tuple(refusals))
    return Verdict("admitted", None, None, ())


def _refuse(rule: str, text: Text, path: str, element: str | None) -> Refusal:
    """A refusal whose texts are the same for every descriptor."""
    return Refusal(rule, text.reason, text.remedy, "refuse", path, element)


def _refusals(descriptor: dict[str, Any], placement: str, taken: Collection[str]) -> list[Refusal]:
    """What the rules say of a descriptor whose shape is right."""
    mechanisms = MECHANISMS[placement]
    capabilities = descriptor.get("capabilities") or ()
    found: list[Refusal] = []
    for index, capability in enumerate(capabilities):
        if type(capability) is not str or capability not in MEDIATED:
            found.append(_capability(capability, f"$.capabilities[{index}]", placement))

    if descriptor.get("runsIn") == "process":
        if "exec" not in mechanisms:
            found.append(Refusal("exec-absent", _LAUNCH.reason % placement, _LAUNCH.remedy, "refuse", "$.runsIn", None))
        elif "exec" not in capabilities:
            found.append(_refuse("under-declared", _LAUNCH_UNDECLARED, "$.runsIn", None))

    if "network" in capabilities:
        _network(descriptor, found)

    tools = descriptor.get("tools", ABSENT)
    if type(tools) is list and tools:
        seen: dict[str, int] = {}
        for index, tool in enumerate(tools):
            _tool(tool, index, capabilities, taken, seen, found)
    elif tools is ABSENT:
        found.append(_refuse("no-tools", _NO_TOOLS, "$", None))
    else:
        found.append(_refuse("no-tools", _TOOLS_EMPTY if tools == [] else _TOOLS_NO_LIST, "$.tools", None))

    for index, capability in enumerate(capabilities):
        if type(capability) is str and capability in MEDIATED and capability not in mechanisms:
            path = f"$.capabilities[{index}]"
            reason = _ABSENT.reason % (capability, placement)
            remedy = _ABSENT.remedy % (capability, ", ".join(sorted(mechanisms)))
            found.append(Refusal("absent-capability", reason, remedy, "refuse", path, path))
    return found


def _capability(capability: Any, path: str, placement: str) -> Refusal:
    """The refusal of a capability that nothing mediates."""
    if type(capability) is not str:
        reason = _NO_CAPABILITY.reason % show(capability)
        return Refusal("unknown-capability", reason, _NO_CAPABILITY.remedy, "refuse", path, path)
    if capability not in CAPABILITIES:
        return Refusal("unknown-capability", _UNKNOWN.reason % show(capability), _UNKNOWN.remedy, "refuse", path, path)
    if capability == "eval":
        return _refuse("eval-not-a-tool-path", _EVAL, path, path)
    if capability == "exec" and "exec" not in MECHANISMS[placement]:
        return Refusal("exec-absent", _EXEC.reason % placement, _EXEC.remedy, "refuse", path, path)
    return Refusal(
        "capability-unmediated", _UNMEDIATED.reason % capability, _UNMEDIATED.remedy % capability, "refuse", path, path
    )


def _network(descriptor: dict[str, Any], found: list[Refusal]) -> None:
    bounds = descriptor.get("bounds") or {}
    hosts = bounds.get("hosts", ABSENT)
    listed = hosts if type(hosts) is list and all(type(host) is str for host in hosts) else []
    most = bounds.get("maxRequests", ABSENT)
    if not listed or not is_whole(most) or most < 1:
        reason = _UNBOUNDED.reason % (show(hosts), show(most))
        path = "$.bounds" if "bounds" in descriptor else "$"
        found.append(Refusal("network-unbounded", reason, _UNBOUNDED.remedy, "refuse", path, None))
    for index, host in enumerate(listed):
        if not is_host(host):
            path = f"$.bounds.hosts[{index}]"
            found.append(Refusal("host-invalid", _BAD_HOST.reason % show(host), _BAD_HOST.remedy, "refuse", path, path))


def _tool(
    tool: dict[str, Any],
    index: int,
    capabilities: Collection[Any],
    taken: Collection[str],
    seen: dict[str, int],
    found: list[Refusal],
) -> None:
    """Adds what is wrong with one tool to `found`."""
    name = tool.get("name")
    primitive = tool.get("primitive")
    if name is None or not is_tool_name(name):
        found.append(_tool_name(name, f"$.tools[{index}]"))

    if primitive in NEEDS:
        need = NEEDS[primitive]
        if need is not None and need not in capabilities:
            element = f"$.tools[{index}]"
            reason = _UNDECLARED.reason % (_shown(name), primitive, need)
            remedy = _UNDECLARED.remedy % need
            found.append(Refusal("under-declared", reason, remedy, "refuse", f"{element}.primitive", element))
        if primitive == "wasm":
            _wasm(tool, _shown(name), f"$.tools[{index}]", found)
    else:
        found.append(_primitive(primitive, _shown(name), f"$.tools[{index}]"))

    if name is None:
        return
    if name in RESERVED or name in taken:
        element = f"$.tools[{index}]"
        found.append(
            Refusal("duplicate-tool", _TAKEN.reason % show(name), _TAKEN.remedy, "refuse", f"{element}.name", element)
        )
    first = seen.setdefault(name, index)
    if first != index:
        element = f"$.tools[{index}]"
        reason = _USED_BEFORE.reason % (show(name), f"$.tools[{first}].name")
        found.append(Refusal("duplicate-tool", reason, _USED_BEFORE.remedy, "refuse", f"{element}.name", element))


def _tool_name(name: str | None, element: str) -> Refusal:
    if name is None:
        return _refuse("bad-tool-name", _NAMELESS, element, element)
    reason = _BAD_NAME.reason % show(name)
    return Refusal("bad-tool-name", reason, _BAD_NAME.remedy, "refuse", f"{element}.name", element)


def _primitive(primitive: str | None, name: str, element: str) -> Refusal:
    if primitive is None:
        reason = _NO_PRIMITIVE.reason % name
        return Refusal("unknown-primitive", reason, _NO_PRIMITIVE.remedy, "refuse", element, element)
    reason = _UNKNOWN_PRIMITIVE.reason % (name, show(primitive))
    return Refusal("unknown-primitive", reason, _UNKNOWN_PRIMITIVE.remedy, "refuse", f"{element}.primitive", element)


def _shown(value: str | None) -> str:
    return show(ABSENT if value is None else value)


def _wasm(tool: dict[str, Any], name: str, element: str, found: list[Refusal]) -> None:
    """Adds what is wrong with the module of a tool."""
    wasm = tool.get("wasm")
    path = f"{element}.wasm"
    if type(wasm) is not dict:
        there = path if "wasm" in tool else element
        found.append(Refusal("under-declared", _NO_MODULE.reason % name, _NO_MODULE.remedy, "refuse", there, element))
        return

    def refuse(rule: str, key: str, reason: str, remedy: str) -> None:
        found.append(Refusal(rule, reason, remedy, "refuse", f"{path}.{key}" if key in wasm else path, element))

    file = wasm.get("path")
    if type(file) is not str or not file:
        refuse("under-declared", "path", _NO_PATH.reason % name, _NO_PATH.remedy)
    digest = wasm.get("digest", ABSENT)
    if type(digest) is not str or not is_digest(digest):
        refuse("under-declared", "digest", _BAD_DIGEST.reason % (name, show(digest)), _BAD_DIGEST.remedy)
    abi = wasm.get("abi", ABSENT)
    if type(abi) is not str or abi not in ABIS:
        refuse("unsupported-abi", "abi", _UNKNOWN_ABI.reason % (name, show(abi)), _UNKNOWN_ABI.remedy)
        return
    for group, field in ABIS[abi]:
        part = wasm.get(group)
        value = part.get(field, ABSENT) if type(part) is dict else ABSENT
        if not is_whole(value) or value < 0:
            here = f"{path}.{group}.{field}"
            reason = _BAD_LAYOUT.reason % (name, abi, f"{group}.{field}", show(value))
            there = path if group not in wasm else f"{path}.{group}" if value is ABSENT else here
            remedy = _BAD_LAYOUT.remedy % f"{group}.{field}"
            found.append(Refusal("under-declared", reason, remedy, "refuse", there, here))
    call = wasm.get("call")
    export = call.get("export", ABSENT) if type(call) is dict else ABSENT
    if type(export) is not str or not export:
        there = path if "call" not in wasm else f"{path}.call" if export is ABSENT else f"{path}.call.export"
        found.append(Refusal("under-declared", _NO_EXPORT.reason % name, _NO_EXPORT.remedy, "refuse", there, element))


def _faults(descriptor: Any) -> list[Refusal]:
    """Everything that is wrong with the shape, in the order in which the descriptor is written."""
    found: list[Refusal] = []
    if type(descriptor) is not dict:
        _fault(found, "$", "object", found_type(descriptor))
        return found
    for key, value in descriptor.items():
        check = _PARTS.get(key)
        if check is not None:
            check(value, f"$.{key}", found)
    return found


def _fault(found: list[Refusal], path: str, expected: str, what: str) -> None:
    shown, wanted = show(path), show(expected)
    reason = _MALFORMED.reason % (shown, wanted, show(what))
    found.append(Refusal("malformed-descriptor", reason, _MALFORMED.remedy % (shown, wanted), "refuse", path, path))


def _text(value: Any, path: str, found: list[Refusal]) -> None:
    if type(value) is not str:
        _fault(found, path, "string", found_type(value))


def _id(value: Any, path: str, found: list[Refusal]) -> None:
    if type(value) is not str:
        _fault(found, path, "string", found_type(value))
    elif len(value) > 100:
        _fault(found, path, "at most 100 characters", str(len(value)))


def _one_of(words: tuple[str, ...]) -> Callable[[Any, str, list[Refusal]], None]:
    expected = "one of " + ", ".join(words)

    def check(value: Any, path: str, found: list[Refusal]) -> None:
        if type(value) is not str:
            _fault(found, path, "string", found_type(value))
        elif value not in words:
            _fault(found, path, expected, repr(value)[:80])

    return check


def _capabilities(value: Any, path: str, found: list[Refusal]) -> None:
    if value is not None and type(value) is not list:
        _fault(found, path, "list or null", found_type(value))


def _bounds(value: Any, path: str, found: list[Refusal]) -> None:
    if type(value) is dict:
        for key, part in value.items():
            check = _BOUNDS.get(key)
            if check is not None:
                check(part, f"{path}.{key}", found)
    elif value is not None:
        _fault(found, path, "object or null", found_type(value))


def _bytes(value: Any, path: str, found: list[Refusal]) -> None:
    if not is_whole(value):
        _fault(found, path, "whole number", found_type(value))
    elif value < 0:
        _fault(found, path, "at least 0", number_text(value))


def _tools(value: Any, path: str, found: list[Refusal]) -> None:
    if type(value) is not list:
        return  # what is no list is for no-tools
    if len(value) > 256:
        _fault(found, path, "at most 256 items", str(len(value)))
    for index, tool in enumerate(value):
        here = f"{path}[{index}]"
        if type(tool) is not dict:
            _fault(found, here, "object", found_type(tool))
            continue
        for key, part in tool.items():
            if key in _TOOL_TEXTS:
                _text(part, f"{here}.{key}", found)
            elif key == "params":
                _params(part, index, found)


def _params(value: Any, tool: int, found: list[Refusal]) -> None:
    path = ("tools", tool, "params")
    if type(value) is not dict:
        _fault(found, format_path(path), "object", found_type(value))
        return
    for key, part in value.items():
        if key != "headers":
            if type(part) not in (str, int, float, bool):
                _fault(found, format_path((*path, key)), "string or number or boolean", found_type(part))
        elif type(part) is not dict:
            _fault(found, format_path((*path, key)), "object", found_type(part))
        else:
            for header, text in part.items():
                if type(text) is not str:
                    _fault(found, format_path((*path, key, header)), "string", found_type(text))


_TOOL_TEXTS: Final = ("name", "description", "promptSnippet", "primitive")
_BOUNDS: Final = {"maxBytes": _bytes, "window": _one_of(WINDOWS)}
_PARTS: Final = {
    "id": _id,
    "name": _text,
    "description": _text,
    "source": _text,
    "runsIn": _one_of(RUNS_IN),
    "capabilities": _capabilities,
    "bounds": _bounds,
    "tools": _tools,
}
