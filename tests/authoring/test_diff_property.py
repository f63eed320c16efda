"""A property: what random descriptors show to be loosened, `compare` finds, though it never sees them."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import capgate
from capgate.policy.authoring.difference import Sides, compare
from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.judging import Judge
from capgate.policy.authoring.mutation import Mutation
from reference.descriptors import descriptor
from reference.rulesets import Overlay, overlay
from reference.shipped import shipped_stages, write_overlay

pytestmark = pytest.mark.long

#: So many descriptors are drawn for a pair of rule sets.
DRAWN = 100
#: Pairs are drawn until so many of them were shown to be loosened.
ENOUGH = 3
MACHINE = Given()


def opened(made: Overlay, folder: Path) -> Gates:
    return Gates(capgate.open_gate(rules=[write_overlay(made, folder)] if made.rules else []))


def dropped(random: Random, folder: Path) -> Sides | None:
    """Random rules, and the same without one that refuses."""
    old = overlay(random, shipped_stages())
    refusing = [id for id, rule in old.rules.items() if rule.get("severity") != "warn"]
    if not refusing or len(old.rules) > 6:
        return None
    new = copy.deepcopy(old)
    del new.rules[random.choice(refusing)]
    if not new.rules:
        new.stages = []
    return Sides(opened(old, folder / "old"), opened(new, folder / "new"))


def loosened(random: Random, folder: Path) -> Sides | None:
    """Random rules, and the same with another literal, operator or path in one of them."""
    old = overlay(random, shipped_stages())
    if len(old.rules) > 6:
        return None
    path = write_overlay(old, folder / "old")
    gate = capgate.open_gate(rules=[path])
    mutation = Mutation(Gates(gate), [Path(path)], [random.choice(sorted(old.rules))])
    kinds = ("literal", "operator", "condition", "combinator")
    numbers = [number for number, mutant in enumerate(mutation.mutants) if mutant.kind in kinds]
    if not numbers:
        return None
    changed = capgate.Gate(gate.catalog, mutation.rules(random.choice(numbers)))
    return Sides(Gates(gate), Gates(changed))


def shown(sides: Sides, random: Random) -> bool:
    """Whether a random descriptor is refused by the old rules and admitted by the new ones."""
    old, new = Judge(sides.old.rules, sides.old), Judge(sides.new.rules, sides.new)
    return any(
        new.decide(drawn, MACHINE) is None and old.decide(drawn, MACHINE) is not None
        for drawn in (descriptor(random) for _ in range(DRAWN))
    )


@pytest.mark.parametrize("pair", [dropped, loosened])
def test_what_random_descriptors_show_to_be_loosened_is_found(pair: Callable[[Random, Path], Sides | None]) -> None:
    missed: list[str] = []
    found = number = 0
    while found + len(missed) < ENOUGH:
        seed = f"loosened/{number}"
        number += 1
        random = Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            sides = pair(random, Path(folder))
            if sides is None or not shown(sides, random):
                continue
            if compare(sides, limit=20_000).loosened is None:
                missed.append(seed)
            else:
                found += 1
    assert missed == []
