"""The test that would notice a mutant: a descriptor on which it differs, written as YAML to paste."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from capgate.policy.authoring.difference import Sides, changed_triggers, search
from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.judging import Judge
from capgate.policy.authoring.mutants import Mutant
from capgate.policy.authoring.mutation import Mutation
from capgate.policy.authoring.settle import Subject
from capgate.policy.authoring.space import Bounds
from capgate.policy.gate import Gate
from capgate.policy.rulefile import Rule
from capgate.policy.verdict import Refusal

__all__ = ["Missing", "missing_test"]

#: So many descriptors are tried for a mutant.
LIMIT: Final = 10_000


class Missing(NamedTuple):
    """What is missing.

    Attributes:
        text: a test, as YAML; None where no descriptor was found by which the mutant can be told.
        place: where the test belongs, in words.
        bounds: what was looked at.
    """

    text: str | None
    place: str | None
    bounds: Bounds


def missing_test(mutation: Mutation, number: int) -> Missing:
    """Looks for a test that a mutant would fail."""
    mutant, old = mutation.mutants[number], mutation.gates
    new = Gates(Gate(old.catalog, mutation.rules(number)))
    asks = [*changed_triggers(old, new), *changed_triggers(new, old)] or list(_moved(mutant, old))
    seeds = [Subject(trial.descriptor, trial.given) for trial in mutation.suite.trials]
    found, bounds = search(Sides(old, new), asks, _differs, seeds, LIMIT)
    if found is None:
        return Missing(None, None, bounds)
    text, place = _written(mutant, found, old, new)
    return Missing(text, place, bounds)


def _moved(mutant: Mutant, gates: Gates) -> Iterator[tuple[Gates, Rule, int]]:
    """The triggers that a change of order or stage concerns: all of its rules."""
    for id in mutant.rules:
        rule = gates.rules.rules[id]
        for number in range(len(rule.triggers)):
            yield gates, rule, number


def _differs(old: Judge, new: Judge, subject: Subject) -> bool:
    return _said(old.refusals(*subject)) != _said(new.refusals(*subject))


def _said(refusals: list[Refusal]) -> list[tuple[str, str, str]]:
    """What a test can see of refusals."""
    return [(refusal.rule, refusal.path, refusal.severity) for refusal in refusals]


def _written(mutant: Mutant, subject: Subject, old: Gates, new: Gates) -> tuple[str, str]:
    """An example of the rule where that can tell the two apart, else a case."""
    before = Judge(old.rules, old).refusals(*subject)
    after = Judge(new.rules, new).refusals(*subject)
    given = subject.given.to_json()
    tail = f", given: {flow(given)}" if given else ""
    example = f"{{descriptor: {flow(subject.descriptor)}{tail}}}"
    for id in mutant.rules:
        was, is_now = (any(refusal.rule == id for refusal in refusals) for refusals in (before, after))
        if was is not is_now:
            kind = "refused" if was else "admitted"
            return f"    - {example}\n", f"{id}: examples.{kind}"
    rows = ["  - name: to be named", f"    descriptor: {flow(subject.descriptor)}"]
    rows += [f"    given: {flow(given)}"] if given else []
    ids = [[refusal.rule for refusal in refusals] for refusals in (before, after)]
    places = [[refusal.path for refusal in refusals] for refusals in (before, after)]
    if ids[0] != ids[1]:
        rows.append(f"    exactly: {flow(ids[0])}")
    elif places[0] != places[1]:
        rows.append(f"    places: {flow(places[0])}")
    else:
        refused = any(refusal.severity == "refuse" for refusal in before)
        rows.append(f"    decision: {'refused' if refused else 'admitted'}")
    return "".join(f"{row}\n" for row in rows), "a file of cases, under cases"
