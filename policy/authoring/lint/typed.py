"""Operators that meet only values that they are not for, types that are certain, and words that nothing is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from capgate.policy.authoring.lint.claims import roles_of
from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.kleene import FALSE, TRUE, UNKNOWN
from capgate.policy.authoring.lint.space import Space
from capgate.policy.authoring.lint.values import TooMany
from capgate.policy.authoring.lint.words import words_of
from capgate.policy.conditions import Check, Fact, Test, leaves_of
from capgate.policy.paths import Path
from capgate.policy.rule_errors import did_you_mean

__all__ = ["kinds_of", "operand_type", "outside_domain", "type_certain"]

#: What each operator can say of each kind of value, by the place of the operator. The kind is None where what is
#: compared is not in the descriptor.
Kinds: TypeAlias = "Mapping[Path, Mapping[str | None, frozenset[int]]]"

_OF_ANY_TYPE: Final = frozenset({"type", "exists", "equals", "in", "not_in"})
_ON_ITEMS: Final = frozenset({"contains", "lacks", "subset_of"})
_ABSENT: Final = "absent"
_SHAPE: Final = "shape"


def kinds_of(asker: Asker, context: Context) -> Kinds:
    """What the operators of a trigger can say, each by itself; nothing where that is too much."""
    found: dict[Path, dict[str | None, frozenset[int]]] = {}
    try:
        space = Space([(asker.trigger, roles_of(asker))], context.gates, context.domains)
        for leaf, kind, truths in space.alone():
            found.setdefault(leaf.at, {})[kind] = truths
    except TooMany:
        return {}
    return found


def operand_type(context: Context) -> Iterator[Finding]:
    """Operators that are unknown whenever there is a value."""
    for asker in context.askers:
        kinds = kinds_of(asker, context)
        for leaf in leaves_of(asker.trigger.when):
            (check,) = leaf.checks
            said = {kind: truths for kind, truths in kinds.get(leaf.at, {}).items() if kind != _ABSENT}
            if check.operator in _OF_ANY_TYPE or not said or isinstance(check.operand, Fact) or check.added:
                continue
            if all(truths == {UNKNOWN} for truths in said.values()):
                found = " or ".join(sorted(kind for kind in said if kind)) or "of another type"
                message = (
                    f"'{check.operator}' is not for what '{leaf.reference.text}' can be there, which is {found}: "
                    "it is unknown whenever there is a value, and what is unknown refuses"
                )
                remedy = "Use an operator for such values; see the table under 'Three values' in docs/rules.md."
                yield context.finding("operand-never-matches-type", asker.rule, check, message, remedy)


def type_certain(context: Context) -> Iterator[Finding]:
    """Checks of a type that the schema of descriptors has made certain."""
    for asker in context.askers:
        if asker.trigger.stage == _SHAPE:
            continue
        kinds = kinds_of(asker, context)
        for leaf in leaves_of(asker.trigger.when):
            (check,) = leaf.checks
            said = [truths for kind, truths in kinds.get(leaf.at, {}).items() if kind not in (_ABSENT, None)]
            if check.operator != "type" or leaf.reference.term.origin != "submitted" or len({*said}) != 1:
                continue
            if said[0] in ({TRUE}, {FALSE}):
                always = "always" if said[0] == {TRUE} else "never"
                message = (
                    f"what '{leaf.reference.text}' can be here is {always} of the type '{check.operand}': "
                    "what is otherwise was refused in the stage 'shape'"
                )
                remedy = "Take it out; where the question is whether there is a value, ask for exists."
                yield context.finding("unreachable-after-shape", asker.rule, check, message, remedy)


def outside_domain(context: Context) -> Iterator[Finding]:
    """Texts that are compared with a path which can never be such a text."""
    for asker in context.askers:
        for test in asker.tests():
            yield from _of_checks(test, test.checks, asker, context, on_items=False)


def _of_checks(
    test: Test, checks: Sequence[Check], asker: Asker, context: Context, *, on_items: bool
) -> Iterator[Finding]:
    for check in checks:
        if check.operator == "each":
            yield from _of_checks(test, check.operand.checks, asker, context, on_items=True)
        elif check.operator in _ON_ITEMS or check.operator in ("equals", "in", "not_in"):
            noun, words = words_of(test.reference, asker, context, items=on_items or check.operator in _ON_ITEMS)
            for at, operand in _texts(check):
                if words and operand not in words:
                    hint = did_you_mean(operand, words) or f"Use one of: {', '.join(words)}."
                    message = f"'{test.reference.text}' is never '{operand}'"
                    message = f"no {noun} is called '{operand}'" if noun else message
                    yield context.finding("value-outside-domain", asker.rule, at, message, hint)


def _texts(check: Check) -> Iterator[tuple[Path, str]]:
    operand: Any = check.operand
    if type(operand) is str:
        yield check.at, operand
    elif type(operand) is list and check.operator in ("in", "not_in", "subset_of"):
        yield from (((*check.at, number), item) for number, item in enumerate(operand) if type(item) is str)
