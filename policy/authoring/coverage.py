"""How much of the rules their tests reach: what each condition was ever seen to answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.domains import Domains
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.possible import answers_of
from capgate.policy.authoring.trials import Trial
from capgate.policy.authoring.truth import Truth, truth_of
from capgate.policy.conditions import leaves_of
from capgate.policy.errors import FactUnavailable, Span
from capgate.policy.operators import ABSENT
from capgate.policy.paths import Path
from capgate.policy.rulefile import Loop, Rule, Trigger

__all__ = ["Covered", "cover"]

#: Keys of what can be reached of a trigger besides its operators, which have their numbers.
_STAGE_LOOP: Final = -2
_OWN_LOOP: Final = -1


@dataclass(frozen=True, slots=True)
class Covered:
    """One thing that tests can reach: an operator on a path, or the list that a trigger walks over.

    Attributes:
        rule: id of the rule.
        trigger: number of the trigger in the rule, from 1.
        span: where it stands in the rule file.
        path: the path.
        operator: the operator; ``for_each`` for a list that may be none, which can only be unknown.
        operand: as the rule writes it.
        possible: what it can answer at all.
        seen: what tests made it answer.
    """

    rule: str
    trigger: int
    span: Span
    path: str
    operator: str
    operand: Any
    possible: frozenset[Truth]
    seen: frozenset[Truth]

    @property
    def missing(self) -> tuple[Truth, ...]:
        """What no test made it answer, though one could."""
        return tuple(truth for truth in Truth if truth in self.possible - self.seen)


def cover(rules: Sequence[Rule], trials: Iterable[Trial], gates: Gates) -> list[Covered]:
    """Runs the tests and says of every condition of `rules` what it was seen to answer."""
    loops = {stage.name: stage.loop for stage in gates.rules.stages}
    seen = _seen(trials, gates, loops)
    domains = Domains(gates.rules, gates.catalog)
    found = []
    for rule in rules:
        for number, trigger in enumerate(rule.triggers):
            for part in _parts(trigger, loops[trigger.stage], domains):
                reached = frozenset(seen.get((rule.id, number, part.key), ()))
                operand = rule.document.data
                for step in part.at:
                    operand = operand[step]
                span = rule.document.span(part.at, key=True)
                # What was seen is possible, whatever was thought.
                possible = part.possible | reached
                found.append(Covered(rule.id, number + 1, span, part.path, part.operator, operand, possible, reached))
    return found


class _Part(NamedTuple):
    key: int
    path: str
    operator: str
    at: Path
    possible: frozenset[Truth]


def _seen(
    trials: Iterable[Trial], gates: Gates, loops: Mapping[str, Loop | None]
) -> dict[tuple[str, int, int], set[Truth]]:
    """What each part of each trigger answered, by rule, trigger and key."""
    seen: dict[tuple[str, int, int], set[Truth]] = {}
    for trial in trials:
        given = trial.given
        try:
            asked = gates.on(given).explain(trial.descriptor, given.placement, frozenset(given.taken))
        except FactUnavailable:
            continue  # such a test fails when it is run, and reaches nothing
        for one in asked:
            answers = {number: truth_of(*answer[:2]) for number, answer in enumerate(one.answers)}
            if not answers:
                stage = gates.rules.rules[one.rule].triggers[one.trigger].stage
                answers = {_STAGE_LOOP if loops[stage] and one.element is None else _OWN_LOOP: Truth.UNKNOWN}
            for key, truth in answers.items():
                seen.setdefault((one.rule, one.trigger, key), set()).add(truth)
    return seen


def _parts(trigger: Trigger, outer: Loop | None, domains: Domains) -> Iterator[_Part]:
    """What can be reached of a trigger: the lists that may be none, then every operator."""
    places = ((_STAGE_LOOP, outer, "stage"), (_OWN_LOOP, trigger.loop, "for_each"))
    for key, loop, word in places:
        if loop and _may_be_no_list(loop, trigger, domains):
            unknown = frozenset([Truth.UNKNOWN])
            yield _Part(key, loop.over.text, "for_each", (*trigger.source, word), unknown)
    for number, leaf in enumerate(leaves_of(trigger.when)):
        possible = answers_of(leaf, trigger, domains)
        yield _Part(number, leaf.reference.text, leaf.checks[0].operator, leaf.at, possible)


def _may_be_no_list(loop: Loop, trigger: Trigger, domains: Domains) -> bool:
    if loop.over.term.type == "list":
        return False
    values = domains.of(loop.over, trigger).values((None, True, 0, "a", {}))
    return any(value is not ABSENT and type(value) is not list for value in values)
