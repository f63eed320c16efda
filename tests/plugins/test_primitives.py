"""What the built-in primitives do with what they are handed, and with nothing else (contract 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from capgate.plugins.api import Call, Given, Primitive, Refused
from capgate.plugins.primitives.list_files import LIST_FILES
from capgate.plugins.primitives.now import NOW
from capgate.plugins.primitives.read_file import READ_FILE
from capgate.plugins.primitives.wasm import WASM
from capgate.plugins.primitives.write_file import WRITE_FILE


class Files:
    """A reader and a writer that remember."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, ...]] = []

    def names(self) -> list[str]:
        return ["a.txt", "sub"]

    def text(self, path: str, content: str | None = None) -> Any:
        self.seen.append((path,) if content is None else (path, content))
        return f"text of {path}" if content is None else len(content.encode())


class Clock:
    def now(self) -> float:
        return 1_800_000_000.9


class Modules:
    """Gives back what it was given."""

    def run(self, settings: Mapping[str, Any], inputs: Mapping[str, bytes]) -> Mapping[str, Any]:
        return {"settings": settings, "inputs": inputs}


def invoke(primitive: Primitive, call: Call, **interfaces: Any) -> Mapping[str, Any]:
    assert primitive.invoke is not None
    assert {*primitive.needs, *primitive.takes} == set(interfaces)
    return primitive.invoke(call, Given(interfaces))


def test_now_tells_the_time_for_people() -> None:
    assert invoke(NOW, Call("tide_now", {}), clock=Clock()) == {
        "action": "now",
        "content": "Friday, 15 January 2027, 08:00:00 UTC",
    }


def test_list_files_lists_the_names() -> None:
    assert invoke(LIST_FILES, Call("list", {}), read=Files()) == {"action": "list", "files": ["a.txt", "sub"]}


@pytest.mark.parametrize(
    ("arguments", "params", "path"),
    [
        ({"path": "a.txt"}, {}, "a.txt"),
        ({"path": "a.txt"}, {"path": "b.txt"}, "a.txt"),
        ({}, {"path": "b.txt"}, "b.txt"),
        ({"path": ""}, {"path": "b.txt"}, ""),
        ({}, {}, ""),
    ],
)
def test_a_path_comes_from_the_call_or_else_from_the_descriptor(
    arguments: dict[str, str], params: dict[str, Any], path: str
) -> None:
    files = Files()

    assert invoke(READ_FILE, Call("peek", arguments, params), read=files) == {
        "action": path,
        "content": f"text of {path}",
    }
    invoke(WRITE_FILE, Call("poke", arguments, params), write=files)
    assert files.seen == [(path,), (path, "")]


@pytest.mark.parametrize(
    ("arguments", "params", "content"),
    [
        ({"content": "ü"}, {"content": "x"}, "ü"),
        ({}, {"content": "x"}, "x"),
        ({"content": ""}, {"content": "x"}, ""),
        ({}, {}, ""),
    ],
)
def test_what_is_written_comes_from_the_call_or_else_from_the_descriptor(
    arguments: dict[str, str], params: dict[str, Any], content: str
) -> None:
    files = Files()
    call = Call("poke", {"path": "a.txt", **arguments}, params)

    size = len(content.encode())
    assert invoke(WRITE_FILE, call, write=files) == {"action": f"wrote a.txt ({size} bytes)"}
    assert files.seen == [("a.txt", content)]


@pytest.mark.parametrize("value", [7, 0, False, {}])
def test_what_a_descriptor_sets_and_is_no_text_is_refused(value: Any) -> None:
    files = Files()
    for primitive, call, refused in (
        (READ_FILE, Call("peek", {}, {"path": value}), "bad-path"),
        (WRITE_FILE, Call("poke", {}, {"path": value}), "bad-path"),
        (WRITE_FILE, Call("poke", {"path": "a"}, {"content": value}), "not-text"),
    ):
        with pytest.raises(Refused, match=refused):
            invoke(primitive, call, **dict.fromkeys(primitive.needs, files))
    assert files.seen == []


def test_wasm_hands_on_the_settings_of_the_tool_and_its_inputs() -> None:
    settings = {"name": "hash", "primitive": "wasm", "wasm": {"path": "hash.wasm"}}
    call = Call("hash", {"input": "ü", "a": "", "b": "b", "path": "x"}, settings=settings)

    assert invoke(WASM, call, wasm=Modules()) == {
        "action": "wasm",
        "tool": "hash",
        "settings": {"path": "hash.wasm"},
        "inputs": {"input": "ü".encode(), "a": b"", "b": b"b"},
    }


def test_wasm_without_settings_asks_for_nothing() -> None:
    for settings in ({}, {"wasm": None}, {"wasm": "x"}):
        assert invoke(WASM, Call("hash", {}, settings=settings), wasm=Modules())["settings"] == {}


def test_half_a_character_is_no_input() -> None:
    with pytest.raises(Refused, match="not-text"):
        invoke(WASM, Call("hash", {"a": "\ud800"}), wasm=Modules())
