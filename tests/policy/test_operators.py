"""Which values are equal, asked in two ways."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from capgate.policy.operators import identity, same

#: Few different values, so that equal ones are met.
SCALARS = st.none() | st.booleans() | st.sampled_from([0, 1, 0.0, 1.0, -0.0, 2, "", "a", "1", "list", "boolean"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "list"]), inner, max_size=2),
    max_leaves=6,
)


@given(VALUES, VALUES)
@example(1, True)
@example(1, 1.0)
@example([1], [True])
@example({"a": 0}, {"a": False})
@example(["boolean", True], True)
@example([], {})
@settings(deadline=None, derandomize=True, max_examples=300)
def test_two_values_have_one_identity_where_they_are_equal(left: Any, right: Any) -> None:
    assert (identity(left) == identity(right)) is same(left, right)
