"""``capgate rules mutate``: what is changed, what notices it, and the test that is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import capgate
from capgate.plugins.api import Fact, Operator
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.missing import missing_test
from capgate.policy.authoring.mutants import Mutant
from capgate.policy.authoring.mutation import Mutation
from capgate.policy.gate import Gate
from capgate.policy.ruleset import RuleFolder, load_ruleset
from plugin_samples.faulty import Plugin

Rules = Callable[..., Any]
Overlay = Callable[..., Path]

RULE = """\
id: few-requests
title: No more than 15 requests
applies_to: descriptor
triggers:
  - stage: bounds
    at: descriptor.bounds.maxRequests
    when:
      all:
        - subject.capabilities: {contains: network}
        - not: {descriptor.bounds.maxRequests: {max: 15}}
    reason: up to {descriptor.bounds.maxRequests} requests, and 15 are allowed
"""

#: Two examples that are far from every edge of the rule.
FAR = """\
examples:
  refused:
    - descriptor: {capabilities: [network], bounds: {hosts: [a.b], maxRequests: 99}, tools: [{name: a, primitive: now}]}
  admitted:
    - descriptor: {capabilities: [network], bounds: {hosts: [a.b], maxRequests: 5}, tools: [{name: a, primitive: now}]}
"""


@pytest.fixture
def overlay(write: Callable[..., Path]) -> Overlay:
    """Writes one rule, with its examples, into the folder ``mine``."""

    def overlay(*, rule: str = RULE, examples: str = FAR, cases: str | None = None) -> Path:
        write("mine/few-requests.yaml", rule + examples)
        if cases is not None:
            write("mine/tests/cases.yaml", cases)
        return Path("mine")

    return overlay


def rule(when: str, more: str = "", stage: str = "tools") -> str:
    return (
        "id: few-requests\ntitle: A rule\napplies_to: descriptor\ntriggers:\n"
        f"  - stage: {stage}\n    when: {when}\n    reason: because\n{more}"
    )


def own_mutants(folder: Path) -> list[Mutant]:
    """The mutants of a whole set of rules, which takes the place of the shipped ones."""
    catalog = capgate.open_gate().catalog
    return Mutation(Gates(Gate(catalog, load_ruleset(catalog, RuleFolder(folder, "own")))), [folder]).mutants


def short(name: str) -> str:
    return name.removeprefix("few-requests $.")


def mutants(done: Any) -> dict[str, dict[str, Any]]:
    """The results by the name of the mutant, without the rule's own."""
    return {short(result["mutant"]): result for result in done.json["results"]}


def made(folder: Path, kind: str) -> set[str]:
    """The mutants of a kind that are made of a folder."""
    mutation = Mutation(Gates(capgate.open_gate(rules=[folder])), [folder])
    return {short(mutant.name) for mutant in mutation.mutants if mutant.kind == kind}


def test_a_change_that_no_test_notices_is_shown_with_its_place_its_diff_and_the_missing_example(
    rules: Rules, overlay: Overlay
) -> None:
    done = rules("mutate", overlay(rule=RULE, examples=FAR))
    assert done.code == 1
    assert (
        "mine/few-requests.yaml:10:49: few-requests "
        "$.triggers[0].when.all[1].not['descriptor.bounds.maxRequests'].max: one more: no test notices this\n"
        "    --- mine/few-requests.yaml\n"
        "    +++ mine/few-requests.yaml\n"
        "    @@ -8,5 +8,5 @@\n"
        "           all:\n"
        "             - subject.capabilities: {contains: network}\n"
        "    -        - not: {descriptor.bounds.maxRequests: {max: 15}}\n"
        "    +        - not: {descriptor.bounds.maxRequests: {max: 16}}\n"
    ) in done.out
    assert "    missing, in few-requests: examples.refused:\n    - {descriptor: {capabilities: [network]," in done.out


def test_the_examples_that_were_missing_make_every_change_noticed(rules: Rules, overlay: Overlay) -> None:
    folder = overlay(rule=RULE, examples=FAR)
    for result in rules("mutate", folder, "--format", "json").json["results"]:
        if result["noticed"]:
            continue
        place, text = result["missing"]["in"], result["missing"]["yaml"]
        if place == "a file of cases, under cases":
            number = len(list(folder.glob("tests/*")))
            (folder / "tests").mkdir(exist_ok=True)
            (folder / f"tests/case-{number}.yaml").write_text(f"cases:\n{text}", encoding="utf-8")
        else:
            file = folder / "few-requests.yaml"
            heading = f"  {place.rpartition('.')[2]}:\n"
            file.write_text(file.read_text(encoding="utf-8").replace(heading, heading + text), encoding="utf-8")
    assert rules("test", folder).code == 0
    done = rules("mutate", folder, "--fail-under", "100")
    assert done.out == "18 mutants: 18 noticed, 100 %\n"
    assert done.code == 0


@pytest.mark.parametrize(
    ("when", "kind", "changes"),
    [
        ("{tool.name: {equals: a}}", "operator", ["$: negated"]),
        ("{tool.name: {in: [a, b]}}", "operator", ["$['tool.name'].in: not_in for in"]),
        ("{tool.name: {in: [a, b]}}", "literal", ["$['tool.name'].in: without 'a'", "$['tool.name'].in: without 'b'"]),
        ("{tool.needs: {contains: read}}", "operator", ["$['tool.needs'].contains: lacks for contains"]),
        ("{tool.params.n: {min: 5}}", "literal", [f"$['tool.params.n'].min: one {x}" for x in ("more", "less")]),
        ("{tool.name: {minlength: 0}}", "literal", ["$['tool.name'].minlength: one more"]),
        ("{tool.name: {exists: true}}", "literal", ["$['tool.name'].exists: the opposite"]),
        ("{tool.name: {exists: true}}", "operator", []),
        ("{tool.name: {equals: null}}", "literal", ["$['tool.name'].equals: another value"]),
        ("{tool.name: {equals: true}}", "literal", ["$['tool.name'].equals: the opposite"]),
        ("{tool.name: {equals: {a: 1}}}", "literal", ["$['tool.name'].equals: without 'a'"]),
        ("{tool.name: {equals: [1]}}", "literal", ["$['tool.name'].equals: without 1"]),
        ("{tool.name: {equals: a}}", "literal", ["$['tool.name'].equals: another word"]),
        ("{tool.name: {type: whole}}", "literal", ["$['tool.name'].type: another type: number"]),
        (
            '{tool.name: {matches: "[ab]+"}}',
            "literal",
            [
                f"$['tool.name'].matches: {what}"
                for what in ("loosened at its start", "loosened at its end", "without 'a'", "without 'b'", "* for +")
            ],
        ),
        (
            '{tool.name: {matches: "[a]b"}}',
            "literal",
            [f"$['tool.name'].matches: {what}" for what in ("loosened at its start", "loosened at its end")],
        ),
        (
            '{tool.name: {matches: "a{2}|b?"}}',
            "literal",
            [f"$['tool.name'].matches: {what}" for what in ("{3} for {2}", "{1} for {2}", "once for ?")],
        ),
        (
            "{not: {any: [{tool.name: {exists: true}}, {tool.primitive: {exists: true}}]}}",
            "combinator",
            ["$: not dropped", "$.not: all for any", "$.not: none for any"],
        ),
        (
            "{not: {any: [{tool.name: {exists: true}}, {tool.primitive: {exists: true}}]}}",
            "condition",
            ["$.not.any[0]: dropped", "$.not.any[1]: dropped"],
        ),
        ("{all: [{tool.name: {exists: true}}]}", "combinator", ["$: none for all"]),
        ("{all: [{tool.name: {exists: true}}]}", "condition", []),
        (
            "{tool.name: {type: string, minlength: 2}}",
            "condition",
            ["$['tool.name'].type: dropped", "$['tool.name'].minlength: dropped"],
        ),
        (
            "{tool.params.list: {each: {min: 1, type: whole}}}",
            "condition",
            ["$['tool.params.list'].each.min: dropped", "$['tool.params.list'].each.type: dropped"],
        ),
        (
            "{tool.name: {in: {fact: host.taken}}}",
            "literal",
            ["$['tool.name'].in: catalog.primitives for host.taken"],
        ),
        ("{tool.name: {equals: {fact: placement.name}}}", "literal", []),
        (
            "{tool.wasm.path: {exists: true}}",
            "path",
            [f"$['tool.wasm.path']: {path} for tool.wasm.path" for path in ("tool.wasm", "tool.wasm.digest")],
        ),
    ],
)  # fmt: skip
def test_one_thing_at_a_time_is_changed(overlay: Overlay, when: str, kind: str, changes: list[str]) -> None:
    folder = overlay(rule=rule(when), examples="")
    assert made(folder, kind) == {f"triggers[0].when{change.removeprefix('$')}" for change in changes}


def test_triggers_are_dropped_and_swapped_and_rules_made_to_warn(overlay: Overlay) -> None:
    more = "  - stage: tools\n    when: {tool.primitive: {equals: now}}\n    reason: because\n"
    folder = overlay(rule=rule("{tool.name: {equals: a}}", more), examples="")
    assert made(folder, "trigger") == {"triggers[0]: dropped", "triggers[1]: dropped"}
    assert made(folder, "order") == {"triggers[0]: after the next trigger of its stage"}
    assert made(folder, "severity") == {"severity: warn for refuse"}
    # Neither neighbour of this stage has a variable of that name.
    assert made(folder, "stage") == set()


def test_the_last_trigger_that_a_stage_has_is_not_dropped(folder: Path, write: Callable[..., Path]) -> None:
    # A stage of a ruleset.yaml lists at least one rule, and each rule that it lists has a trigger there.
    both = rule("{descriptor.id: {equals: a}}", stage="alone")
    write(
        "own/few-requests.yaml",
        f"{both}  - stage: shared\n    when: {{descriptor.id: {{equals: b}}}}\n    reason: so\n",
    )
    write("own/other.yaml", rule("{descriptor.id: {equals: c}}", stage="shared").replace("few-requests", "other"))
    stages = "  - {name: alone, rules: [few-requests]}\n  - {name: shared, rules: [few-requests, other]}\n"
    write("own/ruleset.yaml", f"language: 1\nstages:\n{stages}")
    dropped = [short(mutant.name) for mutant in own_mutants(folder / "own") if mutant.kind == "trigger"]
    assert dropped == ["triggers[1]: dropped"]


def test_rules_and_stages_change_places_where_both_can_refuse(folder: Path, write: Callable[..., Path]) -> None:
    ids = {"first": "a", "second": "b", "third": "c", "fourth": "d"}
    for id, text in ids.items():
        path = "name" if id == "third" else "id"
        stage = "late" if id == "fourth" else "early"
        write(
            f"own/{id}.yaml",
            rule(f"{{descriptor.{path}: {{equals: {text}}}}}", stage=stage).replace("few-requests", id),
        )
    stages = "  - {name: early, rules: [first, second, third]}\n  - {name: late, rules: [fourth]}\n"
    write("own/ruleset.yaml", f"language: 1\nstages:\n{stages}")
    orders = [mutant.name for mutant in own_mutants(folder / "own") if mutant.kind == "order"]
    # The first two refuse different ids, so no descriptor shows which is asked first.
    assert orders == ["ruleset stage early: 'second' after 'third'", "ruleset: the stage 'early' after 'late'"]


def test_a_trigger_is_moved_to_the_stages_beside_its_own(overlay: Overlay) -> None:
    folder = overlay()
    assert made(folder, "stage") == {f"triggers[0].stage: in the stage '{stage}'" for stage in ("launch", "hosts")}


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("tool.name: {exists: true}", "tool.name: {exists: false}", False),
        ("tool.name: {exists: true}", "tool.name: {exists: true}", True),
        ("tool.name: {exists: true}", "not: {tool.name: {exists: true}}", False),
        ("tool.name: {equals: a}", "tool.name: {equals: b}", False),
        ("tool.name: {equals: a}", "tool.primitive: {equals: b}", True),
        ("tool.name: {equals: a}", "tool.name: {type: number}", True),
        ("tool.name: {equals: a}", "not: {tool.name: {equals: a}}", False),
        ("tool.params.n: {equals: 1}", "tool.params.n: {equals: 1.0}", True),
        ("tool.name: {in: [a]}", "tool.name: {not_in: [a]}", False),
        ("tool.name: {in: {fact: host.taken}}", "tool.name: {not_in: {fact: host.taken}}", False),
        ("tool.name: {in: {fact: host.taken}}", "tool.name: {not_in: {fact: catalog.abis}}", True),
        ("tool.needs: {contains: read}", "tool.needs: {lacks: read}", False),
        # What is no list is unknown to both, and both refuse.
        ("tool.wasm: {contains: read}", "tool.wasm: {lacks: read}", True),
        ("tool.wasm.input.addr: {min: 1}", "not: {tool.wasm.input.addr: {min: 1}}", True),
        ("all: [{tool.name: {type: string}}, {tool.name: {equals: a}}]", "not: {tool.name: {type: string}}", False),
        ("any: [{tool.name: {type: string}}, {tool.name: {equals: a}}]", "not: {tool.name: {type: string}}", True),
        ("tool.name: {type: string, equals: a}", "not: {tool.name: {type: string}}", False),
        ("tool.name: {type: string}", "not: {tool.name: {type: string, equals: a}}", True),
    ],
)
def test_triggers_are_swapped_where_both_can_refuse(overlay: Overlay, one: str, other: str, together: bool) -> None:
    more = f"  - stage: tools\n    when: {{{other}}}\n    reason: so it is\n"
    assert bool(made(overlay(rule=rule(f"{{{one}}}", more), examples=""), "order")) is together


def test_triggers_with_a_loop_of_their_own_may_refuse_together(overlay: Overlay) -> None:
    loop = "    for_each: {need: tool.needs}\n"
    one = rule("{tool.name: {equals: a}}").replace("    when:", f"{loop}    when:")
    more = f"  - stage: tools\n{loop}    when: {{tool.name: {{equals: b}}}}\n    reason: so it is\n"
    assert made(overlay(rule=one + more, examples=""), "order") == {"triggers[0]: after the next trigger of its stage"}


def test_an_element_itself_has_no_neighbours(overlay: Overlay) -> None:
    text = rule("{capability: {equals: read}}", stage="capabilities")
    assert made(overlay(rule=text, examples=""), "path") == set()


def test_what_a_plugin_judges_may_let_both_refuse(overlay: Overlay) -> None:
    near = Operator("near", lambda operand: None, lambda value, operand: True)
    more = "  - stage: tools\n    when: {not: {tool.name: {near: a}}}\n    reason: so it is\n"
    own = overlay(rule=rule("{tool.name: {near: a}}", more), examples="")
    gates = Gates(capgate.open_gate(rules=[own], plugins=[Plugin(capgate_operators=[near])]))
    orders = [mutant for mutant in Mutation(gates, [own]).mutants if mutant.kind == "order"]
    assert len(orders) == 1


def test_a_mutant_is_told_by_what_a_plugin_says_and_one_that_nothing_can_tell_has_no_missing_test(
    overlay: Overlay,
) -> None:
    def read(descriptor: Any, placement: str) -> int:
        return 5 if len(descriptor["tools"]) == 1 else 0  # and raises where that cannot be said

    plugin = Plugin(capgate_facts=[Fact("level", "number", "height of the water", read)])
    text = rule("{plugin.tides.level: {min: 5}}").replace(
        "reason: because", "reason: the water is at {plugin.tides.level}"
    )
    own = overlay(rule=text, examples="examples:\n  refused: [{descriptor: {id: 7}}]\n")
    mutation = Mutation(Gates(capgate.open_gate(rules=[own], plugins=[plugin])), [own])
    numbers = {short(mutant.name): number for number, mutant in enumerate(mutation.mutants)}
    told = missing_test(mutation, numbers["triggers[0].when['plugin.tides.level'].min: one more"])
    assert told.text is not None
    assert told.place == "few-requests: examples.refused"
    # The level is never between.
    assert missing_test(mutation, numbers["triggers[0].when['plugin.tides.level'].min: one less"])[:2] == (None, None)


def test_the_order_of_two_triggers_is_noticed_by_the_places_of_a_case(rules: Rules, overlay: Overlay) -> None:
    first = "  - stage: bounds\n    at: descriptor.id\n    when: {descriptor.id: {exists: true}}\n    reason: because\n"
    text = RULE + first
    cases = (
        "cases:\n  - name: both\n    descriptor: {id: a, capabilities: [network], bounds: {hosts: [a.test], "
        "maxRequests: 16}, tools: [{name: a, primitive: now}]}\n    places: [$.bounds.maxRequests, $.id]\n"
    )
    without = rules("mutate", overlay(rule=text), "--format", "json", "--fail-under", "0")
    name = "triggers[0]: after the next trigger of its stage"
    assert not mutants(without)[name]["noticed"]
    with_it = rules("mutate", overlay(rule=text, cases=cases), "--format", "json", "--fail-under", "0")
    assert mutants(with_it)[name]["by"] == "mine/tests/cases.yaml: both"


def test_what_the_loader_would_refuse_is_no_mutant(overlay: Overlay) -> None:
    text = rule("{field.value: {max: 5}}").replace("    when:", "    for_each: {field: tool.layout}\n    when:")
    assert made(overlay(rule=text, examples=""), "loop") == set()


def test_a_loop_that_nothing_needs_is_dropped(overlay: Overlay) -> None:
    text = rule("{tool.name: {equals: a}}").replace("    when:", "    for_each: {field: tool.layout}\n    when:")
    assert made(overlay(rule=text, examples=""), "loop") == {"triggers[0].for_each: dropped"}


def test_a_warning_is_made_to_refuse(overlay: Overlay) -> None:
    folder = overlay(rule=RULE.replace("applies_to", "severity: warn\napplies_to"))
    assert made(folder, "severity") == {"severity: refuse for warn"}


def test_a_rule_all_of_whose_triggers_are_one_is_left_alone_but_for_its_severity(overlay: Overlay) -> None:
    trigger = "{stage: bounds, when: {descriptor.id: {exists: true}}, reason: because}"
    text = f"id: few-requests\ntitle: A rule\napplies_to: descriptor\ntriggers: [&a {trigger}, *a]\n"
    mutation = Mutation(Gates(capgate.open_gate(rules=[overlay(rule=text, examples="")])), [Path("mine")])
    assert [mutant.kind for mutant in mutation.mutants] == ["severity"]


def test_operators_beside_an_alias_are_left_alone(overlay: Overlay) -> None:
    text = rule("{all: [{tool.name: {minlength: &n 3}}, {tool.description: {minlength: *n, type: string}}]}")
    assert "triggers[0].when.all[1]['tool.description'].type: dropped" not in made(
        overlay(rule=text, examples=""), "condition"
    )


def test_a_list_with_an_alias_in_it_is_left_alone(overlay: Overlay) -> None:
    folder = overlay(rule=rule("{any: [&a {tool.name: {equals: a}}, *a]}"), examples="")
    assert made(folder, "condition") == set()
    assert made(folder, "combinator") == {f"triggers[0].when: {word} for any" for word in ("all", "none")}


def test_the_diff_shows_what_was_loaded(rules: Rules, overlay: Overlay) -> None:
    folder = overlay(rule=RULE, examples=FAR)
    done = rules("mutate", folder, "--format", "json", "--fail-under", "0")
    result = mutants(done)["severity: warn for refuse"]
    assert "+severity: warn" in result["diff"].splitlines()
    assert result["at"]["file"] == "mine/few-requests.yaml"
    assert yaml.safe_load(result["missing"]["yaml"])[0]["decision"] == "refused"


@pytest.mark.long
def test_several_processes_find_the_same(rules: Rules, overlay: Overlay) -> None:
    folder = overlay(rule=RULE, examples=FAR)
    assert rules("mutate", folder, "--jobs", "2").out == rules("mutate", folder).out


def test_only_the_rules_that_are_named_are_changed(rules: Rules, write: Callable[..., Path], overlay: Overlay) -> None:
    folder = overlay()
    write("mine/other.yaml", (RULE + FAR).replace("few-requests", "other"))
    done = rules("mutate", folder, "--rule", "other", "--format", "json", "--fail-under", "0")
    assert {tuple(result["rules"]) for result in done.json["results"]} == {("other",)}


def test_tests_that_fail_already_are_told_and_nothing_is_tried(rules: Rules, overlay: Overlay) -> None:
    folder = overlay(rule=RULE.replace("max: 15", "max: 200"), examples=FAR)
    done = rules("mutate", folder)
    assert done.code == 1
    assert done.out == (
        "mine/few-requests.yaml:14:7: refused 1: fails on the rules as they are\n\n"
        "capgate: no mutant was tried; see capgate rules test\n"
    )
