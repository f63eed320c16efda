"""WebAssembly modules for tests, written as text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import wasmtime

from capgate.host.mediation.wasm import WasmModules
from capgate.plugins.api import Refused

__all__ = ["DIFF", "ECHO", "IMPORTING", "LOOP", "MEMORY"]
__all__ += ["diff_settings", "modules", "put", "refusal", "settings_of", "with_body"]


#: A page of memory, as a host expects it.
MEMORY: Final = '(memory (export "memory") 1)'


def with_body(body: str, *, head: str = MEMORY, params: str = "(param i32) (result i32)") -> str:
    """A module with a memory, and a function ``run`` of that body."""
    return f'(module {head} (func (export "run") {params} {body}))'


#: Returns how many bytes it was given; input and output are one buffer.
ECHO: Final = with_body("local.get 0")
#: Never comes back.
LOOP: Final = with_body("(loop $l (br $l)) (unreachable)")
#: Wants a function of the host.
IMPORTING: Final = '(module (import "env" "open" (func)) (memory (export "memory") 1) (func (export "run")))'
#: Three records and the end, whatever it is given: a line is kept, one goes, two come.
DIFF: Final = """(module (memory (export "memory") 1)
  (data (i32.const 0x300)
    "\\00" "\\00\\00\\00\\00" "\\01\\00\\00\\00" "\\00\\00\\00\\00" "\\01\\00\\00\\00"
    "\\01" "\\01\\00\\00\\00" "\\01\\00\\00\\00" "\\01\\00\\00\\00" "\\00\\00\\00\\00"
    "\\02" "\\02\\00\\00\\00" "\\00\\00\\00\\00" "\\01\\00\\00\\00" "\\02\\01\\00\\00"
    "\\ff")
  (func (export "run") (param i32 i32) (result i32) i32.const 52))"""


def put(folder: Path, text: str | bytes, name: str = "module.wasm") -> str:
    """Puts a module into a folder, and gives its digest."""
    data = text if isinstance(text, bytes) else bytes(wasmtime.wat2wasm(text))
    (folder / name).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def settings_of(folder: Path, text: str | bytes, name: str = "module.wasm", **changes: Any) -> dict[str, Any]:
    """Puts a module into a folder, and gives what a descriptor says of it: ``buffer-abi/1``, one buffer at 16."""
    return {
        "path": name,
        "digest": put(folder, text, name),
        "abi": "buffer-abi/1",
        "call": {"export": "run"},
        "input": {"addr": 16, "maxBytes": 64},
        "output": {"addr": 16, "bytes": 4},
    } | changes


def diff_settings(folder: Path, text: str, **changes: Any) -> dict[str, Any]:
    """The same for ``buffer-abi/diff``."""
    layout = {
        "abi": "buffer-abi/diff",
        "inputA": {"addr": 0x100, "maxBytes": 64},
        "inputB": {"addr": 0x200, "maxBytes": 64},
        "output": {"addr": 0x300, "maxBytes": 128},
    }
    return settings_of(folder, text, **(layout | changes))


def modules(shelf: Path, **limits: Any) -> WasmModules:
    """What runs modules of a folder, with time enough for a busy machine."""
    return WasmModules(shelf, **({"seconds": 60.0} | limits))


def refusal(shelf: Path, settings: Mapping[str, Any], inputs: Mapping[str, bytes] | None = None, **limits: Any) -> str:
    """The id that a call is refused by."""
    with pytest.raises(Refused) as refused:
        modules(shelf, **limits).run(settings, inputs or {})
    return refused.value.id
