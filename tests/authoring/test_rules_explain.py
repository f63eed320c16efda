"""``capgate rules explain``: every condition with its answer, its value and its place; and why nothing was asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import capgate
from capgate.plugins.api import Fact
from capgate.policy.authoring.explanation import Explanation, explain, only
from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.questions import Leaf, Node
from capgate.policy.authoring.truth import Truth
from capgate.policy.documents import Document, load_json
from capgate.policy.errors import FactUnavailable
from capgate.policy.gate import Gate
from plugin_samples.faulty import Plugin
from reference.descriptors import descriptor as random_descriptor
from reference.descriptors import taken_names
from reference.rulesets import overlay as random_overlay
from reference.shipped import shipped_stages, write_overlay

Run = Callable[..., Any]
Overlay = Callable[..., Path]
Write = Callable[..., Path]

CLOCK = {"tools": [{"name": "a", "primitive": "now"}]}
FETCHER = {
    "capabilities": ["network"],
    "bounds": {"hosts": ["a.test"], "maxRequests": 16},
    "tools": [{"name": "a", "primitive": "http-get"}],
}


def explained(
    gates: Gates, id: str, subject: Any, given: Given | None = None, *, places: Document | None = None
) -> Explanation:
    document = places or load_json(json.dumps(subject).encode(), "subject.json")
    return explain(gates, gates.rules.rules[id], document.data, given or Given(), document.span)


def leaves(part: Node | Leaf | None) -> list[Leaf]:
    if part is None or isinstance(part, Leaf):
        return [part] if part else []
    return [leaf for inner in part.parts for leaf in leaves(inner)]


# On the command line


def test_a_refusal_is_explained_condition_by_condition(rules: Run, overlay: Overlay, write: Write) -> None:
    write("x.json", json.dumps(FETCHER, indent=1))
    done = rules("explain", "few-requests", "x.json", "--rules", overlay())
    assert (done.code, done.err) == (0, "")
    assert (
        done.out
        == """\
x.json: refused by few-requests
few-requests (mine/few-requests.yaml): No more than 15 requests
  mine/few-requests.yaml:6:5: trigger 1 in stage bounds: true, so it refuses
    true    all  (line 9)
    true      subject.capabilities: {contains: network}  (line 10)
                  found [network], at x.json:2:18 ($.capabilities)
    true      not  (line 11)
    false       descriptor.bounds.maxRequests: {max: 15}  (line 11)
                    found 16, at x.json:9:18 ($.bounds.maxRequests)
  so it refuses, and is the refusal that the verdict names
"""
    )


def test_what_is_unknown_refuses(rules: Run, overlay: Overlay, write: Write) -> None:
    write("x.json", {**FETCHER, "bounds": {"hosts": ["a.test"], "maxRequests": [5]}})
    done = rules("explain", "few-requests", "x.json", "--rules", overlay())
    assert ": unknown, so it refuses\n" in done.out
    assert "    unknown     descriptor.bounds.maxRequests: {max: 15}  (line 11)\n" in done.out
    assert "found [5], at x.json:1:" in done.out


def test_what_is_absent_is_shown_where_it_would_stand(rules: Run, overlay: Overlay, write: Write) -> None:
    write("x.json", {"capabilities": ["network"], "bounds": {}})
    done = rules("explain", "few-requests", "x.json", "--rules", overlay())
    assert "found ‹absent›, at x.json:1:41 ($.bounds)\n" in done.out


def test_a_value_that_is_not_in_the_descriptor_has_no_place_there(rules: Run, write: Write) -> None:
    write("x.json", {**CLOCK, "runsIn": "process"})
    done = rules("explain", "exec-absent", "x.json", "--placement", "browser")
    assert "found [read, write, delete, network, import]\n" in done.out


def test_the_value_of_an_operand_that_is_a_fact_is_shown(rules: Run, write: Write) -> None:
    write("x.json", CLOCK)
    done = rules("explain", "duplicate-tool", "x.json", "--taken", "web_search", "--taken", "a")
    assert "tool.name: {in: {fact: host.taken}}" in done.out
    assert "host.taken is [a, call_extension, delegate_task, " in done.out
    assert "web_search]\n" in done.out
    data = rules("explain", "duplicate-tool", "x.json", "--taken", "a", "--format", "json").json
    assert data["questions"][0]["condition"]["fact"][:2] == ["a", "call_extension"]


@pytest.mark.parametrize(
    ("operand", "fact"),
    [("placement.name", "machine"), ("placement.mechanism.eval", None), ("tool.needs", None)],
)
def test_an_operand_that_has_no_value_for_all_tools_is_left_out(
    rules: Run, write: Write, operand: str, fact: str | None
) -> None:
    write("x.json", CLOCK)
    trigger = f"{{stage: tools, when: {{tool.name: {{equals: {{fact: {operand}}}}}}}, reason: because}}"
    write("mine/named.yaml", f"id: named\ntitle: A name\napplies_to: descriptor\ntriggers: [{trigger}]\n")
    done = rules("explain", "named", "x.json", "--rules", "mine", "--format", "json")
    assert done.json["questions"][0]["condition"].get("fact") == fact


def test_each_element_is_explained_with_its_place(rules: Run, write: Write) -> None:
    write("x.json", '{"tools": [{"name": "a", "primitive": "now"},\n {"name": "B", "primitive": "now"}]}')
    done = rules("explain", "bad-tool-name", "x.json")
    assert done.out.count("trigger 2 in stage tools, of $.tools[0] at x.json:1:12: false\n") == 1
    assert done.out.count("trigger 2 in stage tools, of $.tools[1] at x.json:2:2: true, so it refuses\n") == 1


def test_a_rule_after_the_stage_shape_refused_is_not_asked(rules: Run, write: Write) -> None:
    write("x.json", {"id": 7, "tools": []})
    done = rules("explain", "no-tools", "x.json")
    assert done.out.count("not asked: the stage 'shape' refused (malformed-descriptor), and then nothing else") == 3
    assert done.out.endswith("  so it is silent: it was asked nothing\n")


def test_standard_input_is_explained(rules: Run) -> None:
    done = rules("explain", "no-tools", "-", stdin=b'{"tools": []}')
    assert done.out.startswith("<stdin>: refused by no-tools\n")
    assert "found [], at <stdin>:1:11 ($.tools)" in done.out


def test_what_steers_a_terminal_is_escaped(rules: Run, write: Write) -> None:
    write("x.json", {"tools": [{"name": "\x1b[31m", "primitive": "now"}]})
    done = rules("explain", "bad-tool-name", "x.json")
    assert "\x1b" not in done.out
    assert "found '\\u001B[31m'" in done.out


def test_a_title_and_a_name_of_a_file_cannot_steer_a_terminal(rules: Run, overlay: Overlay, write: Write) -> None:
    write("x.json", CLOCK)
    mine = overlay("", old="No more than 15 requests", new='"right \\u202e left"')
    mine.rename("mine\x1b[31m\r")
    done = rules("explain", "few-requests", "x.json", "--rules", "mine\x1b[31m\r")
    assert done.out.splitlines()[1] == "few-requests (mine\\u001B[31m\\u000D/few-requests.yaml): right \\u202E left"


def test_a_long_value_is_cut(rules: Run, write: Write) -> None:
    write("x.json", {"tools": [{"name": "N" * 5000, "primitive": "now"}]})
    done = rules("explain", "bad-tool-name", "x.json")
    assert f"found '{'N' * 79}…'" in done.out


def test_the_json_holds_the_same(rules: Run, write: Write) -> None:
    write("x.json", {"tools": "none"})
    done = rules("explain", "no-tools", "x.json", "--format", "json", "--output", "out.json")
    assert (done.code, done.out) == (0, "")
    found = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert (found["file"], found["rule"], found["refuses"]) == ("x.json", "no-tools", True)
    assert found["verdict"] == {"decision": "refused", "rule": "no-tools"}
    assert [question["truth"] for question in found["questions"]] == ["false", "true", "false"]
    negation = found["questions"][1]["condition"]["parts"][1]
    assert (negation["word"], negation["truth"], negation["parts"][0]["truth"]) == ("not", "true", "false")
    assert found["refusals"][0]["path"] == "$.tools"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["no-tool", "x.json"], 2, "no rule is called 'no-tool'. Did you mean 'no-tools'?"),
        (["no-tools", "x.json", "--placement", "moon"], 2, "'moon' is not one of"),
        (["no-tools"], 2, "Missing argument 'PATH'"),
        (["no-tools", "x.json", "--rules", "none"], 2, "does not exist"),
        (["no-tools", "none.json"], 4, "none.json: unreadable: "),
        (["no-tools", "."], 4, ".: unreadable: is a folder (Name one descriptor.)"),
        (["no-tools", "broken.json"], 4, "broken.json:1:11: json-syntax: "),
        (["no-tools", "x.json", "--rules", "broken-rules"], 3, "broken-rules/half.yaml:1:1: key-missing: "),
    ],
)
def test_what_cannot_be_explained_says_why(
    rules: Run, write: Write, arguments: list[str], code: int, said: str
) -> None:
    write("x.json", CLOCK)
    write("broken.json", '{"tools": x}')
    write("broken-rules/half.yaml", "id: half\ntitle: No triggers\napplies_to: descriptor\n")
    done = rules("explain", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_an_invalid_policy_gives_json_all_the_same(rules: Run, write: Write) -> None:
    write("x.json", CLOCK)
    write("broken-rules/half.yaml", "id: half\ntitle: No triggers\napplies_to: descriptor\n")
    done = rules("explain", "no-tools", "x.json", "--rules", "broken-rules", "--format", "json")
    assert done.code == 3
    assert done.json["policy"]["problems"][0]["id"] == "key-missing"


# What it comes to


def test_a_rule_that_refuses_first_is_named(gates: Gates) -> None:
    explanation = explained(gates, "no-tools", {"capabilities": ["eval"]})
    assert explanation.meaning == (
        "it refuses; the verdict names eval-not-a-tool-path, which refuses before it in reading order"
    )


def test_a_warning_decides_nothing(rules: Run, overlay: Overlay, write: Write) -> None:
    write("x.json", FETCHER)
    overlay(old="applies_to", new="severity: warn\napplies_to")
    done = rules("explain", "few-requests", "x.json", "--rules", "mine")
    assert "x.json: admitted\n" in done.out
    assert ": true, so it warns\n" in done.out
    assert done.out.endswith("  so it warns, which decides nothing\n")


@pytest.mark.parametrize(
    ("id", "subject", "why"),
    [
        ("eval-not-a-tool-path", CLOCK, "the stage walks over subject.capabilities (capabilities as submitted; empty"),
        (
            "bad-tool-name",
            {"tools": []},
            "the stage walks over subject.tools (tools as submitted; empty unless it is a",
        ),
        ("host-invalid", CLOCK, "the stage walks over subject.hosts (bounds.hosts if network is declared"),
        ("malformed-descriptor", CLOCK, "the stage walks over subject.faults (what is malformed"),
    ],
)
def test_a_list_without_elements_is_why_nothing_was_asked(gates: Gates, id: str, subject: Any, why: str) -> None:
    explanation = explained(gates, id, subject)
    assert explanation.questions == ()
    assert {unasked.cause for unasked in explanation.unasked} == {"empty"}
    assert explanation.unasked[0].why.startswith(why)


def test_an_inner_list_without_elements_is_told_from_the_stages(gates: Gates) -> None:
    explanation = explained(gates, "under-declared", CLOCK)
    (unasked,) = explanation.unasked
    assert unasked.why.startswith("the trigger walks over tool.layout (the whole-number fields of its ABI")
    assert unasked.why.endswith("for each element of the stage")
    explanation = explained(gates, "under-declared", {"tools": []})
    whys = {unasked.trigger: unasked.why for unasked in explanation.unasked}
    assert whys[6].startswith("the stage walks over subject.tools")


def test_a_list_that_is_none_is_unknown_without_a_condition(tmp_path: Path) -> None:
    rule = tmp_path / "rules" / "mine.yaml"
    rule.parent.mkdir()
    rule.write_text(
        "id: mine\ntitle: Mine\napplies_to: descriptor\ntriggers:\n"
        "  - {stage: bounds, for_each: {entry: descriptor.bounds.hosts}, when: {entry: {equals: a}}, reason: r}\n",
        encoding="utf-8",
    )
    gates = Gates(capgate.open_gate(rules=[rule.parent]))
    explanation = explained(gates, "mine", {**CLOCK, "bounds": {"hosts": "a"}})
    (question,) = explanation.questions
    assert (question.truth, question.tree) == (Truth.UNKNOWN, None)
    assert explained(gates, "mine", CLOCK).unasked[0].why == (
        "the trigger walks over descriptor.bounds.hosts, where there is nothing"
    )


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("{all: [{descriptor.id: {equals: a}}]}", ["all"]),
        ("{any: [{descriptor.id: {equals: a}}]}", ["any"]),
        ("{none: [{descriptor.id: {equals: a}}, {descriptor.id: {equals: b}}]}", ["none"]),
        ("{not: {any: [{descriptor.id: {equals: a}}]}}", ["not", "any"]),
        ("{not: {not: {descriptor.id: {equals: a}}}}", ["not", "not"]),
        ("{not: {none: [{descriptor.id: {equals: a}}]}}", ["not", "none"]),
        ("{descriptor.id: {type: string, equals: a}}", ["all"]),
        ("{descriptor.id: {equals: a}}", []),
    ],
)
def test_the_combinators_are_those_of_the_file(tmp_path: Path, when: str, words: list[str]) -> None:
    rule = tmp_path / "rules" / "mine.yaml"
    rule.parent.mkdir()
    text = f"id: mine\ntitle: Mine\napplies_to: descriptor\ntriggers:\n  - {{stage: bounds, when: {when}, reason: r}}\n"
    rule.write_text(text, encoding="utf-8")
    gates = Gates(capgate.open_gate(rules=[rule.parent]))
    part = explained(gates, "mine", CLOCK).questions[0].tree
    found = []
    while isinstance(part, Node):
        found.append(part.word)
        part = part.parts[0]
    assert found == words


def test_a_fact_that_a_plugin_cannot_give_is_no_explanation(tmp_path: Path) -> None:
    def fail(descriptor: Any, placement: str) -> Any:
        raise RuntimeError("no tide")

    rule = tmp_path / "rules" / "mine.yaml"
    rule.parent.mkdir()
    rule.write_text(
        "id: mine\ntitle: Mine\napplies_to: descriptor\ntriggers:\n"
        "  - {stage: bounds, when: {plugin.tides.level: {min: 5}}, reason: r}\n",
        encoding="utf-8",
    )
    plugin = Plugin(capgate_facts=[Fact("level", "number", "height", fail)])
    gates = Gates(capgate.open_gate(rules=[rule.parent], plugins=[plugin]))
    with pytest.raises(FactUnavailable):
        explained(gates, "mine", CLOCK)


# Against the verdict


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_explanation_and_verdict_agree(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    overlay = write_overlay(random_overlay(random, shipped_stages()), tmp_path / "rules")
    gate = capgate.open_gate(rules=[overlay])
    for _ in range(15):
        subject, taken = random_descriptor(random), frozenset(taken_names(random))
        placement = random.choice(gate.placements)
        verdict = gate.admit(subject, placement, taken)
        asked = gate.explain(subject, placement, taken)
        named = {one.rule for one in asked if one.can_hold}
        assert named == {refusal.rule for refusal in verdict.refusals}
        assert len([one for one in asked if one.can_hold]) == len(verdict.refusals)
        # The rules that the explanation names give the same verdict by themselves.
        alone = Gate(gate.catalog, only(gate.rules, named)).admit(subject, placement, taken)
        assert alone == verdict
        if verdict.rule is not None:
            first = Gate(gate.catalog, only(gate.rules, [verdict.rule])).admit(subject, placement, taken)
            assert (first.decision, first.rule, first.why) == (verdict.decision, verdict.rule, verdict.why)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_every_rule_can_be_explained_whatever_the_descriptor(seed: int, tmp_path: Path) -> None:
    random = Random(1000 + seed)
    overlay = write_overlay(random_overlay(random, shipped_stages()), tmp_path / "rules")
    gates = Gates(capgate.open_gate(rules=[overlay]))
    for _ in range(5):
        subject = random_descriptor(random)
        places = load_json(b"{}", "subject.json")
        for rule in gates.rules.rules.values():
            explanation = explain(gates, rule, subject, Given(), places.span)
            triggers = {question.trigger for question in explanation.questions}
            triggers |= {unasked.trigger for unasked in explanation.unasked}
            assert triggers == set(range(1, len(rule.triggers) + 1))
            refuses = any(question.truth is not Truth.FALSE for question in explanation.questions)
            assert refuses == bool(explanation.refusals)
            for question in explanation.questions:
                for leaf in leaves(question.tree):
                    assert leaf.span.file == rule.document.name
