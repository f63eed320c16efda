"""Plain JSON values: what is absent, what is equal, what type a value has, and how a path is followed."""

from __future__ import annotations

import math
from typing import Any, Final

from capgate.policy.hosts import is_host

__all__ = [
    "ABSENT",
    "follow",
    "has_type",
    "is_list_of_strings",
    "is_nan",
    "is_number",
    "is_whole",
    "member",
    "same",
    "size",
]


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


#: Stands where there is no value. It is not null.
ABSENT: Final[Any] = _Absent()


def is_number(value: Any) -> bool:
    """An int or a float; booleans are none. NaN and the infinities count."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_nan(value: Any) -> bool:
    """The one float that does not equal itself."""
    return isinstance(value, float) and math.isnan(value)


def is_whole(value: Any) -> bool:
    """A number without a fraction: 8 and 8.0, neither True nor an infinity."""
    if not is_number(value):
        return False
    if isinstance(value, int):
        return True
    return math.isfinite(value) and value == math.floor(value)


def is_list_of_strings(value: Any) -> bool:
    """A list, empty or not, that holds strings alone."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def same(left: Any, right: Any) -> bool:
    """Deep equality of JSON values: 1 equals 1.0, 1 does not equal true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        return all(same(left[at], right[at]) for at in range(len(left)))
    if isinstance(left, dict) and isinstance(right, dict):
        if set(left) != set(right):
            return False
        return all(same(left[key], right[key]) for key in left)
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return left is None and right is None


def member(value: Any, items: list[Any]) -> bool:
    """Whether one of `items` is the same as `value`."""
    return any(same(value, item) for item in items)


def has_type(value: Any, name: str) -> bool:
    """Whether a present `value` is of the type that the language calls `name`."""
    if name == "string":
        return isinstance(value, str)
    if name == "boolean":
        return isinstance(value, bool)
    if name == "null":
        return value is None
    if name == "list":
        return isinstance(value, list)
    if name == "object":
        return isinstance(value, dict)
    if name == "number":
        return is_number(value)
    if name == "whole":
        return is_whole(value)
    if name == "host":
        return is_host(value)
    raise AssertionError(f"no such type: {name}")


def size(value: Any) -> int | None:
    """Code points of a string, items of a list, keys of an object; None for what has no size."""
    return len(value) if isinstance(value, (str, list, dict)) else None


def follow(value: Any, keys: list[str]) -> Any:
    """The value that `keys` lead to, or ABSENT: also where the way leads through something that is no object."""
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return ABSENT
        value = value[key]
    return value
