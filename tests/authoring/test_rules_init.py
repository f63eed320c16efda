"""``capgate rules test --init``: the cases that a rule obviously needs, and that they say what the rule does."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.host.cli.rules.starting import write_cases
from capgate.plugins.api import Fact
from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.samples import matching
from capgate.policy.authoring.seeds import first
from capgate.policy.authoring.starters import start, text_of
from capgate.policy.documents import load_yaml
from capgate.policy.patterns import compile_pattern
from capgate.policy.rulefile import Rule
from plugin_samples.faulty import Plugin
from reference.rulesets import Overlay as RandomOverlay
from reference.shipped import write_overlay

Run = Callable[..., Any]
Overlay = Callable[..., Path]


def cases_of(folder: str | Path) -> dict[str, dict[str, Any]]:
    """The cases of ``tests/few-requests.yaml``, by name."""
    file = Path(folder) / "tests" / "few-requests.yaml"
    return {case["name"]: case for case in load_yaml(file.read_bytes()).data["cases"]}


def test_the_cases_of_a_rule_are_written_and_pass(rules: Run, overlay: Overlay) -> None:
    done = rules("test", "--init", "few-requests", overlay())
    assert (done.code, done.err) == (0, "")
    count = len(cases_of("mine"))
    refused = sum("few-requests" in case.get("refused", []) for case in cases_of("mine").values())
    assert done.out == (
        f"mine/tests/few-requests.yaml: {count} cases; few-requests refuses {refused} "
        f"and is silent on {count - refused}\n"
    )
    assert rules("test", "mine").out == f"1 rule: {4 + count} passed, 0 failed, 0 errors\n"


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("the rule refuses", True),
        ("$.bounds.maxRequests is absent", True),
        ("$.bounds.maxRequests is 14", False),
        ("$.bounds.maxRequests is 15", False),
        ("$.bounds.maxRequests is null", True),
        ("$.bounds.maxRequests is true", True),
        ("$.bounds.maxRequests is the text 'a'", True),
        ("$.bounds.maxRequests is the list [a]", True),
        ('$.bounds.maxRequests is {"a":1}', True),
        ("$.capabilities is absent", False),
        ("$.capabilities is an empty list", False),
        ("$.capabilities is null", False),
    ],
)
def test_where_it_holds_what_is_absent_of_another_type_and_at_a_boundary_is_among_them(
    rules: Run, overlay: Overlay, name: str, refused: bool
) -> None:
    rules("test", "--init", "few-requests", overlay())
    case = cases_of("mine")[name]
    assert (case.get("refused"), case.get("absent")) == (
        (["few-requests"], None) if refused else (None, ["few-requests"])
    )


def test_what_the_stage_shape_stops_is_said_to_be_stopped_there(rules: Run, overlay: Overlay) -> None:
    rules("test", "--init", "few-requests", overlay())
    case = cases_of("mine")["$.capabilities is 5"]
    assert case["refused"] == ["malformed-descriptor"]
    assert case["absent"] == ["few-requests"]


def test_the_cases_cover_the_rule(rules: Run, overlay: Overlay) -> None:
    assert rules("coverage", overlay("")).code == 1
    rules("test", "--init", "few-requests", "mine")
    assert rules("coverage", "mine").code == 0


def test_a_file_is_never_overwritten(rules: Run, overlay: Overlay, write: Callable[..., Path]) -> None:
    write("mine/tests/few-requests.yaml", "kept")
    done = rules("test", "--init", "few-requests", overlay())
    assert (done.code, done.out) == (2, "")
    assert "'mine/tests/few-requests.yaml' is there already" in done.err
    assert Path("mine/tests/few-requests.yaml").read_text(encoding="utf-8") == "kept"


def test_a_link_that_leads_nowhere_is_not_written_through(rules: Run, overlay: Overlay) -> None:
    overlay()
    Path("mine/tests").mkdir()
    Path("mine/tests/few-requests.yaml").symlink_to("elsewhere.yaml")
    assert rules("test", "--init", "few-requests", "mine").code == 2
    assert os.listdir("mine/tests") == ["few-requests.yaml"]


def test_a_folder_that_cannot_be_written_to_is_an_error(rules: Run, overlay: Overlay) -> None:
    overlay()
    Path("mine/tests").write_text("in the way", encoding="utf-8")
    done = rules("test", "--init", "few-requests", "mine")
    assert done.code == 2
    assert "mine/tests/few-requests.yaml: output-failed: " in done.err


def test_the_cases_of_a_shipped_rule_go_into_the_folder_named(rules: Run, overlay: Overlay) -> None:
    done = rules("test", "--init", "no-tools", overlay())
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("mine/tests/no-tools.yaml: ")
    assert rules("test", "mine").code == 0


def test_an_invalid_policy_gives_no_cases(rules: Run, write: Callable[..., Path]) -> None:
    write("mine/half.yaml", "id: half\ntitle: No triggers\napplies_to: descriptor\n")
    assert rules("test", "--init", "half", "mine").code == 3
    assert not Path("mine/tests").exists()


def test_a_rule_that_never_refuses_gets_no_file(rules: Run, overlay: Overlay) -> None:
    never = "all: [{descriptor.id: {type: list}}, {descriptor.name: {exists: true}}]"
    overlay("", old="not: {descriptor.bounds.maxRequests: {max: 15}}", new=never)
    done = rules("test", "--init", "few-requests", "mine")
    assert done.code == 2
    assert "no descriptor was found on which trigger 1 refuses; write a case for it by hand" in done.err
    assert not Path("mine/tests").exists()


def shipped() -> list[Rule]:
    return list(capgate.open_gate().rules.rules.values())


@pytest.mark.parametrize("rule", shipped(), ids=lambda rule: rule.id)
def test_every_trigger_of_the_shipped_rules_is_met_without_its_examples(rule: Rule, gates: Gates) -> None:
    bare = replace(rule, examples=tuple(example for example in rule.examples if not example.refused))
    assert [number for number in range(len(rule.triggers)) if first(bare, number, gates) is None] == []


@pytest.mark.parametrize("rule", shipped(), ids=lambda rule: rule.id)
def test_the_cases_of_every_shipped_rule_pass(rule: Rule, gates: Gates) -> None:
    starter = start(rule, gates)
    assert starter.open == ()
    assert any(case.refused for case in starter.starts)
    text_of(starter, gates)  # which runs them


@pytest.mark.parametrize(
    ("stage", "when"),
    [
        ("bounds", {"descriptor.id": {"matches": "[a-z]{3}-[0-9]+"}}),
        ("bounds", {"descriptor.description": {"maxlength": 9}}),
        ("bounds", {"not": {"descriptor.source": {"in": ["local", "model"]}}}),
        ("bounds", {"any": [{"descriptor.runsIn": {"equals": "remote"}}, {"descriptor.id": {"equals": "x"}}]}),
        ("bounds", {"none": [{"descriptor.id": {"exists": True}}, {"descriptor.name": {"exists": True}}]}),
        ("bounds", {"descriptor.bounds.hosts": {"each": {"matches": "[a-z]+\\.test"}, "minlength": 2}}),
        ("bounds", {"all": [{"placement.name": {"equals": "browser"}}, {"placement.mechanisms": {"lacks": "import"}}]}),
        ("bounds", {"placement.mechanism.read": {"exists": False}}),
        ("bounds", {"subject.capabilities": {"subset_of": ["read"], "minlength": 1}}),
        ("tools", {"tool.params.url": {"matches": "http://.*"}}),
        ("tools", {"tool.needs": {"contains": "write"}}),
        ("tools", {"tool.known": {"equals": False}}),
        ("tools", {"tool.first_use": {"exists": True}}),
        ("tools", {"all": [{"tool.name": {"in": {"fact": "host.taken"}}}, {"tool.name": {"equals": "search"}}]}),
        ("tools", {"tool.layout": {"minlength": 5}}),
        ("tools", {"all": [{"tool.primitive": {"equals": "wasm"}}, {"tool.wasm.output.bytes": {"max": 4}}]}),
        ("hosts", {"host": {"matches": ".*\\.internal"}}),
        ("shape", {"fault.path": {"equals": "$.id"}}),
    ],
)
def test_a_rule_without_examples_gets_cases_all_the_same(tmp_path: Path, stage: str, when: dict[str, Any]) -> None:
    trigger = {"stage": stage, "when": when, "reason": "because"}
    rule = {"id": "mine", "title": "Mine", "applies_to": "descriptor", "triggers": [trigger]}
    gates = Gates(capgate.open_gate(rules=[write_overlay(RandomOverlay({"mine": rule}), tmp_path / "rules")]))
    starter = start(gates.rules.rules["mine"], gates)
    assert starter.open == ()
    assert any(case.refused for case in starter.starts)
    text_of(starter, gates)


@pytest.mark.parametrize("list_", ["descriptor.bounds.hosts", "subject.hosts", "subject.capabilities", "catalog.abis"])
def test_a_rule_with_a_loop_of_its_own_gets_cases(tmp_path: Path, list_: str) -> None:
    trigger = {"stage": "bounds", "for_each": {"entry": list_}, "when": {"entry": {"type": "string"}}, "reason": "r"}
    rule = {"id": "mine", "title": "Mine", "applies_to": "descriptor", "triggers": [trigger]}
    gates = Gates(capgate.open_gate(rules=[write_overlay(RandomOverlay({"mine": rule}), tmp_path / "rules")]))
    starter = start(gates.rules.rules["mine"], gates)
    assert starter.open == ()
    text_of(starter, gates)


@pytest.mark.parametrize(
    "pattern",
    [
        "", "a", ".", "[a-z]+", "[^a-z]{3}", "a|b", "(?:ab)*c?", r"\d{2}\.\d+", r"\w+@\w+", r"\s", "^a$",
        "[0-9a-f]{64}", "[^a0-]", "[^a]", "[^b]", r"[^\w.]", r"[^\W_]", r"[\d.]", r"[^\x00-\x7f]",
        "(?P<x>a)b", "ab|cd", r"a{2,}", "x.*y", r"[\w-]+", "é+", "[^/]*", r"\D", r"\S\W",
    ],
)  # fmt: skip
def test_a_text_that_a_pattern_matches_is_found(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    text = matching(compiled)
    assert text is not None
    assert compiled.matches(text)


@pytest.mark.parametrize("pattern", ["a^b", "a$b", r"a\bb", r"[^\x00-\x7fé]"])
def test_a_pattern_that_matches_nothing_usual_has_no_text(pattern: str) -> None:
    assert matching(compile_pattern(pattern)) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        ("a.test", "a.test"),
        ("two words", '"two words"'),
        ("true", '"true"'),
        ("Null", '"Null"'),
        ("no", "no"),
        ("", '""'),
        ("5", '"5"'),
        ("-", '"-"'),
        ("a: b", '"a: b"'),
        (True, "true"),
        (None, "null"),
        (5, "5"),
        (1e3, "1000.0"),
        ({"a": [1, {"b": "c d"}]}, '{a: [1, {b: "c d"}]}'),
        ({"": 1, "a b": {}}, '{"": 1, "a b": {}}'),
        ("\u202e\x00\ufeff\U000e0001é", '"\\u202E\\u0000\\uFEFF\\U000E0001é"'),
    ],
)
def test_data_is_written_so_that_the_loader_reads_it_back(value: Any, text: str) -> None:
    assert flow(value) == text
    assert load_yaml(f"x: {text}\n".encode()).data == {"x": value}


def test_a_fact_that_cannot_be_had_gives_no_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(descriptor: Any, placement: str) -> Any:
        raise RuntimeError("no tide")

    trigger = {"stage": "bounds", "when": {"plugin.tides.level": {"min": 5}}, "reason": "because"}
    rule = {"id": "mine", "title": "Mine", "applies_to": "descriptor", "triggers": [trigger]}
    folder = write_overlay(RandomOverlay({"mine": rule}), tmp_path / "rules")
    plugin = Plugin(capgate_facts=[Fact("level", "number", "height", fail)])
    gate = capgate.open_gate(rules=[folder], plugins=[plugin])
    assert write_cases(gate, gate.rules.rules["mine"], folder) == 4
    assert "fact-unavailable" in capsys.readouterr().err
    assert not (folder / "tests").exists()
