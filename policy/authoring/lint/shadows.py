"""Triggers that never speak first: whenever one refuses, a rule before it has refused already.

Before it is what is asked earlier of the same element, or of the whole descriptor in an earlier stage. What is found
is true of every descriptor: where the trigger refuses, a rule before it does, so it is never the refusal that a
verdict names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final

from capgate.policy.authoring.lint.claims import roles_of
from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.evidence import Seen, refuses
from capgate.policy.authoring.lint.finding import Finding, Undecided
from capgate.policy.authoring.lint.kleene import said_by
from capgate.policy.authoring.lint.reach import may_be_no_list
from capgate.policy.authoring.lint.slots import Role
from capgate.policy.authoring.lint.space import BOUND, Part, Space
from capgate.policy.authoring.lint.values import TooMany
from capgate.policy.authoring.lint.witness import shown, smallest
from capgate.policy.rulefile import Loop, Rule

__all__ = ["CHECK", "comparable", "parts_beside", "shadowed"]

CHECK: Final = "rule-shadowed"


def shadowed(asker: Asker, context: Context) -> Iterator[Finding | Undecided]:
    """The rule, if there is one, that refuses before the trigger whenever it does."""
    undecided = False
    for rule in _candidates(asker, context):
        earlier = [other for other in _earlier(rule, asker, context) if comparable(other, asker, context)]
        # Mostly one trigger is enough, and is looked at faster.
        for some in (*([other] for other in earlier), *([earlier] if len(earlier) > 1 else ())):
            try:
                if _covers(some, asker, context):
                    yield _finding(rule, asker, context)
                    return
            except TooMany:
                undecided = True
    if undecided:
        why = f"{asker.named}, together with those before it, has more than {BOUND} ways to be answered"
        yield Undecided(asker.rule, (CHECK,), asker.rule.document.span(asker.trigger.source), why)


def _candidates(asker: Asker, context: Context) -> list[Rule]:
    """The rules that refused before the trigger each time that it was seen to; none where it never was."""
    found: dict[str, None] | None = None
    for seen in context.evidence.held(asker.rule, asker.number):
        before = _before(seen, context)
        found = dict.fromkeys(before) if found is None else {id: None for id in found if id in before}
        if not found:
            return []
    return [context.gates.rules.rules[id] for id in found or ()]


def _before(seen: Seen, context: Context) -> dict[str, None]:
    refused = [one.rule for one in seen.judged.asked[: seen.place] if one.can_hold]
    return {id: None for id in refused if context.gates.rules.rules[id].severity == "refuse"}


def _earlier(rule: Rule, asker: Asker, context: Context) -> Iterator[Asker]:
    """The triggers of a rule that are asked before the trigger."""
    rows = [row for stage in context.gates.rules.stages for row in stage.triggers]
    for other, trigger in takewhile(lambda row: row[1] is not asker.trigger, rows):
        if other is rule:
            yield context.asker(rule, next(at for at, one in enumerate(rule.triggers) if one is trigger))


def comparable(other: Asker, asker: Asker, context: Context) -> bool:
    """Whether `other` was asked of the same element, or of the whole descriptor, wherever `asker` is."""
    names = [_name(loop, other) for loop in other.loops]
    # Where the list is none, every trigger that walks over it refuses at once; the others may not.
    return _roles(other, asker) is not None and all(
        _name(loop, asker) in names or not may_be_no_list(loop, asker.trigger, context.domains) for loop in asker.loops
    )


def _roles(other: Asker, asker: Asker) -> Mapping[str, Role] | None:
    """What the variables of `other` are, if it is asked of the element that `asker` is asked of; else None."""
    known = {_name(loop, asker): role for loop, role in zip(asker.loops, roles_of(asker).values(), strict=True)}
    found: dict[str, Role] = {}
    for loop in other.loops:
        role = known.get(_name(loop, other))
        if role is None:
            return None
        found[loop.variable] = Role(role.name, loop)
    return found


def _name(loop: Loop, asker: Asker) -> tuple[bool, str]:
    """What a loop walks over, whatever its variable is called."""
    over = loop.over
    text = over.text
    if over.looped:
        outer = next(one for one in asker.loops if one.variable == over.root)
        text = f"({outer.over.text}){over.text.removeprefix(over.root)}"
    return loop is asker.trigger.loop, text


def parts_beside(asker: Asker, others: Sequence[Asker]) -> list[Part]:
    """A trigger and others that are comparable with it, to be looked at together."""
    return [(asker.trigger, roles_of(asker)), *((other.trigger, _roles(other, asker) or {}) for other in others)]


def _covers(earlier: Sequence[Asker], asker: Asker, context: Context) -> bool:
    own, *others = Space(parts_beside(asker, earlier), context.gates, context.domains).answers()
    left = said_by(asker.trigger.when, own).can_hold
    for one, said in zip(earlier, others, strict=True):
        left &= ~said_by(one.trigger.when, said).can_hold
    return left == 0


def _finding(rule: Rule, asker: Asker, context: Context) -> Finding:
    held = next(context.evidence.held(asker.rule, asker.number))
    witness = smallest(held.judged.subject, refuses(asker.rule, asker.number, context.gates))
    own = rule is asker.rule
    whose = "an earlier trigger of the rule" if own else f"the rule '{rule.id}'"
    message = (
        f"{asker.named} never speaks first: whenever it refuses, {whose} has refused already; "
        f"the smallest descriptor found that both refuse is {shown(witness)}"
    )
    remedy = "Take it out if it says nothing more; or narrow what comes before it, or let it come first."
    return context.finding(CHECK, asker.rule, asker.trigger.source, message, remedy, witness)
