"""Rules that name many texts in a form that cannot be looked up, so that each is asked of every subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.patterns import texts
from capgate.policy.conditions import AllOf, AnyOf, Condition, Not, Test
from capgate.policy.index import key_of
from capgate.policy.patterns import Pattern
from capgate.policy.rulefile import Trigger

__all__ = ["unusable"]

#: So many texts in one stage make a look-up worth while.
_ENOUGH: Final = 8

_Form = tuple[str, frozenset[str]]


def unusable(context: Context) -> Iterator[Finding]:
    """Triggers whose texts could be looked up if they were written otherwise."""
    found: dict[tuple[str, str], list[tuple[Asker, frozenset[str]]]] = {}
    for asker in context.askers:
        form = _form(asker.trigger.when, asker) if key_of(asker.trigger) is None else None
        if form is not None:
            found.setdefault((asker.trigger.stage, form[0]), []).append((asker, form[1]))
    for (stage, instead), askers in found.items():
        named = {text for _, some in askers for text in some}
        for asker, _ in askers if len(named) >= _ENOUGH else ():
            message = (
                f"{len(named)} texts in the stage '{stage}' are asked for one by one: "
                "in this form they cannot be looked up"
            )
            yield context.finding("index-unusable", asker.rule, (*asker.trigger.source, "when"), message, instead)


def _form(condition: Condition, asker: Asker) -> _Form | None:
    """How a condition could be looked up, and the texts that it names."""
    if isinstance(condition, AllOf):
        return next((form for part in condition.parts if (form := _form(part, asker))), None)
    if isinstance(condition, AnyOf):
        return _of_any(condition, asker)
    return _of_not(condition) if isinstance(condition, Not) else _of_test(condition, asker)


def _of_any(condition: AnyOf, asker: Asker) -> _Form | None:
    keys = [key for part in condition.parts if (key := key_of(_alone(part, asker)))]
    if len(keys) < len(condition.parts) or len({key.kind for key in keys}) < 2:
        return None
    named = frozenset().union(*(key.texts for key in keys))
    return "Make a trigger of each path, with 'in' or 'contains' and what goes with it.", named


def _alone(condition: Condition, asker: Asker) -> Trigger:
    return asker.trigger._replace(when=condition)


def _of_not(condition: Not) -> _Form | None:
    part = condition.part
    if not isinstance(part, Test) or len(part.checks) != 1:
        return None
    (check,) = part.checks
    if check.operator == "not_in" and type(check.operand) is list:
        return "Write 'in' in place of 'not' of 'not_in'.", _only_texts(check.operand)
    return None


def _of_test(test: Test, asker: Asker) -> _Form | None:
    for check in test.checks:
        found = texts(check.operand) if isinstance(check.operand, Pattern) else None
        if found is not None:
            return "Write 'in' with the texts, in place of a pattern of alternatives.", frozenset(found)
        operand = check.operand if type(check.operand) is list else [check.operand]
        if check.operator == "contains" and test.reference.text == "descriptor.capabilities":
            return "Ask subject.capabilities, which is always a list.", _only_texts(operand)
        own = asker.trigger.loop is not None and test.reference.root == asker.trigger.loop.variable
        if own and check.operator in ("equals", "in"):
            return "Walk over the list in a stage of its own (for_each in ruleset.yaml).", _only_texts(operand)
    return None


def _only_texts(values: Sequence[object]) -> frozenset[str]:
    return frozenset(value for value in values if type(value) is str)
