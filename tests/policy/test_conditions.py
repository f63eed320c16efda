"""Conditions as values."""

from __future__ import annotations

import pytest

from capgate.policy import conditions
from capgate.policy.conditions import AllOf, AnyOf, Condition, Not
from capgate.policy.vocabulary import Reference, Term

LEAF = conditions.Test(Reference("a", "a", (), Term("submitted"), False), (), ())
KINDS: list[Condition] = [AllOf((LEAF,), ()), AnyOf((LEAF,), ()), Not(LEAF, ()), LEAF]


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_conditions_of_different_kinds_are_never_equal(one: Condition, other: Condition) -> None:
    same = type(one) is type(other)
    assert (one == other) is same
    assert (one != other) is not same


def test_a_condition_is_equal_to_what_has_the_same_parts() -> None:
    assert AllOf((LEAF,), ("when",)) == AllOf((LEAF,), ("when",))
    assert AllOf((LEAF,), ("when",)) != AllOf((LEAF,), ())
    assert AllOf((LEAF,), ()) != ((LEAF,), ())
