"""docs/rules.md is the rule language: every example and every cell of its tables is asked of the real gate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import capgate
from capgate.policy import documents, patterns, text
from capgate.policy.compiler import MOST_REFUSALS
from capgate.policy.documents import DocumentError, load_yaml, yaml_build
from capgate.policy.documents.numbers import MAX_INTEGER
from capgate.policy.documents.source import MAX_BYTES
from capgate.policy.errors import CapgateError
from capgate.policy.gate import Gate
from capgate.policy.operators import BUILT_IN, TYPES
from capgate.policy.rule_errors import RuleError
from capgate.policy.schema import DESCRIPTOR, OVERLAY, RULE, Schema
from capgate.policy.vocabulary import FACTS, ROOTS
from pages import DOCS, Block, blocks, code, headings, prose, table, tables
from tree import ROOT

PAGE = DOCS / "rules.md"
COMBINATORS = ["all", "any", "none", "not"]
#: Where the tables of values put the value, and the value of the fact: places that take anything.
VALUE = "descriptor.bounds.hosts"
FACT = "descriptor.bounds.maxRequests"
TOOLS = [{"name": "a", "primitive": "now"}]
#: The sentences of the page, each on one line.
PROSE = re.sub(r"\s+", " ", prose(PAGE))
YAML = [block for block in blocks(PAGE) if block.language == "yaml"]


class Probe(NamedTuple):
    """A condition, and what it is to say of a descriptor."""

    label: str
    stage: str
    when: dict[str, Any]
    descriptor: dict[str, Any]
    given: Mapping[str, Any]
    expected: str


def data_of(block: Block) -> Any:
    return load_yaml(block.text.encode(), block.place).data


def value_of(cell: str) -> dict[str, Any]:
    """A cell of a table of values as bounds with it; without, where it is absent."""
    return {} if cell == "absent" else {"value": json.loads(code(cell)[0])}


def at_value(cell: str, fact: str = "absent") -> dict[str, Any]:
    bounds = {"hosts": value_of(cell), "maxRequests": value_of(fact)}
    return {"bounds": {key: held["value"] for key, held in bounds.items() if held}}


def probes_of_blocks() -> Iterator[Probe]:
    answers = {"holds": "true", "fails": "false", "unknown": "unknown"}
    for block in YAML:
        data = data_of(block)
        if "when" not in data:
            continue
        assert data.keys() <= {"when", "stage", "given", *answers}, block.place
        assert data.keys() & answers.keys(), block.place
        for key, expected in answers.items():
            for number, descriptor in enumerate(data.get(key, [])):
                label = f"{block.place} {key} {number}"
                yield Probe(
                    label, data.get("stage", "bounds"), data["when"], descriptor, data.get("given", {}), expected
                )


def probes_of_tables() -> Iterator[Probe]:
    heading = "Three values"
    for name, *cells in table(PAGE, heading, "operator", "absent"):
        operators = load_yaml(f"{{{code(name)[0]}}}".encode()).data
        for column, cell in zip(columns("operator", "absent"), cells, strict=True):
            yield Probe(f"{name} {column}", "bounds", {VALUE: operators}, at_value(column), {}, cell)
    for name, value, *cells in table(PAGE, heading, "operator", "value"):
        when: dict[str, Any] = {VALUE: {code(name)[0]: {"fact": FACT}}}
        for column, cell in zip(columns("operator", "value")[1:], cells, strict=True):
            yield Probe(f"{name} fact {value} {column}", "bounds", when, at_value(value, column), {}, cell)
    parts = {"true": {"equals": "ab"}, "false": {"equals": "b"}, "unknown": {"min": 1}}
    for one, other, *cells in table(PAGE, heading, "one", "other"):
        for word, cell in zip(("all", "any"), cells, strict=True):
            for pair in dict.fromkeys(((one, other), (other, one))):
                when = {word: [{VALUE: parts[part]} for part in pair]}
                yield Probe(f"{word} {'-'.join(pair)}", "bounds", when, at_value('`"ab"`'), {}, cell)
    for name, has, has_not in table(PAGE, "`type`", "type"):
        for cell, expected in ((has, "true"), (has_not, "false")):
            for value in code(cell):
                asked = {VALUE: {"type": code(name)[0].strip('"')}}
                yield Probe(f"{name} {value}", "bounds", asked, at_value(f"`{value}`"), {}, expected)
    for name, matching, other in table(PAGE, "Patterns", "pattern", "matches"):
        for cell, expected in ((matching, "true"), (other, "false")):
            matched = {VALUE: {"matches": code(name)[0]}}
            yield Probe(f"{name} {cell}", "bounds", matched, at_value(f"`{json.dumps(code(cell)[0])}`"), {}, expected)


def columns(*head: str) -> list[str]:
    (found,) = [one.head for one in tables(PAGE) if one.head[: len(head)] == list(head)]
    return list(found[1:])


PROBES = [*probes_of_blocks(), *probes_of_tables()]


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """A gate with two rules for each condition of the page: one refuses where it holds, one where it does not."""
    folder = tmp_path_factory.mktemp("probes")
    for stage, when in {json.dumps([probe.stage, probe.when]): (probe.stage, probe.when) for probe in PROBES}.values():
        for kind, condition in (("holds", when), ("fails", {"not": when})):
            write_rule(folder, f"{name_of(stage, when)}-{kind}", {"stage": stage, "when": condition, "reason": "so"})
    return capgate.open_gate(rules=[folder])


def name_of(stage: str, when: Any) -> str:
    return "probe-" + documents.digest([stage, when]).removeprefix("sha256:")


def write_rule(folder: Path, id: str, trigger: Any) -> None:
    rule = {"id": id, "title": "A rule", "applies_to": "descriptor", "triggers": [trigger]}
    (folder / f"{id}.yaml").write_text(json.dumps(rule), encoding="utf-8")


def refusals(gate: Gate, descriptor: dict[str, Any], given: Mapping[str, Any]) -> list[capgate.Refusal]:
    placement, taken = given.get("placement", "machine"), given.get("taken", [])
    found = gate.admit({"tools": TOOLS, **descriptor}, placement, taken).refusals
    assert "malformed-descriptor" not in [refusal.rule for refusal in found]
    return list(found)


# Examples


@pytest.mark.parametrize("block", YAML, ids=lambda block: block.place)
def test_every_block_is_a_file_a_condition_or_a_trigger(block: Block) -> None:
    is_file = re.match(r"# \S+/\S+\.yaml\n", block.text) is not None
    data = data_of(block)
    kinds = [is_file, "when" in data, "says" in data, "error" in data]
    assert kinds.count(True) == 1


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.label)
def test_a_condition_says_what_the_page_says(probe: Probe, gate: Gate) -> None:
    name = name_of(probe.stage, probe.when)
    found = {refusal.rule for refusal in refusals(gate, probe.descriptor, probe.given)}
    answer = (f"{name}-holds" in found, f"{name}-fails" in found)
    assert {(True, False): "true", (False, True): "false", (True, True): "unknown"}[answer] == probe.expected


@pytest.mark.parametrize("block", [b for b in YAML if "says" in data_of(b)], ids=lambda block: block.place)
def test_a_trigger_says_what_the_page_says(block: Block, tmp_path: Path) -> None:
    data = data_of(block)
    write_rule(tmp_path, "shown", data["trigger"])
    found = refusals(capgate.open_gate(rules=[tmp_path]), data["descriptor"], {})
    said = [{"at": one.path, "reason": one.reason} for one in found if one.rule == "shown"]
    assert said == data["says"]


@pytest.mark.parametrize("block", [b for b in YAML if "error" in data_of(b)], ids=lambda block: block.place)
def test_a_mistake_is_the_error_that_the_page_says(block: Block, tmp_path: Path) -> None:
    data = data_of(block)
    write_rule(tmp_path, "shown", data["trigger"])
    with pytest.raises(capgate.PolicyInvalid) as raised:
        capgate.open_gate(rules=[tmp_path])
    assert [problem.id for problem in raised.value.problems] == [data["error"]]


@pytest.mark.parametrize("block", [b for b in YAML if "\nexamples:" in b.text], ids=lambda block: block.place)
def test_the_examples_of_a_shown_rule_are_true(block: Block, tmp_path: Path) -> None:
    rule = data_of(block)
    (tmp_path / f"{rule['id']}.yaml").write_text(block.text, encoding="utf-8")
    gate = capgate.open_gate(rules=[tmp_path])
    for kind, examples in rule["examples"].items():
        for example in examples:
            found = [refusal.rule for refusal in refusals(gate, example["descriptor"], example.get("given", {}))]
            assert (rule["id"] in found) is (kind == "refused"), example


@pytest.mark.parametrize("pattern", [code(row[0])[0] for row in table(PAGE, "Patterns", "pattern", "why")])
def test_a_pattern_that_is_said_not_to_be_taken_is_not(pattern: str) -> None:
    with pytest.raises(patterns.PatternRefused):
        patterns.compile_pattern(pattern)


# Lists


def under(heading: str, until: str) -> list[str]:
    found = headings(PAGE)
    return found[found.index(heading) + 1 : found.index(until)]


def test_every_operator_and_combinator_has_a_section() -> None:
    assert under("Conditions", "Operators") == [f"`{word}`" for word in COMBINATORS]
    assert under("Operators", "Operands that are facts") == [f"`{name}`" for name in BUILT_IN]


@pytest.mark.parametrize("word", [*BUILT_IN, *COMBINATORS])
def test_a_section_has_an_example_of_what_it_is_about(word: str) -> None:
    shown = [block.text for block in YAML if block.heading == f"`{word}`" and "\nwhen" in f"\n{block.text}"]
    assert any(re.search(rf"\b{word}:", text) for text in shown)


def test_every_operator_has_a_row_in_the_table_of_values() -> None:
    rows = table(PAGE, "Three values", "operator", "absent")
    assert list(dict.fromkeys(code(row[0])[0].partition(":")[0] for row in rows)) == list(BUILT_IN)


def test_every_operator_that_takes_a_fact_is_said_to_and_has_rows_for_it() -> None:
    taking = [name for name, operator in BUILT_IN.items() if operator.takes_facts]
    (sentence,) = re.findall(r"from another fact\. ([^.]*) take one", PROSE)
    assert code(sentence) == taking
    rows = [code(row[0])[0] for row in table(PAGE, "Three values", "operator", "value")]
    assert rows == [*taking, *taking]


def test_every_type_is_in_the_table_of_types() -> None:
    assert [code(row[0])[0].strip('"') for row in table(PAGE, "`type`", "type")] == list(TYPES)


def test_the_shipped_stages_are_those_of_the_ruleset() -> None:
    shipped = load_yaml((ROOT / "rules" / "ruleset.yaml").read_bytes()).data["stages"]
    listed = table(PAGE, "Stages and order", "stage")
    for stage, (name, over, rules) in zip(shipped, listed, strict=True):
        assert code(name) == [stage["name"]]
        assert code(over) == [word for pair in stage.get("for_each", {}).items() for word in pair]
        assert rules == ", ".join(f"[{id}](refusals.md#{id})" for id in stage["rules"])


def test_the_facts_of_the_gate_are_those_of_the_vocabulary() -> None:
    rows = table(PAGE, "Worked out by the gate", "path")
    assert [(code(path)[0], kind, origin) for path, kind, origin in rows] == list(FACTS)


def submitted(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    """Every path that a schema knows from `path` down, with its type in words."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    words = [{"dict": "object", "whole": "whole number"}.get(kind, kind) for kind in kinds]
    yield path, " or ".join([*words, *(["null"] if words and schema.get("nullable") else [])]) or "anything"
    known = {**schema.get("meta", {}).get("members", {}), **(schema.get("schema", {}) if "dict" in kinds else {})}
    for key, member in known.items():
        yield from submitted(member, f"{path}.{key}")
    for rule in ("valuesrules", "allow_unknown"):
        if isinstance(schema.get(rule), Mapping):
            yield from submitted(schema[rule], f"{path}.NAME")
    for option in schema.get("anyof", ()):
        if option["type"] == "list":
            yield from [found for found in submitted(option["schema"], "T") if found[0] != "T"]


def test_the_paths_of_descriptors_are_those_of_their_schema() -> None:
    listed = [(path, row[1]) for row in table(PAGE, "As submitted", "path") for path in code(row[0])]
    real = dict(submitted(DESCRIPTOR, "descriptor")) | {"descriptor": "anything"}
    assert dict(listed) == real
    assert len(listed) == len(real)


@pytest.mark.parametrize(
    ("sentence", "schema"),
    [
        ("Keys of a rule:", RULE),
        ("Keys of a trigger:", RULE["schema"]["triggers"]["schema"]),
        ("Keys of an example:", RULE["schema"]["examples"]["schema"]["refused"]["schema"]),
        ("Keys of `given`:", RULE["schema"]["examples"]["schema"]["refused"]["schema"]["schema"]["given"]),
        ("Keys of `ruleset.yaml` in an overlay:", OVERLAY),
        ("Keys of a stage in an overlay:", OVERLAY["schema"]["stages"]["schema"]),
    ],
)
def test_the_keys_of_files_are_those_of_their_schema(sentence: str, schema: Schema) -> None:
    listed = {code(row[0])[0]: row[1] == "yes" for row in table(PAGE, sentence, "key")}
    assert listed == {key: member.get("required", False) for key, member in schema["schema"].items()}


def test_the_first_words_of_paths_are_listed() -> None:
    (sentence,) = re.findall(r"It begins with ([^.]*), or a loop variable", PROSE)
    assert code(sentence) == [root for root in ROOTS if root != "manifest"]


@pytest.mark.parametrize("word", [*(root for root in ROOTS if root != "host"), *COMBINATORS, "fact", "tool"])
def test_a_loop_variable_cannot_be_a_word_that_the_page_lists(word: str, tmp_path: Path) -> None:
    (sentence,) = re.findall(r"It cannot be ([^.]*), nor the stage's variable", PROSE)
    assert {*code(sentence), "host", "tool"} == {*ROOTS, *COMBINATORS, "fact", "tool"}
    loop = {word: "descriptor.bounds.hosts"}
    write_rule(tmp_path, "r", {"stage": "tools", "for_each": loop, "when": {word: {"equals": 1}}, "reason": "so"})
    with pytest.raises(capgate.PolicyInvalid) as raised:
        capgate.open_gate(rules=[tmp_path])
    assert [problem.id for problem in raised.value.problems] == ["loop-variable"]


@pytest.mark.parametrize(
    ("heading", "family"), [("In rules and folders", RuleError), ("In any document", DocumentError)]
)
def test_every_error_id_is_documented_with_what_to_do(heading: str, family: type[CapgateError]) -> None:
    assert {code(row[0])[0]: row[2] for row in table(PAGE, heading, "id")} == family.ids


@pytest.mark.parametrize(
    ("limit", "real"),
    [
        ("bytes of a rule file", MAX_BYTES),
        ("levels of lists and objects in a rule file", yaml_build.MAX_DEPTH),
        ("values that the aliases of a file may stand for", yaml_build.MAX_EXPANDED),
        ("characters of a pattern", patterns._LONGEST),
        ("levels of groups in a pattern", patterns._DEEPEST),
        ("times that a pattern may repeat something", patterns._MOST_REPEATS),
        ("single characters that a pattern stands for with its repeats written out", patterns._MOST_STATES),
        ("the same, where the pattern leaves several choices, so that RE2 runs it", patterns._MOST_BY_RE2),
        ("refusals and warnings in a verdict, once it is refused", MOST_REFUSALS),
        ("characters of a value in a reason", text._LONGEST),
        ("largest number, and its negative", MAX_INTEGER),
    ],
)
def test_a_documented_limit_is_the_real_one(limit: str, real: int) -> None:
    assert {row[0]: int(row[1]) for row in table(PAGE, "Limits", "limit")}[limit] == real


def test_every_documented_limit_is_held() -> None:
    assert len(table(PAGE, "Limits", "limit")) == 11
