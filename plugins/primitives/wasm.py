"""The primitive ``wasm``: runs an exported function of a WebAssembly module without imports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capgate.plugins.api import Call, Given, HookContext, Primitive, Refused, hookimpl

__all__ = ["WASM", "capgate_primitives"]

#: The arguments that a call of a module may bring.
_INPUTS = ("input", "a", "b")


def _invoke(call: Call, given: Given) -> Mapping[str, Any]:
    try:
        inputs = {name: call.arguments[name].encode() for name in _INPUTS if name in call.arguments}
    except UnicodeEncodeError:
        raise Refused("not-text", "the input holds half a character") from None
    settings = call.settings.get("wasm")
    ran = given.wasm.run(settings if isinstance(settings, Mapping) else {}, inputs)
    return {"action": "wasm", "tool": call.tool, **ran}


#: Contract sections 2 and 7.
WASM = Primitive(
    "wasm",
    abis={
        "buffer-abi/1": ("input.addr", "input.maxBytes", "output.addr", "output.bytes"),
        "buffer-abi/diff": (
            "inputA.addr",
            "inputA.maxBytes",
            "inputB.addr",
            "inputB.maxBytes",
            "output.addr",
            "output.maxBytes",
        ),
    },
    discloses=(
        "the digest binds which module runs, byte for byte, and a module with imports does not run; "
        "it does not bind what the module computes from its input, nor says who wrote it"
    ),
    invoke=_invoke,
    takes=("wasm",),
)


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [WASM]
