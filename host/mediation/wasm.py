"""WebAssembly modules: found in the host's folder, pinned by digest, run in a process of their own (contract 7, 11.18).

The host reads the bytes once, holds them against the digest and hands these bytes on; everything that looks into
them happens in a fresh child process, which is gone when the call is.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from capgate.host.mediation import wasm_worker
from capgate.host.mediation.children import Ended, run_child
from capgate.host.mediation.root_walk import open_below, read_opened, segments_of
from capgate.plugins.api import Refused
from capgate.policy.text import show

__all__ = ["MOST_FUEL", "MOST_MEMORY", "MOST_MODULE", "MOST_OUTPUT", "SECONDS", "WasmModules"]

#: How long a call may take, in seconds, the start of its process included.
SECONDS: Final = 5.0
#: The most bytes of a module.
MOST_MODULE: Final = 16 * 1024 * 1024
#: The most bytes of a module's memory.
MOST_MEMORY: Final = 64 * 1024 * 1024
#: The most bytes of output that are handed on.
MOST_OUTPUT: Final = 1024 * 1024
#: How many steps a call may take; about as many as fit into the time.
MOST_FUEL: Final = 5_000_000_000

#: How much longer than the output an answer may be.
_HEAD: Final = 64 * 1024
#: What ends a process that takes more memory than it may have.
_OUT_OF_MEMORY: Final = (-signal.SIGABRT, -signal.SIGKILL)
_REFUSED_BY_WORKER: Final = frozenset(
    {
        "diff-failed",
        "import-undeclared",
        "over-budget",
        "resource-exceeded",
        "time-exceeded",
        "unsupported-abi",
        "wasm-invalid",
        "wasm-trapped",
    }
)
#: One record of a diff: what happened, and where in both texts.
_RECORD: Final = struct.Struct("<BIIII")
_OPERATIONS: Final = ("equal", "delete", "insert")
_LAST: Final = 255


class _Abi(NamedTuple):
    """How a module takes and gives bytes.

    Attributes:
        inputs: name of an input to the buffer that it goes into.
        output: the key of the output's length in its buffer.
        measured: whether the function returns how much of the buffer it has used.
    """

    inputs: Mapping[str, str]
    output: str
    measured: bool


_ABIS: Final = {
    "buffer-abi/1": _Abi({"input": "input"}, "bytes", measured=False),
    "buffer-abi/diff": _Abi({"a": "inputA", "b": "inputB"}, "maxBytes", measured=True),
}


class WasmModules:
    """Runs modules; a `capgate.plugins.api.Modules`. Any number of threads may use one.

    Args:
        shelf: the real path of the host's module folder (`Settings.shelf`); no other module is run.
        seconds: how long one call may take.
        fuel: how many steps one call may take.
    """

    def __init__(self, shelf: Path, *, seconds: float = SECONDS, fuel: int = MOST_FUEL):
        self._shelf = shelf
        self._seconds = seconds
        self._fuel = fuel

    def run(self, settings: Mapping[str, Any], inputs: Mapping[str, bytes]) -> dict[str, Any]:
        """Runs one function of a module, and says what it returned and wrote.

        Args:
            settings: as admitted: ``path``, ``digest``, ``abi``, ``call.export`` and the layout (contract 1).
            inputs: ``input``, or ``a`` and ``b``; what is not there is empty.

        Returns:
            ``returned``, ``output`` (hex), ``digest``, ``inputBytes``, and ``blocks`` for a diff. What is
            returned is a number; a text where a client might read another number; None where it is none.

        Raises:
            Refused: in the contract's order ``wasm-unreadable``, ``over-budget``, ``digest-mismatch``,
                ``wasm-invalid``, ``import-undeclared``, ``over-budget``; then ``time-exceeded``,
                ``resource-exceeded``, ``wasm-worker-silent``, ``unsupported-abi``, ``wasm-trapped``,
                ``diff-failed``, ``over-budget``.
        """
        abi = _ABIS.get(str(settings.get("abi")))
        if abi is None:
            raise Refused("unsupported-abi", f"the ABI {show(settings.get('abi'))} is none of {', '.join(_ABIS)}")
        given = [inputs.get(name, b"") for name in abi.inputs]
        code = self._module(settings)
        asked = {
            "sizes": [len(part) for part in (code, *given)],
            "inputs": [_buffer(settings, buffer, "maxBytes") for buffer in abi.inputs.values()],
            "output": _buffer(settings, "output", abi.output),
            "export": _text(_part(settings, "call"), "export"),
            "measured": abi.measured,
            "memory": MOST_MEMORY,
            "fuel": self._fuel,
            "most": MOST_OUTPUT,
        }
        returned, output = self._asked(json.dumps(asked).encode() + b"\n" + b"".join((code, *given)))
        result = {"returned": returned, "output": output.hex()}
        if abi.measured:
            result["blocks"] = _blocks(output)
        return result | {"digest": settings["digest"], "inputBytes": sum(len(part) for part in given)}

    def _module(self, settings: Mapping[str, Any]) -> bytearray:
        """The bytes of the module, if they are those that were admitted."""
        path = _text(settings, "path")
        data = self._read(path)
        if len(data) > MOST_MODULE:
            raise Refused("over-budget", f"the module {show(path)} has more than {MOST_MODULE} bytes")
        if hashlib.sha256(data).hexdigest() != settings.get("digest"):
            raise Refused("digest-mismatch", f"the module {show(path)} is not the one that was admitted")
        return data

    def _read(self, path: str) -> bytearray:
        try:
            with open_below(self._shelf, segments_of(self._below(path)), os.O_RDONLY) as found:
                if found.fault is not None:
                    raise found.fault
                known = os.fstat(found.file) if found.file is not None else None
                if found.file is None or known is None or not stat.S_ISREG(known.st_mode):
                    raise Refused("missing", f"there is no file {show(path)}")
                return read_opened(found.file, known.st_size, MOST_MODULE)
        except OSError as error:
            raise Refused("wasm-unreadable", f"the module {show(path)} cannot be read: {error.strerror}") from None
        except Refused as refused:
            raise Refused("wasm-unreadable", f"it is no module of the host's folder: {refused.why}") from None

    def _below(self, path: str) -> str:
        """The path as one below the host's folder, which is the only one that modules come from."""
        full = os.path.expanduser(path)
        if not full.startswith("/") or "\0" in full:
            return path
        real = Path(os.path.realpath(full))
        return str(real.relative_to(self._shelf)) if real.is_relative_to(self._shelf) else full

    def _asked(self, request: bytes) -> tuple[Any, bytes]:
        arguments = (sys.executable, "-I", "-S", wasm_worker.__file__, _libraries())
        try:
            ended = run_child(arguments, request, seconds=self._seconds, most=MOST_OUTPUT + _HEAD)
        except OSError as error:
            raise Refused("wasm-worker-silent", f"no process can be started for it: {error.strerror}") from None
        return _answer(ended, self._seconds)


def _answer(ended: Ended, seconds: float) -> tuple[Any, bytes]:
    """What the function returned, and the output."""
    if ended.late or ended.code == -signal.SIGXCPU:
        raise Refused("time-exceeded", f"it took more than {seconds:g} seconds")
    if ended.code in _OUT_OF_MEMORY:
        raise Refused("resource-exceeded", "it took more memory than a module may have")
    head, _, output = ended.output.partition(b"\n")
    try:
        answer = json.loads(head)
        if answer.get("refused") in _REFUSED_BY_WORKER:
            raise Refused(answer["refused"], f"the module was refused: {show(answer['why'])}")
        return answer["returned"], output
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Refused("wasm-worker-silent", f"its process ended with code {ended.code} and no answer") from None


def _libraries() -> str:
    """The folder that wasmtime is installed in; it is never loaded into this process."""
    from importlib.util import find_spec

    found = find_spec("wasmtime")
    if found is None or found.origin is None:
        raise Refused("wasm-unavailable", "wasmtime is not installed; install capgate[host]")
    return os.path.dirname(os.path.dirname(found.origin))


def _blocks(output: bytes) -> list[dict[str, Any]]:
    """The records of a diff."""
    blocks = []
    for offset in range(0, len(output), _RECORD.size):
        if output[offset] == _LAST:
            break
        if len(output) - offset < _RECORD.size:
            raise Refused("diff-failed", "the last record of the diff is cut off")
        operation, a_line, a_count, b_line, b_count = _RECORD.unpack_from(output, offset)
        if operation >= len(_OPERATIONS):
            raise Refused("diff-failed", f"a record of the diff has the unknown operation {operation}")
        named = {"aLine": a_line, "aCount": a_count, "bLine": b_line, "bCount": b_count}
        blocks.append({"op": _OPERATIONS[operation]} | named)
    return blocks


def _part(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = settings.get(name)
    if not isinstance(part, Mapping):
        raise Refused("unsupported-abi", f"{name} is {show(part)}, not an object")
    return part


def _text(settings: Mapping[str, Any], name: str) -> str:
    value = settings.get(name)
    if type(value) is not str or not value:
        raise Refused("unsupported-abi", f"{name} is {show(value)}, not a text")
    return value


def _buffer(settings: Mapping[str, Any], name: str, length: str) -> tuple[int, int]:
    """Where in the memory a buffer lies, and how many bytes it has."""
    part = _part(settings, name)
    return _whole_number(f"{name}.addr", part.get("addr")), _whole_number(f"{name}.{length}", part.get(length))


def _whole_number(name: str, value: Any) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or value < 0:
        raise Refused("unsupported-abi", f"{name} is {show(value)}, not a whole number of at least 0")
    return value
