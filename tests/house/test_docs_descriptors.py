"""docs/descriptors.md has every key, capability, primitive and param, and its descriptors are admitted."""

from __future__ import annotations

import json

import pytest

import capgate
from capgate.plugins.api import Primitive
from capgate.plugins.primitives.http_get import HTTP_GET
from capgate.plugins.primitives.list_files import LIST_FILES
from capgate.plugins.primitives.now import NOW
from capgate.plugins.primitives.read_file import READ_FILE
from capgate.plugins.primitives.wasm import WASM
from capgate.plugins.primitives.write_file import WRITE_FILE
from capgate.policy.hosts import normalise_host
from capgate.policy.schema import DESCRIPTOR, WINDOWS, Schema
from pages import DOCS, Block, blocks, code, table

PAGE = DOCS / "descriptors.md"
PRIMITIVES = {one.name: one for one in (NOW, READ_FILE, WRITE_FILE, LIST_FILES, HTTP_GET, WASM)}
EXAMPLES = [block for block in blocks(PAGE) if block.language == "json"]
TOOL = DESCRIPTOR["schema"]["tools"]["anyof"][1]["schema"]


def descriptor_with(primitive: Primitive, *, declared: bool) -> dict[str, object]:
    (block,) = [block for block in EXAMPLES if block.heading == primitive.name]
    made: dict[str, object] = json.loads(block.text)
    return made if declared else {**made, "capabilities": []}


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.heading)
def test_a_shown_descriptor_is_admitted(block: Block) -> None:
    descriptor = json.loads(block.text)
    assert capgate.open_gate().admit(descriptor).refusals == ()
    assert [tool["primitive"] for tool in descriptor["tools"]] == [block.heading]


def test_every_primitive_has_an_example_and_a_row() -> None:
    assert [block.heading for block in EXAMPLES] == list(PRIMITIVES)
    assert [code(row[0])[0] for row in table(PAGE, "Primitives", "primitive")] == list(PRIMITIVES)


@pytest.mark.parametrize("row", table(PAGE, "Primitives", "primitive"), ids=lambda row: row[0])
def test_a_primitive_needs_and_takes_what_its_row_says(row: list[str]) -> None:
    primitive = PRIMITIVES[code(row[0])[0]]
    assert code(row[1]) == list(primitive.needs)
    assert code(row[2]) == [param.name for param in primitive.params if param.from_caller]
    assert code(row[3]) == [param.name for param in primitive.params if not param.from_caller]


@pytest.mark.parametrize("primitive", [one for one in PRIMITIVES.values() if one.needs], ids=lambda one: one.name)
def test_an_example_without_its_capability_is_refused(primitive: Primitive) -> None:
    gate = capgate.open_gate()
    assert gate.decide(descriptor_with(primitive, declared=True)) is None
    assert gate.decide(descriptor_with(primitive, declared=False)) == "under-declared"


@pytest.mark.parametrize(
    ("heading", "schema"),
    [("The descriptor", DESCRIPTOR), ("Bounds", DESCRIPTOR["schema"]["bounds"]), ("Tools", TOOL)],
)
def test_every_key_of_a_descriptor_has_a_row(heading: str, schema: Schema) -> None:
    assert [code(row[0])[0] for row in table(PAGE, heading, "key")] == list(schema["schema"])


def test_every_word_for_a_window_is_listed() -> None:
    (row,) = [row for row in table(PAGE, "Bounds", "key") if code(row[0]) == ["window"]]
    assert code(row[3]) == list(WINDOWS)


@pytest.mark.parametrize("row", table(PAGE, "The descriptor", "capability"), ids=lambda row: row[0])
@pytest.mark.parametrize(("placement", "column"), [("machine", 1), ("browser", 2)])
def test_a_capability_is_granted_where_its_row_says(row: list[str], placement: str, column: int) -> None:
    descriptor = {
        "capabilities": code(row[0]),
        "bounds": {"hosts": ["a.test"], "maxRequests": 1},
        "tools": [{"name": "a", "primitive": "now"}],
    }
    found = capgate.open_gate().decide(descriptor, placement=placement)
    shown = row[column]
    assert shown.startswith("can be granted") if found is None else shown == f"[refused](refusals.md#{found})"


def test_every_capability_has_a_row() -> None:
    listed = [code(row[0])[0] for row in table(PAGE, "The descriptor", "capability")]
    assert listed == ["read", "write", "delete", "network", "exec", "eval", "import"]


@pytest.mark.parametrize("row", table(PAGE, "Hosts", "written", "compared as"), ids=lambda row: row[0])
def test_a_host_is_compared_as_its_row_says(row: list[str]) -> None:
    written, compared = (normalise_host(code(cell)[0]) for cell in row)
    assert written is not None
    assert written == compared
    name = f"[{written.name}]" if ":" in written.name else written.name
    assert code(row[1])[0] == (name if written.port is None else f"{name}:{written.port}")


@pytest.mark.parametrize("row", table(PAGE, "Hosts", "written", "why"), ids=lambda row: row[0])
def test_what_is_said_to_be_no_host_is_none(row: list[str]) -> None:
    assert normalise_host(code(row[0])[0]) is None


def test_every_layout_of_wasm_is_listed_with_its_fields() -> None:
    listed = {code(row[0])[0]: tuple(code(row[1])) for row in table(PAGE, "wasm settings", "abi", "fields")}
    assert listed == WASM.abis
