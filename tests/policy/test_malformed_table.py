"""Section 11.10 of the gate contract as a table: what is malformed, and what looks so but is for another rule."""

from __future__ import annotations

from typing import Any

import pytest

import capgate

NOW: dict[str, Any] = {"name": "a", "primitive": "now"}
NOT_STRINGS: tuple[Any, ...] = (None, 7, 0.5, True, [], ["a"], {})
NOT_OBJECTS: tuple[Any, ...] = (None, 7, True, "", "x", [], [{}])

Row = tuple[Any, str, str]


def values(*odd: Any) -> tuple[Any, ...]:
    return odd


def descriptor(**parts: Any) -> dict[str, Any]:
    return {"tools": [NOW], **parts}


def one_tool(**parts: Any) -> dict[str, Any]:
    return {"tools": [{**NOW, **parts}]}


MALFORMED: list[Row] = [
    *((odd, "$", "object") for odd in NOT_OBJECTS),
    *(
        (descriptor(**{key: odd}), f"$.{key}", "string")
        for key in ("id", "name", "description", "source")
        for odd in NOT_STRINGS
    ),
    (descriptor(id="x" * 101), "$.id", "100"),
    *((descriptor(runsIn=odd), "$.runsIn", "") for odd in values(*NOT_STRINGS, "", "Process", "host ", "container")),
    *(
        (descriptor(capabilities=odd), "$.capabilities", "list")
        for odd in values(5, 0, 0.5, True, False, "", "read", {}, {"read": True})
    ),
    *((descriptor(bounds=odd), "$.bounds", "object") for odd in values(5, 0, True, False, "", "x", [], [{}])),
    *(
        (descriptor(bounds={"maxBytes": odd}), "$.bounds.maxBytes", "")
        for odd in values(None, True, "8", 8.5, -1, -0.5, [], {})
    ),
    *((descriptor(bounds={"window": odd}), "$.bounds.window", "") for odd in values(*NOT_STRINGS, "", "week", "Day")),
    *(({"tools": [NOW, odd]}, "$.tools[1]", "object") for odd in NOT_OBJECTS),
    ({"tools": [{"name": f"t{number}", "primitive": "now"} for number in range(257)]}, "$.tools", "256"),
    *(
        (one_tool(**{key: odd}), f"$.tools[0].{key}", "string")
        for key in ("name", "primitive", "description", "promptSnippet")
        for odd in NOT_STRINGS
    ),
    *((one_tool(params=odd), "$.tools[0].params", "object") for odd in NOT_OBJECTS),
    *((one_tool(params={"path": odd}), "$.tools[0].params.path", "") for odd in values(None, [], {}, ["x"])),
    *((one_tool(params={"headers": odd}), "$.tools[0].params.headers", "object") for odd in NOT_OBJECTS),
    *((one_tool(params={"headers": {"X": odd}}), "$.tools[0].params.headers.X", "string") for odd in NOT_STRINGS),
]

FOR_OTHERS: list[tuple[Any, str | None]] = [
    # null means none
    (descriptor(capabilities=None), None),
    (descriptor(bounds=None), None),
    ({"tools": None}, "no-tools"),
    # at the limits
    (descriptor(id="x" * 100), None),
    ({"tools": [{"name": f"t{number}", "primitive": "now"} for number in range(256)]}, None),
    *((descriptor(bounds={"maxBytes": whole}), None) for whole in (0, 8.0, 1e3)),
    *((descriptor(bounds={"window": word}), None) for word in ("process", "hour", "day", "admission")),
    *((descriptor(runsIn=word), rule) for word, rule in (("host", None), ("remote", None), ("process", "exec-absent"))),
    *((one_tool(params={"path": scalar}), None) for scalar in ("", "x", 0, 0.5, True)),
    (one_tool(params={"headers": {}}), None),
    # keys that nobody knows are kept and not judged
    (descriptor(extra=[1], bounds={"command": 5}), None),
    (one_tool(extra={"deep": []}), None),
    # members of capabilities, whatever their type
    *((descriptor(capabilities=[odd]), "unknown-capability") for odd in values(5, None, True, [], {})),
    # the bounds of a network that is not declared
    *((descriptor(bounds={"hosts": odd, "maxRequests": odd}), None) for odd in values(None, 5, "x", True, {}, [5])),
    # names and primitives that are absent or odd strings
    ({"tools": [{"primitive": "now"}]}, "bad-tool-name"),
    (one_tool(name=""), "bad-tool-name"),
    ({"tools": [{"name": "a"}]}, "unknown-primitive"),
    (one_tool(primitive=""), "unknown-primitive"),
    # the wasm part: of no interest, or for section 3, E.4
    *((one_tool(wasm=odd), None) for odd in values(None, 5, "x", [], {"path": 5})),
    *((one_tool(primitive="wasm", wasm=odd), "under-declared") for odd in values(None, 5, "x", [], {"path": 5})),
    # no list of tools at all
    *(({"tools": odd}, "no-tools") for odd in values(5, "x", True, {}, [])),
    ({}, "no-tools"),
]


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


@pytest.mark.parametrize(("subject", "path", "expected"), MALFORMED)
def test_a_wrong_type_is_refused_with_its_place_and_what_belongs_there(
    gate: capgate.Gate, subject: Any, path: str, expected: str
) -> None:
    verdict = gate.admit(subject)

    assert (verdict.decision, verdict.rule) == ("refused", "malformed-descriptor")
    assert [refusal.path for refusal in verdict.refusals] == [path]
    assert verdict.why is not None
    assert verdict.why.startswith(f"{path}: expected ")
    assert expected in verdict.why
    assert gate.decide(subject) == "malformed-descriptor"


@pytest.mark.parametrize(("subject", "rule"), FOR_OTHERS)
def test_what_only_looks_malformed_is_left_to_the_rule_that_knows_it(
    gate: capgate.Gate, subject: Any, rule: str | None
) -> None:
    assert gate.admit(subject).rule == rule
    assert gate.decide(subject) == rule
