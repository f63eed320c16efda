"""What the shipped rules say where a plugin's placement or primitive changes what exists."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import capgate
from capgate.plugins.api import HookContext, Mechanism, Placement, Primitive, hookimpl

NOW: dict[str, Any] = {"name": "a", "primitive": "now"}


@hookimpl
def capgate_placements(context: HookContext) -> list[Placement]:
    bounded = Mechanism("bounded", "a bounded one")
    return [
        Placement("container", {"read": bounded, "exec": bounded}),
        Placement("reader", {"read": bounded}),
        Placement("sealed"),
    ]


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    return [
        Primitive("delete-file", needs=("delete",)),
        Primitive("run-image", needs=("exec",)),
        Primitive("run-text", needs=("eval",)),
    ]


PLACEMENTS = SimpleNamespace(capgate_placements=capgate_placements)
BOTH = SimpleNamespace(capgate_placements=capgate_placements, capgate_primitives=capgate_primitives)

CAPABILITIES: list[tuple[str, list[str], list[tuple[str, str]]]] = [
    ("reader", ["read"], []),
    ("reader", ["write"], [("absent-capability", "$.capabilities[0]")]),
    ("reader", ["read", "write"], [("absent-capability", "$.capabilities[1]")]),
    ("sealed", [], []),
    ("sealed", ["read", "read"], [("absent-capability", f"$.capabilities[{at}]") for at in (0, 1)]),
    # What no primitive mediates is told once, by the rule that knows it.
    ("sealed", ["delete"], [("capability-unmediated", "$.capabilities[0]")]),
    ("sealed", ["eval"], [("eval-not-a-tool-path", "$.capabilities[0]")]),
    ("reader", ["exec"], [("exec-absent", "$.capabilities[0]")]),
    # A container bounds the program, and still no primitive starts one.
    ("container", ["exec"], [("capability-unmediated", "$.capabilities[0]")]),
]

LAUNCHES: list[tuple[str, list[str], list[tuple[str, str]]]] = [
    ("container", ["exec"], []),
    ("container", ["read"], [("under-declared", "$.runsIn")]),
    ("container", [], [("under-declared", "$.runsIn")]),
    ("reader", ["read"], [("exec-absent", "$.runsIn")]),
    ("reader", ["exec"], [("exec-absent", "$.capabilities[0]"), ("exec-absent", "$.runsIn")]),
]


def told(gate: capgate.Gate, placement: str, **parts: Any) -> list[tuple[str, str]]:
    subject = {"tools": [NOW], **parts}
    refusals = [(refusal.rule, refusal.path) for refusal in gate.admit(subject, placement).refusals]
    assert gate.decide(subject, placement) == (refusals[0][0] if refusals else None)
    return refusals


@pytest.fixture(scope="module")
def placements() -> capgate.Gate:
    return capgate.open_gate(plugins=[PLACEMENTS])


@pytest.fixture(scope="module")
def both() -> capgate.Gate:
    return capgate.open_gate(plugins=[BOTH])


@pytest.mark.parametrize(("placement", "capabilities", "expected"), CAPABILITIES)
def test_a_capability_is_granted_only_where_something_enforces_it(
    placements: capgate.Gate, placement: str, capabilities: list[str], expected: list[tuple[str, str]]
) -> None:
    assert told(placements, placement, capabilities=capabilities) == expected


@pytest.mark.parametrize(("placement", "capabilities", "expected"), LAUNCHES)
def test_a_program_needs_a_placement_that_bounds_it_and_a_declaration(
    both: capgate.Gate, placement: str, capabilities: list[str], expected: list[tuple[str, str]]
) -> None:
    assert told(both, placement, capabilities=capabilities, runsIn="process") == expected


def test_a_primitive_that_needs_a_capability_makes_it_one_that_can_be_granted(
    placements: capgate.Gate, both: capgate.Gate
) -> None:
    tools = [{"name": "clear", "primitive": "delete-file"}]

    assert told(both, "machine", capabilities=["delete"], tools=tools) == []
    assert told(both, "machine", tools=tools) == [("under-declared", "$.tools[0].primitive")]
    assert told(both, "container", capabilities=["exec"]) == []
    assert told(placements, "machine", capabilities=["delete"], tools=tools) == [
        ("capability-unmediated", "$.capabilities[0]"),
        ("unknown-primitive", "$.tools[0].primitive"),
    ]


def test_a_primitive_of_a_plugin_gives_no_way_around_exec_and_eval(both: capgate.Gate) -> None:
    assert told(both, "machine", capabilities=["exec"]) == [("exec-absent", "$.capabilities[0]")]
    assert told(both, "machine", capabilities=["eval"]) == [("eval-not-a-tool-path", "$.capabilities[0]")]
    assert told(both, "container", capabilities=["eval"]) == [("eval-not-a-tool-path", "$.capabilities[0]")]


def test_the_reasons_name_what_the_plugin_added(both: capgate.Gate) -> None:
    [unknown] = both.admit({"tools": [{"name": "a", "primitive": "shell"}]}).refusals
    [absent] = both.admit({"capabilities": ["write"], "tools": [NOW]}, "reader").refusals

    assert "delete-file" in unknown.reason
    assert "'reader'" in absent.reason
