"""The tests that ``capgate rules mutate`` prints: each notices its mutant, or the report says why none does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import capgate
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.missing import missing_test
from capgate.policy.authoring.mutation import Mutation
from overlays import overlay, rule

Rules = Callable[..., Any]

ZETA = {"tool.name": {"equals": "zeta"}}
NO_ID = {"descriptor.id": {"exists": False}}
SEVERITY = "one $.severity: warn for refuse"


@pytest.fixture
def two(folder: Path) -> Callable[..., Path]:
    """Two rules, of which the second one refuses some of what the first one does."""

    def two(other: Any) -> Path:
        return overlay(folder / "mine", one=rule("one", ZETA, stage="tools"), other=rule("other", other, stage="tools"))

    return two


def result(rules: Rules, *arguments: Any) -> dict[str, Any]:
    done = rules("mutate", *arguments, "--rule", "one", "--format", "json", "--fail-under", "0")
    (found,) = [result for result in done.json["results"] if result["mutant"] == SEVERITY]
    return found


@pytest.mark.parametrize(
    "other", [{"all": [ZETA, NO_ID]}, {"any": [{"all": [ZETA, NO_ID]}, {"tool": {"empty": True}}]}]
)
def test_a_case_for_a_severity_is_one_that_no_other_rule_refuses(rules: Rules, two: Any, other: Any) -> None:
    folder = two(other)
    missing = result(rules, folder)["missing"]
    (case,) = yaml.safe_load(missing["yaml"])
    assert case["decision"] == "refused"
    verdict = capgate.open_gate(rules=[folder]).admit(case["descriptor"])
    assert [refusal.rule for refusal in verdict.refusals] == ["one"]
    (folder / "tests").mkdir()
    (folder / "tests" / "cases.yaml").write_text("cases:\n" + missing["yaml"], encoding="utf-8")
    assert result(rules, folder)["by"].endswith(f"mine/tests/cases.yaml: {SEVERITY}")


def test_where_another_rule_always_refuses_too_no_case_is_printed_and_the_report_says_so(
    rules: Rules, two: Any
) -> None:
    folder = two(ZETA)
    assert result(rules, folder)["missing"] is None
    text = " ".join(rules("mutate", folder, "--rule", "one", "--fail-under", "0").out.split())
    assert "no test was found that would, since other rules hide what it changes; " in text


def test_a_mutant_that_changes_nothing_is_not_said_to_be_hidden(rules: Rules, folder: Path) -> None:
    when = {"all": [{"descriptor.id": {"equals": "a"}}, {"descriptor.id": {"equals": "b"}}]}
    mine = overlay(folder / "mine", one=rule("one", when))
    text = rules("mutate", mine, "--fail-under", "0").out
    assert "no test was found that would; " in text
    assert "hide" not in text


def test_a_missing_case_is_named_after_its_mutant_where_it_is_made(folder: Path) -> None:
    mine = overlay(folder / "mine", one=rule("one", ZETA, stage="tools"))
    mutation = Mutation(Gates(capgate.open_gate(rules=[mine])), [mine])
    numbers = {mutant.name: number for number, mutant in enumerate(mutation.mutants)}
    text = missing_test(mutation, numbers[SEVERITY]).text
    assert text is not None
    assert text.startswith(f'  - name: "{SEVERITY}"\n')


def test_what_is_too_long_to_be_tried_is_said_where_no_test_was_found(rules: Rules, folder: Path) -> None:
    when = {"descriptor.bounds": {"minlength": 20_000}}
    mine = overlay(folder / "mine", one=rule("one", when))
    text = rules("mutate", mine, "--fail-under", "0").out
    assert "no test was found that would; lengths over 4,096 were left out at $.bounds; " in " ".join(text.split())


def test_a_rule_that_is_not_there_may_be_in_a_folder_that_was_not_named(rules: Rules, two: Any) -> None:
    folder = two(ZETA)
    done = rules("mutate", "--rule", "one")
    assert done.code == 2
    said = " ".join(done.err.split())
    assert "Of rules of your own, name the folder, too: capgate rules mutate --rule ID DIR" in said
    assert "'--rule'" in said
    assert "name the folder" not in rules("mutate", folder, "--rule", "nobody").err
