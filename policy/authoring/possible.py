"""What a condition can answer at all: which of true, false and unknown some descriptor could bring about.

Each operator is asked of enough values to bring out every answer that it has: those at the edges of
its operand and one of each type, as far as the path can have them. The operator's own function answers.
Value and operand are taken to vary each for itself, and a pattern to match some texts and not others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from math import ceil, floor
from typing import Any, Final

from capgate.policy.authoring.domains import Domain, Domains
from capgate.policy.authoring.truth import Truth, every
from capgate.policy.conditions import Check, Each, Fact, Test
from capgate.policy.operators import ABSENT, BUILT_IN, has_type
from capgate.policy.rulefile import Trigger

__all__ = ["answers_of", "edges", "every_of", "judged", "tried_values"]

#: Of each type something, with what is empty, odd, a host, and no host.
_ANY: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 0.5, "", "a", "a.test", "*", [], ["a"], [None], [0], [{}], [{"name": "b"}],
    {}, {"a": 1}, {"a": "b"}, {"name": "b"},
)  # fmt: skip
#: No text, list or object in a document can be longer.
_LONGEST: Final = {"text": 1 << 20, "list": 1 << 19, "object": 1 << 17}
#: What is made up to be judged has no list and no object with more items, nor one at the edge of such a length.
_MADE: Final = 1 << 14
#: Where something shorter does as well, nothing longer is made up.
_LONG: Final = 1000
#: A number beyond any length.
_FAR: Final = 1 << 30
_TRUTHS: Final = {True: Truth.TRUE, False: Truth.FALSE, None: Truth.UNKNOWN}


def answers_of(test: Test, trigger: Trigger, domains: Domains) -> frozenset[Truth]:
    """What a test of one operator can answer where `trigger` asks it."""
    (check,) = test.checks
    domain = domains.of(test.reference, trigger)
    operands = _operands(check, trigger, domains, domain.known)
    return frozenset(truth for operand in operands for truth in _answers(check, operand, domain, trigger, domains))


def edges(check: Check, operand: Any, most: int = _LONGEST["list"]) -> Iterator[Any]:
    """The values between which the answer of an operator with this operand changes, and those that meet it.

    None for an operand that is read from a fact: whoever knows the fact's value asks with that. None for a length,
    if that takes a list or an object of more than `most` items.
    """
    name = check.operator
    if isinstance(operand, Fact):
        return
    if isinstance(operand, Each):
        yield from ([value] for part in operand.checks for value in edges(part, part.operand, most))
    elif name in ("min", "max") and type(operand) in (int, float):
        # The whole numbers around it, too: there are paths that can have no others.
        yield from (operand, operand - 1, operand + 1, floor(operand), ceil(operand))
    elif name in ("minlength", "maxlength") and type(operand) in (int, float):
        for length in (operand, operand - 1, operand + 1):
            yield from _of_length(int(length), most)
    elif name == "empty":
        yield from _of_length(0, most)
    elif name in ("in", "not_in", "subset_of") and type(operand) is list:
        yield from ([item] for item in operand) if name == "subset_of" else operand
    elif name in ("contains", "lacks") and operand is not ABSENT:
        yield from ([operand], [])
    elif name == "equals" and operand is not ABSENT:
        yield operand
    elif name == "type":
        yield from (value for value in _ANY if has_type(value, operand))


def tried_values(check: Check, operand: Any, most: int = _MADE) -> Iterator[Any]:
    """The values that bring out every answer of an operator with this operand: its edges, then one of each type.

    What is long comes last. Those with a list or an object of more than `most` items are left out.
    """
    found = list(edges(check, operand, most))
    if isinstance(operand, Each):
        found += ([value] for part in operand.checks for value in tried_values(part, part.operand, most))
    yield from (value for value in found if not _is_long(value))
    yield from _ANY
    yield from (value for value in found if _is_long(value))


def judged(check: Check, operand: Any, value: Any) -> Truth:
    """What an operator says of a value, which may be `ABSENT`; `operand` is that of `check`, or the fact's value.

    Unknown where it takes more to say: of a plugin's operator, and where ``each`` compares with a fact.
    """
    if isinstance(operand, Each) and type(value) is list:
        return every(judged(part, part.operand, item) for item in _distinct(value) for part in operand.checks)
    judge = None if check.added or isinstance(operand, Fact) else BUILT_IN[check.operator].judge
    if judge is None:
        return Truth.FALSE if value is ABSENT and isinstance(operand, Each) else Truth.UNKNOWN
    return _TRUTHS[judge(value, operand)]


def _answers(check: Check, operand: Any, domain: Domain, trigger: Trigger, domains: Domains) -> Iterator[Truth]:
    for value in domain.values(tried_values(check, operand, _LONGEST["list"])):
        known = any(value is one for one in domain.known)
        yield from _said(check, operand, value, known, trigger, domains)


def _said(check: Check, operand: Any, value: Any, known: bool, trigger: Trigger, domains: Domains) -> Iterable[Truth]:
    """What an operator can say of a value, or of one like it where the value is not `known` to be a real one."""
    if check.added is not None:
        # What it says is for its plugin to know; that it is unknown cannot be asked for.
        return [Truth.TRUE if check.added.absent else Truth.FALSE] if value is ABSENT else (Truth.TRUE, Truth.FALSE)
    if isinstance(operand, Each):
        if type(value) is not list:
            return [Truth.FALSE if value is ABSENT else Truth.UNKNOWN]
        return every_of(
            {
                truth
                for inner in _operands(part, trigger, domains)
                for truth in _said(part, inner, item, known, trigger, domains)
            }
            for item in _distinct(value)
            for part in operand.checks
        )
    if check.operator == "matches" and type(value) is str and not known:
        return (Truth.TRUE, Truth.FALSE)
    return [judged(check, operand, value)]


def every_of(parts: Iterable[Collection[Truth]]) -> set[Truth]:
    """What ``all`` can say where each part can say, independently of the others, any of some truths."""
    found = {Truth.TRUE}
    for part in parts:
        found = {every(pair) for pair in product(found, part)}
    return found


def _distinct(items: Sequence[Any]) -> Iterable[Any]:
    """The items, of those that are one and the same object one: to ask ``all`` of it again changes nothing."""
    return {id(item): item for item in items}.values()


def _operands(check: Check, trigger: Trigger, domains: Domains, known: Sequence[Any] = ()) -> Sequence[Any]:
    """The operands to ask with: of a fact what it can be, the `known` values that it is compared with among it."""
    if not isinstance(check.operand, Fact):
        return [check.operand]
    items = [item for value in known if type(value) is list for item in value]
    compared = [*known, *items, *([value] for value in known)]
    return list(domains.of(check.operand.reference, trigger).values((*_ANY, _FAR, -_FAR, *compared)))


def _is_long(value: Any) -> bool:
    while type(value) is list and len(value) == 1:
        (value,) = value
    return type(value) in (str, list, dict) and len(value) > _LONG


def _of_length(length: int, most: int) -> Iterator[Any]:
    if 0 <= length <= _LONGEST["text"]:
        yield "x" * length
    if 0 <= length <= min(_LONGEST["list"], most):
        yield from (["a"] * length, [{}] * length)
    if 0 <= length <= min(_LONGEST["object"], most):
        yield dict.fromkeys(_keys(1 << length.bit_length())[:length], 0)


@cache
def _keys(count: int) -> tuple[str, ...]:
    """Keys for objects; they take longer to make than the objects."""
    return tuple(map(str, range(count)))
