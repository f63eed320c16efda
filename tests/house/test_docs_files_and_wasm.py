"""docs/files-and-wasm.md says what is so: every id, every limit, the layouts of the shelf."""

from __future__ import annotations

import re
from typing import Any

import pytest

from capgate.host.admission import shelf
from capgate.host.mediation import files, root_walk, wasm
from capgate.policy.verdict import DEFAULT_MAX_BYTES
from pages import DOCS, code, table
from tree import ROOT

PAGE = DOCS / "files-and-wasm.md"


def ids(*paths: str) -> set[str]:
    """The ids that the modules refuse by."""
    text = "".join((ROOT / path).read_text(encoding="utf-8") for path in paths)
    return set(re.findall(r"""(?:Refused|_Wrong|_not_opened)\(\s*(?:path, )?"([a-z-]+)\"""", text))


@pytest.mark.parametrize(
    ("heading", "paths", "elsewhere"),
    [
        (
            "Refusals of a path",
            ("host/mediation/files.py", "host/mediation/root_walk.py", "plugins/primitives/write_file.py"),
            {"root-not-declared", "no-page"},  # The root says these.
        ),
        (
            "Refusals of a module",
            ("host/mediation/wasm.py", "host/mediation/wasm_worker.py", "plugins/primitives/wasm.py"),
            set(),
        ),
    ],
)
def test_every_id_of_a_refusal_is_documented(heading: str, paths: tuple[str, ...], elsewhere: set[str]) -> None:
    listed = [code(row[0])[0] for row in table(PAGE, heading, "id")]

    assert len(listed) == len(set(listed))
    # `missing` of a module is told as wasm-unreadable.
    assert set(listed) == ids(*paths) - ({"missing"} if "module" in heading else set()) | elsewhere


@pytest.mark.parametrize(
    ("limit", "real"),
    [
        ("bytes of a file that is read", files.MOST_READ),
        ("bytes of a file that is written, without `bounds.maxBytes`", DEFAULT_MAX_BYTES),
        ("bytes of a name", root_walk.LONGEST_NAME),
        ("links on the way to a file", root_walk.MOST_LINKS),
        ("folders opened on the way to a file", root_walk.MOST_STEPS),
        ("bytes of a module", wasm.MOST_MODULE),
        ("bytes of a module's memory", wasm.MOST_MEMORY),
        ("bytes of output", wasm.MOST_OUTPUT),
        ("seconds of a call, with its start and the compiling", wasm.SECONDS),
        ("steps of a call", wasm.MOST_FUEL),
    ],
)
def test_a_documented_limit_is_the_real_one(limit: str, real: float) -> None:
    limits = {row[0]: int(row[1]) for row in table(PAGE, "Limits", "limit")}

    assert limits[limit] == real
    assert len(limits) == 10


def test_the_documented_layouts_of_the_shelf_are_the_real_ones() -> None:
    def said(layout: Any) -> set[int]:
        return {number for part in layout.values() if "addr" in part for number in part.values()}

    rows = {code(row[0])[0]: row for row in table(PAGE, "The shelf", "id")}
    assert set(rows) == set(shelf.LAYOUTS)
    for id, layout in shelf.LAYOUTS.items():
        _, export, text = rows[id]
        assert code(export) == [layout["call"]["export"]]
        assert code(text) == [layout["abi"]]
        assert {int(number) for number in re.findall(r"\d\d+", text)} == said(layout)
