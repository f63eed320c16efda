"""Triggers that always or never hold, and conditions in them that change nothing.

What some real descriptor shows to be otherwise is dropped at once. For the rest every way is looked at in which the
trigger's operators can answer, so that what is claimed is so for every descriptor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final, NamedTuple

from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.evidence import refuses
from capgate.policy.authoring.lint.finding import Finding, Undecided
from capgate.policy.authoring.lint.kleene import Answers, Part, parts_of, said_by, whole_parts
from capgate.policy.authoring.lint.reach import has_elements, may_be_no_list
from capgate.policy.authoring.lint.slots import Role
from capgate.policy.authoring.lint.space import BOUND, Space
from capgate.policy.authoring.lint.values import TooMany
from capgate.policy.authoring.lint.witness import shown, smallest
from capgate.policy.conditions import AllOf, AnyOf, Check, Condition, Not, Test
from capgate.policy.paths import Path

__all__ = ["claims", "refuses_each", "roles_of"]

#: So many conditions are shown in one message.
_SHOWN: Final = 3


class _Claim(NamedTuple):
    """Something that may be so: `refuted` tells of the answers of descriptors whether some shows that it is not."""

    check: str
    part: Part
    holder: Part
    refuted: Callable[[Answers], bool]


def roles_of(asker: Asker) -> Mapping[str, Role]:
    """What the variables of a trigger are."""
    own = asker.trigger.loop
    return {loop.variable: Role("inner" if loop is own else "outer", loop) for loop in asker.loops}


def claims(asker: Asker, context: Context) -> Iterator[Finding | Undecided]:
    """What is so of a trigger whatever the descriptor is, as far as it should not be."""
    trigger, domains = asker.trigger, context.domains
    idle = next((loop for loop in asker.loops if not has_elements(loop, trigger, domains)), None)
    if idle:
        if not any(may_be_no_list(loop, trigger, domains) for loop in asker.loops):
            yield _never(asker, context, f"'{idle.over.text}' has no elements there, so nothing is ever asked")
        return
    seen = context.evidence.answers(asker.rule, asker.number)
    open_ = [claim for claim in _open(asker, context) if not claim.refuted(seen)]
    if not open_:
        return
    try:
        (answers,) = Space([(trigger, roles_of(asker))], context.gates, domains).answers()
    except TooMany:
        checks = tuple(dict.fromkeys(claim.check for claim in open_))
        why = f"{asker.named} has more than {BOUND} ways to be answered"
        yield Undecided(asker.rule, checks, asker.rule.document.span(trigger.source), why)
        return
    yield from _findings([claim for claim in open_ if not claim.refuted(answers)], answers, asker, context)


def _open(asker: Asker, context: Context) -> Iterator[_Claim]:
    when = asker.trigger.when
    if not any(may_be_no_list(loop, asker.trigger, context.domains) for loop in asker.loops):
        yield _Claim("trigger-never-holds", when, when, _can_hold(when))
    if not refuses_each(asker):
        yield _Claim("trigger-always-holds", when, when, _fails(when))
    for node in whole_parts(when):
        parts = () if isinstance(node, Check | Not) else parts_of(node)
        if len(parts) < 2:
            continue
        if node is not when and not isinstance(node, AnyOf):
            yield _Claim("condition-contradicts", node, node, _can_hold(node))
        for part in parts:
            yield _Claim("condition-implied", part, node, _changes(asker.trigger.when, part))


def refuses_each(asker: Asker) -> bool:
    """Whether the condition is that there is an element: a plain way to refuse each."""
    when = asker.trigger.when
    return (
        isinstance(when, Test)
        and when.reference.looped
        and not when.reference.steps
        and [(check.operator, check.operand) for check in when.checks] == [("exists", True)]
    )


def _can_hold(node: Part) -> Callable[[Answers], bool]:
    return lambda answers: said_by(node, answers).can_hold != 0


def _fails(when: Condition) -> Callable[[Answers], bool]:
    def refuted(answers: Answers) -> bool:
        said = said_by(when, answers)
        return said.can_fail & ~said.can_hold != 0

    return refuted


def _changes(when: Condition, part: Part) -> Callable[[Answers], bool]:
    # Not only whether it refuses: what is unknown without a check of the type is plainly true with it.
    return lambda answers: said_by(when, answers, part) != said_by(when, answers)


def _findings(proven: list[_Claim], answers: Answers, asker: Asker, context: Context) -> Iterator[Finding]:
    checks = {claim.check for claim in proven}
    if "trigger-never-holds" in checks:
        yield _never(asker, context, _core(answers, asker, context))
    elif "trigger-always-holds" in checks:
        yield _always(asker, context)
    else:
        yield from _of_parts(proven, asker, context)


def _of_parts(proven: list[_Claim], asker: Asker, context: Context) -> Iterator[Finding]:
    void = [claim.part for claim in proven if claim.check == "condition-contradicts"]
    dead = {id(part) for node in void for part in whole_parts(node)}
    for node in void:
        if not any(node is not other and any(node is part for part in whole_parts(other)) for other in void):
            message = f"this can never hold: {_texts(_parts(node), asker, context)}"
            remedy = "Correct the one that is wrong, or take this out: it changes nothing."
            yield context.finding("condition-contradicts", asker.rule, node, message, remedy)
    told: set[int] = set()
    for claim in reversed(proven):
        if claim.check != "condition-implied" or id(claim.part) in dead or id(claim.holder) in told:
            continue
        told.add(id(claim.holder))
        others = [part for part in _parts(claim.holder) if part is not claim.part]
        message = (
            f"'{context.text(asker.rule, claim.part)}' changes nothing here: "
            f"beside {_texts(others, asker, context)} the trigger comes to the same with it and without it"
        )
        remedy = "Take it out, or say what it was meant to say."
        yield context.finding("condition-implied", asker.rule, claim.part, message, remedy)


def _parts(node: Part) -> tuple[Part, ...]:
    return () if isinstance(node, Check) else parts_of(node)


def _texts(parts: Sequence[Part], asker: Asker, context: Context) -> str:
    texts = [f"'{context.text(asker.rule, part)}'" for part in parts]
    more = [f"{len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return " and ".join([*texts[:_SHOWN], *more])


def _never(asker: Asker, context: Context, why: str) -> Finding:
    message = f"{asker.named} never holds, whatever the descriptor is: {why}"
    remedy = "Correct the condition that cannot be met, or take the trigger out: it refuses nothing."
    return context.finding("trigger-never-holds", asker.rule, (*asker.trigger.source, "when"), message, remedy)


def _core(answers: Answers, asker: Asker, context: Context) -> str:
    """The fewest conditions of the outermost ``all`` that cannot be met together."""
    when = asker.trigger.when
    if not isinstance(when, AllOf | Test) or len(parts_of(when)) < 2:
        return f"'{context.text(asker.rule, when)}' cannot be met"
    kept: list[Part] = list(parts_of(when))
    for part in list(kept):
        fewer = [said_by(other, answers).can_hold for other in kept if other is not part]
        if fewer and not reduce(and_, fewer):
            kept = [other for other in kept if other is not part]
    together = " together" if len(kept) > 1 else ""
    return f"{_texts(kept, asker, context)} cannot be met{together}"


def _always(asker: Asker, context: Context) -> Finding:
    what = "every descriptor that is well-formed"
    if asker.loops:
        what = f"every element of '{asker.loops[-1].over.text}'"
    held = next(context.evidence.held(asker.rule, asker.number), None)
    witness = smallest(held.judged.subject, refuses(asker.rule, asker.number, context.gates)) if held else None
    example = f"; the smallest found is {shown(witness)}" if witness else ""
    message = f"{asker.named} always holds: it refuses {what}{example}"
    remedy = "Say what it is to refuse; to refuse each element, write {VARIABLE: {exists: true}}."
    at: Path = (*asker.trigger.source, "when")
    return context.finding("trigger-always-holds", asker.rule, at, message, remedy, witness)
