"""Where lint cannot know: plugins, facts that fail, and questions that are too large."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.plugins.api import Fact, Operator, hookimpl
from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.lint import witness
from capgate.policy.authoring.lint.linting import Report, lint
from capgate.policy.authoring.lint.shape import difference, documents
from capgate.policy.authoring.settle import Subject
from capgate.policy.schema import DESCRIPTOR
from capgate.policy.shapes import Shape
from lint_samples import completed, linted

TOOL = "tools: [{name: a, primitive: now}]"
EXAMPLE = f"examples:\n  refused: [{{descriptor: {{id: a, {TOOL}}}}}]\n"


class Plugin:
    """A plugin with facts and an operator."""

    name = "sample"

    @hookimpl
    def capgate_facts(self) -> list[Fact]:
        def fails(descriptor: Any, placement: str) -> Any:
            raise ValueError("no")

        def fickle(descriptor: Any, placement: str) -> Any:
            return len(descriptor["id"])

        return [
            Fact("broken", "whole", "never known", fails),
            Fact("fickle", "whole", "length of the id, where there is one", fickle),
            Fact("site", "host", "where it comes from", lambda descriptor, placement: "a.test"),
            Fact("tags", "list", "what it is about", lambda descriptor, placement: ["a"]),
        ]

    @hookimpl
    def capgate_operators(self) -> list[Operator]:
        return [Operator("begins", lambda operand: None, lambda value, operand: str(value).startswith(operand))]


def test_long_lists_are_looked_at_as_short_ones_are(tmp_path: Path) -> None:
    def found(length: int) -> tuple[set[str], int]:
        names = ", ".join(f"n{number}" for number in range(length))
        text = (
            "triggers:\n  - stage: bounds\n    for_each: {to: subject.destinations}\n"
            f"    when: {{to.name: {{not_in: [{names}, n1]}}}}\n    reason: '{{to.name}} is not listed'\n"
        )
        findings = linted(tmp_path / f"of-{length}", text).findings
        return {finding.check for finding in findings}, sum(one.check == "in-with-duplicates" for one in findings)

    assert found(30) == found(4_000) == found(20_000)
    assert found(30)[1] == 1


class Capabilities:
    """A plugin with so many capabilities that not every set of them is tried."""

    name = "many"

    @hookimpl
    def capgate_capabilities(self) -> dict[str, str]:
        return {f"extra-{number}": "one more" for number in range(4)}


def rule(when: str, stage: str = "bounds", more: str = "") -> str:
    return f"triggers:\n  - stage: {stage}\n{more}    when: {when}\n    reason: so\n"


def report(folder: Path, text: str, *plugins: object) -> Report:
    folder.mkdir()
    (folder / "example.yaml").write_text(completed(text), encoding="utf-8")
    return lint(Gates(capgate.open_gate(rules=[folder], plugins=plugins)), [folder])


def checks(found: Report) -> set[str]:
    return {finding.check for finding in found.findings} - {"example-missing-kind", "fact-unused"}


# Plugins


def test_a_fact_that_fails_claims_nothing_and_stops_nothing(tmp_path: Path) -> None:
    examples = f"examples:\n  refused: [{{descriptor: {{id: a, {TOOL}}}}}]\n  admitted: [{{descriptor: {{{TOOL}}}}}]\n"
    found = report(tmp_path / "mine", rule("{plugin.sample.broken: {min: 3}}") + examples, Plugin())
    assert checks(found) == {"trigger-without-example"}


def test_the_smallest_descriptor_is_one_that_the_plugin_can_judge(tmp_path: Path) -> None:
    found = report(
        tmp_path / "mine",
        rule("{any: [{plugin.sample.fickle: {min: 3}}, {not: {plugin.sample.fickle: {min: 3}}}]}") + EXAMPLE,
        Plugin(),
    )
    (always,) = [one for one in found.findings if one.check == "trigger-always-holds"]
    assert always.witness is not None
    assert list(always.witness.descriptor) == ["id"]


@pytest.mark.parametrize(
    ("when", "more", "expected"),
    [
        ("{plugin.sample.site: {type: number}}", "", {"trigger-never-holds"}),
        ("{plugin.sample.site: {exists: true}}", "", {"trigger-always-holds"}),
        ("{plugin.sample.site: {equals: a.test}}", "", set()),
        ("{plugin.sample.site: {minlength: 200}}", "", set()),
        ("{all: [{descriptor.id: {begins: a}}, {not: {descriptor.id: {begins: a}}}]}", "", set()),
        ("{all: [{descriptor.id: {begins: a}}, {descriptor.id: {begins: a}}]}", "", {"condition-duplicate"}),
        ("{descriptor.bounds.hosts: {each: {begins: a}}}", "", set()),
        ("{tag: {equals: 5}}", "    for_each: {tag: plugin.sample.tags}\n", set()),
    ],
)
def test_what_a_plugin_says_is_taken_to_be_anything_that_it_may_say(
    when: str, more: str, expected: set[str], tmp_path: Path
) -> None:
    assert checks(report(tmp_path / "mine", rule(when, more=more), Plugin())) == expected


def test_facts_that_a_text_or_a_loop_reads_are_used(tmp_path: Path) -> None:
    text = rule("{tag: {equals: 5}}", more="    for_each: {tag: plugin.sample.tags}\n    at: '{plugin.sample.site}'\n")
    text = text.replace("reason: so", "reason: 'so: {plugin.sample.broken}'")
    unused = [one for one in report(tmp_path / "mine", text, Plugin()).findings if one.check == "fact-unused"]
    assert ["plugin.sample.fickle" in one.message for one in unused] == [True]


def test_the_shipped_rules_are_left_out_where_a_plugin_is_loaded() -> None:
    found = lint(Gates(capgate.open_gate(plugins=[Plugin()])))
    assert found.rules == 0
    assert {finding.check for finding in found.findings} == {"fact-unused"}


def test_more_capabilities_than_are_tried_leave_it_open(tmp_path: Path) -> None:
    when = "{all: [{placement.mechanisms: {lacks: read}}, {placement.mechanisms: {contains: read}}]}"
    found = report(tmp_path / "mine", rule(when), Capabilities())
    assert [one.checks[0] for one in found.undecided] == ["trigger-never-holds"]


# Too much


def each(depth: int) -> str:
    return "{equals: 1}" if depth == 0 else f"{{each: {each(depth - 1)}}}"


ITEMS = ", ".join(f"{{descriptor.bounds.hosts: {{contains: h{number}}}}}" for number in range(12))
PATTERNS = ", ".join(f'{{descriptor.id: {{matches: "[a-{letter}]+"}}}}' for letter in "bcdefgh")


@pytest.mark.parametrize(
    "when",
    [
        f"{{any: [{ITEMS}]}}",
        f"{{any: [{PATTERNS}]}}",
        f"{{all: [{{descriptor.bounds.hosts: {each(5)}}}, {{descriptor.bounds.hosts: {each(5)}}}]}}",
    ],
)
def test_more_values_than_can_be_told_apart_leave_it_open(when: str, tmp_path: Path) -> None:
    text = rule(when).replace("reason: so", "reason: '{descriptor.id} {descriptor.bounds.hosts}'")
    found = linted(tmp_path / "mine", text)
    assert "condition-implied" in {check for one in found.undecided for check in one.checks}
    assert not {"trigger-never-holds", "trigger-always-holds", "condition-implied"} & checks(found)


def test_whether_a_rule_is_shadowed_by_a_large_one_is_left_open(tmp_path: Path) -> None:
    parts = ", ".join(f"{{tool.params.p{number}: {{min: {number}, max: 90}}}}" for number in range(9))
    earlier = rule(f"{{any: [{{tool.description: {{exists: true}}}}, {parts}]}}", "tools")
    found = linted(tmp_path / "mine", rule("{tool.description: {equals: a}}", "tools"), earlier=earlier)
    (open_,) = [one for one in found.undecided if one.checks == ("rule-shadowed",)]
    assert open_.rule.id == "example"
    assert open_.why.startswith("the trigger, together with those before it")


@pytest.mark.parametrize("when", [each(2), each(3)])
def test_lists_in_lists_are_looked_into(when: str, tmp_path: Path) -> None:
    both = f"{{all: [{{descriptor.bounds.hosts: {when}}}, {{descriptor.bounds.hosts: {when}}}]}}"
    assert checks(linted(tmp_path / "mine", rule(both))) == {"condition-duplicate"}


def rules_of(schema: Any) -> set[str]:
    """The schema rules that hold of a place or of something below it."""
    below = [*schema.get("schema", {}).values()] if schema.get("type") == "dict" else [schema.get("schema", {})]
    below += [*schema.get("anyof", ()), schema.get("valuesrules", {}), schema.get("allow_unknown", {})]
    return set(schema).union(*(rules_of(part) for part in below if part and isinstance(part, Mapping)))


def test_the_schema_of_descriptors_refuses_in_no_way_that_classes_of_values_do_not_know_of() -> None:
    known = {
        "type",
        "nullable",
        "allowed",
        "maxlength",
        "min",
        "schema",
        "valuesrules",
        "allow_unknown",
        "anyof",
        "meta",
    }
    assert rules_of(DESCRIPTOR) == known


# Small things


def test_the_smallest_is_looked_for_no_longer_than_it_is_worth() -> None:
    wide = Subject({f"k{number}": list(range(40)) for number in range(40)})
    found = witness.smallest(wide, lambda subject: len(subject.descriptor) >= 20)
    assert len(found.descriptor) == 20
    assert witness.smallest(wide, lambda subject: False) == wide


def test_what_a_witness_is_judged_against_is_as_usual_where_that_shows_it_too() -> None:
    unusual = Given("browser", ("a",), ("read",))
    assert witness.smallest(Subject({}, unusual), lambda subject: True) == Subject({})
    told = witness.smallest(Subject({}, unusual), lambda subject: bool(subject.given.taken))
    assert told.given == Given(taken=("a",))


def test_what_a_witness_is_judged_against_is_shown_and_a_long_one_is_cut() -> None:
    given = Subject({"id": "é"}).given._replace(placement="browser", mechanisms=("read",))
    assert witness.shown(Subject({"id": "é"}, given)) == '{"id": "é"} given {placement: browser, mechanisms: [read]}'
    assert witness.shown(Subject("x" * 500)).endswith("x…")


def test_a_dead_part_inside_a_dead_part_is_not_said_again(tmp_path: Path) -> None:
    inner = "{descriptor.bounds.maxBytes: {min: 5, max: 4}}"
    when = (
        f"{{any: [{{descriptor.runsIn: {{equals: host}}}}, {{all: [{inner}, {{descriptor.id: {{exists: true}}}}]}}]}}"
    )
    found = [one for one in linted(tmp_path / "mine", rule(when)).findings if one.check == "condition-contradicts"]
    assert len(found) == 1


def test_cerberus_knows_our_types() -> None:
    schema = {"type": "dict", "schema": {"n": {"type": "whole"}, "o": {"anyof": [{"type": "other-than-list"}]}}}
    holds = Shape(schema, "sample").holds
    tried = [{"n": 1}, {"n": 1.0}, {"n": 1.5}, {"n": True}, {"n": "1"}, {"o": []}, {"o": {}}, {"p": 1}]
    assert difference(schema, holds, tried) is None
    assert [holds(document) for document in tried] == [True, True, False, False, False, False, True, False]
    assert len(list(documents(schema))) == 300


def test_a_difference_from_cerberus_is_found_over_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    gates = Gates(capgate.open_gate())
    monkeypatch.setattr("capgate.policy.authoring.lint.shape.Shape", lambda schema, label: AlwaysHolds)
    found = [one for one in lint(gates).findings if one.check == "cerberus-differs"]
    assert [str(one.span) for one in found] == ["schema of descriptors"]
    assert found[0].message.startswith("Cerberus refuses ")


class AlwaysHolds:
    """A shape that takes everything."""

    @staticmethod
    def holds(document: Any) -> bool:
        return True
