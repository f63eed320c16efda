"""Patterns that could be plain text, say what is so anyway, run slowly, or miss a line feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.kleene import Part, parts_of
from capgate.policy.authoring.lint.operands import checks_in
from capgate.policy.authoring.lint.patterns import anchors, dots, texts
from capgate.policy.authoring.lint.typed import kinds_of
from capgate.policy.conditions import Check, Not, leaves_of
from capgate.policy.patterns import Pattern

__all__ = ["anchored", "literal", "one_line", "slow"]


def literal(context: Context) -> Iterator[Finding]:
    """Patterns that match a few texts, where the value is a text or absent."""
    for asker in context.askers:
        kinds = kinds_of(asker, context)
        for leaf in leaves_of(asker.trigger.when):
            (check,) = leaf.checks
            found = texts(check.operand) if isinstance(check.operand, Pattern) else None
            # Of what is no text a pattern says unknown, and equality false: that would not be the same.
            if found is not None and set(kinds.get(leaf.at, {"": ()})) <= {"string", "absent"}:
                instead = {"equals": found[0]} if len(found) == 1 else {"in": found}
                message = f"the pattern matches {'this text' if len(found) == 1 else 'these texts'} and nothing else"
                yield context.finding("pattern-is-literal", asker.rule, check, message, f"Write {flow(instead)[1:-1]}.")


def anchored(context: Context) -> Iterator[Finding]:
    """Anchors at the ends of patterns."""
    for asker, check, pattern in _patterns(context):
        found = anchors(pattern)
        if found:
            marks = " and ".join(f"'{mark}'" for mark in found)
            message = (
                f"a pattern matches the whole text in any case, so {marks} {'say' if found[1:] else 'says'} nothing"
            )
            yield context.finding("pattern-anchored", asker.rule, check, message, f"Take {marks} out.")


def slow(context: Context) -> Iterator[Finding]:
    """Patterns that RE2 has to run."""
    for asker, check, pattern in _patterns(context):
        if not pattern.linear_by_re:
            message = "the pattern leaves several choices, so RE2 has to be loaded to run it in linear time"
            remedy = "Keep to one repeat of a set of characters or one list of alternatives; or split the condition."
            yield context.finding("pattern-slow", asker.rule, check, message, remedy)


def one_line(context: Context) -> Iterator[Finding]:
    """Patterns with a repeated dot, in conditions that refuse what they match."""
    for asker in context.askers:
        for check in _refusing(asker.trigger.when, True):
            if isinstance(check.operand, Pattern) and dots(check.operand):
                message = "a line feed in the text gets around this pattern: '.' is any character but that"
                remedy = r"Write [\d\D] for any character."
                yield context.finding("pattern-dot", asker.rule, check, message, remedy)


def _patterns(context: Context) -> Iterator[tuple[Asker, Check, Pattern]]:
    for asker in context.askers:
        for check in checks_in(asker):
            if isinstance(check.operand, Pattern):
                yield asker, check, check.operand


def _refusing(part: Part, refuses: bool) -> Iterator[Check]:
    """The operators that make the trigger hold where they hold."""
    if isinstance(part, Check):
        yield from [part] if refuses else []
    else:
        inner: Any = parts_of(part)
        for one in inner:
            yield from _refusing(one, refuses is not isinstance(part, Not))
