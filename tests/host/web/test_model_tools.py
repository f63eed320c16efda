"""What a model may propose: its words become a descriptor, or a refusal (contract 9)."""

from __future__ import annotations

from typing import Any

import pytest

import capgate
from capgate.host.admission.catalogue import load_catalogue
from capgate.host.calls.errors import ToolError
from capgate.host.calls.proposing import proposed_descriptor

CATALOGUE = load_catalogue().entries
BOUNDS = {"hosts": ["a.test"], "maxRequests": 10}


def propose(gate: capgate.Gate, **args: Any) -> dict[str, Any]:
    needs = {name: terms.needs for name, terms in gate.catalog.primitives.items()}
    return proposed_descriptor(args, CATALOGUE, needs)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"name": "Tide Reader!"}, {"id": "tide-reader", "name": "Tide Reader!", "description": "Tide Reader!"}),
        ({"id": "Tide Reader"}, {"id": "tide-reader", "name": "tide-reader"}),
        ({"id": "x", "name": "X", "description": "Reads x"}, {"id": "x", "name": "X", "description": "Reads x"}),
        ({"id": "x"}, {"capabilities": ["read"], "bounds": {}, "runsIn": "host"}),
        (
            {"id": "x", "host": "a.test"},
            {"capabilities": ["network"], "bounds": {"hosts": ["a.test"], "maxRequests": 10}},
        ),
        ({"id": "x", "defaultUrl": "https://a.test/v1"}, {"bounds": BOUNDS}),
        ({"id": "x", "primitive": "write-file"}, {"capabilities": ["write"], "bounds": {"maxBytes": 65536}}),
        ({"id": "x", "primitive": "now"}, {"capabilities": [], "bounds": {}}),
    ],
)
def test_what_is_not_said_has_a_default(gate: capgate.Gate, args: Any, expected: Any) -> None:
    made = propose(gate, **args)

    assert {key: made[key] for key in expected} == expected
    assert gate.decide(made) is None


@pytest.mark.parametrize(
    ("args", "name", "primitive", "params"),
    [
        ({"id": "tide-reader"}, "tide_reader", "read-file", {"path": "notes.txt"}),
        ({"id": "x", "toolName": "Read It!"}, "read_it", "read-file", {"path": "notes.txt"}),
        ({"id": "x", "defaultPath": "a.md"}, "x", "read-file", {"path": "a.md"}),
        ({"id": "x", "defaultPath": "a.md", "host": "a.test"}, "x", "read-file", {"path": "a.md"}),
        ({"id": "x", "primitive": "write-file"}, "x", "write-file", {"path": "notes.txt"}),
        ({"id": "x", "host": "a.test"}, "x", "http-get", {"url": "https://a.test"}),
        ({"id": "x", "defaultUrl": "http://a.test/v1"}, "x", "http-get", {"url": "http://a.test/v1"}),
        ({"id": "x", "primitive": "list-files"}, "x", "list-files", {}),
    ],
)
def test_the_tool_is_made_of_what_is_said(
    gate: capgate.Gate, args: Any, name: str, primitive: str, params: Any
) -> None:
    (tool,) = propose(gate, **args)["tools"]

    assert (tool["name"], tool["primitive"], tool["params"]) == (name, primitive, params)


def test_a_catalogue_entry_is_a_template(gate: capgate.Gate) -> None:
    assert propose(gate, catalogueId="web-search") == CATALOGUE["web-search"]
    assert propose(gate, id="web-search") == CATALOGUE["web-search"]
    assert propose(gate, name="Local Notes") == CATALOGUE["local-notes"]
    assert propose(gate, catalogueId="web-search", id="Mine") == CATALOGUE["web-search"] | {"id": "mine"}
    assert propose(gate, id="web-search", primitive="now")["tools"][0]["primitive"] == "now"


@pytest.mark.parametrize(
    ("args", "refused"),
    [
        ({}, "missing-argument"),
        ({"description": "x"}, "missing-argument"),
        ({"id": "", "name": ""}, "missing-argument"),
        ({"catalogueId": "nowhere"}, "invalid-id"),
        ({"id": "x", "primitive": "shell"}, "unknown-primitive"),
        ({"id": "x", "primitive": "http-get"}, "network-unbounded"),
        ({"id": "x", "host": "*"}, "network-unbounded"),
        ({"id": "x", "defaultUrl": "nonsense"}, "network-unbounded"),
        ({"id": "x", "defaultUrl": "http://["}, "network-unbounded"),
        ({"id": 7}, "invalid-argument"),
        ({"id": "x", "capabilities": ["exec"]}, "invalid-argument"),
        ({"id": "x", "source": "catalogue"}, "invalid-argument"),
    ],
)
def test_what_cannot_be_proposed_is_refused(gate: capgate.Gate, args: Any, refused: str) -> None:
    with pytest.raises(ToolError) as caught:
        propose(gate, **args)
    assert caught.value.id == refused


def test_the_arguments_are_an_object() -> None:
    with pytest.raises(ToolError, match="invalid-argument"):
        proposed_descriptor(["x"], CATALOGUE, {})
    with pytest.raises(ToolError, match="missing-argument"):
        proposed_descriptor(None, CATALOGUE, {})
