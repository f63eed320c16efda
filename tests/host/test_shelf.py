"""The wasm shelf: tools that the host's own module folder offers (contract 6 and 7)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from capgate.host.admission.shelf import Shelf, load_shelf
from capgate.host.mediation.wasm import WasmModules
from capgate.policy.gate import Gate
from failing import failing
from wasm_samples import DIFF, MEMORY, put

#: Writes the input, twice, behind each other; no hash, but 32 bytes at the place of one.
HASH = f"""(module {MEMORY.replace("1)", "2)")}
  (func (export "sha256") (param i32) (result i32)
    (memory.copy (i32.const 0x2400) (i32.const 0x400) (local.get 0)) (i32.const 0)))"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A module folder."""
    (tmp_path / "shelf").mkdir()
    return tmp_path / "shelf"


def entry(folder: Path, id: str, text: str = HASH, **changes: Any) -> dict[str, Any]:
    digest = put(folder, text, f"{id}.wasm")
    return {
        "id": id,
        "wasm": f"{id}.wasm",
        "digest": digest,
        "description": f"Does {id}",
        "capability": "none",
    } | changes


def write(folder: Path, *tools: Any) -> None:
    (folder / "manifest.json").write_text(json.dumps({"name": "Shelf", "version": "1", "tools": tools}))


def failure(shelf: Shelf) -> tuple[str, str]:
    ((id, failed),) = shelf.failed.items()
    assert id == failed.id
    assert all((failed.why, failed.next))
    return id, failed.refused


def test_without_a_manifest_there_is_no_shelf(folder: Path, gate: Gate) -> None:
    put(folder, HASH)
    assert load_shelf(folder, gate, ()) == Shelf({}, {}, {}, {})
    assert load_shelf(folder / "nothing", gate, ()) == Shelf({}, {}, {}, {})


def test_a_known_module_is_a_tool(folder: Path, gate: Gate) -> None:
    write(folder, entry(folder, "hash"), entry(folder, "diff", DIFF))
    shelf = load_shelf(folder, gate, ())

    assert list(shelf.tools) == ["wasm-shelf-hash", "wasm-shelf-diff"]
    assert (shelf.failed, shelf.unknown) == ({}, {})
    tool = shelf.tools["wasm-shelf-hash"]
    assert tool.verdict.admitted
    assert tool.verdict.gets[0].startswith("wasm:")
    assert tool.descriptor["source"] == "wasm-shelf"
    assert tool.descriptor["tools"] == [
        {
            "name": "hash",
            "description": "Does hash",
            "primitive": "wasm",
            "wasm": {
                "path": f"{folder}/hash.wasm",
                "digest": hashlib.sha256((folder / "hash.wasm").read_bytes()).hexdigest(),
                "abi": "buffer-abi/1",
                "call": {"export": "sha256"},
                "input": {"addr": 0x400, "maxBytes": 8192},
                "output": {"addr": 0x2400, "bytes": 32},
            },
        }
    ]
    assert (
        shelf.tools["wasm-shelf-diff"].descriptor["tools"][0]["wasm"].items()
        >= {
            "abi": "buffer-abi/diff",
            "inputA": {"addr": 0x10000, "maxBytes": 65536},
            "inputB": {"addr": 0x20000, "maxBytes": 65536},
            "output": {"addr": 0x30000, "maxBytes": 262144},
        }.items()
    )


def test_a_tool_of_the_shelf_runs(folder: Path, gate: Gate) -> None:
    write(folder, entry(folder, "hash"))
    tool = load_shelf(folder, gate, ()).tools["wasm-shelf-hash"]
    result = WasmModules(folder, seconds=60).run(tool.descriptor["tools"][0]["wasm"], {"input": b"x" * 32})

    assert result["output"] == (b"x" * 32).hex()


def test_a_digest_may_say_how_it_was_made(folder: Path, gate: Gate) -> None:
    plain = entry(folder, "hash")
    write(folder, plain | {"digest": f"sha256:{plain['digest']}"})

    wasm = load_shelf(folder, gate, ()).entries["wasm-shelf-hash"]["tools"][0]["wasm"]
    assert wasm["digest"] == plain["digest"]


def test_a_module_without_a_known_layout_is_listed_and_does_not_run(folder: Path, gate: Gate) -> None:
    write(folder, entry(folder, "sort-lines"), entry(folder, "hash"))
    shelf = load_shelf(folder, gate, ())

    assert list(shelf.tools) == ["wasm-shelf-hash"]
    assert shelf.unknown == {"wasm-shelf-sort-lines": "sort-lines"}


def test_a_name_that_is_taken_stays_with_who_has_it(folder: Path, gate: Gate) -> None:
    write(folder, entry(folder, "hash"), entry(folder, "diff", DIFF))
    taken = {"hash"}
    shelf = load_shelf(folder, gate, taken)

    assert list(shelf.tools) == ["wasm-shelf-diff"]
    assert failure(shelf) == ("wasm-shelf-hash", "gate-refused-at-load")
    assert shelf.failed["wasm-shelf-hash"].rule == "duplicate-tool"
    assert taken == {"hash"}


@pytest.mark.parametrize(
    "changes",
    [{"digest": None}, {"digest": "A" * 64}, {"digest": 7}, {"wasm": ""}, {"wasm": None}, {"wasm": ["hash.wasm"]}],
)
def test_the_gate_is_asked_about_what_a_manifest_says(folder: Path, gate: Gate, changes: Any) -> None:
    write(folder, entry(folder, "hash", **changes))
    shelf = load_shelf(folder, gate, ())

    assert failure(shelf) == ("wasm-shelf-hash", "gate-refused-at-load")
    assert shelf.failed["wasm-shelf-hash"].rule == "under-declared"
    assert shelf.tools == {}


def test_a_description_that_is_none_is_empty(folder: Path, gate: Gate) -> None:
    write(folder, entry(folder, "hash", description=["x"]))
    assert load_shelf(folder, gate, ()).tools["wasm-shelf-hash"].descriptor["description"] == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"tools": {}}',
        '{"tools": null}',
        '{"tools": [7]}',
        '{"tools": [{}]}',
        '{"tools": [{"id": 7}]}',
        '{"tools": [{"id": "Hash"}]}',
        '{"tools": [{"id": "../hash"}]}',
        '{"tools": [{"id": "' + "x" * 65 + '"}]}',
        '{"tools": [{"id": "hash"}, {"id": "hash"}]}',
        '{"tools": [{"id": "other"}, {"id": "other"}]}',
        '{"tools": [' + ", ".join(["{}"] * 257) + "]}",
        '{"tools": [], "tools": []}',
        '"' + "x" * 1024 * 1024 + '"',
    ],
)
def test_a_manifest_that_cannot_be_used_is_told_and_stops_nothing_else(folder: Path, gate: Gate, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    assert failure(load_shelf(folder, gate, ())) == ("wasm-shelf", "unreadable")


def test_a_manifest_that_cannot_be_read_is_told(folder: Path, gate: Gate) -> None:
    write(folder, entry(folder, "hash"))
    assert failure(load_shelf(folder, gate, (), disk=failing(1))) == ("wasm-shelf", "unreadable")

    (folder / "manifest.json").rename(folder / "elsewhere.json")
    (folder / "manifest.json").symlink_to("elsewhere.json")
    assert failure(load_shelf(folder, gate, ())) == ("wasm-shelf", "unreadable")


def test_the_catalogue_lists_what_is_on_the_shelf(folder: Path, gate: Gate) -> None:
    write(folder, entry(folder, "hash"), entry(folder, "sort"), entry(folder, "diff", digest=None))
    hash, diff, sort = load_shelf(folder, gate, ()).catalogue(gate, ())

    assert hash["preview"]["decision"] == "admitted"
    del hash["preview"]
    assert hash == {
        "id": "wasm-shelf-hash",
        "name": "Wasm shelf: hash",
        "description": "Does hash",
        "runsIn": "host",
        "declared": [],
        "wasm": {
            "path": f"{folder}/hash.wasm",
            "digest": hashlib.sha256((folder / "hash.wasm").read_bytes()).hexdigest(),
            "abi": "buffer-abi/1",
            "imports": 0,
        },
    }
    assert (diff["id"], diff["preview"]["rule"]) == ("wasm-shelf-diff", "under-declared")
    assert (sort["id"], set(sort)) == ("wasm-shelf-sort", {"id", "error"})


def test_the_catalogue_shows_what_would_be_if_it_were_admitted_now(folder: Path, gate: Gate) -> None:
    write(folder, entry(folder, "hash"))
    (hash,) = load_shelf(folder, gate, ()).catalogue(gate, {"hash"})

    assert hash["preview"]["rule"] == "duplicate-tool"
