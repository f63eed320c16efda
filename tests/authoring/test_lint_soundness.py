"""What lint takes to be possible covers all that is: random rules, random descriptors, the real gate."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

import capgate
from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.lint.claims import claims
from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.shadows import comparable, parts_beside, shadowed
from capgate.policy.authoring.lint.space import Space
from capgate.policy.authoring.lint.values import TooMany
from capgate.policy.authoring.suite import gather
from capgate.policy.compiler import Asked
from capgate.policy.conditions import leaves_of
from reference.descriptors import descriptor, taken_names
from reference.rulesets import Overlay, overlay
from reference.shipped import shipped_stages, write_overlay

MECHANISMS = (None, None, (), ("exec",), ("read", "network", "import"), ("exec", "eval", "import", "read", "delete"))
seeds = pytest.mark.parametrize("seed", range(8))


def context_of(overlay: Overlay) -> Context:
    with tempfile.TemporaryDirectory() as folder:
        home = write_overlay(overlay, Path(folder, "mine"))
        gates = Gates(capgate.open_gate(rules=[home]))
        return Context(gates, gather(gates, [home]), [home])


def judged(gates: Gates, random: Random, count: int) -> Iterator[list[Asked]]:
    """All that is asked of so many descriptors that JSON can hold."""
    while count:
        subject = descriptor(random)
        try:
            json.dumps(subject, allow_nan=False)
        except ValueError:
            continue
        count -= 1
        given = Given(random.choice(["machine", "browser"]), (), random.choice(MECHANISMS))
        yield gates.on(given).explain(subject, given.placement, frozenset(taken_names(random)))


def vectors(askers: Sequence[Asker], context: Context) -> set[tuple[str, ...]] | None:
    """The ways in which triggers can be answered together, each as the answers of all their operators."""
    first, *others = askers
    try:
        answers = Space(parts_beside(first, others), context.gates, context.domains).answers()
    except TooMany:
        return None
    columns = [said[leaf.at] for one, said in zip(askers, answers, strict=True) for leaf in leaves_of(one.trigger.when)]
    size = max(number.bit_length() for said in columns for number in (said.can_hold, said.can_fail))
    bits = [
        [hold + fail for hold, fail in zip(f"{said.can_hold:0{size}b}", f"{said.can_fail:0{size}b}", strict=True)]
        for said in columns
    ]
    return set(zip(*bits, strict=True))


def answered(one: Asked) -> tuple[str, ...]:
    return tuple(f"{int(answer.can_hold)}{int(answer.can_fail)}" for answer in one.answers)


@pytest.mark.long
@seeds
def test_every_way_in_which_a_real_descriptor_is_answered_was_looked_at(seed: int) -> None:
    random = Random(seed)
    made = overlay(random, shipped_stages())
    context = context_of(made)
    possible = {(one.rule.id, one.number): vectors([one], context) for one in context.askers}
    for asked in judged(context.gates, random, 40):
        for one in asked:
            known = possible.get((one.rule, one.trigger))
            if known is not None and one.answers:
                assert answered(one) in known, (one, made.rules[one.rule]["triggers"][one.trigger])


def beside(context: Context) -> Iterable[tuple[Asker, Asker]]:
    """Two triggers of a stage without loops of their own, which are asked of one element."""
    for earlier, later in combinations(context.askers, 2):
        alone = earlier.trigger.loop is None and later.trigger.loop is None
        if alone and earlier.trigger.stage == later.trigger.stage and comparable(earlier, later, context):
            yield earlier, later


@pytest.mark.long
@seeds
def test_every_way_in_which_two_triggers_are_answered_together_was_looked_at(seed: int) -> None:
    random = Random(seed)
    made = overlay(random, shipped_stages())
    context = context_of(made)
    possible = [(one, two, vectors([two, one], context)) for one, two in islice(beside(context), 6)]
    for asked in judged(context.gates, random, 40):
        said: Mapping[Any, tuple[str, ...]] = {
            (one.rule, one.trigger, one.element): answered(one) for one in asked if one.answers
        }
        for earlier, later, known in possible:
            for (rule, number, element), own in said.items():
                other = said.get((earlier.rule.id, earlier.number, element))
                if known is not None and (rule, number) == (later.rule.id, later.number) and other is not None:
                    assert own + other in known, (element, made.rules[rule], made.rules[earlier.rule.id])


@pytest.mark.long
@seeds
def test_no_descriptor_shows_a_claim_to_be_wrong(seed: int) -> None:
    random = Random(seed)
    made = overlay(random, shipped_stages())
    context = context_of(made)
    claimed = [
        (one.rule.id, one.number, found.check)
        for one in context.askers
        for found in (*claims(one, context), *shadowed(one, context))
        if isinstance(found, Finding)
    ]
    rules = context.gates.rules.rules
    for asked in judged(context.gates, random, 60):
        for place, one in enumerate(asked):
            said = {check for rule, number, check in claimed if (rule, number) == (one.rule, one.trigger)}
            assert not (one.can_hold and "trigger-never-holds" in said), one
            assert one.can_hold or "trigger-always-holds" not in said, one
            before = any(other.can_hold and rules[other.rule].severity == "refuse" for other in asked[:place])
            assert not one.can_hold or before or "rule-shadowed" not in said, one
