"""The operators: what operand each takes, and what it says of every value.

An operator answers True, False, or None for *unknown*: the value, or the operand read from a fact, is
of a type that the operator is not for. `ABSENT` stands for a value that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, NamedTuple

from capgate.policy.hosts import is_host

__all__ = ["ABSENT", "BUILT_IN", "TYPES", "Absent", "Operator", "has_type", "identity", "operand_problem", "same"]


class Absent:
    """The type of `ABSENT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

#: The words that ``type`` takes.
TYPES: Final = ("string", "boolean", "null", "list", "object", "number", "whole", "host")


class Operator(NamedTuple):
    """One built-in operator.

    Attributes:
        judge: (value, operand) to True, False or None; the value may be `ABSENT`, and so may an operand
            that was read from a fact. None for ``each``, which is compiled from the operators below it.
        takes: what a literal operand has to be, in words.
        fits: tells whether a literal operand is that.
        takes_facts: whether the operand may be ``{fact: path}``.
    """

    judge: Callable[[Any, Any], bool | None] | None
    takes: str
    fits: Callable[[Any], bool]
    takes_facts: bool = True


def same(left: Any, right: Any) -> bool:
    """Deep equality of JSON values: 1 is 1.0, 1 is not true, [1] is not [true]."""
    todo = [(left, right)]
    met: set[tuple[int, int]] = set()
    while todo:
        a, b = todo.pop()
        if (id(a), id(b)) in met:
            continue
        if type(a) is list and type(b) is list:
            # Values given from Python may share or contain themselves: each pair is looked at once.
            met.add((id(a), id(b)))
            if len(a) != len(b):
                return False
            todo.extend(zip(a, b, strict=True))
        elif type(a) is dict and type(b) is dict:
            met.add((id(a), id(b)))
            if a.keys() != b.keys():
                return False
            todo.extend((a[key], b[key]) for key in a)
        elif (type(a) is bool) is not (type(b) is bool) or type(a) in _HOLDERS or type(b) in _HOLDERS or a != b:
            return False
    return True


def identity(value: Any) -> Hashable:
    """The same for two values of a document where `same` says that they are equal, and only there."""
    if type(value) is list:
        return ("list", *map(identity, value))
    if type(value) is dict:
        return ("object", frozenset((key, identity(item)) for key, item in value.items()))
    return ("boolean", value) if type(value) is bool else value


def has_type(value: Any, word: str) -> bool:
    """Whether a value is of the type that `word`, one of `TYPES`, names; False for `ABSENT`."""
    kind = type(value)
    if word == "host":
        return is_host(value)
    if word == "whole":
        return kind is int or (kind is float and value.is_integer())
    return kind in _PYTHON_TYPES[word]


def operand_problem(name: str, operand: Any) -> str | None:
    """What is wrong with a literal operand of the operator `name`, in words; None if nothing is."""
    operator = BUILT_IN[name]
    return None if operator.fits(operand) else f"the operand has to be {operator.takes}"


_HOLDERS: Final = (list, dict)
_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "list": (list,),
    "object": (dict,),
    "number": (int, float),
}


def _member(value: Any, items: list[Any]) -> bool:
    return any(same(value, item) for item in items)


def _equals(value: Any, operand: Any) -> bool | None:
    if operand is ABSENT:
        return None
    return value is not ABSENT and same(value, operand)


def _in(value: Any, operand: Any) -> bool | None:
    if operand is ABSENT:
        return False
    if type(operand) is not list:
        return None
    return value is not ABSENT and _member(value, operand)


def _not_in(value: Any, operand: Any) -> bool | None:
    found = _in(value, operand)
    return None if found is None else not found


def _contains(value: Any, operand: Any) -> bool | None:
    if operand is ABSENT:
        return None
    if value is ABSENT:
        return False
    return _member(operand, value) if type(value) is list else None


def _lacks(value: Any, operand: Any) -> bool | None:
    found = _contains(value, operand)
    return None if found is None else not found


def _subset_of(value: Any, operand: Any) -> bool | None:
    if operand is ABSENT:
        operand = []
    if type(operand) is not list:
        return None
    if value is ABSENT:
        return False
    return all(_member(item, operand) for item in value) if type(value) is list else None


def _size(value: Any) -> int | None:
    return len(value) if type(value) in (str, list, dict) else None


def _empty(value: Any, operand: bool) -> bool | None:
    if value is ABSENT:
        return operand
    size = _size(value)
    return None if size is None else (size == 0) is operand


def _bound(
    measure: Callable[[Any], Any], fits: Callable[[Any], bool], *, least: bool
) -> Callable[[Any, Any], bool | None]:
    """Min and max, minlength and maxlength: `measure` gives a number, or None where there is none."""

    def judge(value: Any, operand: Any) -> bool | None:
        if not fits(operand):
            return None
        if value is ABSENT:
            return False
        size = measure(value)
        if size is None:
            return None
        return bool(size >= operand if least else size <= operand)

    return judge


def _number(value: Any) -> int | float | None:
    # What is not equal to itself is not a number that can be compared.
    return value if type(value) in (int, float) and value == value else None


def _is_number(value: Any) -> bool:
    return _number(value) is not None


def _is_length(value: Any) -> bool:
    return has_type(value, "whole") and value >= 0


def _matches(value: Any, operand: Any) -> bool | None:
    if value is ABSENT:
        return False
    return bool(operand.matches(value)) if type(value) is str else None


def _exists(value: Any, operand: bool) -> bool:
    return (value is not ABSENT) is operand


def _is_list(value: Any) -> bool:
    return type(value) is list


def _is_boolean(value: Any) -> bool:
    return type(value) is bool


def _anything(value: Any) -> bool:
    return True


#: The built-in operators by name.
BUILT_IN: Final[Mapping[str, Operator]] = {
    "equals": Operator(_equals, "a value", _anything),
    "in": Operator(_in, "a list", _is_list),
    "not_in": Operator(_not_in, "a list", _is_list),
    "matches": Operator(_matches, "a pattern, as text", lambda operand: type(operand) is str, False),
    "contains": Operator(_contains, "a value", _anything),
    "lacks": Operator(_lacks, "a value", _anything),
    "subset_of": Operator(_subset_of, "a list", _is_list),
    "empty": Operator(_empty, "true or false", _is_boolean, False),
    "min": Operator(_bound(_number, _is_number, least=True), "a number", _is_number),
    "max": Operator(_bound(_number, _is_number, least=False), "a number", _is_number),
    "minlength": Operator(_bound(_size, _is_length, least=True), "a whole number of at least 0", _is_length),
    "maxlength": Operator(_bound(_size, _is_length, least=False), "a whole number of at least 0", _is_length),
    "type": Operator(has_type, "one of " + ", ".join(TYPES), lambda operand: operand in TYPES, False),
    "each": Operator(None, "a map of operators", lambda operand: type(operand) is dict, False),
    "exists": Operator(_exists, "true or false", _is_boolean, False),
}
