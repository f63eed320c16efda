"""``capgate rules test --init``: what is changed in the cases is what the rule reads, each path where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.authoring.given import Gates, read_given
from capgate.policy.authoring.starters import Start, Starter, start, text_of
from capgate.policy.conditions import Fact, leaves_of
from capgate.policy.documents import canonical
from capgate.policy.gate import Gate
from capgate.policy.operators import ABSENT
from capgate.policy.paths import parse_path
from capgate.policy.rulefile import Example, Rule
from reference.rulesets import Overlay as RandomOverlay
from reference.shipped import write_overlay

Run = Callable[..., Any]
SHIPPED = list(capgate.open_gate().rules.rules.values())
Place = tuple[str | int, ...]


def changed(old: Any, new: Any, place: Place = ()) -> list[Place]:
    """The places at which two JSON values differ; a list that got longer or shorter differs as a whole."""
    if type(old) is type(new) is dict:
        keys = sorted({*old, *new})
        return [at for key in keys for at in changed(old.get(key, ABSENT), new.get(key, ABSENT), (*place, key))]
    if type(old) is type(new) is list and len(old) == len(new):
        return [at for number, part in enumerate(old) for at in changed(part, new[number], (*place, number))]
    same = old is new if ABSENT in (old, new) else canonical(old) == canonical(new)
    return [] if same else [place]


def shared(places: list[Place]) -> Place:
    """The parent that places have in common."""
    return tuple(steps[0] for steps in takewhile(lambda steps: len({*steps}) == 1, zip(*places, strict=False)))


def related(one: Place, other: Place) -> bool:
    return one[: len(other)] == other[: len(one)]


def places_read(seed: Start, rule: Rule, gates: Gates) -> dict[str, Place | None]:
    """What a rule reads where it refuses, by path: where that stands in the descriptor; None where it does not."""
    given = seed.subject.given
    asked = gates.on(given).explain(seed.subject.descriptor, given.placement, frozenset(given.taken))
    answers = next(one.answers for one in asked if one.rule == rule.id and one.can_hold and one.answers)
    read: dict[str, Place | None] = {}
    for leaf, answer in zip(leaves_of(rule.triggers[0].when), answers, strict=True):
        operand, reference = leaf.checks[0].operand, leaf.reference
        # Where nothing stands the answer has the nearest parent, which is too much.
        known = reference.steps if reference.root == "descriptor" else reference.term.place
        read[reference.text] = parse_path(answer.path) or known or None
        if isinstance(operand, Fact) and operand.reference.root in ("placement", "host"):
            read[operand.reference.text] = None
    return read


def varied_as_read(rule: Rule, gates: Gates, also: dict[str, Place | None]) -> None:
    """Every case changes one thing that the rule reads, and each thing that it reads is changed by some case."""
    starter = start(rule, gates)
    assert (starter.open, starter.fixed) == ((), ())
    seed, *others = starter.starts
    read = {**places_read(seed, rule, gates), **also}
    seen: set[str] = set()
    for case in others:
        if case.subject.given != seed.subject.given:
            mine = {text for text, place in read.items() if place is None}
            assert canonical(case.subject.descriptor) == canonical(seed.subject.descriptor)
        else:
            # An object in place of another differs in its keys.
            where = shared(changed(seed.subject.descriptor, case.subject.descriptor))
            mine = {text for text, place in read.items() if place is not None and related(place, where)}
        assert mine, f"{case.name}: nothing of this is read"
        seen |= mine
    assert {*read} == seen, "what is read and never changed"
    text_of(starter, gates)  # which runs them


@pytest.mark.parametrize("rule", SHIPPED, ids=lambda rule: rule.id)
def test_each_trigger_of_a_shipped_rule_has_all_changed_that_it_reads_and_nothing_else(
    rule: Rule, gates: Gates
) -> None:
    for number, trigger in enumerate(rule.triggers):
        one = replace(rule, triggers=(trigger,), examples=tuple(refused_by(rule, number, gates)))
        alone = gates.rules._replace(
            rules={rule.id: one},
            stages=tuple(
                stage._replace(triggers=((one, trigger),) if stage.name == trigger.stage else ())
                for stage in gates.rules.stages
            ),
        )
        varied_as_read(one, Gates(Gate(gates.catalog, alone)), {})


def refused_by(rule: Rule, number: int, gates: Gates) -> Iterator[Example]:
    """The examples that a trigger refuses."""
    for example in rule.examples:
        given = read_given(example.given)
        asked = gates.on(given).explain(example.descriptor, given.placement, frozenset(given.taken))
        if any((one.rule, one.trigger, one.can_hold) == (rule.id, number, True) for one in asked):
            yield example


TWO_TOOLS = {
    "id": "evil.test",
    "capabilities": ["read", "network", "evil.test", "machine"],
    "bounds": {"hosts": ["good.test", "evil.test:8443", "good.test"], "maxRequests": 8, "maxBytes": 8},
    "tools": [
        {"name": "a", "primitive": "now", "params": {"path": "notes/a", "to": "good.test"}},
        {"name": "b", "primitive": "read-file", "params": {"path": "secret", "to": "evil.test"}},
        {
            "name": "c",
            "primitive": "wasm",
            "wasm": {
                "path": "m.wasm",
                "digest": "0" * 64,
                "abi": "buffer-abi/1",
                "input": {"addr": 4096, "maxBytes": 64},
                "output": {"addr": 16, "bytes": 2048},
                "call": {"export": "run"},
            },
        },
    ],
}
SENDS = {"to": "subject.destinations"}
SECRET = {"tool.params.path": {"equals": "secret"}}
EVIL = {"to.name": {"equals": "evil.test"}}
NETWORK = {"capability": {"equals": "network"}}
ENTRIES = {"entry": "descriptor.bounds.hosts"}
HOST, TO = ("bounds", "hosts", 1), ("tools", 1, "params", "to")
REQUESTS = {"descriptor.bounds.maxRequests": ("bounds", "maxRequests")}
LISTED = {"descriptor.capabilities": ("capabilities",)}


@pytest.mark.parametrize(
    ("stage", "loop", "when", "also"),
    [
        ("tools", SENDS, {"all": [{"tool.needs": {"contains": "read"}}, SECRET, EVIL]}, {}),
        ("tools", SENDS, {"all": [EVIL, {"not": {"tool.params.path": {"matches": "notes/.*"}}}, SECRET]}, {}),
        ("tools", SENDS, {"all": [SECRET, {"to.port": {"min": 1024}}]}, {}),
        ("tools", SENDS, {"all": [SECRET, {"to": {"exists": True}}, {"to.name": {"in": ["evil.test"]}}]}, {}),
        ("tools", SENDS, {"all": [SECRET, {"tool.params.to": {"equals": {"fact": "to.name"}}}]}, {"to.name": HOST}),
        (
            "tools",
            SENDS,
            {"all": [SECRET, {"to.name": {"equals": {"fact": "tool.params.to"}}}]},
            {"tool.params.to": TO},
        ),
        (
            "tools",
            SENDS,
            {"all": [SECRET, {"to.name": {"equals": {"fact": "descriptor.id"}}}]},
            {"descriptor.id": ("id",)},
        ),
        ("tools", ENTRIES, {"all": [SECRET, {"entry": {"equals": "evil.test:8443"}}]}, {}),
        ("tools", ENTRIES, SECRET, {"descriptor.bounds.hosts": ("bounds", "hosts")}),
        ("tools", {"need": "tool.needs"}, {"all": [SECRET, {"need": {"equals": "read"}}]}, {}),
        (
            "tools",
            {"field": "tool.layout"},
            {
                "all": [
                    {"field.value": {"min": 1024, "max": 2048}},
                    {"field.name": {"equals": "output.bytes"}},
                    {"tool.wasm.abi": {"matches": "buffer.*"}},
                ]
            },
            {"field.name": ("tools", 2, "primitive")},
        ),
        ("tools", {"name": "host.taken"}, {"all": [SECRET, {"name": {"equals": "task_status"}}]}, {}),
        ("tools", {"how": "placement.mechanisms"}, {"all": [SECRET, {"how": {"equals": "read"}}]}, {}),
        (
            "hosts",
            {"it": "subject.tools"},
            {"all": [{"host": {"matches": "evil.*"}}, {"it.params.path": {"in": ["secret"]}}]},
            {},
        ),
        (
            "hosts",
            {"it": "descriptor.tools"},
            {"all": [{"host": {"matches": "evil.*"}}, {"it.name": {"equals": "b"}}]},
            {},
        ),
        (
            "capabilities",
            {"it": "subject.tools"},
            {"all": [NETWORK, {"it.first_use": {"exists": False}}, {"it.needs": {"contains": "read"}}]},
            {},
        ),
        ("capabilities", {"it": "subject.capabilities"}, {"all": [NETWORK, {"it": {"equals": "read"}}]}, {}),
        ("capabilities", SENDS, {"all": [NETWORK, EVIL, {"descriptor.bounds.maxBytes": {"max": 9}}]}, {}),
        ("tools", None, {"all": [SECRET, {"tool.params.to": {"in": {"fact": "descriptor.capabilities"}}}]}, LISTED),
        (
            "tools",
            None,
            {"all": [SECRET, {"descriptor.capabilities": {"contains": {"fact": "tool.params.to"}}}]},
            {"tool.params.to": TO},
        ),
        (
            "tools",
            None,
            {"all": [SECRET, {"descriptor.capabilities": {"subset_of": {"fact": "descriptor.capabilities"}}}]},
            {},
        ),
        ("bounds", None, {"descriptor.bounds.maxBytes": {"min": {"fact": "descriptor.bounds.maxRequests"}}}, REQUESTS),
        ("bounds", None, {"descriptor.id": {"minlength": {"fact": "descriptor.bounds.maxRequests"}}}, REQUESTS),
        (
            "bounds",
            None,
            {"descriptor.bounds.maxBytes": {"equals": {"fact": "descriptor.bounds.maxRequests"}}},
            REQUESTS,
        ),
        ("bounds", None, {"descriptor.runsIn": {"not_in": {"fact": "descriptor.capabilities"}}}, LISTED),
        (
            "bounds",
            None,
            {"descriptor.bounds.hosts": {"each": {"not_in": {"fact": "descriptor.capabilities"}}}},
            LISTED,
        ),
        (
            "bounds",
            None,
            {"descriptor.capabilities": {"contains": {"fact": "placement.name"}}},
            {"placement.name": None},
        ),
    ],
)
def test_each_variable_is_changed_in_the_element_that_it_stands_for(
    tmp_path: Path, stage: str, loop: dict[str, str] | None, when: dict[str, Any], also: dict[str, Place | None]
) -> None:
    trigger = {"stage": stage, "when": when, "reason": "because", **({"for_each": loop} if loop else {})}
    examples = {"refused": [{"descriptor": TWO_TOOLS}]}
    rule = {"id": "mine", "title": "Mine", "applies_to": "descriptor", "triggers": [trigger], "examples": examples}
    gates = Gates(capgate.open_gate(rules=[write_overlay(RandomOverlay({"mine": rule}), tmp_path / "rules")]))
    varied_as_read(gates.rules.rules["mine"], gates, also)


@pytest.mark.parametrize(
    ("stage", "loop", "when"),
    [
        (
            "tools",
            SENDS,
            {"all": [{"tool.needs": {"contains": "read"}}, {"tool.params.path": {"equals": "secret"}}, EVIL]},
        ),
        ("tools", SENDS, {"all": [EVIL, {"not": {"tool.name": {"in": {"fact": "descriptor.capabilities"}}}}]}),
        (
            "tools",
            {"need": "tool.needs"},
            {"all": [{"tool.params.path": {"equals": "x"}}, {"need": {"equals": "read"}}]},
        ),
        ("hosts", {"it": "subject.tools"}, {"all": [{"host": {"equals": "evil.test"}}, {"it.name": {"equals": "b"}}]}),
        ("capabilities", SENDS, {"all": [NETWORK, EVIL, {"descriptor.bounds.maxBytes": {"max": 9}}]}),
    ],
)
def test_a_rule_with_two_loops_needs_no_example(
    tmp_path: Path, stage: str, loop: dict[str, str], when: dict[str, Any]
) -> None:
    trigger = {"stage": stage, "for_each": loop, "when": when, "reason": "because"}
    rule = {"id": "mine", "title": "Mine", "applies_to": "descriptor", "triggers": [trigger]}
    gates = Gates(capgate.open_gate(rules=[write_overlay(RandomOverlay({"mine": rule}), tmp_path / "rules")]))
    starter = start(gates.rules.rules["mine"], gates)
    assert starter.open == ()
    text_of(starter, gates)


@pytest.mark.parametrize(
    ("host", "written"), [("evil.test:8443", ["evil.test", "evil.test:5"]), ("[::1]:8443", ["[::1]", "[::1]:5"])]
)
def test_a_port_is_changed_behind_its_host(tmp_path: Path, host: str, written: list[str]) -> None:
    bounds = {"hosts": [host], "maxRequests": 1}
    descriptor = {"capabilities": ["network"], "bounds": bounds, "tools": [{"name": "a", "primitive": "now"}]}
    trigger = {"stage": "bounds", "for_each": SENDS, "when": {"to.port": {"exists": True}}, "reason": "because"}
    examples = {"refused": [{"descriptor": descriptor}]}
    rule = {"id": "mine", "title": "Mine", "applies_to": "descriptor", "triggers": [trigger], "examples": examples}
    gates = Gates(capgate.open_gate(rules=[write_overlay(RandomOverlay({"mine": rule}), tmp_path / "rules")]))
    starts = start(gates.rules.rules["mine"], gates).starts
    assert [case.subject.descriptor["bounds"]["hosts"][0] for case in starts] == [host, *written]


def test_what_no_case_changes_is_said(rules: Run, write: Callable[..., Path]) -> None:
    condition = "{all: [{subject.faults: {empty: true}}, {catalog.abis: {exists: true}}, {descriptor.id: {equals: x}}]}"
    write(
        "mine/mine.yaml",
        "id: mine\ntitle: Mine\napplies_to: descriptor\ntriggers:\n"
        f"  - stage: bounds\n    when: {condition}\n    reason: because\n",
    )
    done = rules("test", "--init", "mine", "mine")
    assert done.code == 0
    assert done.err == (
        "capgate: mine/mine.yaml:6:43: no case changes 'subject.faults', which cannot be set; "
        "write cases for it by hand\n"
    )


def started(tmp_path: Path, trigger: dict[str, Any], descriptor: Any) -> Starter:
    """The cases of a rule with one trigger, which refuses the descriptor."""
    examples = {"refused": [{"descriptor": descriptor}]}
    rule = {"id": "mine", "title": "Mine", "applies_to": "descriptor", "triggers": [trigger], "examples": examples}
    gates = Gates(capgate.open_gate(rules=[write_overlay(RandomOverlay({"mine": rule}), tmp_path / "rules")]))
    starter = start(gates.rules.rules["mine"], gates)
    text_of(starter, gates)
    return starter


def test_a_host_that_is_none_has_no_port_to_change(tmp_path: Path) -> None:
    descriptor = {"capabilities": ["network"], "bounds": {"hosts": ["*"], "maxRequests": 1}, "tools": []}
    when = {"to.port": {"exists": False}}
    starter = started(tmp_path, {"stage": "bounds", "for_each": SENDS, "when": when, "reason": "because"}, descriptor)
    assert [case.subject.descriptor for case in starter.starts] == [descriptor]
    assert [path for path, _ in starter.fixed] == ["to.port"]


def test_where_a_stage_walks_over_what_is_not_in_the_descriptor_the_own_loop_is_changed_all_the_same(
    tmp_path: Path,
) -> None:
    descriptor = {"id": 5, "capabilities": ["network"], "bounds": {"hosts": ["evil.test"], "maxRequests": 1}}
    when = {"all": [EVIL, {"fault.path": {"equals": "$.id"}}]}
    starter = started(tmp_path, {"stage": "shape", "for_each": SENDS, "when": when, "reason": "because"}, descriptor)
    hosts = [case.subject.descriptor["bounds"]["hosts"] for case in starter.starts]
    assert (hosts[0], [] in hosts, ["a"] in hosts) == (["evil.test"], True, True)
    assert [path for path, _ in starter.fixed] == ["fault.path"]


def test_a_case_that_nobody_would_read_is_left_out(tmp_path: Path) -> None:
    when = {"descriptor.description": {"maxlength": 3000}}
    descriptor = {"description": "short", "tools": [{"name": "a", "primitive": "now"}]}
    starter = started(tmp_path, {"stage": "bounds", "when": when, "reason": "because"}, descriptor)
    assert max(len(canonical(case.subject.descriptor)) for case in starter.starts) < 2000
    assert {case.refused for case in starter.starts} == {True, False}
