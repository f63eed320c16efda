"""``capgate rules diff`` where patterns change: what only one side matches is found, or is said not to be all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.seeds import first
from overlays import overlay, rule

Rules = Callable[..., Any]
Sides = Callable[..., tuple[str, str]]

NETWORK = {"subject.capabilities": {"contains": "network"}}


@pytest.fixture
def sides(folder: Path) -> Sides:
    """Writes a rule with one condition into ``old``, and with another one into ``new``."""

    def sides(old: Any, new: Any, stage: str = "tools", **more: Any) -> tuple[str, str]:
        for name, when in (("old", old), ("new", new)):
            trigger = {"stage": stage, "when": when, "reason": "because", **more}
            overlay(folder / name, mine={**rule("mine", {}), "triggers": [trigger]})
        return "old", "new"

    return sides


def path(pattern: str, name: str = "path") -> dict[str, Any]:
    return {f"tool.params.{name}": {"matches": pattern}}


def decisions(descriptor: Any) -> list[str]:
    return [capgate.open_gate(rules=[side]).admit(descriptor).decision for side in ("old", "new")]


OLD = path("notes/.*")


@pytest.mark.parametrize(
    ("old", "new", "witness"),
    [
        ({"not": OLD}, {"not": path("(?:notes|public)/.*")}, "public/"),
        ({"not": OLD}, {"not": path("(?:notes/.*|etc/passwd)")}, "etc/passwd"),
        ({"not": OLD}, {"not": path("[a-z]+/.*")}, "a/"),
        ({"not": OLD}, {"not": path("notes/?.*")}, "notes"),
        (path(r"[\d\D]*[Hh]ttp[Ss]?://[\d\D]*"), path(r"[\d\D]*[Hh]ttps?://[\d\D]*"), "httpS://"),
        ({"any": [{"not": OLD}, path("a.*")]}, {"any": [{"not": path("n?otes/.*")}, path("a.*")]}, "otes/"),
        ({"all": [{"not": OLD}]}, {"none": [OLD, path("x{3}/.*")]}, "xxx/"),
        (
            {"not": {"tool.params.path": {"matches": "[a-z]+", "maxlength": 4}}},
            {"not": {"tool.params.path": {"matches": "[a-z]+|[a-z]+[0-9]", "maxlength": 6, "minlength": 3}}},
            "aa0",
        ),
        # Nothing that refuses it for another reason will do.
        (
            {"any": [{"not": path("[a-z]*")}, path(".*b.*"), {"tool.params.path": {"maxlength": 2}}]},
            {"any": [{"not": path("[a-z]*[0-9]?")}, path(".*b.*"), {"tool.params.path": {"maxlength": 2}}]},
            "aa0",
        ),
    ],
)
def test_a_text_that_only_one_side_lets_pass_is_found(
    rules: Rules, sides: Sides, old: Any, new: Any, witness: str
) -> None:
    done = rules("diff", *sides(old, new), "--format", "json")
    assert done.code == 1
    descriptor = done.json["loosened"]["descriptor"]
    assert descriptor["tools"] == [{"name": "a", "primitive": "now", "params": {"path": witness}}]
    assert decisions(descriptor) == ["refused", "admitted"]


def test_what_is_tightened_is_found_too(rules: Rules, sides: Sides) -> None:
    report = rules("diff", *sides({"not": path("(?:notes|public)/.*")}, {"not": OLD}), "--format", "json").json
    assert report["loosened"] is None
    assert report["tightened"]["descriptor"]["tools"][0]["params"] == {"path": "public/"}


@pytest.mark.parametrize("stage", ["bounds", "hosts"])
def test_a_text_in_a_list_is_found(rules: Rules, sides: Sides, stage: str) -> None:
    whens = []
    for pattern in (r"[a-z.]+\.corp\.test", r"[a-z.]+\.(?:corp|evil)\.test"):
        if stage == "hosts":
            whens.append({"not": {"host": {"matches": pattern}}})
        else:
            every = {"descriptor.bounds.hosts": {"each": {"matches": pattern}}}
            whens.append({"all": [NETWORK, {"not": every}]})
    report = rules("diff", *sides(*whens, stage=stage), "--format", "json").json
    (host,) = report["loosened"]["descriptor"]["bounds"]["hosts"]
    assert host.endswith(".evil.test")
    assert decisions(report["loosened"]["descriptor"]) == ["refused", "admitted"]
    # Whether a text is a host no pattern says, so there may be more to be told apart.
    assert [told["whole"] for told in report["bounds"]["texts"].values()] == [False]


def test_the_host_that_an_entry_stands_for_may_be_what_differs(rules: Rules, sides: Sides) -> None:
    loop = {"for_each": {"to": "subject.destinations"}}
    whens = [{"not": {"to.name": {"matches": pattern}}} for pattern in (r"a\.test", r"[ab]\.test")]
    report = rules("diff", *sides(*whens, stage="bounds", **loop), "--format", "json").json
    assert report["loosened"]["descriptor"]["bounds"]["hosts"] == ["b.test"]
    assert report["bounds"]["texts"]["$.bounds.hosts"]["whole"] is False


def test_patterns_that_match_the_same_texts_loosen_nothing_and_the_report_says_that_they_were_told_apart(
    rules: Rules, sides: Sides
) -> None:
    old, new = sides({"not": OLD}, {"not": path("notes/(?:.+)?")})
    done = rules("diff", old, new)
    assert done.code == 0
    last = done.out.splitlines()[-1]
    assert " to begin with, with so many other values at these places in every combination: $.tools (" in last
    assert last.endswith("$.tools[0].params.path (6; 2 texts for all that 2 patterns can answer)")
    report = rules("diff", old, new, "--format", "json").json
    assert report["bounds"]["texts"] == {"$.tools[0].params.path": {"patterns": 2, "texts": 2, "whole": True}}


def test_what_could_not_be_told_apart_in_whole_is_said(rules: Rules, sides: Sides) -> None:
    old, new = (path(f"(?:a|b)*a(?:a|b){{{number}}}") for number in (16, 17))
    done = rules("diff", *sides(old, new))
    last = done.out.splitlines()[-1]
    assert " texts for some of what 2 patterns can answer)" in last
    # Texts near to the patterns are tried all the same, and what all rules say the same of is not counted.
    assert done.out.startswith("loosened: ")
    counts = re.search(r"path \((\d+); (\d+) texts", last)
    assert counts
    assert int(counts[2]) < int(counts[1])


def test_a_text_that_cannot_stand_there_is_not_counted_as_told(rules: Rules, sides: Sides) -> None:
    whens = [{"descriptor.id": {"matches": f"a{{{number}}}"}} for number in (101, 102)]
    report = rules("diff", *sides(*whens, stage="bounds"), "--format", "json").json
    assert (report["loosened"], report["tightened"]) == (None, None)
    assert report["bounds"]["texts"]["$.id"]["whole"] is False


def test_places_without_patterns_have_only_their_counts(rules: Rules, sides: Sides) -> None:
    whens = [{"tool.params.path": {"equals": text}} for text in ("a", "b")]
    old, new = sides(*whens)
    assert "pattern" not in rules("diff", old, new).out
    assert rules("diff", old, new, "--format", "json").json["bounds"]["texts"] == {}


def test_a_text_is_made_up_that_one_pattern_matches_and_another_one_does_not(sides: Sides) -> None:
    old, _ = sides({"all": [path("notes/[a-z]*"), {"not": path("notes/[a-y]*")}]}, OLD)
    gates = Gates(capgate.open_gate(rules=[old]))
    found = first(gates.rules.rules["mine"], 0, gates)
    assert found is not None
    assert found.subject.descriptor["tools"][0]["params"] == {"path": "notes/z"}


@pytest.mark.parametrize(
    ("operator", "old", "new"),
    [
        ("subset_of", ["a.test"], ["a.test", "b.test"]),
        ("equals", ["a.test"], ["b.test"]),
        ("in", [["a.test"]], [["a.test"], ["b.test"]]),
    ],
)
def test_a_list_of_what_only_one_side_names_is_found(
    rules: Rules, sides: Sides, operator: str, old: Any, new: Any
) -> None:
    whens = [{"all": [NETWORK, {"not": {"descriptor.bounds.hosts": {operator: items}}}]} for items in (old, new)]
    report = rules("diff", *sides(*whens, stage="bounds"), "--format", "json").json
    assert report["loosened"]["descriptor"]["bounds"]["hosts"] == ["b.test"]


def test_a_text_is_found_beside_a_primitive_that_has_to_be_another_one(rules: Rules, sides: Sides) -> None:
    hosts = {"to.name": {"not_in": ["api.corp.test", "wiki.corp.test"]}}
    loop = {"for_each": {"to": "subject.destinations"}}
    whens = [
        {"all": [{"tool.needs": {"contains": "read"}}, {"not": path(pattern)}, hosts]}
        for pattern in ("notes/.*", "(?:notes|public)/.*")
    ]
    report = rules("diff", *sides(*whens, **loop), "--format", "json").json
    assert report["loosened"]["descriptor"]["tools"][0]["params"] == {"path": "public/"}
    assert report["bounds"]["at_once"] >= 2
