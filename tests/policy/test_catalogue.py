"""The descriptors that capgate ships: those that clients of the API know are there, and all keep their word."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

import capgate
from capgate.policy.documents import load_json

IDS = sorted(
    file.name.removesuffix(".json") for file in files("capgate.catalogue").iterdir() if file.name.endswith(".json")
)
REFUSED = {"mcp-server-local": "exec-absent"}

# Gate contract, section 1: name, runsIn, capabilities, hosts, maxRequests, tool, primitive, params
SHIPPED: dict[str, tuple[Any, ...]] = {
    "web-search": (
        *("Web Search", "host", ["network"], ["api.duckduckgo.com"], 5, "web_search", "http-get"),
        {"url": "https://api.duckduckgo.com/?format=json"},
    ),
    "brave-search": (
        *("Brave Search", "host", ["network"], ["api.search.brave.com"], 20, "brave_search", "http-get"),
        {
            "url": "https://api.search.brave.com/res/v1/web/search",
            "headers": {"X-Subscription-Token": "$BRAVE_API_KEY"},
        },
    ),
    "mcp-server-local": (
        *("MCP Server (local launch)", "process", ["exec"], None, None, "mcp_list_tools", "process"),
        None,
    ),
    "mcp-server-remote": (
        *("MCP Server (remote, HTTP transport)", "remote", ["network"], ["mcp.example.com"], 20),
        *("mcp_remote_list_tools", "http-get", {"url": "https://mcp.example.com/tools"}),
    ),
    "notes": ("Notes Reader", "host", ["read"], None, None, "read_notes", "read-file", {"path": "notes.md"}),
    "local-notes": ("Local Notes", "host", ["read"], None, None, "read_notes", "read-file", {"path": "notes.md"}),
}


def load(id: str) -> dict[str, Any]:
    data = load_json(files("capgate.catalogue").joinpath(f"{id}.json").read_bytes(), f"{id}.json").data
    assert isinstance(data, dict)
    return data


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


@pytest.mark.parametrize("id", sorted(SHIPPED))
def test_an_entry_that_clients_know_is_as_they_know_it(id: str) -> None:
    entry = load(id)
    [tool] = entry["tools"]
    bounds = entry["bounds"]

    assert (
        entry["name"],
        entry["runsIn"],
        entry["capabilities"],
        bounds.get("hosts"),
        bounds.get("maxRequests"),
        tool["name"],
        tool["primitive"],
        tool.get("params"),
    ) == SHIPPED[id]


def test_the_local_server_has_a_command_as_its_only_bound() -> None:
    bounds = load("mcp-server-local")["bounds"]

    assert list(bounds) == ["command"]
    assert isinstance(bounds["command"], str)


def test_there_are_more_entries_than_clients_know() -> None:
    assert set(IDS) >= set(SHIPPED)
    assert len(IDS) >= len(SHIPPED) + 6


@pytest.mark.parametrize("id", IDS)
def test_the_verdict_on_an_entry_is_what_its_description_promises(gate: capgate.Gate, id: str) -> None:
    verdict = gate.admit(load(id))

    assert verdict.rule == REFUSED.get(id)
    assert verdict.decision == ("refused" if id in REFUSED else "admitted")


@pytest.mark.parametrize("id", IDS)
def test_an_entry_is_complete_enough_to_be_proposed(id: str) -> None:
    entry = load(id)

    assert entry["id"] == id
    assert re.fullmatch(r"[a-z0-9_-]+", id)
    assert all(entry[key].strip() for key in ("name", "description"))
    assert all(tool["description"].strip() and tool["promptSnippet"].strip() for tool in entry["tools"])


@pytest.mark.parametrize("id", [id for id in IDS if id not in REFUSED])
def test_an_entry_declares_no_more_than_its_tools_use(id: str) -> None:
    needs = {"read-file": "read", "list-files": "read", "write-file": "write", "http-get": "network"}
    entry = load(id)

    assert set(entry["capabilities"]) == {
        needs[tool["primitive"]] for tool in entry["tools"] if tool["primitive"] != "now"
    }


@pytest.mark.parametrize("id", [id for id in IDS if "network" in load(id)["capabilities"]])
def test_requests_go_to_the_hosts_named_over_https_with_secrets_by_name_only(id: str) -> None:
    entry = load(id)
    asked = set()
    for tool in entry["tools"]:
        url = re.fullmatch(r"https://([a-z0-9.-]+)/\S*", tool["params"]["url"])
        assert url is not None
        asked.add(url[1])
        assert all(re.fullmatch(r"\$[A-Z][A-Z0-9_]*", value) for value in tool["params"].get("headers", {}).values())

    assert asked == set(entry["bounds"]["hosts"])


def test_all_entries_can_run_side_by_side_but_for_the_two_notes(gate: capgate.Gate) -> None:
    taken: set[str] = set()
    for id in IDS:
        if id in REFUSED or id == "local-notes":
            continue
        entry = load(id)
        assert gate.decide(entry, existing_tools=frozenset(taken)) is None, id
        taken |= {tool["name"] for tool in entry["tools"]}

    assert gate.decide(load("local-notes"), existing_tools=frozenset(taken)) == "duplicate-tool"


@pytest.mark.parametrize("id", IDS)
def test_an_entry_is_indented_so_that_a_line_number_helps(id: str) -> None:
    text = files("capgate.catalogue").joinpath(f"{id}.json").read_text(encoding="utf-8")

    assert text.startswith('{\n  "id": ')
    assert text.endswith("}\n")
    assert "\t" not in text
