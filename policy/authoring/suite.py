"""All the tests of a set of rules: gathered, and run one by one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Literal

from capgate.policy.authoring.cases import load_cases
from capgate.policy.authoring.explanation import Explanation, explain
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.trials import Trial, examples_of
from capgate.policy.errors import CapgateError, FactUnavailable, PolicyInvalid, Span
from capgate.policy.rule_errors import Problems, did_you_mean
from capgate.policy.rulefile import Rule
from capgate.policy.ruleset import RESERVED_IDS
from capgate.policy.verdict import Verdict

__all__ = ["Lack", "Outcome", "Suite", "gather", "run"]

#: How an example is called that a rule has to refuse, or to be silent on.
_KINDS = {True: "refused", False: "admitted"}


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that has to be tested and is not.

    Attributes:
        rule: id of the rule, or None where there is no test at all.
        message: what is lacking.
        span: where it could be added, or None.
    """

    rule: str | None
    message: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of some rules.

    Attributes:
        rules: the rules that are tested.
        trials: their examples, then the cases of their folders.
        lacks: what is not tested and has to be.
        problems: what is wrong with tests, so that they cannot be run.
    """

    rules: tuple[Rule, ...]
    trials: tuple[Trial, ...]
    lacks: tuple[Lack, ...]
    problems: tuple[CapgateError, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one test.

    Attributes:
        trial: the test.
        messages: what is otherwise than expected; empty where it passed.
        verdict: what the rules said.
        explanations: of each rule that said something else than expected.
        seconds: how long it took.
    """

    trial: Trial
    messages: tuple[str, ...]
    verdict: Verdict
    explanations: tuple[Explanation, ...]
    seconds: float

    @property
    def status(self) -> Literal["passed", "failed"]:
        """Whether everything was as expected."""
        return "failed" if self.messages else "passed"


def gather(gates: Gates, folders: Sequence[FilePath] = ()) -> Suite:
    """The tests of the rules that lie in `folders`, or of all rules where none is named."""
    homes = {FilePath(rule.document.name).parent: None for rule in gates.rules.rules.values()}
    chosen = [home for home in homes if not folders or home in folders]
    rules = tuple(rule for rule in gates.rules.rules.values() if FilePath(rule.document.name).parent in chosen)
    problems = Problems()
    trials = [trial for rule in rules for trial in examples_of(rule)]
    for home in chosen:
        trials += load_cases(home, gates.catalog, problems)
    lacks = [lack for rule in rules for lack in _lacks(rule)]
    if not trials:
        lacks.insert(0, Lack(None, "there is no test at all", None))
    return Suite(rules, tuple(trials), tuple(lacks), _found(problems))


def run(trial: Trial, gates: Gates) -> Outcome:
    """Runs one test."""
    start = time.perf_counter()
    given = trial.given
    verdict = gates.on(given).admit(trial.descriptor, given.placement, frozenset(given.taken))
    found = [refusal.rule for refusal in verdict.refusals]
    wrong: list[str] = []
    messages: list[str] = []
    for id in dict.fromkeys((*trial.refused, *trial.absent, *(trial.exactly or ()))):
        if id not in gates.rules.rules and id not in RESERVED_IDS:
            hint = did_you_mean(id, gates.rules.rules)
            messages.append(f"no rule is called {id!r}" + (f". {hint}" if hint else ""))
        elif id in trial.refused and id not in found:
            messages.append(f"{id} is silent, and was to refuse")
            wrong.append(id)
        elif id in trial.absent and id in found:
            messages.append(f"{id} refuses, and was to be silent")
            wrong.append(id)
    if trial.exactly is not None and found != list(trial.exactly):
        messages.append(f"the refusals are [{', '.join(found)}], and were to be [{', '.join(trial.exactly)}]")
        wrong += [id for id in dict.fromkeys((*trial.exactly, *found)) if found.count(id) != trial.exactly.count(id)]
    places = [refusal.path for refusal in verdict.refusals]
    if trial.places is not None and places != list(trial.places):
        messages.append(
            f"the refusals point at [{', '.join(places)}], and were to point at [{', '.join(trial.places)}]"
        )
    if trial.decision is not None and verdict.decision != trial.decision:
        messages.append(f"it is {verdict.decision}, and was to be {trial.decision}")
    failed = [refusal.reason for refusal in verdict.refusals if refusal.rule not in gates.rules.rules]
    if messages:
        messages += failed  # of a plugin whose fact could not be had
    explanations = tuple(_explained(trial, gates, wrong)) if wrong and not failed else ()
    return Outcome(trial, tuple(messages), verdict, explanations, time.perf_counter() - start)


def _found(problems: Problems) -> tuple[CapgateError, ...]:
    try:
        problems.raise_any()
    except PolicyInvalid as error:
        return error.problems
    return ()


def _explained(trial: Trial, gates: Gates, ids: Sequence[str]) -> list[Explanation]:
    rules = [gates.rules.rules[id] for id in ids if id in gates.rules.rules]
    try:
        return [explain(gates, rule, trial.descriptor, trial.given, trial.place) for rule in rules]
    except FactUnavailable:
        return []  # asked for by a rule that the verdict needed not ask


def _lacks(rule: Rule) -> list[Lack]:
    kinds = {example.refused for example in rule.examples}
    return [
        Lack(rule.id, f"the rule has no example under 'examples.{word}'", rule.document.span(("id",)))
        for kind, word in _KINDS.items()
        if kind not in kinds
    ]
