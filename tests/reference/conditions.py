"""Conditions in three values, as the language defines them and nothing more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from reference.facts import Element, Facts
from reference.values import ABSENT, has_type, is_nan, is_number, is_whole, member, same, size

__all__ = ["Truth", "condition"]

Truth: TypeAlias = Literal["true", "false", "unknown"]
Loops: TypeAlias = Mapping[str, Element]

LIST_OPERANDS = ("in", "not_in", "subset_of")
NUMBER_OPERANDS = ("min", "max")
LENGTH_OPERANDS = ("minlength", "maxlength")


def condition(when: Mapping[str, Any], facts: Facts, loops: Loops) -> Truth:
    """Whether `when` holds."""
    ((key, inside),) = when.items()
    if key == "all":
        return _all(condition(part, facts, loops) for part in inside)
    if key == "any":
        return _any(condition(part, facts, loops) for part in inside)
    if key == "none":
        return _not(_any(condition(part, facts, loops) for part in inside))
    if key == "not":
        return _not(condition(inside, facts, loops))
    return _operators(inside, facts.value(key, loops), facts, loops)


def _all(parts: Iterable[Truth]) -> Truth:
    seen = list(parts)
    if "false" in seen:
        return "false"
    return "unknown" if "unknown" in seen else "true"


def _any(parts: Iterable[Truth]) -> Truth:
    seen = list(parts)
    if "true" in seen:
        return "true"
    return "unknown" if "unknown" in seen else "false"


def _not(part: Truth) -> Truth:
    if part == "unknown":
        return "unknown"
    return "false" if part == "true" else "true"


def _truth(value: bool) -> Truth:
    return "true" if value else "false"


def _operators(operators: Mapping[str, Any], value: Any, facts: Facts, loops: Loops) -> Truth:
    return _all(_operator(name, operand, value, facts, loops) for name, operand in operators.items())


def _operator(name: str, operand: Any, value: Any, facts: Facts, loops: Loops) -> Truth:
    if name == "each":
        return _each(operand, value, facts, loops)
    if isinstance(operand, dict) and list(operand) == ["fact"] and _takes_facts(name):
        operand = facts.value(operand["fact"], loops)
        if operand is ABSENT and name in LIST_OPERANDS:
            operand = []
        if operand is ABSENT or not _operand_fits(name, operand):
            return "unknown"
    if value is ABSENT:
        return _truth(_holds_for_absent(name, operand))
    if not _value_fits(name, value):
        return "unknown"
    return _truth(_compare(name, operand, value))


def _each(operators: Mapping[str, Any], value: Any, facts: Facts, loops: Loops) -> Truth:
    if value is ABSENT:
        return "false"
    if not isinstance(value, list):
        return "unknown"
    return _all(_operators(operators, item, facts, loops) for item in value)


def _takes_facts(name: str) -> bool:
    return name in ("equals", "contains", "lacks", *LIST_OPERANDS, *NUMBER_OPERANDS, *LENGTH_OPERANDS)


def _operand_fits(name: str, operand: Any) -> bool:
    if name in LIST_OPERANDS:
        return isinstance(operand, list)
    if name in NUMBER_OPERANDS:
        return is_number(operand) and not is_nan(operand)
    if name in LENGTH_OPERANDS:
        return is_whole(operand) and operand >= 0
    return True


def _holds_for_absent(name: str, operand: Any) -> bool:
    if name in ("lacks", "not_in"):
        return True
    if name == "exists":
        return operand is False
    if name == "empty":
        return operand is True
    return False


def _value_fits(name: str, value: Any) -> bool:
    if name in NUMBER_OPERANDS:
        return is_number(value) and not is_nan(value)
    if name == "matches":
        return isinstance(value, str)
    if name in ("contains", "lacks", "subset_of"):
        return isinstance(value, list)
    if name == "empty" or name in LENGTH_OPERANDS:
        return size(value) is not None
    return True


def _compare(name: str, operand: Any, value: Any) -> bool:
    """A present value of a type that the operator is for."""
    length = size(value)
    if name == "equals":
        return same(value, operand)
    if name == "in":
        return member(value, operand)
    if name == "not_in":
        return not member(value, operand)
    if name == "matches":
        return re.fullmatch(operand, value, re.ASCII) is not None
    if name == "contains":
        return member(operand, value)
    if name == "lacks":
        return not member(operand, value)
    if name == "subset_of":
        return all(member(item, operand) for item in value)
    if name == "min":
        return bool(value >= operand)
    if name == "max":
        return bool(value <= operand)
    if name == "minlength" and length is not None:
        return bool(length >= operand)
    if name == "maxlength" and length is not None:
        return bool(length <= operand)
    if name == "empty":
        return (length == 0) is operand
    if name == "type":
        return has_type(value, operand)
    if name == "exists":
        return operand is True
    raise AssertionError(f"no such operator: {name}")
