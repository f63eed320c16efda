"""What the plugin adds, and what its rule refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import capgate

HOME = Path(__file__).parents[1]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> capgate.Gate:
    """A gate with the plugin that capgate.yaml names."""
    monkeypatch.setenv("CAPGATE_CONFIG", str(HOME / "capgate.yaml"))
    return capgate.open_gate()


@pytest.fixture
def example() -> Any:
    """The descriptor in examples/."""
    return json.loads((HOME / "examples" / "tide-server.json").read_text())


def test_servers_are_reached_by_the_mediated_fetch_alone(gate: capgate.Gate, example: Any) -> None:
    assert gate.admit(example).enforced == {"network": "mediated-fetch"}


def test_who_admits_it_is_warned_and_sees_the_secret_that_is_sent(gate: capgate.Gate, example: Any) -> None:
    plan = gate.plan(example).to_json()
    assert any("for the server to say" in text for text in plan["gate"]["gets"])
    assert [(one["header"], one["variable"]) for one in plan["secrets"]] == [("Authorization", "TIDES_TOKEN")]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"capabilities": []}, "under-declared"),
        ({"bounds": {"hosts": ["tides.example.com"]}}, "network-unbounded"),
        ({"bounds": {"maxRequests": 5}}, "network-unbounded"),
    ],
)
def test_it_is_bounded_as_any_use_of_the_network(
    gate: capgate.Gate, example: Any, change: dict[str, Any], rule: str
) -> None:
    assert gate.decide(example | change) == rule


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"url": "https://tides.example.com/mcp"}, "$.tools[0].params"),
        ({"url": "https://tides.example.com/mcp", "tool": ""}, "$.tools[0].params.tool"),
        ({"tool": "next_tide"}, "$.tools[0].params"),
        ({"tool": "next_tide", "url": ""}, "$.tools[0].params.url"),
        ({"tool": "next_tide", "url": "file:///etc/passwd"}, "$.tools[0].params.url"),
    ],
)
def test_a_tool_says_which_server_it_asks_and_for_what(
    gate: capgate.Gate, example: Any, params: dict[str, Any], path: str
) -> None:
    example["tools"][0]["params"] = params
    (refusal,) = gate.admit(example).refusals
    assert (refusal.rule, refusal.path) == ("mcp-call-server", path)
