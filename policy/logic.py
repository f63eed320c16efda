"""Conditions as code, in three-valued logic.

A trigger refuses unless its condition is certainly false. So a condition is compiled to one of two
plain questions, whichever is asked of it: can it be true (true or unknown), can it be false (false or
unknown)? In Kleene's logic both pass through all, any and not exactly, and no third value has to be
carried at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from capgate.policy.codegen import bound, constant, expression, in_passing, joined
from capgate.policy.conditions import AllOf, AnyOf, Check, Condition, Each, Fact, Not, Test
from capgate.policy.operators import ABSENT, BUILT_IN
from capgate.policy.values import Frame, Values

__all__ = ["Logic"]


class _Pair(NamedTuple):
    """Templates for both questions, with V for the value and N for the operand."""

    can_hold: str
    can_fail: str


_TYPE_TESTS: Final = {
    "string": _Pair("type(V) is str", "type(V) is not str"),
    "boolean": _Pair("type(V) is bool", "type(V) is not bool"),
    "null": _Pair("V is None", "V is not None"),
    "list": _Pair("type(V) is list", "type(V) is not list"),
    "object": _Pair("type(V) is dict", "type(V) is not dict"),
    "number": _Pair("type(V) is int or type(V) is float", "type(V) is not int and type(V) is not float"),
    "whole": _Pair(
        "type(V) is int or type(V) is float and V.is_integer()",
        "type(V) is not int and (type(V) is not float or not V.is_integer())",
    ),
    "host": _Pair("IS_HOST(V)", "not IS_HOST(V)"),
}
_EXISTS: Final = {True: _Pair("V is not ABSENT", "V is ABSENT"), False: _Pair("V is ABSENT", "V is not ABSENT")}
_EMPTY: Final = {True: _Pair("not V", "V"), False: _Pair("V", "not V")}
_SIZED: Final = ("list", "string", "object")
_BOUNDS: Final = (
    {("minlength", kind): _Pair("len(V) >= N", "len(V) < N") for kind in _SIZED}
    | {("maxlength", kind): _Pair("len(V) <= N", "len(V) > N") for kind in _SIZED}
    | {
        ("min", "whole"): _Pair("V >= N", "V < N"),
        ("max", "whole"): _Pair("V <= N", "V > N"),
    }
)
_JUDGED: Final = _Pair("JUDGE(V, N) is not False", "JUDGE(V, N) is not True")
_SHORT = 4
#: What is known of a value of which only this is certain: it is not absent.
_PRESENT: Final = "present"


class Logic:
    """Emits conditions for one catalog and placement."""

    def __init__(self, values: Values):
        self._values = values
        self._count = 0
        self._memberships: dict[ast.expr, _Membership] = {}

    def can_hold(self, condition: Condition, frames: Sequence[Frame]) -> ast.expr:
        """The question whether `condition` is true or unknown."""
        return self._ask(condition, True, frames)

    def can_fail(self, condition: Condition, frames: Sequence[Frame]) -> ast.expr:
        """The question whether `condition` is false or unknown."""
        return self._ask(condition, False, frames)

    def _ask(self, condition: Condition, hold: bool, frames: Sequence[Frame]) -> ast.expr:
        match condition:
            case Not():
                return self._ask(condition.part, not hold, frames)
            case AllOf() | AnyOf():
                parts = [self._ask(part, hold, frames) for part in condition.parts]
                return self._join(parts, every=isinstance(condition, AllOf) is hold)
            case _:
                return self._test(condition, hold, frames)

    def _test(self, test: Test, hold: bool, frames: Sequence[Frame]) -> ast.expr:
        folded = self._folded(test)
        if folded is not None:
            return constant(folded.can_hold if hold else folded.can_fail)
        value = self._values.read(test.reference, frames)
        local = value.id if isinstance(value, ast.Name) else self._fresh()
        known = test.reference.term.type
        if known is None and test.reference.looped and test.reference.text == test.reference.root:
            known = _PRESENT  # an element of a list is there, whatever it is
        asked = self._checks(test.checks, local, known, hold, frames)
        if isinstance(value, ast.Name):
            return asked
        self._memberships.pop(asked, None)  # once bound, the local is nobody else's to read
        return bound(asked, local, value)

    def _folded(self, test: Test) -> Any:
        """Both answers where they are the same for every subject; None where they are not."""
        if test.reference.term.origin != "constant":
            return None
        value = self._values.constant_of(test.reference)
        answers = []
        for check in test.checks:
            operand = check.operand
            if isinstance(operand, Fact):
                if operand.reference.term.origin != "constant":
                    return None
                operand = self._values.constant_of(operand.reference)
            judge = BUILT_IN[check.operator].judge if check.added is None else None
            if judge is None:
                return None
            answers.append(judge(value, operand))
        return _Answers(False not in answers, not all(answers))

    def _checks(
        self, checks: Sequence[Check], local: str, known: str | None, hold: bool, frames: Sequence[Frame]
    ) -> ast.expr:
        """All the operators on the value in `local`, whose type is certain if `known` says so."""
        asked = []
        # What `type` leaves over is of that type, which makes the other questions plain ones.
        for check in sorted(checks, key=lambda check: check.operator != "type"):
            asked.append(self._check(check, local, known, hold, frames))
            if check.operator == "type":
                known = "string" if check.operand == "host" else check.operand
        return self._join(asked, every=hold)

    def _check(self, check: Check, local: str, known: str | None, hold: bool, frames: Sequence[Frame]) -> ast.expr:
        operand: Any = check.operand
        if isinstance(operand, Fact) and operand.reference.term.origin == "constant":
            operand = self._values.constant_of(operand.reference)
        if isinstance(operand, Fact) and operand.reference.term.fact == "host.taken" and check.operator in _TAKEN:
            return expression(_pick(_TAKEN[check.operator], hold), V=local)
        if isinstance(operand, Each):
            return self._each(operand, local, known, hold, frames)
        if check.added is not None:
            keep = self._values.keep
            judge = keep(lambda value, operand, added=check.added: _added(value, operand, added))
            return expression(_pick(_JUDGED, hold), V=local, N=keep(operand), JUDGE=judge)
        texts = _texts(check.operator, operand)
        if texts is not None:
            return self._member(_Membership(local, (check.operator != "not_in") is hold, texts))
        if check.operator == "exists" and known is not None:
            return constant(operand is hold)
        pair = None if isinstance(operand, Fact) else _plain(check.operator, operand, known)
        if pair is not None:
            return expression(_pick(pair, hold), V=local, N=self._literal(check.operator, operand))
        judge = self._values.keep(BUILT_IN[check.operator].judge)
        fact = self._values.read(operand.reference, frames) if isinstance(operand, Fact) else self._values.keep(operand)
        return expression(_pick(_JUDGED, hold), V=local, N=fact, JUDGE=judge)

    def _literal(self, operator: str, operand: Any) -> ast.expr:
        return self._values.keep(operand.matches) if operator == "matches" else constant(operand)

    def _member(self, membership: _Membership) -> ast.expr:
        """The test whether a value is, or is not, one of some texts; what is no text is none of them."""
        local, among, texts = membership
        if len(texts) == 1:
            made = expression("V == N" if among else "V != N", V=local, N=constant(next(iter(texts))))
        elif len(texts) <= _SHORT:
            made = expression("V in N" if among else "V not in N", V=local, N=constant(tuple(sorted(texts))))
        else:
            template = "type(V) is str and V in N" if among else "type(V) is not str or V not in N"
            made = expression(template, V=local, N=self._values.keep(texts))
        self._memberships[made] = membership
        return made

    def _join(self, parts: Sequence[ast.expr], *, every: bool) -> ast.expr:
        """The parts joined by ``and`` or ``or``; tests of one value against texts become one test."""
        merged: dict[str, _Membership] = {}
        kept: list[ast.expr | str] = []
        for part in parts:
            membership = self._memberships.get(part)
            if membership is None:
                kept.append(part)
                continue
            local = membership.local
            if local not in merged:
                kept.append(local)
                merged[local] = membership
            else:
                merged[local] = _both(merged[local], membership) if every else _either(merged[local], membership)
        return joined([self._settled(merged[part]) if isinstance(part, str) else part for part in kept], every=every)

    def _settled(self, membership: _Membership) -> ast.expr:
        return self._member(membership) if membership.texts else constant(not membership.among)

    def _each(self, each: Each, local: str, known: str | None, hold: bool, frames: Sequence[Frame]) -> ast.expr:
        types = _plain_types(each.checks)
        if types is not None:
            template = "TYPES.issuperset(map(type, V))" if hold else "not TYPES.issuperset(map(type, V))"
            asked = expression(template, TYPES=self._values.keep(types), V=local)
            return self._each_of(asked, local, known, hold)
        element = self._fresh()
        inner = self._checks(each.checks, element, None, hold, frames)
        template = "all(TEST for E in V)" if hold else "any(TEST for E in V)"
        return self._each_of(expression(template, TEST=inner, E=element, V=local), local, known, hold)

    def _each_of(self, asked: ast.expr, local: str, known: str | None, hold: bool) -> ast.expr:
        """A question about the elements of a value, asked only if it is a list."""
        if known == "list":
            return asked
        template = "V is not ABSENT and (type(V) is not list or ASKED)" if hold else "type(V) is not list or ASKED"
        return expression(template, V=local, ASKED=asked)

    def _fresh(self) -> str:
        self._count += 1
        return in_passing(f"x{self._count}")


class _Answers(NamedTuple):
    can_hold: bool
    can_fail: bool


_TAKEN: Final = {
    "in": _Pair(
        "type(V) is str and (V in RESERVED or V in taken)",
        "type(V) is not str or V not in RESERVED and V not in taken",
    ),
    "not_in": _Pair(
        "type(V) is not str or V not in RESERVED and V not in taken",
        "type(V) is str and (V in RESERVED or V in taken)",
    ),
}
#: The types that ``type`` tests by the Python type alone.
_EXACT: Final = {
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "list": (list,),
    "object": (dict,),
    "number": (int, float),
}


class _Membership(NamedTuple):
    """The question whether the value in `local` is one of `texts`, or none of them unless `among`."""

    local: str
    among: bool
    texts: frozenset[str]


def _texts(operator: str, operand: Any) -> frozenset[str] | None:
    """The texts that an operator compares a value with, if that is all it does."""
    if operator == "equals" and type(operand) is str:
        return frozenset([operand])
    if (
        operator in ("in", "not_in")
        and operand
        and type(operand) is list
        and all(type(item) is str for item in operand)
    ):
        return frozenset(operand)
    return None


def _both(one: _Membership, other: _Membership) -> _Membership:
    """What holds when both hold; empty `texts` mean never, or always if not `among`."""
    if one.among and other.among:
        return one._replace(texts=one.texts & other.texts)
    if one.among or other.among:
        inside, outside = (one, other) if one.among else (other, one)
        return inside._replace(texts=inside.texts - outside.texts)
    return one._replace(texts=one.texts | other.texts)


def _either(one: _Membership, other: _Membership) -> _Membership:
    """What holds when one of them holds: neither of their opposites does."""
    return _opposite(_both(_opposite(one), _opposite(other)))


def _opposite(one: _Membership) -> _Membership:
    return one._replace(among=not one.among)


def _plain_types(checks: Sequence[Check]) -> frozenset[type] | None:
    """The Python types that ``each`` asks for, if that is all it asks."""
    if len(checks) == 1 and checks[0].operator == "type" and checks[0].operand in _EXACT:
        return frozenset(_EXACT[checks[0].operand])
    return None


def _plain(operator: str, operand: Any, known: str | None) -> _Pair | None:
    """Code for the common cases; None where the operator's own function has to judge."""
    if operator == "type":
        return _TYPE_TESTS[operand]
    if operator == "exists":
        return _EXISTS[operand]
    if operator == "empty" and known in _SIZED:
        return _EMPTY[operand]
    if operator == "matches":
        if known == "string":
            return _Pair("N(V)", "not N(V)")
        return _Pair("(N(V) if type(V) is str else V is not ABSENT)", "type(V) is not str or not N(V)")
    if operator == "equals":
        return _equal_to(operand)
    if operator in ("contains", "lacks") and known == "list" and type(operand) is str:
        pair = _Pair("N in V", "N not in V")
        return pair if operator == "contains" else _Pair(*reversed(pair))
    if type(operand) in (int, float):
        return _BOUNDS.get((operator, known or ""))
    return None


def _equal_to(operand: Any) -> _Pair | None:
    if operand is None or type(operand) is bool:
        return _Pair("V is N", "V is not N")
    if type(operand) in (int, float):
        return _Pair("V == N and type(V) is not bool", "V != N or type(V) is bool")
    return None


def _added(value: Any, operand: Any, added: Any) -> bool | None:
    """What an operator of a plugin says."""
    if value is ABSENT:
        return bool(added.absent)
    found: bool | None = added.holds(value, operand)
    return found


def _pick(pair: _Pair, hold: bool) -> str:
    return pair.can_hold if hold else pair.can_fail
