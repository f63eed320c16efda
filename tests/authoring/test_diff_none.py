"""A property: where `compare` finds nothing, neither do descriptors drawn near to what the rules compare with."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import capgate
from capgate.policy.authoring.difference import Sides, compare
from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.judging import Judge
from overlays import overlay, rule

pytestmark = pytest.mark.long

#: So many pairs of rules are made for a seed, and so many descriptors drawn for each.
PAIRS = 10
DRAWN = 150
MACHINE = Given()

TEXTS = ("", "a", "b", "ab", "a.test", "b.test:25", "::1", "[::1]:25", "x1", "zeta")
NUMBERS = (0, 1, 2, 5, 24, 25, 26, 443)
PATTERNS = ("[a-z]+", "a.*", "[a-z]{2,3}", r"[a-z]+\.test", r"\d+", ".{1,4}", r"[^:]*:25")
FACTS = ("descriptor.id", "descriptor.name", "descriptor.bounds.maxBytes", "descriptor.bounds.hosts")
PLACES = {
    "bounds": (*FACTS, "descriptor.bounds.maxRequests", "subject.hosts", "descriptor.capabilities", "descriptor.tools"),
    "tools": ("tool.name", "tool.description", "tool.params.path", "tool.needs", "descriptor.id"),
    "hosts": ("host", "descriptor.id", "descriptor.name"),
    "to": ("to", "to.name", "to.port", "descriptor.id", "descriptor.bounds.maxRequests"),
}
OPERATORS = ("equals", "in", "not_in", "matches", "contains", "subset_of", "min", "max", "minlength", "maxlength")


def literal(random: Random) -> Any:
    return random.choice([*TEXTS, *NUMBERS, ["a.test"], ["a", "b"], {"name": "a.test", "port": 25}, None, True])


def operand(random: Random, operator: str) -> Any:
    if operator == "matches":
        return random.choice(PATTERNS)
    if random.random() < 0.25:
        return {"fact": random.choice(FACTS)}
    if operator in ("min", "max", "minlength", "maxlength"):
        return random.choice(NUMBERS)
    if operator in ("in", "not_in", "subset_of"):
        return [literal(random) for _ in range(random.randint(1, 3))]
    return literal(random)


def condition(random: Random, paths: tuple[str, ...]) -> dict[str, Any]:
    operator = random.choice(OPERATORS)
    made = {random.choice(paths): {operator: operand(random, operator)}}
    return {"not": made} if random.random() < 0.3 else made


def tweaked(random: Random, when: dict[str, Any]) -> dict[str, Any]:
    """The condition with another operand in one of its parts."""
    made = copy.deepcopy(when)
    part = random.choice(made["all"])
    ((_, operators),) = part.get("not", part).items()
    ((operator, old),) = operators.items()
    if type(old) is int and operator != "equals":
        operators[operator] = old + 1
    elif type(old) is list and len(old) > 1:
        operators[operator] = old[1:]
    else:
        operators[operator] = operand(random, operator)
    return made


def pair(random: Random, folder: Path) -> Sides:
    """A rule, and the same with one operand changed."""
    kind = random.choice([*PLACES])
    more = {"for_each": {"to": "subject.destinations"}} if kind == "to" else {}
    old = {"all": [condition(random, PLACES[kind]) for _ in range(random.randint(1, 2))]}
    sides = []
    for name, when in (("old", old), ("new", tweaked(random, old))):
        mine = rule("mine", when, stage="bounds" if kind == "to" else kind, **more)
        sides.append(Gates(capgate.open_gate(rules=[overlay(folder / name, mine=mine)])))
    return Sides(*sides)


def literals(value: Any) -> Iterator[Any]:
    """What a rule compares with, and what is near to it."""
    if isinstance(value, dict):
        for part in value.values():
            yield from literals(part)
    elif isinstance(value, list):
        yield value
        for part in value:
            yield from literals(part)
    else:
        yield value
        if type(value) is int:
            yield from (value - 1, value + 1, "x" * min(value, 50), ["a"] * min(value, 50), f"a.test:{value}")


def drawn(random: Random, near: list[Any]) -> dict[str, Any]:
    """A descriptor that the shipped rules mostly admit, with some of what rules compare with in it."""

    def one() -> Any:
        return random.choice(near if random.random() < 0.6 else [*TEXTS, *NUMBERS])

    def texts(most: int) -> list[str]:
        found = [value for value in (one() for _ in range(most)) if type(value) is str]
        return found if random.random() < 0.5 else [random.choice(["a.test", "b.test:25", "[::1]:25", "a.test:443"])]

    made: dict[str, Any] = {key: str(one()) for key in ("id", "name") if random.random() < 0.6}
    tool: dict[str, Any] = {"name": random.choice(["a", "ab", "b", "zeta", "x1"]), "primitive": "now"}
    if random.random() < 0.5:
        tool["description"] = str(one())
    if random.random() < 0.5:
        tool["params"] = {"path": str(one())}
    if random.random() < 0.7:
        made["capabilities"] = ["network"]
        made["bounds"] = {"hosts": texts(3), "maxRequests": random.choice([1, 2, 5, 24, 25, 26])}
        if random.random() < 0.5:
            made["bounds"]["maxBytes"] = random.choice(NUMBERS)
    count = random.choice([1, 1, 2, 5, 6])
    made["tools"] = [{**tool, "name": tool["name"] + "x" * number} for number in range(count)]
    return made


@pytest.mark.parametrize("seed", ["none/0", "none/1", "none/2"])
def test_where_nothing_is_found_random_descriptors_find_nothing_either(seed: str) -> None:
    random = Random(seed)
    missed: list[Any] = []
    none = 0
    for _ in range(PAIRS):
        with tempfile.TemporaryDirectory() as folder:
            sides = pair(random, Path(folder))
        found = compare(sides)
        old, new = (Judge(side.rules, side) for side in sides)
        data = [side.rules.rules["mine"].document.data["triggers"] for side in sides]
        near = [value for value in literals(data) if value is not None]
        for change, refuses, admits in ((found.loosened, old, new), (found.tightened, new, old)):
            if change is not None:
                continue
            none += 1
            for _ in range(DRAWN):
                one = drawn(random, near)
                if refuses.decide(one, MACHINE) is not None and admits.decide(one, MACHINE) is None:
                    missed.append((one, data))
    assert missed == []
    assert none >= PAIRS // 2
