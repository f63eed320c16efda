"""Classes of values: so many that every JSON value is answered as one of them is, by given operators.

A class is one value (`exact`), or all values of a kind that have something in common: texts of some
length that certain patterns match, lists of some length with certain items, objects of some length. What
operators say of it is what they say of every value in it. There may be classes with no value in them; there is no
value without a class. Numbers that JSON does not have, such as NaN, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations, product
from math import ceil, floor
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.lint.kleene import FALSE, RANK, TRUE, UNKNOWN
from capgate.policy.authoring.lint.patterns import width
from capgate.policy.authoring.possible import judged
from capgate.policy.catalog import RESERVED_TOOL_NAMES
from capgate.policy.conditions import Check, Each
from capgate.policy.operators import ABSENT, BUILT_IN, identity
from capgate.policy.patterns import Pattern
from capgate.policy.schema import DESCRIPTOR

__all__ = [
    "NOWHERE",
    "TAKEN",
    "TooMany",
    "Value",
    "answer",
    "answering",
    "classes",
    "constants",
    "exactly",
    "item_checks",
]

#: No text or list in a document is longer.
_LONGEST: Final = 1 << 20
#: No object in a document has more keys: each takes six characters or more, as in ``"a":0,``.
_MOST_KEYS: Final = _LONGEST // 6
#: So many different items, and so many patterns, are told apart in one list or text.
_ITEMS: Final = 10
_PATTERNS: Final = 6
#: So many values are compared with at one place.
_NAMED: Final = 5000
#: So deep are lists in lists looked into.
_DEEPEST: Final = 3


class TooMany(Exception):
    """There are more classes than can be looked at."""


class Taken:
    """The type of `TAKEN`."""


#: Stands for the operand ``{fact: host.taken}``: the reserved names and some that nobody knows.
TAKEN: Final = Taken()


class Value(NamedTuple):
    """One value, or a class of values.

    Attributes:
        kind: ``absent``, ``null``, ``boolean``, ``number``, ``string``, ``list`` or ``object``.
        one: the value; for a class some value of its kind and length.
        exact: whether it is this one value.
        items: of a class of lists, the items that occur in them.
        matched: of a class of texts, the patterns that match.
        host: of a class of texts, whether they are hosts.
        taken: of a text, whether it is among ``host.taken``.
    """

    kind: str
    one: Any
    exact: bool = True
    items: tuple[Value, ...] = ()
    matched: frozenset[str] = frozenset()
    host: bool = False
    taken: bool = False


NOWHERE: Final = Value("absent", ABSENT)
_KINDS: Final = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "list",
    dict: "object",
}


def exactly(value: Any) -> Value:
    """The class that holds one value."""
    if value is ABSENT:
        return NOWHERE
    return Value(_KINDS[type(value)], value, taken=type(value) is str and value in RESERVED_TOOL_NAMES)


def answer(check: Check, value: Value) -> int:
    """What an operator with a literal operand, `TAKEN` or an absent one says of every value of a class."""
    operator, operand = check.operator, check.operand
    if operand is TAKEN:
        return TRUE if value.taken is (operator == "in") else FALSE
    if value.exact:
        return RANK[judged(check, operand, value.one)]
    if operator in ("equals", "in", "not_in"):
        # An object is equal to nothing that a rule can write down.
        return _rank(BUILT_IN[operator].judge(object(), operand))  # type: ignore[misc]
    if value.kind == "string" and operator == "matches":
        return TRUE if operand.text in value.matched else FALSE
    if value.kind == "string" and (operator, operand) == ("type", "host"):
        return TRUE if value.host else FALSE
    if value.kind == "list" and operator == "each":
        return min(answer(part, item) for item in value.items for part in operand.checks)
    if value.kind == "list" and operator in ("contains", "lacks", "subset_of"):
        return _of_items(check, value.items)
    return RANK[judged(check, operand, value.one)]


def answering(check: Check) -> Callable[[Value], int]:
    """`answer` of one operator, to be asked many times: a list to compare with is looked up, not walked."""
    if check.operator not in ("in", "not_in") or type(check.operand) is not list:
        return partial(answer, check)
    members = {identity(item) for item in check.operand}
    inside, outside = (TRUE, FALSE) if check.operator == "in" else (FALSE, TRUE)

    def answered(value: Value) -> int:
        # An object is equal to nothing that a rule can write down, and neither is what stands for many values.
        return inside if value.exact and value.one is not ABSENT and identity(value.one) in members else outside

    return answered


def _of_items(check: Check, items: Sequence[Value]) -> int:
    if check.operator == "subset_of":
        if check.operand is not ABSENT and type(check.operand) is not list:
            return UNKNOWN
        part = Check("in", [] if check.operand is ABSENT else check.operand, check.at)
        return min(answer(part, item) for item in items)
    if check.operand is ABSENT:
        return UNKNOWN
    found = max(answer(Check("equals", check.operand, check.at), item) for item in items)
    return found if check.operator == "contains" else TRUE - found


def _rank(said: bool | None) -> int:
    return UNKNOWN if said is None else TRUE if said else FALSE


def item_checks(checks: Iterable[Check]) -> list[Check]:
    """What the operators on a list ask of its items."""
    found: list[Check] = []
    for check in checks:
        if isinstance(check.operand, Each):
            found += check.operand.checks
        elif check.operator in ("contains", "lacks") and check.operand is not ABSENT:
            found.append(Check("equals", check.operand, check.at))
        elif check.operator == "subset_of" and type(check.operand) is list:
            found.append(Check("in", check.operand, check.at))
    return found


def classes(
    checks: Sequence[Check],
    fits: Callable[[Any], bool],
    known: Sequence[Any] = (),
    *,
    any_text: bool = False,
    depth: int = 0,
) -> list[Value]:
    """Classes that hold every value, told apart as far as `checks` can.

    Args:
        checks: operators, with literal operands or `TAKEN`.
        fits: tells of a value whether it can be there; one of a class stands for it.
        known: values that can be there in any case.
        any_text: whether there can be texts that do not fit, besides those known.
        depth: how deep in lists this is; leave it.

    Raises:
        TooMany: there are too many.
    """
    if depth > _DEEPEST:
        raise TooMany
    named = list(constants(checks))
    if len(named) > _NAMED:
        raise TooMany
    certain = {identity(value) for value in known}
    single = [None, True, False, "", [], {}, *named, *_numbers(checks, named), *known]
    found = [exactly(value) for value in _distinct(single) if fits(value) or identity(value) in certain]
    if any(check.operand is TAKEN for check in checks):
        found += [value._replace(taken=True) for value in found if value.kind == "string" and not value.taken]
    found += (value for value in _texts(checks) if any_text or fits(value.one))
    kinds = {value.kind for value in found}
    if fits([]):
        found += _lists(checks, fits, known, depth)
    if "object" in kinds or fits({}):
        found += (
            Value("object", {f"x{number}": 0 for number in range(least)}, False)
            for least, _ in _lengths(checks, _MOST_KEYS)
        )
    return found


def constants(checks: Iterable[Check]) -> Iterator[Any]:
    """The values that operators compare a value with."""
    for check in checks:
        if check.operator == "equals" and check.operand is not ABSENT:
            yield check.operand
        elif check.operator in ("in", "not_in") and type(check.operand) is list:
            yield from check.operand


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: dict[Hashable, Any] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return list(found.values())


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _numbers(checks: Iterable[Check], named: Iterable[Any]) -> list[int | float]:
    """The numbers where an answer may change, and between each two of them a whole one and a fraction."""
    edges = {number for number in named if _is_number(number)} | {*_SCHEMA_EDGES}
    edges |= {check.operand for check in checks if check.operator in ("min", "max") and _is_number(check.operand)}
    found = sorted(edges)
    made: list[int | float] = [*found, floor(found[0]) - 1, floor(found[0]) - 0.5]
    for low, high in zip(found, [*found[1:], ceil(found[-1]) + 4], strict=True):
        whole = floor(low) + 1
        fraction = low + (min(high, whole) - low) / 2
        made += [number for number in (whole, fraction) if low < number < high]
    return made


def _lengths(checks: Iterable[Check], longest: int) -> list[tuple[int, int]]:
    """Ranges of lengths of at least one, each with its ends, in which no answer changes."""
    starts = {1}
    for check in checks:
        if check.operator in ("minlength", "maxlength") and _is_number(check.operand):
            starts |= {ceil(check.operand), floor(check.operand) + 1}
    kept = sorted(start for start in starts if 1 <= start <= longest)
    return list(zip(kept, [*(start - 1 for start in kept[1:]), longest], strict=True))


def _texts(checks: Sequence[Check]) -> Iterator[Value]:
    patterns = {check.operand.text: check.operand for check in checks if isinstance(check.operand, Pattern)}
    if len(patterns) > _PATTERNS:
        raise TooMany
    hosts = (False, True) if any((check.operator, check.operand) == ("type", "host") for check in checks) else (False,)
    taken = (False, True) if any(check.operand is TAKEN for check in checks) else (False,)
    for least, most in _lengths(checks, _LONGEST):
        able = [text for text, pattern in patterns.items() if _overlaps(width(pattern), (least, most))]
        for matched, host, is_taken in product(_subsets(able), hosts, taken):
            yield Value("string", "x" * least, False, (), frozenset(matched), host, is_taken)


def _overlaps(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _subsets(items: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def _lists(checks: Sequence[Check], fits: Callable[[Any], bool], known: Sequence[Any], depth: int) -> Iterator[Value]:
    """Lists that are not empty: every set of items, with every length that has room for them."""
    asked = item_checks(checks)
    told: dict[tuple[int, ...], Value] = {(): exactly(None)}
    if asked:
        inside = [item for value in known if type(value) is list for item in value]
        items = classes(asked, lambda item: fits([item]), inside, depth=depth + 1)
        asks = [answering(check) for check in asked]
        told = {tuple(ask(item) for ask in asks): item for item in reversed(items)}
    if len(told) > _ITEMS:
        raise TooMany
    lengths = _lengths(checks, _LONGEST >> 1)
    for some in _subsets(list(told.values())):
        for least, most in lengths if some else ():
            length = max(least, len(some))
            if length <= most:
                yield Value("list", [some[0].one] * length, False, some)


def _edges_of(schema: Any, words: Sequence[str]) -> Iterator[int]:
    if isinstance(schema, dict):
        yield from (schema[word] for word in words if isinstance(schema.get(word), int))
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _edges_of(part, words)


#: Numbers at which the schema of descriptors begins or ceases to refuse. Of lengths it refuses the longer ones, so the
#: shortest of a range stands for it.
_SCHEMA_EDGES: Final = frozenset({0, *_edges_of(DESCRIPTOR, ("min", "max"))})
