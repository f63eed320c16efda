"""The program that runs one function of one WebAssembly module, and ends.

It is started by its path, knows nothing of capgate, has no environment and opens nothing: it reads a request, which
is a line of JSON with the module and its inputs behind it, and writes an answer, which is a line of JSON with the
output behind it. What is wrong with a module is said by the ids of contract 7.
"""

from __future__ import annotations

import json
import math
import resource
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from wasmtime import Engine, Instance, Memory, Store

__all__ = ["main"]

#: The largest whole number that a client surely reads as what it is.
_LARGEST: Final = 2**53
#: Resources of the process while the module is compiled and run: files and threads it has none of.
_LIMITS: Final = (
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_CPU, 10),
    (resource.RLIMIT_DATA, 768 * 1024 * 1024),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_NOFILE, 3),
    (resource.RLIMIT_NPROC, 0),
)


class _Wrong(Exception):
    """The module, or what it did, is refused."""

    def __init__(self, id: str, why: str):
        super().__init__(id, why)
        self.id = id
        self.why = why


def main(libraries: str) -> None:
    """Answers the one request.

    Args:
        libraries: the folder that wasmtime is installed in.
    """
    sys.path.append(libraries)
    engine = _engine()
    for which, most in _LIMITS:
        resource.setrlimit(which, (most, most))
    asked = json.loads(sys.stdin.buffer.readline())
    parts = [sys.stdin.buffer.read(size) for size in asked["sizes"]]
    output = b""
    try:
        answer, output = _run(engine, parts[0], parts[1:], asked)
    except _Wrong as wrong:
        answer = {"refused": wrong.id, "why": wrong.why}
    except MemoryError:
        answer = {"refused": "resource-exceeded", "why": "it took more memory than a module may have"}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + output)
    sys.stdout.buffer.flush()


def _engine() -> Engine:
    from wasmtime import Config, Engine

    config = Config()
    config.consume_fuel = True
    config.cranelift_nan_canonicalization = True  # The same input gives the same output on every machine.
    config.parallel_compilation = False
    # No address space is reserved and no file is mapped, so that the limits of the process can be narrow.
    config.memory_init_cow = False
    config.memory_reservation = 0
    config.memory_reservation_for_growth = 0
    config.memory_guard_size = 0
    # Extensions that neither ABI needs.
    config.shared_memory = False
    config.wasm_component_model = False
    config.wasm_exceptions = False
    config.wasm_gc = False
    config.wasm_memory64 = False
    config.wasm_relaxed_simd = False
    config.wasm_stack_switching = False
    config.wasm_threads = False
    return Engine(config)


def _run(
    engine: Engine, code: bytes, inputs: Sequence[bytes], asked: Mapping[str, Any]
) -> tuple[dict[str, Any], bytes]:
    """The answer, and the output that goes with it."""
    from wasmtime import Instance, Module, Store, Trap, TrapCode, WasmtimeError

    try:
        module = Module(engine, code)
    except WasmtimeError:
        raise _Wrong("wasm-invalid", "it is no valid module, or uses an extension that is switched off") from None
    if module.imports:
        first = module.imports[0]
        raise _Wrong("import-undeclared", f"it imports {first.module}.{first.name}, and a module gets nothing")
    for data, (_, most) in zip(inputs, asked["inputs"], strict=True):
        if len(data) > most:
            raise _Wrong("over-budget", f"{len(data)} bytes of input, and the layout has room for {most}")
    store = Store(engine)
    store.set_limits(memory_size=asked["memory"], table_elements=100_000, instances=1, tables=16, memories=1)
    store.set_fuel(asked["fuel"])
    try:
        try:
            instance = Instance(store, module, [])
        except WasmtimeError as error:
            if isinstance(error, Trap):
                raise
            why = "it asks for more memory or larger tables than a module may have"
            raise _Wrong("resource-exceeded", why) from None
        return _call(store, instance, inputs, asked)
    except Trap as trap:
        if trap.trap_code is TrapCode.OUT_OF_FUEL:
            raise _Wrong("time-exceeded", f"it took more than {asked['fuel']} steps") from None
        kind = trap.trap_code.name.lower().replace("_", " ") if trap.trap_code else "unknown"
        raise _Wrong("wasm-trapped", f"it stopped with a trap: {kind}") from None


def _call(
    store: Store, instance: Instance, inputs: Sequence[bytes], asked: Mapping[str, Any]
) -> tuple[dict[str, Any], bytes]:
    from wasmtime import Func, Memory

    exports = instance.exports(store)
    function, memory = exports.get(asked["export"]), exports.get("memory")
    if not isinstance(function, Func):
        raise _Wrong("unsupported-abi", f"it exports no function {asked['export']!r}")
    if not isinstance(memory, Memory):
        raise _Wrong("unsupported-abi", "it exports no memory called 'memory'")
    kind = function.type(store)
    if [str(one) for one in kind.params] != ["i32"] * len(inputs) or len(kind.results) > 1:
        raise _Wrong("unsupported-abi", f"the function takes other than {len(inputs)} lengths (i32), or gives too much")
    for address, size in (*asked["inputs"], asked["output"]):
        if address + size > memory.data_len(store):
            raise _Wrong("unsupported-abi", "its memory is smaller than the layout")
    for data, (address, _) in zip(inputs, asked["inputs"], strict=True):
        if data:
            memory.write(store, data, address)
    returned = _plain(function(store, *(len(data) for data in inputs)))
    return {"returned": returned}, _output(store, memory, returned, asked)


def _output(store: Store, memory: Memory, returned: Any, asked: Mapping[str, Any]) -> bytes:
    address, size = asked["output"]
    if asked["measured"]:
        if type(returned) is not int or returned < 0:
            raise _Wrong("diff-failed", f"it returned {returned}, which is no length")
        if returned > size:
            raise _Wrong("diff-failed", f"it returned the length {returned}, and the layout has room for {size}")
        size = returned
    if size > asked["most"]:
        raise _Wrong("over-budget", f"{size} bytes of output, and at most {asked['most']} are handed on")
    return bytes(memory.read(store, address, address + size))


def _plain(returned: Any) -> Any:
    """What a function returned, as JSON data: what a client might read as another number is a text."""
    if type(returned) is int:
        return returned if abs(returned) <= _LARGEST else str(returned)
    if type(returned) is float:
        return returned if math.isfinite(returned) else None
    return None


if __name__ == "__main__":
    main(sys.argv[1])
