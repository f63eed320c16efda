"""The plugin as it is installed: what it adds, and what its rule refuses."""

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
    return json.loads((HOME / "examples" / "word-count.json").read_text())


@pytest.mark.parametrize(
    ("placement", "mechanism"), [("machine", "clipboard-prompt"), ("browser", "clipboard-permission")]
)
def test_the_clipboard_is_read_behind_a_question(
    gate: capgate.Gate, example: Any, placement: str, mechanism: str
) -> None:
    assert gate.admit(example, placement).enforced == {"clipboard": mechanism}


def test_who_admits_it_is_warned(gate: capgate.Gate, example: Any) -> None:
    assert "a password" in gate.admit(example).gets[0]


def test_the_capability_has_to_be_declared(gate: capgate.Gate, example: Any) -> None:
    example["capabilities"] = []
    assert gate.decide(example) == "under-declared"


def test_what_reads_the_clipboard_has_no_network(gate: capgate.Gate, example: Any) -> None:
    example["capabilities"] += ["network"]
    example["bounds"] = {"hosts": ["api.example.com"], "maxRequests": 5}
    (refusal,) = gate.admit(example).refusals
    assert refusal.rule == "clipboard-offline"
    assert refusal.reason.endswith("could send what it finds there to api.example.com")


@pytest.mark.parametrize("changes", [{"description": ""}, {}])
def test_a_tool_says_why_it_reads_the_clipboard(gate: capgate.Gate, example: Any, changes: dict[str, str]) -> None:
    del example["tools"][0]["description"]
    example["tools"][0] |= changes
    (refusal,) = gate.admit(example).refusals
    assert (refusal.rule, refusal.element) == ("clipboard-offline", "$.tools[0]")


def test_tools_over_other_primitives_need_no_description(gate: capgate.Gate, example: Any) -> None:
    example["tools"] = [{"name": "clock", "primitive": "now"}]
    assert gate.decide(example) is None
