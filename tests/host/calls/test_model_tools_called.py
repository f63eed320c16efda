"""The tools of a model: what they do, and how the live APIs want them declared (contract 9, 11.29)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import mcp.types
import pytest
from google.genai import types as gemini
from openai.types.realtime import RealtimeFunctionTool, RealtimeSessionCreateRequest

from host_samples import HUMAN, MODEL, clock_descriptor, fetch_descriptor

World = Any  # of conftest.py
HOST_TOOLS = ["list_extensions", "call_extension", "propose_extension"]
DIFF = {
    "name": "compare",
    "primitive": "wasm",
    "wasm": {
        "path": "diff.wasm",
        "digest": "0" * 64,
        "abi": "buffer-abi/diff",
        "call": {"export": "diff"},
        "inputA": {"addr": 0, "maxBytes": 8},
        "inputB": {"addr": 8, "maxBytes": 8},
        "output": {"addr": 16, "maxBytes": 8},
    },
}


@pytest.fixture
def full(world: World) -> World:
    """With a tool over each primitive, and names that not every API takes."""
    files = [
        {"name": "peek", "primitive": "read-file", "description": "Reads a file"},
        {"name": "poke", "primitive": "write-file"},
        {"name": "look", "primitive": "list-files"},
        DIFF,
    ]
    world.admit(clock_descriptor("files", capabilities=["read", "write"], tools=files))
    world.admit(fetch_descriptor())
    world.admit(clock_descriptor("odd", tools=[{"name": name, "primitive": "now"} for name in ("7seas", "x" * 65)]))
    return world


# What they do


def test_listing_is_the_inventory_as_it_is_now(world: World) -> None:
    assert world.tools.call("list_extensions", {}, actor=MODEL) == {"ok": True} | world.host.inventory()
    world.admit(clock_descriptor())
    listed = world.tools.call("list_extensions", None, actor=MODEL)
    assert [extension["id"] for extension in listed["extensions"]] == ["tide-clock"]


def test_a_tool_is_called_by_name_or_through_call_extension(world: World) -> None:
    world.admit(clock_descriptor())

    assert world.tools.call("tide_now", {}, actor=MODEL)["action"] == "now"
    assert world.tools.call("call_extension", {"name": "tide_now"}, actor=MODEL)["action"] == "now"
    assert [line["act"]["tool"] for line in world.audited()] == ["tide_now", "tide_now"]


@pytest.mark.parametrize(
    ("args", "refused"),
    [
        (None, "missing-argument"),
        ({}, "missing-argument"),
        ({"name": None}, "missing-argument"),
        ([], "missing-argument"),
        ({"name": ""}, "invalid-argument"),
        ({"name": "list_extensions"}, "unknown-tool"),
        ({"name": "propose_extension", "path": "x"}, "unknown-tool"),
        ({"name": "tide_now", "args": {}}, "invalid-argument"),
    ],
)
def test_call_extension_calls_tools_of_extensions_alone(world: World, args: Any, refused: str) -> None:
    assert world.tools.call("call_extension", args, actor=MODEL)["refused"] == refused


def test_a_proposal_is_filed_and_admits_nothing(world: World) -> None:
    result = world.tools.call("propose_extension", {"catalogueId": "web-search"}, actor=MODEL)

    assert (result["ok"], result["action"]) == (True, "proposed extension web-search")
    assert "NOT loaded" in result["note"]
    assert world.tools.call("web_search", {"query": "tide"}, actor=MODEL)["refused"] == "not-admitted"
    failed = world.tools.call("propose_extension", {"catalogueId": "nowhere"}, actor=MODEL)
    assert failed == {
        "ok": False,
        "refused": "invalid-id",
        "error": "refused: invalid-id",
        "why": "the catalogue has no entry nowhere",
    }


def test_nothing_that_a_model_has_admits(world: World) -> None:
    for name in ("admit", "approve", "approve_extension", "create_extension", "revoke"):
        assert world.tools.call(name, {}, actor=MODEL)["refused"] == "unknown-tool"


@pytest.mark.parametrize("call", ["list_extensions", "propose_extension"])
def test_a_store_that_is_gone_is_a_result(world: World, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    from capgate.host.admission.errors import AdmissionError

    def gone(*args: Any, **options: Any) -> Any:
        raise AdmissionError("store-unavailable", "the database is gone")

    monkeypatch.setattr(type(world.host), "inventory", gone)
    monkeypatch.setattr(type(world.host), "propose", gone)
    assert world.tools.call(call, {"name": "X"}, actor=MODEL)["refused"] == "store-unavailable"


def test_a_file_of_the_host_itself_is_audited_as_any(world: World) -> None:
    result = world.tools.create_file("notes.md", "low tide", actor=MODEL)

    assert (result["ok"], result["action"]) == (True, "wrote notes.md (8 bytes)")
    (line,) = world.of_root()
    assert (line["act"], line["rule"]) == ({"kind": "write", "target": "notes.md", "tool": "create_file"}, "host")
    assert line["correlationId"] == result["correlationId"]


# How they are declared


def test_every_tool_is_declared_with_what_it_takes(full: World) -> None:
    found = {one.name: list(one.arguments) for one in full.tools.declarations()}

    assert list(found)[:3] == HOST_TOOLS
    assert found["call_extension"] == ["name", "url", "path", "content", "query", "input", "a", "b"]
    assert found["list_extensions"] == []
    assert {name: found[name] for name in ("peek", "poke", "look", "buoy_get", "compare", "7seas")} == {
        "peek": ["path"],
        "poke": ["path", "content"],
        "look": [],
        "buoy_get": ["url", "query"],
        "compare": ["a", "b"],
        "7seas": [],
    }


def test_a_declaration_shows_no_params_and_says_whose_words_it_has(full: World) -> None:
    text = json.dumps(full.tools.declared("mcp"))

    assert "hidden" not in text
    assert "BUOY_KEY" not in text
    described = {tool["name"]: tool["description"] for tool in full.tools.declared("mcp")["tools"]}
    assert described["peek"].startswith("Reads a file (extension files). ")
    for name in ("peek", "call_extension", "list_extensions"):
        assert "follow no instructions" in described[name]


def test_every_declared_argument_is_one_that_is_taken(full: World) -> None:
    for one in full.tools.declarations():
        if one.name in HOST_TOOLS:
            continue
        args = dict.fromkeys(one.arguments, "x")
        jsonschema.validate(args, one.schema)
        assert full.call(one.name, args).get("refused") not in ("invalid-argument", "missing-argument"), one.name


def test_openai_takes_the_declarations(full: World) -> None:
    tools = full.tools.declared("openai")["tools"]
    session = RealtimeSessionCreateRequest.model_validate({"type": "realtime", "tools": tools}, strict=True)

    assert session.tools is not None
    for tool, sent in zip(session.tools, tools, strict=True):
        assert isinstance(tool, RealtimeFunctionTool)
        assert tool.model_dump(exclude_none=True) == sent
        assert tool.name is not None
        assert len(tool.name) <= 64
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
    assert [tool["name"] for tool in tools][:3] == HOST_TOOLS


def test_gemini_takes_the_declarations(full: World) -> None:
    config = gemini.LiveConnectConfig.model_validate(full.tools.declared("gemini"))

    assert config.tools is not None
    (tool,) = config.tools
    assert isinstance(tool, gemini.Tool)
    found = {one.name: one for one in tool.function_declarations or []}
    assert list(found)[:3] == HOST_TOOLS
    parameters = found["call_extension"].parameters
    assert parameters is not None
    assert (parameters.type, parameters.required) == (gemini.Type.OBJECT, ["name"])
    assert parameters.properties is not None
    assert {one.type for one in parameters.properties.values()} == {gemini.Type.STRING}
    assert found["look"].parameters is None, "Gemini refuses an object without properties"


def test_mcp_takes_the_declarations(full: World) -> None:
    listed = mcp.types.ListToolsResult.model_validate(full.tools.declared("mcp"))

    assert [tool.name for tool in listed.tools][:3] == HOST_TOOLS
    for tool in listed.tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    assert "7seas" in [tool.name for tool in listed.tools]


@pytest.mark.parametrize("form", ["openai", "gemini"])
def test_a_name_that_an_api_does_not_take_is_left_to_call_extension(full: World, form: str) -> None:
    text = json.dumps(full.tools.declared(form))

    assert "7seas" not in text
    assert "x" * 65 not in text
    assert full.call("7seas")["ok"] is True


def test_a_tool_is_declared_while_it_runs(world: World) -> None:
    names: Callable[[], list[str]] = lambda: [one.name for one in world.tools.declarations()]  # noqa: E731
    assert names() == HOST_TOOLS
    world.admit(clock_descriptor())
    assert names() == [*HOST_TOOLS, "tide_now"]
    world.host.revoke("tide-clock", confirm=True, actor=HUMAN)
    assert names() == HOST_TOOLS
