"""Operands that are probably not what was meant."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.conditions import Check, Each
from capgate.policy.operators import identity
from capgate.policy.paths import Path
from capgate.policy.text import show

__all__ = ["duplicates", "fact_maps", "one_value"]

_OF_A_LIST: Final = ("in", "not_in", "subset_of")


def checks_in(asker: Asker) -> Iterator[Check]:
    """Every operator of a trigger, those under ``each`` among them."""
    for test in asker.tests():
        yield from _checks(test.checks)


def _checks(checks: tuple[Check, ...]) -> Iterator[Check]:
    for check in checks:
        yield check
        if isinstance(check.operand, Each):
            yield from _checks(check.operand.checks)


def one_value(context: Context) -> Iterator[Finding]:
    """Lists of one value to compare with."""
    for asker in context.askers:
        for check in checks_in(asker):
            if check.operator in ("in", "not_in") and type(check.operand) is list and len(check.operand) == 1:
                value = show(check.operand[0])
                instead = f"equals: {value}" if check.operator == "in" else f"'not' of equals: {value}"
                message = f"'{check.operator}' has one value to compare with"
                yield context.finding("in-with-one-value", asker.rule, check, message, f"Write {instead}.")


def duplicates(context: Context) -> Iterator[Finding]:
    """Lists that hold a value twice."""
    for asker in context.askers:
        for check in checks_in(asker):
            if check.operator not in _OF_A_LIST or type(check.operand) is not list:
                continue
            seen: set[Hashable] = set()
            for number, item in enumerate(check.operand):
                before = len(seen)
                seen.add(identity(item))
                if len(seen) == before:
                    message = f"'{show(item)}' is in the list twice"
                    remedy = "Take one out, or correct the one that was to be another."
                    yield context.finding("in-with-duplicates", asker.rule, (*check.at, number), message, remedy)


def fact_maps(context: Context) -> Iterator[Finding]:
    """Literals that look like facts."""
    for asker in context.askers:
        for check in checks_in(asker):
            for at in _fact_maps(check.operand, check.at) if type(check.operand) in (list, dict) else ():
                message = "a map with 'fact' inside an operand is a plain object here: nothing is read from a fact"
                remedy = f"Write '{check.operator}: {{fact: some.path}}' if the fact is the whole operand."
                yield context.finding("in-with-fact-map", asker.rule, at, message, remedy)


def _fact_maps(value: Any, at: Path) -> Iterator[Path]:
    if type(value) is dict and list(value) == ["fact"]:
        yield at
    elif type(value) in (list, dict):
        for key, part in value.items() if type(value) is dict else enumerate(value):
            yield from _fact_maps(part, (*at, key))
