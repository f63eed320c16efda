"""The tests of the shipped rules notice what is changed in them; the rest is explained in docs/mutation.md."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.mutation import Mutation, passes
from capgate.policy.authoring.suite import gather, run
from capgate.policy.documents import load_yaml
from capgate.policy.folders import rule_files
from capgate.policy.rule_errors import Problems
from capgate.policy.ruleset import RuleFolder, load_ruleset

PAGE = Path(__file__).parents[2] / "docs" / "mutation.md"
#: A row of the page: the mutant in backquotes, and why no test can notice it.
_ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("mutation")]


@pytest.fixture(scope="module")
def mutation(gates: Gates) -> Mutation:
    return Mutation(gates)


@pytest.fixture(scope="module")
def survivors(mutation: Mutation) -> list[str]:
    results = [mutation.judge(number) for number in range(len(mutation.mutants))]
    return [mutation.mutants[result.number].name for result in results if result.killer is None]


def test_the_shipped_tests_pass(gates: Gates) -> None:
    assert [outcome.messages for trial in gather(gates).trials if (outcome := run(trial, gates)).messages] == []


def test_at_least_95_per_cent_are_noticed(mutation: Mutation, survivors: list[str]) -> None:
    assert len(mutation.mutants) > 300
    assert 1 - len(survivors) / len(mutation.mutants) >= 0.95


def test_those_that_are_not_noticed_are_the_ones_that_the_page_explains(survivors: list[str]) -> None:
    explained = dict(_ROW.findall(PAGE.read_text(encoding="utf-8").partition("## The shipped rules")[2]))
    assert sorted(explained) == sorted(survivors)
    assert min(len(why) for why in explained.values()) > 40


def test_the_page_has_the_right_counts(mutation: Mutation, survivors: list[str]) -> None:
    noticed = len(mutation.mutants) - len(survivors)
    share = int(1000 * noticed / len(mutation.mutants)) / 10
    assert f"{len(mutation.mutants)} mutants, {noticed} noticed, {share:g} %" in PAGE.read_text(encoding="utf-8")


def test_every_mutant_is_what_its_files_say(mutation: Mutation, gates: Gates) -> None:
    # Those of one rule are read on their own; the whole loader has to come to the same.
    (home,) = {Path(rule.document.name).parent for rule in gates.rules.rules.values()}
    files = rule_files(home, Problems())
    assert files is not None
    kinds: dict[str, int] = {}
    for number, mutant in enumerate(mutation.mutants):
        kinds[mutant.kind] = kinds.get(mutant.kind, 0) + 1
        if kinds[mutant.kind] > 3:
            continue
        source = {**files, **{path.name: after.encode() for path, _, after in mutation.sources(number)}}
        whole = load_ruleset(
            gates.catalog,
            RuleFolder(home, "capgate"),
            files=lambda path, problems, source=source: dict(source),  # type: ignore[misc]
        )
        rules = mutation.rules(number)
        assert rules != gates.rules
        assert [stage.name for stage in rules.stages] == [stage.name for stage in whole.stages]
        for mine, theirs in zip(rules.stages, whole.stages, strict=True):
            assert [(rule.id, trigger) for rule, trigger in mine.triggers] == [
                (rule.id, trigger) for rule, trigger in theirs.triggers
            ]


def test_every_mutant_differs_from_the_rules_in_its_data(mutation: Mutation) -> None:
    for number in range(len(mutation.mutants)):
        texts = list(mutation.sources(number))
        assert texts
        assert all(load_yaml(before.encode()).data != load_yaml(after.encode()).data for _, before, after in texts[:1])


def test_no_two_mutants_have_the_same_name(mutation: Mutation) -> None:
    names = [mutant.name for mutant in mutation.mutants]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "expected",
    [
        {"refused": ("no-tools",), "absent": (), "exactly": None},
        {"refused": (), "absent": ("no-tools", "bad-tool-name"), "exactly": None},
        {"refused": (), "absent": (), "exactly": ("no-tools",)},
        {"places": ("$",)},
        {"decision": "admitted"},
        {"decision": "refused"},
    ],
)
def test_a_test_notices_exactly_what_would_make_it_fail(
    gates: Gates, mutation: Mutation, expected: dict[str, Any]
) -> None:
    said = set()
    for trial in mutation.suite.trials[::12]:
        changed = replace(trial, **expected)
        given = changed.given
        refusals = gates.on(given).admit(changed.descriptor, given.placement, frozenset(given.taken)).refusals
        said.add(passes(changed, refusals))
        assert passes(changed, refusals) is not bool(run(changed, gates).messages)
    assert said == {True, False}
