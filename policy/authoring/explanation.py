"""Why a rule refused a descriptor or did not: what it was asked, and why it was not asked anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.questions import Locate, Question, Scope, question
from capgate.policy.compiler import Asked
from capgate.policy.errors import Span
from capgate.policy.rulefile import Loop, Rule, Trigger
from capgate.policy.ruleset import RuleSet
from capgate.policy.verdict import Refusal, Verdict
from capgate.policy.vocabulary import FACTS

__all__ = ["Explanation", "Unasked", "explain", "only"]

_SHAPE = "shape"
_MEANINGS = {path: meaning for path, _, meaning in FACTS}


@dataclass(frozen=True, slots=True)
class Unasked:
    """A trigger that was asked nothing.

    Attributes:
        trigger: its number in the rule, from 1.
        stage: its stage.
        span: where it stands in the rule file.
        cause: ``stopped`` where the stage `shape` refused before, ``empty`` where there was nothing to walk over.
        why: the same in words.
    """

    trigger: int
    stage: str
    span: Span
    cause: Literal["stopped", "empty"]
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one rule had to say of one descriptor.

    Attributes:
        rule: the rule.
        questions: what it was asked, in order.
        unasked: its triggers that were asked nothing.
        verdict: what all rules together said.
    """

    rule: Rule
    questions: tuple[Question, ...]
    unasked: tuple[Unasked, ...]
    verdict: Verdict

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """The refusals of this rule."""
        return tuple(refusal for refusal in self.verdict.refusals if refusal.rule == self.rule.id)

    @property
    def meaning(self) -> str:
        """What it comes to, in one sentence."""
        own = self.refusals
        if not own:
            why = "whatever it was asked is false" if self.questions else "it was asked nothing"
            return f"it is silent: {why}"
        if self.rule.severity == "warn":
            return "it warns, which decides nothing"
        if self.verdict.rule == self.rule.id:
            return "it refuses, and is the refusal that the verdict names"
        return f"it refuses; the verdict names {self.verdict.rule}, which refuses before it in reading order"


def explain(gates: Gates, rule: Rule, descriptor: Any, given: Given, locate: Locate) -> Explanation:
    """Explains what `rule` says of a descriptor.

    Args:
        gates: what decides.
        rule: one of its rules.
        descriptor: the descriptor.
        given: what it is judged against.
        locate: tells where a path of the descriptor stands in its file.

    Raises:
        FactUnavailable: a plugin could not say what some rule asked it.
    """
    gate = gates.on(given)
    asked = gate.explain(descriptor, given.placement, frozenset(given.taken))
    scope = Scope(gate.catalog, given, locate, {stage.name: stage.loop for stage in gates.rules.stages})
    own = [one for one in asked if one.rule == rule.id]
    return Explanation(
        rule,
        tuple(question(one, rule, scope) for one in own),
        tuple(_unasked(rule, own, asked, scope, gates.rules)),
        gate.admit(descriptor, given.placement, frozenset(given.taken)),
    )


def only(rules: RuleSet, ids: Iterable[str]) -> RuleSet:
    """The rule set with no other rules than these, in their stages and order."""
    kept = set(ids)
    return rules._replace(
        stages=tuple(
            stage._replace(triggers=tuple(row for row in stage.triggers if row[0].id in kept)) for stage in rules.stages
        ),
        rules={id: rule for id, rule in rules.rules.items() if id in kept},
    )


def _unasked(
    rule: Rule, own: Sequence[Asked], asked: Sequence[Asked], scope: Scope, rules: RuleSet
) -> Iterable[Unasked]:
    stopping = list(dict.fromkeys(one.rule for one in asked if _stops(one, rules)))
    reached = {one.trigger for one in own}
    for number, trigger in enumerate(rule.triggers):
        if number in reached:
            continue
        span = rule.document.span(trigger.source)
        if stopping and trigger.stage != _SHAPE:
            why = f"the stage 'shape' refused ({', '.join(stopping)}), and then nothing else is asked"
            yield Unasked(number + 1, trigger.stage, span, "stopped", why)
        else:
            yield Unasked(number + 1, trigger.stage, span, "empty", _nothing_to_walk(trigger, asked, scope, rules))


def _stops(one: Asked, rules: RuleSet) -> bool:
    rule = rules.rules[one.rule]
    return one.can_hold and rule.severity == "refuse" and rule.triggers[one.trigger].stage == _SHAPE


def _nothing_to_walk(trigger: Trigger, asked: Sequence[Asked], scope: Scope, rules: RuleSet) -> str:
    outer, inner = scope.loops[trigger.stage], trigger.loop
    walked = any(
        (other := rules.rules[one.rule].triggers[one.trigger]).stage == trigger.stage and other.loop is None
        for one in asked
    )
    if inner and (outer is None or walked):
        return f"the trigger walks over {_list(inner)}" + (", for each element of the stage" if outer else "")
    assert outer is not None, "a trigger without a loop is asked once its stage is reached"
    said = f"the stage walks over {_list(outer)}"
    return f"{said}; or the trigger walks over {_list(inner)}" if inner else said


def _list(loop: Loop) -> str:
    text = loop.over.text
    known = f"T.{text.partition('.')[2]}" if loop.over.term.fact.startswith("tool.") else text
    meaning = f" ({_MEANINGS[known].replace('`', '')})" if known in _MEANINGS else ""
    return f"{text}{meaning}, where there is nothing"
