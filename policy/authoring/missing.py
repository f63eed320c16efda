"""The test that would notice a mutant: a descriptor on which it differs, written as YAML to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from capgate.policy.authoring.difference import Sides, changed_triggers, search, shrink
from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.judging import Judge
from capgate.policy.authoring.mutants import Mutant
from capgate.policy.authoring.mutation import Mutation, only
from capgate.policy.authoring.settle import Subject
from capgate.policy.authoring.space import Ask, Bounds
from capgate.policy.gate import Gate
from capgate.policy.ruleset import RuleSet
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
        hidden: whether other rules were seen to say the same of what the mutant changes.
    """

    text: str | None
    place: str | None
    bounds: Bounds
    hidden: bool = False


def missing_test(mutation: Mutation, number: int) -> Missing:
    """Looks for a test that a mutant would fail."""
    mutant, changed = mutation.mutants[number], mutation.rules(number)
    # Rules that it leaves alone say the same on both sides.
    catalog, ids = mutation.gates.catalog, {*mutant.rules, *mutation.shape, *(_near(mutant, changed))}
    old = Gates(Gate(catalog, only(mutation.gates.rules, ids)))
    new = Gates(Gate(catalog, only(changed, ids)))
    asks = [*changed_triggers(old, new), *changed_triggers(new, old), *_moved(mutant, old)]
    whole, whole_changed = mutation.whole, Judge(changed, mutation.gates)
    hidden: list[Subject] = []

    def refused(subject: Subject) -> int:
        return len(whole.refusals(*subject))

    def told(one: Judge, other: Judge, subject: Subject) -> bool:
        """Whether a test can tell; what is seen of some rules alone, the others may hide."""
        if not _differs(one, other, subject):
            return False
        if _seen(whole.refusals(*subject)) != _seen(whole_changed.refusals(*subject)):
            return True
        # The first one has the fewest refusals, or the fewest changes.
        hidden[:] = hidden or [subject]
        return False

    # What is refused for few other reasons is best to read.
    seeds = sorted((Subject(trial.descriptor, trial.given) for trial in mutation.suite.trials), key=refused)
    found, bounds = search(Sides(old, new), asks, told, seeds, LIMIT)
    if found is None and hidden:
        # There has to be something else that keeps the other rules silent.
        rules = mutation.gates.rules
        others = {refusal.rule for refusal in whole.refusals(*hidden[0])} - {*mutant.rules}
        old, new = mutation.gates, Gates(Gate(catalog, changed))
        asks += [(old, rules.rules[id], at) for id in rules.rules if id in others for at in _numbers(rules, id)]
        found, bounds = search(Sides(old, new), asks, told, [*hidden], LIMIT)
    if found is None:
        return Missing(None, None, bounds, bool(hidden))
    most = refused(found)
    one, other = Judge(old.rules, old), Judge(new.rules, new)
    found = shrink(found, lambda less: told(one, other, less) and refused(less) <= most)
    text, place = _written(mutation, number, found, whole.refusals(*found), whole_changed.refusals(*found))
    return Missing(text, place, bounds)


def _numbers(rules: RuleSet, id: str) -> range:
    return range(len(rules.rules[id].triggers))


def _near(mutant: Mutant, rules: RuleSet) -> set[str]:
    """The rules beside which a trigger stands that was moved to another stage."""
    stages = {rules.rules[id].triggers[number].stage for id, number in mutant.triggers}
    if mutant.kind != "stage":
        return set()
    names = [stage.name for stage in rules.stages]
    (place,) = [names.index(stage) for stage in stages]
    return {rule.id for stage in rules.stages[max(place - 1, 0) : place + 2] for rule, _ in stage.triggers}


def _moved(mutant: Mutant, gates: Gates) -> Iterator[Ask]:
    """The triggers that a change of order or stage concerns."""
    for id, number in mutant.triggers:
        yield gates, gates.rules.rules[id], number
    if mutant.kind == "stage":
        ((id, number),) = mutant.triggers
        every = [(rule, place) for rule in gates.rules.rules.values() for place in range(len(rule.triggers))]
        yield from ((gates, rule, place) for rule, place in every if (rule.id, place) != (id, number))


def _differs(old: Judge, new: Judge, subject: Subject) -> bool:
    return _said(old.refusals(*subject)) != _said(new.refusals(*subject))


def _said(refusals: list[Refusal]) -> list[tuple[str, str, str]]:
    """What a test can see of refusals."""
    return [(refusal.rule, refusal.path, refusal.severity) for refusal in refusals]


def _seen(refusals: list[Refusal]) -> tuple[list[tuple[str, str]], bool]:
    """What a test can see of all refusals: the rules with their places, and the decision."""
    return [(one.rule, one.path) for one in refusals], any(one.severity == "refuse" for one in refusals)


def _named(mutation: Mutation, number: int) -> str:
    """The name of a mutant, for a case; no other mutant has it, nor any case that is there."""
    name = mutation.mutants[number].name
    taken = {trial.name for trial in mutation.suite.trials if trial.kind == "case"}
    while name in taken:
        name += ", again"
    return name


def _written(
    mutation: Mutation, number: int, subject: Subject, before: Sequence[Refusal], after: Sequence[Refusal]
) -> tuple[str, str]:
    """An example of the rule where that can tell the two apart, else a case."""
    given = subject.given.to_json()
    tail = f", given: {flow(given)}" if given else ""
    example = f"{{descriptor: {flow(subject.descriptor)}{tail}}}"
    for id in mutation.mutants[number].rules:
        was, is_now = (any(refusal.rule == id for refusal in refusals) for refusals in (before, after))
        if was is not is_now:
            kind = "refused" if was else "admitted"
            return f"    - {example}\n", f"{id}: examples.{kind}"
    rows = [f"  - name: {flow(_named(mutation, number))}", f"    descriptor: {flow(subject.descriptor)}"]
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
