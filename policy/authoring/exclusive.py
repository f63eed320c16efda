"""Triggers that can never both refuse on one element, so that nobody can see in which order they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from capgate.policy.conditions import AllOf, Check, Condition, Fact, Not, Test
from capgate.policy.operators import same
from capgate.policy.rulefile import Trigger
from capgate.policy.vocabulary import Reference

__all__ = ["exclusive"]

#: An operator, and the one that is its exact opposite wherever neither is unknown.
_OPPOSITES: Final = {"in": "not_in", "not_in": "in", "contains": "lacks", "lacks": "contains"}


class _Claim(NamedTuple):
    """Something that has to hold for a trigger to refuse: an operator, or with `held` False its negation."""

    reference: Reference
    check: Check
    held: bool


def exclusive(one: Trigger, other: Trigger) -> bool:
    """Whether two triggers of one stage are certain never to refuse on the same element.

    True only where each asks for the contrary of something that the other one asks for and that is never
    unknown, since what is unknown refuses under both.
    """
    if one.loop or other.loop:
        return False
    return any(_contrary(left, right) for left in _claims(one.when, True) for right in _claims(other.when, True))


def _claims(condition: Condition, held: bool) -> Iterator[_Claim]:
    """What each single operator has to say for a condition to hold, or not to; of alternatives nothing."""
    if isinstance(condition, Not):
        yield from _claims(condition.part, not held)
    elif isinstance(condition, AllOf) and held:
        for part in condition.parts:
            yield from _claims(part, held)
    elif isinstance(condition, Test) and (held or len(condition.checks) == 1):
        yield from (_Claim(condition.reference, check, held) for check in condition.checks)


def _contrary(left: _Claim, right: _Claim) -> bool:
    if left.reference.text != right.reference.text or not (_decided(left) and _decided(right)):
        return False
    one, other = left.check, right.check
    if one.operator == other.operator == "equals" and left.held and right.held:
        return not same(one.operand, other.operand)
    if _OPPOSITES.get(one.operator) == other.operator:
        return left.held is right.held and _alike(one.operand, other.operand)
    if one.operator != other.operator:
        return False
    if one.operator == "exists":
        return (one.operand is other.operand) is not (left.held is right.held)
    return left.held is not right.held and _alike(one.operand, other.operand)


def _decided(claim: _Claim) -> bool:
    """Whether an operator is never unknown where it stands."""
    operator, operand = claim.check.operator, claim.check.operand
    if claim.check.added:
        return False
    if isinstance(operand, Fact):
        return operator in ("in", "not_in") and operand.reference.term.type == "list"
    if operator in ("contains", "lacks", "subset_of"):
        return claim.reference.term.type == "list"
    return operator in ("equals", "in", "not_in", "type", "exists")


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Fact) or isinstance(other, Fact):
        return isinstance(one, Fact) and isinstance(other, Fact) and one.reference.text == other.reference.text
    return same(one, other)
