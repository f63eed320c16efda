"""The plugin as it is installed: its placement, its operator, and the rule that uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from capgate_container.networks import accepts, holds

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
    return json.loads((HOME / "examples" / "word-list.json").read_text())


def test_a_container_bounds_what_programs_do(gate: capgate.Gate, example: Any) -> None:
    assert gate.admit(example, "container").enforced == {"exec": "container", "network": "egress-proxy"}


@pytest.mark.parametrize("placement", ["machine", "browser"])
def test_elsewhere_nothing_does(gate: capgate.Gate, example: Any, placement: str) -> None:
    assert gate.decide(example, placement) == "exec-absent"


def test_no_container_has_a_mechanism_for_eval(gate: capgate.Gate, example: Any) -> None:
    example["capabilities"] += ["eval"]
    verdict = gate.admit(example, "container")
    assert verdict.rule == "eval-not-a-tool-path"
    assert [text.partition(" ")[0] for text in verdict.cannot_have] == ["eval", "import"]


@pytest.mark.parametrize(
    "host", ["10.0.0.5", "0x0a.0.0.5", "10.0.0.5:8080", "[::ffff:10.0.0.5]", "[::1]:80", "fd00::1"]
)
def test_a_container_reaches_no_internal_address(gate: capgate.Gate, example: Any, host: str) -> None:
    example["bounds"]["hosts"] += [host]
    verdict = gate.admit(example, "container")
    assert [(refusal.rule, refusal.path) for refusal in verdict.refusals] == [
        ("container-internal-host", "$.bounds.hosts[1]")
    ]


@pytest.mark.parametrize("host", ["example.com", "203.0.113.7", "[2001:db9::7]:443", "11.0.0.1"])
def test_it_reaches_any_other(gate: capgate.Gate, example: Any, host: str) -> None:
    example["bounds"]["hosts"] += [host]
    assert gate.decide(example, "container") is None


@pytest.mark.parametrize("value", [5, None, [], "*", "", "a b"])
def test_the_operator_is_for_hosts(value: Any) -> None:
    assert holds(value, ["10.0.0.0/8"]) is None


@pytest.mark.parametrize("operand", [None, "10.0.0.0/8", [], [5], [None], ["10.0.0.1/8"], ["localhost"], [[]], [{}]])
def test_the_operator_takes_networks_alone(operand: Any) -> None:
    assert accepts(operand)


def test_the_operator_takes_networks_of_both_kinds() -> None:
    assert accepts(["10.0.0.0/8", "fe80::/10"]) is None
