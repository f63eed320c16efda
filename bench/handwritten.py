"""The gate's decision as a plain Python function: what a good engineer would write by hand.

It checks every type that the gate checks (gate contract, sections 1 and 11.10) and asks the same questions in the
same order (sections 3, 11.11 to 11.13), for both placements. Hosts go through `capgate.policy.hosts`, as in the gate.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final, TypeGuard

from capgate.policy.hosts import is_host

__all__ = [
    "ABIS",
    "CAPABILITIES",
    "MECHANISMS",
    "MEDIATED",
    "NEEDS",
    "RESERVED",
    "RUNS_IN",
    "WINDOWS",
    "decide",
    "is_digest",
    "is_sound_module",
    "is_tool_name",
    "is_well_formed",
    "is_whole",
]

CAPABILITIES: Final = frozenset({"read", "write", "delete", "network", "exec", "eval", "import"})
MEDIATED: Final = frozenset({"read", "write", "network"})
MECHANISMS: Final = {
    "machine": frozenset({"read", "write", "delete", "network"}),
    "browser": frozenset({"read", "write", "delete", "network", "import"}),
}
NEEDS: Final = {
    "now": None,
    "read-file": "read",
    "write-file": "write",
    "list-files": "read",
    "http-get": "network",
    "wasm": None,
}
ABIS: Final = {
    "buffer-abi/1": (("input", "addr"), ("input", "maxBytes"), ("output", "addr"), ("output", "bytes")),
    "buffer-abi/diff": (
        ("inputA", "addr"),
        ("inputA", "maxBytes"),
        ("inputB", "addr"),
        ("inputB", "maxBytes"),
        ("output", "addr"),
        ("output", "maxBytes"),
    ),
}
RESERVED: Final = frozenset({"list_extensions", "call_extension", "propose_extension", "delegate_task", "task_status"})
RUNS_IN: Final = ("host", "process", "remote")
WINDOWS: Final = ("process", "hour", "day", "admission")
_SCALARS: Final = (str, int, float, bool)
_LONGEST_ID: Final = 100
_MOST_TOOLS: Final = 256

is_tool_name = re.compile(r"[a-z0-9_]+").fullmatch
is_digest = re.compile(r"[0-9a-f]{64}").fullmatch


def decide(descriptor: Any, placement: str = "machine", taken: Collection[str] = frozenset()) -> str | None:
    """The id of the first rule that refuses `descriptor`, or None."""
    mechanisms = MECHANISMS[placement]
    if not is_well_formed(descriptor):
        return "malformed-descriptor"

    capabilities = descriptor.get("capabilities") or ()
    for capability in capabilities:
        if type(capability) is not str or capability not in CAPABILITIES:
            return "unknown-capability"
        if capability not in MEDIATED:
            if capability == "eval":
                return "eval-not-a-tool-path"
            if capability == "exec" and "exec" not in mechanisms:
                return "exec-absent"
            return "capability-unmediated"

    if descriptor.get("runsIn") == "process":
        if "exec" not in mechanisms:
            return "exec-absent"
        if "exec" not in capabilities:
            return "under-declared"

    if "network" in capabilities:
        bounds = descriptor.get("bounds") or {}
        hosts = bounds.get("hosts")
        if type(hosts) is not list or not hosts:
            return "network-unbounded"
        for host in hosts:
            if type(host) is not str:
                return "network-unbounded"
        most = bounds.get("maxRequests")
        if not is_whole(most) or most < 1:
            return "network-unbounded"
        for host in hosts:
            if not is_host(host):
                return "host-invalid"

    tools = descriptor.get("tools")
    if type(tools) is not list or not tools:
        return "no-tools"
    seen = set()
    for tool in tools:
        name = tool.get("name")
        if name is None or not is_tool_name(name):
            return "bad-tool-name"
        primitive = tool.get("primitive")
        if primitive not in NEEDS:
            return "unknown-primitive"
        need = NEEDS[primitive]
        if need is not None and need not in capabilities:
            return "under-declared"
        if primitive == "wasm":
            refused = _wasm(tool.get("wasm"))
            if refused is not None:
                return refused
        if name in seen or name in taken or name in RESERVED:
            return "duplicate-tool"
        seen.add(name)

    for capability in capabilities:
        if capability not in mechanisms:
            return "absent-capability"
    return None


def is_whole(value: Any) -> TypeGuard[int | float]:
    """Whether a JSON number is whole, in whichever way it is written; ``True`` is none."""
    return type(value) is int or (type(value) is float and value.is_integer())


def _wasm(wasm: Any) -> str | None:
    if type(wasm) is not dict:
        return "under-declared"
    path = wasm.get("path")
    if type(path) is not str or not path:
        return "under-declared"
    digest = wasm.get("digest")
    if type(digest) is not str or not is_digest(digest):
        return "under-declared"
    abi = wasm.get("abi")
    if type(abi) is not str or abi not in ABIS:
        return "unsupported-abi"
    for group, field in ABIS[abi]:
        part = wasm.get(group)
        value = part.get(field) if type(part) is dict else None
        if not is_whole(value) or value < 0:
            return "under-declared"
    call = wasm.get("call")
    export = call.get("export") if type(call) is dict else None
    if type(export) is not str or not export:
        return "under-declared"
    return None


def is_well_formed(descriptor: Any) -> bool:
    """Whether every part of `descriptor` has a type that it may have."""
    if type(descriptor) is not dict:
        return False
    id = descriptor.get("id", "")
    if type(id) is not str or len(id) > _LONGEST_ID:
        return False
    if (
        type(descriptor.get("name", "")) is not str
        or type(descriptor.get("description", "")) is not str
        or type(descriptor.get("source", "")) is not str
        or descriptor.get("runsIn", "host") not in RUNS_IN
    ):
        return False
    capabilities = descriptor.get("capabilities")
    if capabilities is not None and type(capabilities) is not list:
        return False
    bounds = descriptor.get("bounds")
    if bounds is not None:
        if type(bounds) is not dict or bounds.get("window", "process") not in WINDOWS:
            return False
        most = bounds.get("maxBytes", 0)
        if not is_whole(most) or most < 0:
            return False
    tools = descriptor.get("tools")
    if type(tools) is not list:
        return True  # what is no list is for no-tools
    if len(tools) > _MOST_TOOLS:
        return False
    for tool in tools:
        if (
            type(tool) is not dict
            or type(tool.get("name", "")) is not str
            or type(tool.get("description", "")) is not str
            or type(tool.get("promptSnippet", "")) is not str
            or type(tool.get("primitive", "")) is not str
        ):
            return False
        params = tool.get("params", _NO_PARAMS)
        if params is not _NO_PARAMS and not _are_params(params):
            return False
    return True


_NO_PARAMS: Final = object()


def is_sound_module(wasm: Any) -> bool:
    """Whether a tool's wasm part says all that it has to."""
    return _wasm(wasm) is None


def _are_params(params: Any) -> bool:
    if type(params) is not dict:
        return False
    for key, value in params.items():
        if key == "headers":
            if type(value) is not dict:
                return False
            for text in value.values():
                if type(text) is not str:
                    return False
        elif type(value) not in _SCALARS:
            return False
    return True
