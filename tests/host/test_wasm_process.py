"""The process that a WebAssembly module runs in: what it may, and what comes of one that gives no answer."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import wasmtime

from capgate.host.mediation import wasm
from capgate.host.mediation.wasm import WasmModules
from capgate.plugins.api import Refused
from wasm_samples import ECHO, modules, refusal, settings_of


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """The host's module folder."""
    (tmp_path / "shelf").mkdir()
    return tmp_path / "shelf"


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("", "wasm-worker-silent"),
        ("raise SystemExit(3)", "wasm-worker-silent"),
        ("print('no json')", "wasm-worker-silent"),
        ("print('[]')", "wasm-worker-silent"),
        ("print('{}')", "wasm-worker-silent"),
        ("""print('{"refused": "admitted", "why": "x"}')""", "wasm-worker-silent"),
        ("""print('{"refused": ["x"], "why": "x"}')""", "wasm-worker-silent"),
        ("""print('{"refused": "wasm-trapped"}')""", "wasm-worker-silent"),
        ("print('x' * 10_000_000)", "wasm-worker-silent"),
        ("import os; os.abort()", "resource-exceeded"),
        (f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})", "resource-exceeded"),
        (f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})", "wasm-worker-silent"),
        (f"import os; os.kill(os.getpid(), {int(signal.SIGXCPU)})", "time-exceeded"),
    ],
)
def test_a_process_that_gives_no_answer_is_told_from_one_that_does(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, refused: str
) -> None:
    (tmp_path / "worker.py").write_text(code)
    monkeypatch.setattr(wasm.wasm_worker, "__file__", str(tmp_path / "worker.py"))

    assert refusal(shelf, settings_of(shelf, ECHO)) == refused


def test_without_a_python_there_is_no_answer(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert refusal(shelf, settings_of(shelf, ECHO)) == "wasm-worker-silent"


def test_without_wasmtime_it_is_said_what_to_install(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"wasm-unavailable.*capgate\[host\]"):
        modules(shelf).run(settings_of(shelf, ECHO), {})


def test_the_process_may_open_start_and_keep_nothing(shelf: Path) -> None:
    """The limits that it gives itself hold for whatever broke out of a module."""
    program = f"""
import os, resource, sys
sys.path.insert(0, {os.path.dirname(wasm.wasm_worker.__file__)!r})
import wasm_worker
def instead(*args):
    tried = []
    for act in (lambda: open("/etc/passwd"), lambda: os.open("/tmp", 0), lambda: __import__("socket").socket()):
        try:
            act()
            tried.append("done")
        except (OSError, ImportError) as error:
            tried.append(type(error).__name__)
    return {{"returned": str([tried, resource.getrlimit(resource.RLIMIT_DATA)[0] < 1 << 30, dict(os.environ)])}}, b""
wasm_worker._run = instead
import socket
wasm_worker.main(sys.argv[1])
"""
    worker = shelf.parent / "worker.py"
    worker.write_text(program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wasm.wasm_worker, "__file__", str(worker))
        result = modules(shelf).run(settings_of(shelf, ECHO), {})

    assert result["returned"].replace("'LC_CTYPE': 'C.UTF-8'", "") == "[['OSError', 'OSError', 'OSError'], True, {}]"


def test_a_module_that_takes_all_memory_while_it_is_read_ends_alone(shelf: Path) -> None:
    """Half a million functions; whether that is too much or not, the host says something, and goes on."""
    module = wasmtime.wat2wasm("(module" + "(func)" * 500_000 + ECHO.removeprefix("(module"))
    settings = settings_of(shelf, bytes(module))
    try:
        assert WasmModules(shelf).run(settings, {"input": b"abc"})["returned"] == 3
    except Refused as refused:
        assert refused.id in ("time-exceeded", "resource-exceeded", "wasm-invalid")
    assert modules(shelf).run(settings_of(shelf, ECHO), {"input": b"abc"})["returned"] == 3
