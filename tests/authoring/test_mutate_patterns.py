"""``capgate rules mutate`` where patterns are changed, and the tests that it prints to be pasted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import capgate
from capgate.policy.authoring.alternatives import literals, same_texts
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.mutation import Mutation
from overlays import overlay, rule

Rules = Callable[..., Any]
Pattern = Callable[..., Path]

TOOL = {"name": "a", "primitive": "now"}


@pytest.fixture
def matching(folder: Path) -> Pattern:
    """Writes a rule that refuses descriptions that a pattern matches, with examples of both kinds."""

    def matching(pattern: str, refused: list[str], admitted: list[str]) -> Path:
        made = rule("no-address", {"tool.description": {"matches": pattern}}, stage="tools")
        texts = {"refused": refused, "admitted": admitted}
        made["examples"] = {
            kind: [{"descriptor": {"tools": [{**TOOL, "description": text}]}} for text in some]
            for kind, some in texts.items()
        }
        return overlay(folder / "mine", no_address=made)

    return matching


def short(name: str) -> str:
    return name.removeprefix("no-address $.triggers[0].when['tool.description'].matches: ")


def unnoticed(done: Any) -> dict[str, dict[str, Any]]:
    return {short(result["mutant"]): result for result in done.json["results"] if not result["noticed"]}


@pytest.mark.parametrize(
    ("pattern", "left_out", "left"),
    [
        (r"[\d\D]*http:", ["loosened at its start"], ["loosened at its end", r"without '\\d'", r"without '\\D'"]),
        (r"http:[\d\D]*", ["loosened at its end"], ["loosened at its start"]),
        ("http:.*", ["loosened at its end"], ["loosened at its start", "+ for *"]),
        # A line feed makes the difference.
        (".*http:", ["loosened at its start"], ["loosened at its end"]),
        ("(?:a*)*b", ["+ for *", "+ for * (2)"], ["loosened at its start"]),
        ("[aab]c", ["without 'a'", "without 'a' (2)"], ["without 'b'"]),
        ("[abab]+", [], ["* for +", "loosened at its start"]),
    ],
)
def test_a_pattern_that_matches_the_same_texts_is_no_mutant(
    matching: Pattern, pattern: str, left_out: list[str], left: list[str]
) -> None:
    folder = matching(pattern, [], [])
    mutation = Mutation(Gates(capgate.open_gate(rules=[folder])), [folder])
    names = [short(mutant.name) for mutant in mutation.mutants]
    assert set(left) <= set(names)
    assert not set(left_out) & set(names)
    generated = [other for _, other in literals("matches", pattern)]
    assert mutation.equivalent == sum(same_texts(pattern, other) for other in generated)


def test_what_is_left_out_is_counted_in_the_report(rules: Rules, matching: Pattern) -> None:
    folder = matching(r"[\d\D]*x[\d\D]*", [], [])
    done = rules("mutate", folder, "--fail-under", "0")
    assert "\n2 more left out: a pattern that matches the same texts\n" in done.out
    report = rules("mutate", folder, "--fail-under", "0", "--format", "json").json
    assert report["summary"]["equivalent"] == 2
    assert not any("loosened" in result["mutant"] for result in report["results"])


def test_every_change_of_a_pattern_can_be_noticed_where_both_ends_take_everything(
    rules: Rules, matching: Pattern
) -> None:
    folder = matching(r"[\d\D]*[Hh]ttp[Ss]?:[\d\D]*", ["http:"], ["no"])
    done = rules("mutate", folder, "--format", "json", "--fail-under", "0")
    missing = unnoticed(done)
    assert set(missing) >= {"without 'H'", "without 'S'", "without 's'", r"without '\\d'"}
    assert all(result["missing"] for result in missing.values())


@pytest.mark.parametrize(
    ("pattern", "refused", "mutant", "missing"),
    [
        (r"[\d\D]*https?:", ["http:", "https:", "ahttp:", "see\nhttp:"], r"without '\\d'", "0http:"),
        ("[Hh]ttp[Ss]?:", ["http:", "Http:", "https:", "httpa"], "without 'S'", "httpS:"),
    ],
)
def test_the_text_that_a_narrower_pattern_misses_is_the_missing_example(
    rules: Rules, matching: Pattern, pattern: str, refused: list[str], mutant: str, missing: str
) -> None:
    folder = matching(pattern, [text for text in refused if text != "httpa"], ["no"])
    result = unnoticed(rules("mutate", folder, "--format", "json", "--fail-under", "0"))[mutant]
    assert result["missing"]["in"] == "no-address: examples.refused"
    (example,) = yaml.safe_load(result["missing"]["yaml"])
    assert example["descriptor"]["tools"] == [{**TOOL, "description": missing}]


def test_the_report_says_how_many_texts_were_tried_where_no_test_was_found(rules: Rules, matching: Pattern) -> None:
    # All that is refused is refused by the first trigger, so that the second one is never seen to change.
    folder = matching("[ab]", ["a"], ["no"])
    names = rule("twice", {"tool.description": {"matches": "[ab]"}}, stage="tools")
    names["triggers"][0]["when"] = {"all": [{"tool.description": {"matches": "[ab]"}}, {"tool.name": {"equals": 5}}]}
    overlay(folder, twice=names)
    done = rules("mutate", folder, "--rule", "twice", "--fail-under", "0", "--format", "json")
    bounds = [result["bounds"] for result in done.json["results"] if result.get("missing", 0) is None]
    assert {"patterns": 2, "texts": 3, "whole": True} in [bound["texts"]["$.tools[0].description"] for bound in bounds]


def test_of_hosts_no_pattern_says_all(rules: Rules, folder: Path) -> None:
    # No host begins with a hyphen, so nothing tells the two apart, but the patterns alone do not say so.
    made = rule("hosts", {"to.name": {"matches": "-[yz]"}}, for_each={"to": "subject.destinations"})
    report = rules("mutate", overlay(folder / "mine", hosts=made), "--format", "json").json
    (result,) = (result for result in report["results"] if result["mutant"].endswith("without 'z'"))
    assert result["missing"] is None
    assert result["bounds"]["texts"]["$.bounds.hosts"]["whole"] is False


def test_two_changes_of_the_same_kind_have_two_names() -> None:
    names = [what for what, _ in literals("matches", "[Tt][Tt]x+y+")]
    assert names[2:] == [
        "without 'T'",
        "without 't'",
        "without 'T' (2)",
        "without 't' (2)",
        "* for +",
        "* for + (2)",
    ]


def test_what_is_no_pattern_any_more_matches_nothing_that_is_known() -> None:
    assert not same_texts("a", "a{1001}")


#: A rule of which only cases can tell the severity, the order of its triggers, and where they point.
ORDERED = """\
id: ordered
title: Two places
applies_to: descriptor
triggers:
  - {stage: bounds, at: descriptor.id, when: {descriptor.id: {equals: a}}, reason: because}
  - {stage: bounds, at: descriptor.name, when: {descriptor.name: {equals: b}}, reason: because}
"""


def cases_of(done: Any) -> list[str]:
    results = [result["missing"] for result in done.json["results"] if result.get("missing")]
    return [missing["yaml"] for missing in results if missing["in"] == "a file of cases, under cases"]


def test_all_missing_cases_can_be_pasted_under_one_heading(rules: Rules, write: Callable[..., Path]) -> None:
    write("mine/ordered.yaml", ORDERED)
    printed = rules("mutate", "mine", "--fail-under", "0").out
    made = cases_of(rules("mutate", "mine", "--fail-under", "0", "--format", "json"))
    assert len(made) >= 4
    assert all(text in printed for text in made)
    write("mine/tests/all.yaml", "cases:\n" + "".join(made))
    names = [case["name"] for case in yaml.safe_load("cases:\n" + "".join(made))["cases"]]
    assert len(set(names)) == len(names)
    assert "ordered $.severity: warn for refuse" in names
    assert f"{len(made)} passed, 0 failed, 2 lacking, 0 errors" in rules("test", "mine").out
    assert cases_of(rules("mutate", "mine", "--fail-under", "0", "--format", "json")) == []


def test_a_name_that_a_case_has_already_is_not_given_again(rules: Rules, write: Callable[..., Path]) -> None:
    write("mine/ordered.yaml", ORDERED)
    name = "ordered $.severity: warn for refuse"
    case = "  - {name: %r, descriptor: {tools: [{name: a, primitive: now}]}, exactly: []}\n"
    write("mine/tests/all.yaml", "cases:\n" + case % name + case % f"{name}, again")
    made = cases_of(rules("mutate", "mine", "--fail-under", "0", "--format", "json"))
    assert f'  - name: "{name}, again, again"\n' in "".join(made)


def test_a_rule_of_another_folder_is_a_wrong_command_line(rules: Rules, write: Callable[..., Path]) -> None:
    write("mine/ordered.yaml", ORDERED)
    write("more/other.yaml", ORDERED.replace("ordered", "other"))
    done = rules("mutate", "mine", "more", "--rule", "other", "--rule", "exec-absent")
    assert done.code == 2
    assert done.out == ""
    assert "'exec-absent' is not a rule of mine, more. Its rules are ordered, other." in done.err
