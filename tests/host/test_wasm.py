"""WebAssembly modules: pinned, without imports, apart, and bounded (contract 7, 11.18)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from capgate.host.mediation.wasm import MOST_MODULE, MOST_OUTPUT
from capgate.plugins.api import Refused
from wasm_samples import DIFF, ECHO, IMPORTING, LOOP, MEMORY, diff_settings, modules, refusal, settings_of, with_body

TWO_INPUTS = "(param i32 i32) (result i32)"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """The host's module folder."""
    (tmp_path / "shelf").mkdir()
    return tmp_path / "shelf"


# What comes of a call


def test_a_module_takes_bytes_and_gives_bytes(shelf: Path) -> None:
    settings = settings_of(shelf, ECHO)

    assert modules(shelf).run(settings, {"input": b"tide"}) == {
        "returned": 4,
        "output": b"tide".hex(),
        "digest": settings["digest"],
        "inputBytes": 4,
    }


def test_a_module_finds_two_texts_different(shelf: Path) -> None:
    settings = diff_settings(shelf, DIFF)
    result = modules(shelf).run(settings, {"a": b"one", "b": b"other"})

    assert result["blocks"] == [
        {"op": "equal", "aLine": 0, "aCount": 1, "bLine": 0, "bCount": 1},
        {"op": "delete", "aLine": 1, "aCount": 1, "bLine": 1, "bCount": 0},
        {"op": "insert", "aLine": 2, "aCount": 0, "bLine": 1, "bCount": 258},
    ]
    assert (result["returned"], len(result["output"]), result["inputBytes"]) == (52, 104, 8)
    assert result["output"].endswith("ff")


def test_both_inputs_of_a_diff_lie_where_the_layout_says(shelf: Path) -> None:
    copy = """(memory.copy (i32.const 0x300) (i32.const 0x100) (local.get 0))
      (memory.copy (i32.add (i32.const 0x300) (local.get 0)) (i32.const 0x200) (local.get 1))
      (i32.store8 (i32.const 0x300) (i32.const 255)) (i32.add (local.get 0) (local.get 1))"""
    settings = diff_settings(shelf, with_body(copy, params=TWO_INPUTS))

    result = modules(shelf).run(settings, {"a": b"-one", "b": b"two"})
    assert bytes.fromhex(result["output"]) == b"\xffonetwo"


def test_what_is_not_given_is_empty(shelf: Path) -> None:
    result = modules(shelf).run(settings_of(shelf, ECHO), {})
    assert (result["returned"], result["output"], result["inputBytes"]) == (0, "00000000", 0)


def test_each_call_has_a_memory_of_its_own(shelf: Path) -> None:
    both, settings = modules(shelf), settings_of(shelf, ECHO)
    both.run(settings, {"input": b"secret"})

    assert both.run(settings, {})["output"] == "00000000"


@pytest.mark.parametrize(
    ("body", "results", "returned"),
    [
        ("", "", None),
        ("i32.const -1", "(result i32)", -1),
        ("i64.const 9007199254740992", "(result i64)", 9007199254740992),
        ("i64.const 9007199254740993", "(result i64)", "9007199254740993"),
        ("i64.const -9223372036854775808", "(result i64)", "-9223372036854775808"),
        ("f64.const 0.5", "(result f64)", 0.5),
        ("f32.const nan", "(result f32)", None),
        ("f64.const -inf", "(result f64)", None),
        ("ref.null func", "(result funcref)", None),
    ],
)
def test_what_a_function_returns_is_json(shelf: Path, body: str, results: str, returned: Any) -> None:
    settings = settings_of(shelf, with_body(body, params=f"(param i32) {results}"))
    assert modules(shelf).run(settings, {})["returned"] == returned


def test_whole_numbers_may_be_written_as_fractions(shelf: Path) -> None:
    settings = settings_of(shelf, ECHO, input={"addr": 16.0, "maxBytes": 64.0}, output={"addr": 16.0, "bytes": 4.0})
    assert modules(shelf).run(settings, {"input": b"tide"})["output"] == b"tide".hex()


# Where a module may lie, and which it must be


@pytest.mark.parametrize("spelling", ["{name}", "./{name}", "{shelf}/{name}", "{link}/{name}", "~/shelf/{name}", "ln"])
def test_a_module_lies_in_the_hosts_folder(shelf: Path, monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
    monkeypatch.setenv("HOME", str(shelf.parent))
    (shelf.parent / "link").symlink_to("shelf")
    (shelf / "ln").symlink_to("echo.wasm")
    settings = settings_of(shelf, ECHO, "echo.wasm")
    settings["path"] = spelling.format(name="echo.wasm", shelf=shelf, link=shelf.parent / "link")

    assert modules(shelf).run(settings, {"input": b"abc"})["returned"] == 3


@pytest.mark.parametrize(
    "path",
    [
        "nothing.wasm",
        "../outside.wasm",
        "{outside}",
        "out.wasm",
        "{shelf}/../outside.wasm",
        "{shelf}",
        ".",
        "/",
        "folder",
        "loop",
        "a\0b",
        "/a\0b",
        "a\ud800",
        "pipe",
    ],
)
def test_no_other_module_is_read(shelf: Path, path: str) -> None:
    settings = settings_of(shelf.parent, ECHO, "outside.wasm")
    (shelf / "out.wasm").symlink_to("../outside.wasm")
    (shelf / "loop").symlink_to("loop")
    (shelf / "folder").mkdir()
    os.mkfifo(shelf / "pipe")
    settings["path"] = path.format(outside=shelf.parent / "outside.wasm", shelf=shelf)

    assert refusal(shelf, settings) == "wasm-unreadable"


def test_without_a_folder_there_is_no_module(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nothing", settings_of(tmp_path, ECHO)) == "wasm-unreadable"


def test_another_module_than_the_admitted_one_never_runs_and_is_not_shown(shelf: Path) -> None:
    settings = settings_of(shelf, ECHO)
    other = b"\0asm hush hush"
    (shelf / "module.wasm").write_bytes(other)
    with pytest.raises(Refused) as refused:
        modules(shelf).run(settings, {})

    assert refused.value.id == "digest-mismatch"
    shown = f"{refused.value.why} {refused.value.details}"
    assert "hush" not in shown
    assert hashlib.sha256(other).hexdigest() not in shown


@pytest.mark.parametrize(("size", "refused"), [(MOST_MODULE, "wasm-invalid"), (MOST_MODULE + 1, "over-budget")])
def test_a_module_has_at_most_16_mib(shelf: Path, size: int, refused: str) -> None:
    assert refusal(shelf, settings_of(shelf, b"\0" * size)) == refused


# What a module may not


def test_refusals_come_in_the_contracts_order(shelf: Path) -> None:
    """Each fault is there with all that come after it; one after the other is taken away."""
    settings = settings_of(shelf, b"no module", call={"export": "nothing"}, input={"addr": 1 << 40, "maxBytes": 2})
    right, seen = settings | {"digest": "0" * 64, "path": "nothing.wasm"}, []
    for change in (
        {},
        {"path": "module.wasm"},
        {"digest": settings["digest"]},
        settings_of(shelf, IMPORTING, "importing.wasm"),
        settings_of(shelf, ECHO, "echo.wasm"),
    ):
        right |= {key: value for key, value in change.items() if key in ("path", "digest")}
        seen.append(refusal(shelf, right, {"input": b"long"}))
    seen.append(refusal(shelf, right))

    assert seen == [
        "wasm-unreadable",
        "digest-mismatch",
        "wasm-invalid",
        "import-undeclared",
        "over-budget",
        "unsupported-abi",
    ]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("(module", "wasm-invalid"),
        ('(module (memory (export "memory") 1 1 shared) (func (export "run")))', "wasm-invalid"),
        ('(module (memory (export "memory") i64 1) (func (export "run")))', "wasm-invalid"),
        (IMPORTING, "import-undeclared"),
        ('(module (import "env" "memory" (memory 1)) (func (export "run")))', "import-undeclared"),
        ('(module (import "wasi_snapshot_preview1" "fd_write" (func)) (func (export "run")))', "import-undeclared"),
        ("(module)", "unsupported-abi"),
        (f"(module {MEMORY})", "unsupported-abi"),
        (f'(module {MEMORY} (global (export "run") i32 (i32.const 1)))', "unsupported-abi"),
        (with_body("local.get 0", head="(memory 1)"), "unsupported-abi"),
        (with_body("local.get 0", head='(memory (export "mem") 1)'), "unsupported-abi"),
        (with_body("local.get 0", head='(memory (export "memory") 0)'), "unsupported-abi"),
        (with_body("", params=""), "unsupported-abi"),
        (with_body("", params="(param i64)"), "unsupported-abi"),
        (with_body("", params="(param i32 i32)"), "unsupported-abi"),
        (with_body("local.get 0 local.get 0", params="(param i32) (result i32 i32)"), "unsupported-abi"),
        (with_body("unreachable"), "wasm-trapped"),
        (with_body("(i32.div_u (i32.const 1) (i32.const 0))"), "wasm-trapped"),
        (with_body("(i32.load (i32.const -1))"), "wasm-trapped"),
        (with_body("(i32.load (i32.const 65533))"), "wasm-trapped"),
        (f'(module {MEMORY} (func $f (export "run") (param i32) (call $f (local.get 0))))', "wasm-trapped"),
        (f'(module {MEMORY} (func $s unreachable) (start $s) (func (export "run")))', "wasm-trapped"),
        (f'(module {MEMORY} (data (i32.const 65536) "x") (func (export "run")))', "wasm-trapped"),
        (with_body("local.get 0", head='(memory (export "memory") 1025)'), "resource-exceeded"),
        (with_body("local.get 0", head='(memory (export "memory") 1) (memory 1)'), "resource-exceeded"),
        (with_body("local.get 0", head='(memory (export "memory") 1) (table 100001 funcref)'), "resource-exceeded"),
    ],
)
def test_what_a_module_may_not_ends_the_call(shelf: Path, text: str, refused: str) -> None:
    settings = settings_of(shelf, b"(module" if text == "(module" else text)
    assert refusal(shelf, settings, {"input": b"abc"}) == refused


def test_a_module_has_at_most_64_mib_of_memory(shelf: Path) -> None:
    assert modules(shelf).run(settings_of(shelf, with_body("(memory.grow (i32.const 1023))")), {})["returned"] == 1
    assert modules(shelf).run(settings_of(shelf, with_body("(memory.grow (i32.const 1024))")), {})["returned"] == -1


@pytest.mark.parametrize(
    ("size", "data", "refused"),
    [(4, b"abcd", None), (4, b"abcde", "over-budget"), (0, b"", None), (0, b"a", "over-budget")],
)
def test_input_fits_into_its_buffer(shelf: Path, size: int, data: bytes, refused: str | None) -> None:
    settings = settings_of(shelf, ECHO, input={"addr": 16, "maxBytes": size})
    if refused is None:
        assert modules(shelf).run(settings, {"input": data})["inputBytes"] == len(data)
    else:
        assert refusal(shelf, settings, {"input": data}) == refused


@pytest.mark.parametrize("given", [{"a": b"x" * 65}, {"b": b"x" * 65}])
def test_each_input_of_a_diff_fits_into_its_buffer(shelf: Path, given: Mapping[str, bytes]) -> None:
    assert refusal(shelf, diff_settings(shelf, DIFF), given) == "over-budget"


@pytest.mark.parametrize(
    ("buffer", "fits"),
    [
        ({"addr": 65536 - 4, "bytes": 4}, True),
        ({"addr": 65536, "bytes": 0}, True),
        ({"addr": 65536 - 4, "bytes": 5}, False),
        ({"addr": 65537, "bytes": 0}, False),
        ({"addr": 1e300, "bytes": 0}, False),
    ],
)
def test_the_layout_fits_into_the_memory(shelf: Path, buffer: Mapping[str, Any], fits: bool) -> None:
    settings = settings_of(shelf, ECHO, output=buffer)
    if fits:
        modules(shelf).run(settings, {"input": b"x"})
    else:
        assert refusal(shelf, settings) == "unsupported-abi"


def test_at_most_1_mib_of_output_is_handed_on(shelf: Path) -> None:
    text = with_body("local.get 0", head='(memory (export "memory") 32)')
    settings = settings_of(shelf, text, output={"addr": 0, "bytes": MOST_OUTPUT})

    assert len(modules(shelf).run(settings, {})["output"]) == 2 * MOST_OUTPUT
    assert refusal(shelf, settings | {"output": {"addr": 0, "bytes": MOST_OUTPUT + 1}}) == "over-budget"


@pytest.mark.parametrize(
    ("body", "results"),
    [
        ("i32.const -1", "(result i32)"),
        ("i32.const 129", "(result i32)"),
        ("f64.const 17", "(result f64)"),
        ("", ""),
        ("(i32.store8 (i32.const 0x300) (i32.const 3)) (i32.const 17)", "(result i32)"),
        ("i32.const 16", "(result i32)"),
    ],
)
def test_a_diff_that_is_none_has_failed(shelf: Path, body: str, results: str) -> None:
    settings = diff_settings(shelf, with_body(body, params=f"(param i32 i32) {results}"))
    assert refusal(shelf, settings) == "diff-failed"


def test_a_module_that_never_ends_is_ended(shelf: Path) -> None:
    assert refusal(shelf, settings_of(shelf, LOOP), fuel=1_000_000) == "time-exceeded"
    assert refusal(shelf, settings_of(shelf, LOOP), fuel=1 << 60, seconds=1.0) == "time-exceeded"


def test_a_start_function_that_never_ends_is_ended(shelf: Path) -> None:
    text = f'(module {MEMORY} (func $s (loop $l (br $l))) (start $s) (func (export "run")))'
    assert refusal(shelf, settings_of(shelf, text), fuel=1_000_000) == "time-exceeded"


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"abi": "buffer-abi/2"}, "unsupported-abi"),
        ({"abi": None}, "unsupported-abi"),
        ({"abi": ["buffer-abi/1"]}, "unsupported-abi"),
        ({"path": None}, "unsupported-abi"),
        ({"path": ""}, "unsupported-abi"),
        ({"digest": None}, "digest-mismatch"),
        ({"call": None}, "unsupported-abi"),
        ({"call": {"export": 7}}, "unsupported-abi"),
        ({"input": None}, "unsupported-abi"),
        ({"input": {"addr": -1, "maxBytes": 1}}, "unsupported-abi"),
        ({"input": {"addr": True, "maxBytes": 1}}, "unsupported-abi"),
        ({"input": {"addr": "8", "maxBytes": 1}}, "unsupported-abi"),
        ({"output": {"addr": 8.5, "bytes": 1}}, "unsupported-abi"),
        ({"output": {"addr": 8}}, "unsupported-abi"),
    ],
)
def test_settings_that_no_gate_has_seen_are_refused(shelf: Path, change: Mapping[str, Any], refused: str) -> None:
    assert refusal(shelf, settings_of(shelf, ECHO) | change) == refused
