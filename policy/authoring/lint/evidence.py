"""What is known of triggers from descriptors that were really judged: examples, cases, and some made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from capgate.policy.authoring.explanation import only
from capgate.policy.authoring.given import Gates, read_given
from capgate.policy.authoring.lint.kleene import FALSE, TRUE, UNKNOWN, Answers, Columns
from capgate.policy.authoring.seeds import first
from capgate.policy.authoring.settle import Subject
from capgate.policy.authoring.trials import Trial
from capgate.policy.compiler import Asked
from capgate.policy.conditions import leaves_of
from capgate.policy.errors import FactUnavailable
from capgate.policy.gate import Gate
from capgate.policy.rulefile import Rule

__all__ = ["Evidence", "Judged", "Seen", "asked_of", "refuses"]

_SHAPE = "shape"


class Judged(NamedTuple):
    """A subject, and all that was asked of it, in order."""

    subject: Subject
    asked: Sequence[Asked]


class Seen(NamedTuple):
    """A trigger that was asked.

    Attributes:
        judged: of what.
        place: which of the questions it was.
    """

    judged: Judged
    place: int

    @property
    def asked(self) -> Asked:
        """The question and its answers."""
        return self.judged.asked[self.place]


class Evidence:
    """Everything that was judged.

    Args:
        gates: what judges.
        rules: the rules to know of; where none of their examples makes a trigger hold, one is looked for.
        trials: tests, whose descriptors are judged besides the examples of all rules.
    """

    def __init__(self, gates: Gates, rules: Sequence[Rule], trials: Sequence[Trial]):
        self._gates = gates
        self._seen: dict[tuple[str, int], list[Seen]] = {}
        for rule in gates.rules.rules.values():
            for example in rule.examples:
                given = read_given(example.given)
                # What supposes mechanisms takes a gate of its own, and is about the rule that it stands in.
                if given.mechanisms is None or (
                    rule in rules and set(given.mechanisms) <= set(gates.catalog.capabilities)
                ):
                    self._judge(Subject(example.descriptor, given))
        for trial in trials:
            if trial.kind == "case":
                self._judge(Subject(trial.descriptor, trial.given))
        for rule in rules:
            for number in range(len(rule.triggers)):
                if not any(seen.asked.can_hold for seen in self.of(rule, number)):
                    self._look(rule, number)

    def of(self, rule: Rule, number: int) -> Sequence[Seen]:
        """Every time that the trigger of that number was asked."""
        return self._seen.get((rule.id, number), ())

    def held(self, rule: Rule, number: int) -> Iterator[Seen]:
        """Every time that it refused."""
        return (seen for seen in self.of(rule, number) if seen.asked.can_hold)

    def answers(self, rule: Rule, number: int) -> Answers:
        """What its operators said, each time."""
        places = [leaf.at for leaf in leaves_of(rule.triggers[number].when)]
        columns = Columns(places)
        for seen in self.of(rule, number):
            if seen.asked.answers:
                said = [
                    UNKNOWN if answer.can_hold and answer.can_fail else TRUE if answer.can_hold else FALSE
                    for answer in seen.asked.answers
                ]
                columns.add(dict(zip(places, said, strict=True)))
        return columns.answers()

    def _look(self, rule: Rule, number: int) -> None:
        shape = [stage for stage in self._gates.rules.stages if stage.name == _SHAPE]
        ids = {rule.id, *(other.id for stage in shape for other, _ in stage.triggers)}
        small = Gates(Gate(self._gates.catalog, only(self._gates.rules, ids)))
        try:
            found = first(rule, number, small)
        except FactUnavailable:
            return
        if found is not None:
            self._judge(found.subject)

    def _judge(self, subject: Subject) -> None:
        try:
            judged = Judged(subject, asked_of(subject, self._gates))
        except FactUnavailable:
            return
        for place, asked in enumerate(judged.asked):
            self._seen.setdefault((asked.rule, asked.trigger), []).append(Seen(judged, place))


def asked_of(subject: Subject, gates: Gates) -> list[Asked]:
    """All that is asked of a subject.

    Raises:
        FactUnavailable: a plugin could not say what a rule asked it.
    """
    given = subject.given
    return gates.on(given).explain(subject.descriptor, given.placement, frozenset(given.taken))


def refuses(rule: Rule, number: int, gates: Gates) -> Callable[[Subject], bool]:
    """Tells of a subject whether the trigger of that number refuses it."""

    def holds(subject: Subject) -> bool:
        try:
            asked = asked_of(subject, gates)
        except FactUnavailable:
            return False
        return any((one.rule, one.trigger) == (rule.id, number) and one.can_hold for one in asked)

    return holds
