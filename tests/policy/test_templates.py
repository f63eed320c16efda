"""What reasons and remedies make of their placeholders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capgate
from capgate.policy.catalog import Catalog
from capgate.policy.conditions import Reader, is_path
from capgate.policy.documents import load_yaml
from capgate.policy.rule_errors import Problems
from capgate.policy.templates import Template, read_template
from capgate.policy.vocabulary import Reference, Vocabulary

EMPTY = Catalog({}, {}, {})
SUBJECT = {
    "id": "an-id",
    "name": "{tool.name}",
    "description": "tab\tand \u202eturned\u200b and \x1b[31mred",
    "source": "x" * 300,
    "capabilities": ["read", "write", 5, None, {"a": [True]}],
    "bounds": {"maxRequests": 5.0, "hosts": [], "window": "day"},
    "tools": [{"name": "a", "primitive": "now", "wasm": {"path": "é", "call": None}}],
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return capgate.open_gate().catalog


def read(text: str, catalog: Catalog) -> tuple[Template, Problems]:
    """Reads a template of a trigger outside of any loop."""
    document = load_yaml(b"a: b\n", "rule.yaml")
    problems = Problems()
    reader = Reader(document, Vocabulary(catalog), {}, problems)
    return read_template(text, ("a",), {}, reader=reader, document=document, problems=problems), problems


def say(folder: Path, reason: str, **trigger: Any) -> capgate.Gate:
    """A gate with a rule ``say`` of this reason, which refuses whatever is well-formed."""
    trigger = {"stage": "say", "when": {"descriptor": {"exists": True}}, "reason": reason, **trigger}
    rule = {"id": "say", "title": "Say", "applies_to": "descriptor", "triggers": [trigger]}
    (folder / "say.yaml").write_text(json.dumps(rule), encoding="utf-8")
    (folder / "ruleset.yaml").write_text("{language: 1, stages: [{name: say, after: shape}]}", encoding="utf-8")
    return capgate.open_gate(rules=[folder])


def said(gate: capgate.Gate, subject: Any) -> list[tuple[str, str]]:
    """Reason and place of each refusal by ``say``."""
    return [(found.reason, found.path) for found in gate.admit(subject).refusals if found.rule == "say"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", ("",)),
        ("plain", ("plain",)),
        ("{{", ("{",)),
        ("}}", ("}",)),
        ("{{}}", ("{}",)),
        ("{{descriptor.id}}", ("{descriptor.id}",)),
        ("{{{descriptor.id}}}", ("{", "descriptor.id", "}")),
        ("{descriptor.id}", ("descriptor.id",)),
        ("{descriptor.id}{descriptor.name}", ("descriptor.id", "descriptor.name")),
        ("a {descriptor.id} b", ("a ", "descriptor.id", " b")),
        ("{descriptor}", ("descriptor",)),
        ("{placement.name}", ("placement.name",)),
        ("line\n{descriptor.id}\n", ("line\n", "descriptor.id", "\n")),
        ("%s %(a)s $a ${{a}}", ("%s %(a)s $a ${a}",)),
    ],
)
def test_a_template_is_text_and_paths(text: str, pieces: tuple[str, ...], catalog: Catalog) -> None:
    template, problems = read(text, catalog)
    assert not problems
    assert tuple(piece.text if isinstance(piece, Reference) else piece for piece in template) == pieces


@pytest.mark.parametrize(
    "text",
    [
        *("{", "}", "{{{", "}}}", "a { b", "a } b", "{descriptor.id", "descriptor.id}", "{{descriptor.id}", "{a{b}}"),
        *("{}", "{ }", "{ descriptor.id }", "{descriptor.id!r}", "{descriptor.id:3}", "{descriptor.id!r:>3}"),
        *("{descriptor[id]}", "{descriptor.tools[0]}", "{0}", "{descriptor.}", "{.id}", "{descriptor..id}"),
        *("{descriptor.__class__}", "{descriptor.id.__class__}", "{unheard.of}", "{placement}", "{descriptor.id\n}"),
    ],
)
def test_anything_else_in_braces_is_refused(text: str, catalog: Catalog) -> None:
    _, problems = read(text, catalog)
    assert problems


@settings(deadline=None, derandomize=True, max_examples=300)
@given(text=st.text(alphabet="{}ab.é \n!:[]0_-", max_size=30))
def test_a_template_is_refused_or_means_what_it_says(text: str) -> None:
    template, problems = read(text, EMPTY)
    if not problems:
        assert template == (text.replace("{{", "{").replace("}}", "}"),)
        assert text.count("{") % 2 == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{descriptor.id}", "an-id"),
        ("'{descriptor.id}' {{x}}", "'an-id' {x}"),
        ("{descriptor.name}", "{tool.name}"),  # what was put in is not read again
        ("{descriptor.description}", r"tab\u0009and \u202Eturned\u200B and \u001B[31mred"),
        ("{descriptor.source}", "x" * 199 + "…"),
        ("{descriptor.capabilities}", 'read, write, 5, null, {"a":[true]}'),
        ("{descriptor.bounds.maxRequests}", "5.0"),
        ("{descriptor.bounds}", '{"maxRequests":5.0,"hosts":[],"window":"day"}'),
        ("[{descriptor.bounds.hosts}]", "[]"),
        ("{descriptor.runsIn}", "‹absent›"),
        ("{descriptor.bounds.window}", "day"),
        ("{each_tool.name}/{each_tool.wasm.path}/{each_tool.wasm.call}/{each_tool.wasm.abi}", "a/é/null/‹absent›"),
        ("{each_tool.wasm.call.export}", "‹absent›"),
        ("{placement.name}: {placement.mechanism.read}", "machine: host-primitive-scope"),
        ("{placement.mechanism.exec}", "‹absent›"),
        ("{catalog.mediated}", "read, write, network"),
        ("{subject.hosts}", ""),
    ],
)
def test_a_placeholder_shows_the_value(text: str, shown: str, tmp_path: Path) -> None:
    gate = say(tmp_path, text, for_each={"each_tool": "descriptor.tools"})
    assert said(gate, SUBJECT) == [(shown, "$.tools[0]")]


@pytest.mark.parametrize("subject", [{}, {"tools": 5}, {"tools": None}, {"bounds": None}, {"id": ""}])
def test_a_placeholder_without_a_value_keeps_no_rule_from_refusing(subject: Any, tmp_path: Path) -> None:
    gate = say(tmp_path, "{descriptor.bounds.hosts}; {subject.tools}", at="{descriptor.id}")
    assert said(gate, subject) == [("‹absent›; ", "$")]


@pytest.mark.parametrize(
    ("id", "place"),
    [
        ("$.tools[0].name", "$.tools[0].name"),
        ("$.tools[0].wasm.call.export", "$.tools[0].wasm.call"),
        ("$.tools[7].name", "$.tools"),
        ("$['name']", "$.name"),
        ("$", "$"),
        ("tools", "$"),
        ("$.tools[", "$"),
        ("", "$"),
    ],
)
def test_at_may_be_a_value_that_is_a_path(id: str, place: str, tmp_path: Path) -> None:
    assert said(say(tmp_path, "here", at="{descriptor.id}"), {**SUBJECT, "id": id}) == [("here", place)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", True),
        ("a.b-c.D_1", True),
        ("_", True),
        ("", False),
        ("a.", False),
        ("1", False),
        ("a b", False),
        ("-a", False),
    ],
)
def test_a_path_is_names_joined_by_dots(text: str, expected: bool) -> None:
    assert is_path(text) is expected
