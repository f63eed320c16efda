"""The primitive ``wasm``: runs an exported function of a WebAssembly module without imports."""

from __future__ import annotations

from capgate.plugins.api import HookContext, Primitive, hookimpl

__all__ = ["WASM", "capgate_primitives"]

#: Contract section 2.
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
)


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [WASM]
