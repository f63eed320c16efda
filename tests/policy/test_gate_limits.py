"""The gate against hostile descriptors, failing plugins and rule sets without the usual safeguards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.plugins.api import Fact, hookimpl
from capgate.policy.ruleset import RuleFolder, load_ruleset
from overlays import overlay, rule

CLOCK: dict[str, Any] = {"id": "clock", "tools": [{"name": "tide_now", "primitive": "now"}]}


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


class Boom:
    """A plugin whose fact cannot be known."""

    name = "boom"

    @hookimpl
    def capgate_facts(self, context: Any) -> list[Fact]:
        def read(descriptor: Any, placement: str) -> Any:
            raise RuntimeError("no")

        return [Fact("f", "string", "never known", read), Fact("many", "list", "never known", read)]


@pytest.mark.parametrize("severity", ["warn", "refuse"])
def test_a_fact_that_fails_refuses_by_both_entries_alike(tmp_path: Path, severity: str) -> None:
    asks = rule("asks", {"plugin.boom.f": {"equals": "x"}}, severity=severity)
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", asks=asks)], plugins=[Boom()])
    assert gate.decide(CLOCK) == gate.admit(CLOCK).rule == "fact-unavailable"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"plugin.boom.f": {"type": "string", "minlength": 3}}, {"descriptor.id": {"equals": "clock"}}),
        ({"descriptor.name": {"exists": False}}, {"plugin.boom.f": {"type": "string", "minlength": 3}}),
        (
            {"any": [{"descriptor.name": {"exists": False}}, {"plugin.boom.f": {"minlength": 3}}]},
            {"not": {"descriptor.name": {"type": "string"}}},
        ),
    ],
)
def test_what_is_asked_first_decides_whether_a_failing_fact_is_asked_at_all(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any]
) -> None:
    asks = rule("asks", first)
    asks["triggers"].append({**asks["triggers"][0], "when": second})
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", asks=asks)], plugins=[Boom()])
    expected = "fact-unavailable" if "plugin.boom.f" in first else "asks"
    assert gate.decide(CLOCK) == gate.admit(CLOCK).rule == expected


@pytest.mark.parametrize("severity", ["warn", "refuse"])
def test_a_stage_over_a_fact_that_fails_refuses_by_both_entries_alike(tmp_path: Path, severity: str) -> None:
    stages = {"language": 1, "stages": [{"name": "own", "after": "tools", "for_each": {"it": "plugin.boom.many"}}]}
    asks = rule("asks", {"it": {"equals": "x"}}, stage="own", severity=severity)
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", asks=asks, ruleset=stages)], plugins=[Boom()])
    assert gate.decide(CLOCK) == gate.admit(CLOCK).rule == "fact-unavailable"


def test_a_fact_that_says_where_takes_no_refusal_away(tmp_path: Path) -> None:
    points = rule("points", {"descriptor.id": {"exists": True}}, at="{plugin.boom.f}")
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", points=points)], plugins=[Boom()])
    assert gate.decide(CLOCK) == "points"
    assert [(found.rule, found.path) for found in gate.admit(CLOCK).refusals] == [("points", "$")]


def test_a_fact_that_a_reason_names_takes_no_refusal_away(tmp_path: Path) -> None:
    tells = rule("tells", {"descriptor.id": {"exists": True}}, reason="it is {plugin.boom.f}")
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", tells=tells)], plugins=[Boom()])
    assert gate.decide(CLOCK) == "tells"
    assert [(found.rule, found.reason) for found in gate.admit(CLOCK).refusals] == [("tells", "it is ‹unavailable›")]


def test_a_document_of_nothing_but_mistakes_gets_a_bounded_answer(gate: capgate.Gate) -> None:
    many = gate.admit({"capabilities": [0] * 500_000, "tools": [{"name": "a", "primitive": "now"}]})
    assert (many.rule, len(many.refusals)) == ("unknown-capability", 10_000)
    params = {f"{number:x}": [] for number in range(90_000)}
    assert gate.decide({"tools": [{"name": "a", "primitive": "now", "params": params}]}) == "malformed-descriptor"


@pytest.mark.long
def test_warnings_alone_never_end_a_judgement(tmp_path: Path) -> None:
    warns = rule("a-warns", {"capability": {"exists": True}}, severity="warn", stage="capabilities")
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", a_warns=warns)])
    verdict = gate.admit({**CLOCK, "capabilities": ["read"] * 12_000 + ["eval"]})
    assert verdict.rule == "eval-not-a-tool-path"


def test_a_place_that_a_descriptor_makes_up_is_no_place(tmp_path: Path) -> None:
    points = rule("points", {"descriptor.name": {"exists": True}}, at="{descriptor.name}")
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", points=points)])
    for name in ("$[" + "9" * 5000 + "]", "$.no.such[0]", "nothing", "$['", "$" + "[0]" * 1000):
        assert gate.admit({**CLOCK, "name": name}).refusals[0].path == "$"


def test_a_whole_set_without_the_usual_safeguards_raises_nothing(tmp_path: Path, gate: capgate.Gate) -> None:
    never = rule("never", {"descriptor.id": {"equals": "never"}}, stage="only")
    overlay(tmp_path / "rules", never=never, ruleset={"language": 1, "stages": [{"name": "only", "rules": ["never"]}]})
    bare = capgate.Gate(gate.catalog, load_ruleset(gate.catalog, RuleFolder(tmp_path / "rules", "bare")))
    for odd in (
        {},
        None,
        [],
        {"tools": 5},
        {"tools": [None, {}, {"primitive": []}], "capabilities": [[], "x", "read"]},
    ):
        verdict = bare.admit(odd)
        assert verdict.admitted
        assert set(verdict.enforced) <= {"read"}
        assert verdict.to_json()["decision"] == "admitted"
