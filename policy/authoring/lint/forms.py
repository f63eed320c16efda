"""Conditions and triggers that say something twice, or in a roundabout way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.kleene import Part, parts_of
from capgate.policy.conditions import AllOf, AnyOf, Not
from capgate.policy.documents import canonical
from capgate.policy.operators import same
from capgate.policy.rulefile import Rule

__all__ = ["double_negatives", "duplicate_conditions", "duplicate_triggers", "single_parts"]

_NEGATIONS: Final = ("not", "none")


def _data(rule: Rule, part: Part) -> Any:
    data: Any = rule.document.data
    for step in part.at:
        data = data[step]
    return data


def _word(rule: Rule, part: Part) -> str:
    """The combinator as the file has it: ``none`` is a `Not` of an `AnyOf`."""
    data = _data(rule, part)
    return str(next(iter(data))) if isinstance(part, AllOf | AnyOf | Not) else ""


def _combinators(asker: Asker) -> Iterator[tuple[str, AllOf | AnyOf | Not]]:
    """Every combinator as the file has it, once."""
    seen = set()
    for part in asker.parts():
        if isinstance(part, AllOf | AnyOf | Not) and part.at not in seen:
            seen.add(part.at)
            yield _word(asker.rule, part), part


def _listed(word: str, part: AllOf | AnyOf | Not) -> tuple[Part, ...]:
    """The conditions in the list of a combinator, or the one condition of ``not``."""
    inner = parts_of(part)
    return parts_of(part.part) if word == "none" and isinstance(part, Not) and isinstance(part.part, AnyOf) else inner


def duplicate_conditions(context: Context) -> Iterator[Finding]:
    """Conditions that stand in the same list twice."""
    for asker in context.askers:
        for word, combinator in _combinators(asker):
            parts = _listed(word, combinator)
            for number, part in enumerate(parts):
                data = _data(asker.rule, part)
                if any(same(_data(asker.rule, other), data) for other in parts[:number]):
                    message = f"'{context.text(asker.rule, part)}' stands here twice"
                    remedy = "Take one out, or correct the one that was to be another."
                    yield context.finding("condition-duplicate", asker.rule, part, message, remedy)


def duplicate_triggers(context: Context) -> Iterator[Finding]:
    """Triggers that ask what an earlier one asks."""
    before: dict[bytes, Asker] = {}
    for rule in context.gates.rules.rules.values():
        for number in range(len(rule.triggers)):
            asker = context.asker(rule, number)
            whole = rule.document.data["triggers"][asker.trigger.source[1]]
            first = before.setdefault(canonical([whole.get(key) for key in ("stage", "for_each", "when")]), asker)
            if first is not asker and rule in context.rules:
                place = first.rule.document.span(first.trigger.source)
                message = f"{asker.named} asks what trigger {first.number + 1} of '{first.rule.id}' asks, at {place}"
                remedy = "Take one of the two out, or correct the one that was to ask something else."
                yield context.finding("duplicate-trigger", rule, asker.trigger.source, message, remedy)


def double_negatives(context: Context) -> Iterator[Finding]:
    """Negations of negations."""
    for asker in context.askers:
        for word, combinator in _combinators(asker):
            inner = [_word(asker.rule, part) for part in _listed(word, combinator)]
            if word not in _NEGATIONS or not inner or not all(one in _NEGATIONS for one in inner):
                continue
            instead = "all" if word == "none" and len(inner) > 1 else "any" if inner == ["none"] else "the condition"
            instead = instead if instead == "the condition" else f"'{instead}'"
            message = f"'{word}' of '{inner[0]}' says no to a no"
            remedy = f"Write {instead} without the negations: it comes to the same."
            yield context.finding("negative-double", asker.rule, combinator, message, remedy)


def single_parts(context: Context) -> Iterator[Finding]:
    """Lists of one condition."""
    for asker in context.askers:
        for word, combinator in _combinators(asker):
            parts = _listed(word, combinator)
            if word != "not" and len(parts) == 1:
                remedy = "Write 'not' of the condition." if word == "none" else "Write the condition without it."
                message = f"'{word}' has one condition, so it joins nothing"
                yield context.finding("single-part-combinator", asker.rule, combinator, message, remedy)
