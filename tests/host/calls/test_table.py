"""The table of calls, row by row, over real files, a real server on this machine, and real modules."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from call_table import HOSTS, NAMES, PAGES, ROWS, TOOLS, Row
from capgate.host.calls.machine import Machine
from capgate.host.mediation.network import Network, NetworkSettings
from host_samples import HUMAN, MODEL, clock_descriptor, exec_descriptor
from network_samples import Names, Server, Wire, pages, serving
from wasm_samples import DIFF, ECHO, IMPORTING, diff_settings, put, settings_of, with_body

World = Any  # of conftest.py
NEEDS = {"read-file": "read", "list-files": "read", "write-file": "write", "http-get": "network"}


class Moving:
    """The time of day stands still, so that results are exact; what deadlines go by does not."""

    def now(self) -> float:
        return 1_800_000_000.0

    def monotonic(self) -> float:
        return time.monotonic()


@pytest.fixture(scope="module")
def buoys() -> Iterator[Server]:
    """The server that every name leads to."""
    with serving(pages(**PAGES)) as server:
        yield server


@pytest.fixture
def wire(buoys: Server) -> Wire:
    return Wire(buoys.port)


@pytest.fixture
def world(make_world: Callable[..., World], wire: Wire) -> World:
    """A world over the machine, with a workspace that is laid out."""
    world = make_world()
    settings = NetworkSettings(max_bytes=6000, seconds=30)
    network = Network(
        settings, resolver=Names(NAMES), dialer=wire, clock=Moving(), redactor=world.redactor, environ={"X": "y"}
    )
    world.use(Machine(world.settings, network, world.clock, world.console))
    lay_out(world.settings.workspace)
    return world


def lay_out(root: Path) -> None:
    for folder in ("sub", ".audit", "proposals", "../outside"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "notes.txt").write_text("high tide\n")
    (root / "sub" / "n.txt").write_text("low tide")
    (root / "sub" / ".env").write_text("KEY=x")
    (root / "odd.bin").write_bytes(b"\xff\xfe")
    (root / "../outside/secret.txt").write_text("secret")
    (root / "proposals" / "x.json").write_text("{}")
    for link, target in {
        "inside.txt": "sub/n.txt",
        "out.txt": "../outside/secret.txt",
        "outdir": "../outside",
        "tohidden": "sub/.env",
        "loop": "loop",
    }.items():
        (root / link).symlink_to(target)
    os.mkfifo(root / "fifo")


def descriptor(tool: str, bounds: dict[str, Any] | None) -> dict[str, Any]:
    """An extension with one tool of the table."""
    need = NEEDS.get(TOOLS[tool]["primitive"])
    usual = {"hosts": HOSTS, "maxRequests": 9} if need == "network" else {}
    return clock_descriptor(
        tool.replace("_", "-"),
        capabilities=[need] if need else [],
        bounds=usual if bounds is None else bounds,
        tools=[{"name": tool} | TOOLS[tool]],
    )


def set_root(world: World, root: str | None) -> None:
    if root == "page":
        world.roots.declare({"root": {"kind": "opfs"}})
    elif root is None:
        world.roots._active = None


@pytest.mark.parametrize("row", ROWS, ids=[f"{number} {row.section} {row.tool}" for number, row in enumerate(ROWS)])
def test_a_call_has_exactly_this_result(world: World, row: Row) -> None:
    world.admit(descriptor(row.tool, row.bounds))
    set_root(world, row.root)

    results = [world.call(row.tool, row.args) for _ in range(row.times)]
    assert results[-1] == row.result
    line = (world.of_root() or world.audited())[-1]
    assert line["rule"] == row.result.get("refused", row.tool.replace("_", "-"))


def test_there_are_enough_rows() -> None:
    assert len(ROWS) >= 80


# Addresses: the result, and that nobody was asked


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://inner.test/", "inner.test is at 10.0.0.1, which is private"),
        ("http://mixed.test/", "mixed.test is at 127.0.0.1, which is loopback"),
        ("http://meta.test/", "meta.test is at 169.254.169.254, which is metadata"),
        ("http://six.test/", "six.test is at 10.0.0.1, which is private"),
        ("http://169.254.169.254/", "169.254.169.254 is at 169.254.169.254, which is metadata"),
        ("http://0xA9FEA9FE/latest", "169.254.169.254 is at 169.254.169.254, which is metadata"),
    ],
)
def test_an_address_that_may_not_be_reached_is_refused_and_never_dialled(
    world: World, wire: Wire, url: str, why: str
) -> None:
    world.admit(descriptor("get_any", None))
    result = world.call("get_any", {"url": url})

    assert (result["ok"], result["refused"]) == (False, "address-not-allowed")
    assert result["why"].startswith(why)
    assert wire.dialled == []


def test_an_answer_that_is_too_large_is_a_result(world: World, wire: Wire) -> None:
    small = Network(NetworkSettings(max_bytes=4999, seconds=30), resolver=Names(NAMES), dialer=wire, clock=Moving())
    world.use(Machine(world.settings, small, world.clock, world.console))
    world.admit(descriptor("get_any", None))

    assert world.call("get_any", {"url": "http://buoys.test/big"})["refused"] == "over-budget"


# Modules

_BLOCKS = [
    {"op": "equal", "aLine": 0, "aCount": 1, "bLine": 0, "bCount": 1},
    {"op": "delete", "aLine": 1, "aCount": 1, "bLine": 1, "bCount": 0},
    {"op": "insert", "aLine": 2, "aCount": 0, "bLine": 1, "bCount": 258},
]


def _refused(id: str, why: str) -> dict[str, Any]:
    return {"ok": False, "refused": id, "why": why}


@pytest.mark.parametrize(
    ("make", "args", "result"),
    [
        (lambda shelf: settings_of(shelf, ECHO), {"input": "hello"}, {"returned": 5, "output": "68656c6c"}),
        (lambda shelf: settings_of(shelf, ECHO), {}, {"returned": 0, "output": "00000000"}),
        (lambda shelf: diff_settings(shelf, DIFF), {"a": "x", "b": "y"}, {"returned": 52, "blocks": _BLOCKS}),
        (
            lambda shelf: settings_of(shelf, ECHO) | {"digest": "0" * 64},
            {},
            _refused("digest-mismatch", "the module module.wasm is not the one that was admitted"),
        ),
        (
            lambda shelf: settings_of(shelf, ECHO) | {"path": "gone.wasm"},
            {},
            _refused("wasm-unreadable", "it is no module of the host's folder: there is no file gone.wasm"),
        ),
        (
            lambda shelf: settings_of(shelf, ECHO) | {"path": "../outside/secret.txt"},
            {},
            _refused(
                "wasm-unreadable",
                "it is no module of the host's folder: the path ../outside/secret.txt has a '..' segment",
            ),
        ),
        (lambda shelf: settings_of(shelf, b"no module"), {}, "wasm-invalid"),
        (lambda shelf: settings_of(shelf, IMPORTING), {}, "import-undeclared"),
        (lambda shelf: settings_of(shelf, ECHO), {"input": "x" * 65}, "over-budget"),
        (lambda shelf: settings_of(shelf, ECHO, call={"export": "gone"}), {}, "unsupported-abi"),
        (lambda shelf: settings_of(shelf, with_body("unreachable")), {}, "wasm-trapped"),
        (lambda shelf: diff_settings(shelf, DIFF.replace("i32.const 52", "i32.const -1")), {}, "diff-failed"),
    ],
)
def test_a_module_has_exactly_this_result(
    world: World, make: Callable[[Path], dict[str, Any]], args: dict[str, str], result: Any
) -> None:
    world.settings.shelf.mkdir()
    wasm = make(world.settings.shelf)
    world.admit(clock_descriptor("module", tools=[{"name": "run_it", "primitive": "wasm", "wasm": wasm}]))
    found = world.call("run_it", args)

    if isinstance(result, str):
        assert (found["ok"], found["refused"]) == (False, result)
    elif "refused" in result:
        assert found == result
    else:
        done = {"ok": True, "action": "wasm", "tool": "run_it", "digest": wasm["digest"]}
        said = {"inputBytes": sum(map(len, args.values()))}
        assert found == done | said | {"output": found["output"]} | result
    (line,) = world.audited()
    assert line["act"] == {"kind": "read", "target": "run_it", "tool": "run_it"}


def test_a_changed_module_is_refused_without_a_word_of_it(world: World) -> None:
    world.settings.shelf.mkdir()
    wasm = settings_of(world.settings.shelf, ECHO)
    world.admit(clock_descriptor("module", tools=[{"name": "run_it", "primitive": "wasm", "wasm": wasm}]))
    changed = put(world.settings.shelf, b"secret bytes")

    result = str(world.call("run_it", {"input": "x"}))
    assert "digest-mismatch" in result
    assert changed not in result
    assert "secret" not in result


def test_a_tool_of_the_shelf_is_called_without_an_admission(make_world: Callable[..., World], tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    digest = put(shelf, ECHO.replace('"run"', '"sha256"'), "hash.wasm")
    listed = {"id": "hash", "wasm": "hash.wasm", "digest": digest, "description": "Hashes", "capability": "none"}
    (shelf / "manifest.json").write_text(json.dumps({"name": "s", "version": "1", "tools": [listed]}))
    world = make_world(shelf=shelf)
    world.use(Machine(world.settings, Network(resolver=Names()), world.clock, world.console))

    found = world.call("hash", {"input": "tide"})
    done = {"ok": True, "action": "wasm", "tool": "hash", "returned": 4, "output": "00" * 32}
    assert found == done | {"digest": digest, "inputBytes": 4}
    assert [line["rule"] for line in world.audited()] == ["wasm-shelf-hash"]


# What is not called, and what a model has besides


@pytest.fixture
def harbour(world: World) -> World:
    """One extension that runs, one that waits, one that was refused, one that was revoked."""
    world.admit(clock_descriptor())
    world.admit(clock_descriptor("gone", "was_there"))
    world.host.revoke("gone", confirm=True, actor=HUMAN)
    world.host.propose(clock_descriptor("waits", "waiting"), actor=HUMAN)
    world.host.propose(exec_descriptor(), actor=HUMAN)
    world.host.admit("runner", confirm=True, actor=HUMAN)
    return world


_KNOWN = "there are a, b, content, input, path, query, url"
_UNKNOWN = "no tool '{}' in the loaded set"


@pytest.mark.parametrize(
    ("section", "name", "args", "result"),
    [
        ("6", "missing_calc", {}, _refused("unknown-tool", _UNKNOWN.format("missing_calc"))),
        ("6", "was_there", {}, _refused("unknown-tool", _UNKNOWN.format("was_there"))),
        ("6", "tide-now", {}, _refused("unknown-tool", _UNKNOWN.format("tide-now"))),
        ("6", "waiting", {}, _refused("not-admitted", "the tool 'waiting' of 'waits' waits for the host's review")),
        ("6", "run_it", {}, "admission-refused"),
        ("9", None, {}, _refused("missing-argument", "the name of the tool is missing")),
        ("9", "", {}, _refused("invalid-argument", "the name of the tool is empty")),
        ("9", 7, {}, _refused("invalid-argument", "the name of the tool is no text, but 7")),
        ("9", "tide_now", [], _refused("invalid-argument", "the arguments are not an object")),
        ("9", "tide_now", {"x": "y"}, _refused("invalid-argument", f"there is no argument x; {_KNOWN}")),
        (
            "9",
            "tide_now",
            {"__proto__": "y"},
            _refused("invalid-argument", f"there is no argument __proto__; {_KNOWN}"),
        ),
        ("9", "tide_now", {"url": 7}, _refused("invalid-argument", "the argument url is 7, not a text")),
        ("9", "tide_now", {"url": None}, _refused("invalid-argument", "the argument url is null, not a text")),
        ("9", "tide_now", {"url": {}}, _refused("invalid-argument", "the argument url is {}, not a text")),
        ("9", "call_extension", {"name": "list_extensions"}, "unknown-tool"),
        ("9", "call_extension", {}, _refused("missing-argument", "the name of the tool is missing")),
        ("9", "approve", {}, _refused("unknown-tool", _UNKNOWN.format("approve"))),
    ],
)
def test_what_is_not_called_has_exactly_this_result(
    harbour: World, section: str, name: Any, args: Any, result: Any
) -> None:
    found = harbour.tools.call(name, args, actor=MODEL)
    del found["correlationId"]

    if isinstance(result, str):
        assert (found["ok"], found["refused"]) == (False, result)
    else:
        assert found == result
    (line,) = harbour.audited()
    assert (line["rule"], line["why"]) == (found["refused"], found["why"])


@pytest.mark.parametrize(
    ("args", "refused", "why"),
    [
        ({}, "missing-argument", "one of catalogueId, id and name is needed"),
        ({"description": "x"}, "missing-argument", "one of catalogueId, id and name is needed"),
        ({"catalogueId": "nowhere"}, "invalid-id", "the catalogue has no entry nowhere"),
        ({"id": "!"}, "invalid-id", None),
        ({"id": "x", "primitive": "shell"}, "unknown-primitive", None),
        ({"id": "x", "primitive": "http-get"}, "network-unbounded", None),
        ({"id": 7}, "invalid-argument", "the argument id is 7, not a text"),
        ({"capabilities": "exec"}, "invalid-argument", None),
    ],
)
def test_what_cannot_be_proposed_has_exactly_this_result(
    world: World, args: Any, refused: str, why: str | None
) -> None:
    found = world.tools.call("propose_extension", args, actor=MODEL)

    assert found.keys() >= {"ok", "refused", "error", "why"}
    assert (found["ok"], found["refused"], found["error"]) == (False, refused, f"refused: {refused}")
    assert why is None or found["why"] == why


def test_what_is_proposed_has_exactly_this_result(world: World) -> None:
    found = world.tools.call("propose_extension", {"id": "Tide Reader", "defaultPath": "tide.md"}, actor=MODEL)

    descriptor = {
        "id": "tide-reader",
        "name": "tide-reader",
        "description": "tide-reader",
        "runsIn": "host",
        "capabilities": ["read"],
        "bounds": {},
        "tools": [
            {
                "name": "tide_reader",
                "description": "tide-reader",
                "primitive": "read-file",
                "params": {"path": "tide.md"},
            }
        ],
    }
    assert found.pop("proposal")["state"] == "pending"
    assert "NOT loaded" in found.pop("note")
    assert found == {"ok": True, "action": "proposed extension tide-reader", "descriptor": descriptor}
