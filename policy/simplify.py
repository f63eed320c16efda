"""Leaves out of compiled code what is known by the time it is reached.

Each condition is compiled for itself, so the code asks the same again and again: whether a value is a text, after
a trigger that refuses whatever is none. Here it is read once from its top, with the types that each local can still
have and the answers that comparisons gave. A test with a known answer goes, and with it what can never be reached;
tests that return the same become one. What is not understood stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Final, NamedTuple

from capgate.policy.codegen import constant, is_bound_in_passing, joined
from capgate.policy.kinds import ANY, Kinds

__all__ = ["simplified"]

_TYPES: Final = ("str", "bool", "int", "float", "list", "dict")
_VALUES: Final = ("ABSENT", "None")
_KNOWN_NAMES: Final[Mapping[str, Kinds]] = {
    "ABSENT": frozenset(["ABSENT"]),
    "EMPTY_LIST": frozenset(["list"]),
    "EMPTY_OBJECT": frozenset(["dict"]),
}
_OPPOSITES: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {ast.IsNot: ast.Is, ast.NotEq: ast.Eq, ast.NotIn: ast.In}
#: So much is remembered at the most: it is copied at every turn.
_MOST: Final = 50


def simplified(body: Sequence[ast.stmt], kinds: Mapping[str, Kinds]) -> list[ast.stmt]:
    """The statements of a function that do the same as `body`, which may be changed.

    `kinds` says what a local can hold whenever it is assigned, so far as that is known.
    """
    return _Reader(kinds).block(body, _Known({}, {}))[0]


class _Known:
    """What is known at one point.

    Attributes:
        kinds: what a local can hold.
        said: what comparisons gave; each is named by its operator and its operands.
    """

    __slots__ = ("kinds", "said")

    def __init__(self, kinds: dict[str, Kinds], said: dict[tuple[str, ...], bool]):
        self.kinds = kinds
        self.said = said

    def having(self, test: ast.expr, answer: bool) -> _Known:
        """What is known where a test was answered so."""
        made = _Known(dict(self.kinds), dict(self.said))
        made.learn(test, answer)
        return made

    def learn(self, test: ast.expr, answer: bool) -> None:
        """Notes what follows from an answer to a test."""
        if isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) is answer:
                for part in test.values:
                    self.learn(part, answer)
        elif isinstance(test, ast.UnaryOp):
            self.learn(test.operand, not answer)
        elif (question := _question(test)) and len(self.kinds) + len(self.said) < _MOST:
            positive = answer is question.positive
            if question.key:
                self.said[question.key] = positive
            else:
                only = frozenset([question.kind])
                kinds = self.kinds.get(question.local, ANY)
                self.kinds[question.local] = kinds & only if positive else kinds - only

    def answer(self, test: ast.expr) -> bool | None:
        """The answer to a test, where it is known."""
        question = _question(test)
        if question is None:
            return None
        if question.key:
            said = self.said.get(question.key)
            return None if said is None else said is question.positive
        kinds = self.kinds.get(question.local, ANY)
        if question.kind not in kinds:
            return not question.positive
        return question.positive if len(kinds) == 1 else None

    def forget(self, names: Iterable[str]) -> None:
        """Forgets all that was known of some locals."""
        for local in names:
            self.kinds.pop(local, None)
            for key in [key for key in self.said if local in key]:
                del self.said[key]

    def or_else(self, other: _Known) -> _Known:
        """What is known where either may be the case."""
        kinds = {local: found | other.kinds[local] for local, found in self.kinds.items() if local in other.kinds}
        said = {key: answer for key, answer in self.said.items() if other.said.get(key) is answer}
        return _Known(kinds, said)


class _Reader:
    def __init__(self, kinds: Mapping[str, Kinds]):
        self._kinds = kinds

    def block(self, body: Sequence[ast.stmt], known: _Known) -> tuple[list[ast.stmt], _Known | None]:
        """The statements, and what is known behind them; None where nothing is behind them."""
        made: list[ast.stmt] = []
        after: _Known | None = known
        for statement in _merged(body):
            if after is None:
                break
            if isinstance(statement, ast.If):
                found, after = self.branch(statement, after)
                made += found
                continue
            made.append(statement)
            if isinstance(statement, ast.For):
                self.loop(statement, after)
            elif isinstance(statement, ast.Assign):
                self.assign(statement, after)
            elif isinstance(statement, (ast.Return, ast.Break)):
                after = None
        return made, after

    def branch(self, statement: ast.If, known: _Known) -> tuple[list[ast.stmt], _Known | None]:
        test = self.test(statement.test, known)
        if isinstance(test, ast.Constant):
            return self.block(statement.body if test.value else statement.orelse, known)
        body, after_body = self.block(statement.body, known.having(test, True))
        orelse, after_orelse = self.block(statement.orelse, known.having(test, False))
        made: list[ast.stmt] = [ast.If(test, body or [ast.Pass()], orelse)]
        if after_body is None or after_orelse is None:
            return made, after_body or after_orelse
        return made, after_body.or_else(after_orelse)

    def loop(self, statement: ast.For, known: _Known) -> None:
        """Reads a loop; what it assigns is unknown at the start of each turn, and behind it."""
        names = set(_assigned([statement]))
        known.forget(names)
        inside = known.having(constant(True), True)
        inside.kinds.update((local, self._kinds[local]) for local in _targets(statement.target) if local in self._kinds)
        statement.body = self.block(statement.body, inside)[0] or [ast.Pass()]

    def assign(self, statement: ast.Assign, known: _Known) -> None:
        statement.value = self.value(statement.value, known)
        (local,) = _targets(statement.targets[0])
        kinds = self.kinds_of(statement.value, known) or self._kinds.get(local)
        known.forget([local])
        if kinds is not None:
            known.kinds[local] = kinds

    def kinds_of(self, value: ast.expr, known: _Known) -> Kinds | None:
        if isinstance(value, ast.IfExp):
            one = self.kinds_of(value.body, known.having(value.test, True))
            other = self.kinds_of(value.orelse, known.having(value.test, False))
            return one | other if one and other else None
        if isinstance(value, ast.Name):
            return _KNOWN_NAMES.get(value.id) or known.kinds.get(value.id)
        return None

    def value(self, value: ast.expr, known: _Known) -> ast.expr:
        """The same expression, or a shorter one."""
        if isinstance(value, (ast.BoolOp, ast.Compare, ast.UnaryOp)):
            return self.test(value, known)
        if isinstance(value, ast.IfExp):
            test = self.test(value.test, known)
            if isinstance(test, ast.Constant):
                return self.value(value.body if test.value else value.orelse, known)
            body = self.value(value.body, known.having(test, True))
            return ast.IfExp(test, body, self.value(value.orelse, known.having(test, False)))
        if isinstance(value, ast.NamedExpr):
            return ast.NamedExpr(value.target, self.value(value.value, known))
        if isinstance(value, ast.Call):
            arguments = [self.value(argument, known) for argument in value.args]
            return ast.Call(self.value(value.func, known), arguments, [])
        if isinstance(value, ast.Attribute):
            return ast.Attribute(self.value(value.value, known), value.attr, value.ctx)
        return value

    def test(self, test: ast.expr, known: _Known) -> ast.expr:
        """A test; a constant where its answer is known."""
        if isinstance(test, ast.BoolOp):
            return self.parts(test, known)
        if isinstance(test, ast.UnaryOp):
            inner = self.test(test.operand, known)
            return constant(not inner.value) if isinstance(inner, ast.Constant) else ast.UnaryOp(test.op, inner)
        if isinstance(test, ast.Compare):
            answer = known.answer(test)
            if answer is not None:
                return constant(answer)
            return ast.Compare(
                self.value(test.left, known), test.ops, [self.value(part, known) for part in test.comparators]
            )
        return self.value(test, known)

    def parts(self, test: ast.BoolOp, known: _Known) -> ast.expr:
        every = isinstance(test.op, ast.And)
        here = known.having(constant(True), True)
        parts: list[ast.expr] = []
        for part in test.values:
            made = self.test(part, here)
            parts += made.values if isinstance(made, ast.BoolOp) and type(made.op) is type(test.op) else [made]
            here.learn(made, every)
        return joined(parts if every else _without_implied(parts), every=every)


class _Question(NamedTuple):
    """A comparison of a local: whether it is of a kind, or what `key` names; `positive` unless it is negated."""

    local: str
    kind: str
    key: tuple[str, ...]
    positive: bool


def _question(test: ast.expr) -> _Question | None:
    """What a comparison asks, where that is something to remember."""
    if not isinstance(test, ast.Compare):
        return None
    left, right = test.left, test.comparators[0]
    operator = type(test.ops[0])
    positive = operator not in _OPPOSITES
    operator = _OPPOSITES.get(operator, operator)
    if operator is ast.Is:
        of = left.args[0] if isinstance(left, ast.Call) and _text(left.func) == "type" else left
        word = right.id if isinstance(right, ast.Name) else str(right.value) if isinstance(right, ast.Constant) else ""
        known = _remembered(of) and word in (_VALUES if of is left else _TYPES)
        return _Question(_text(of), word, (), positive) if known else None
    if not (_remembered(left) and _remembered(right)):
        return None
    return _Question("", "", (operator.__name__, _text(left), _text(right)), positive)


def _remembered(value: ast.expr) -> bool:
    """Whether a value stays as it is until it is assigned: a local, or a literal."""
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and not is_bound_in_passing(value.id))


def _text(value: ast.expr) -> str:
    return value.id if isinstance(value, ast.Name) else repr(value.value) if isinstance(value, ast.Constant) else ""


def _merged(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with tests in a row that return the same joined into one."""
    for rule, group in groupby(body, key=_returned):
        if rule is None:
            yield from group
            continue
        tests = [statement.test for statement in group if isinstance(statement, ast.If)]
        if all(map(_cannot_fail, tests)):
            # What asks the least goes first: it often answers what the others ask, too.
            tests.sort(key=lambda test: not isinstance(test, ast.Compare))
        yield ast.If(joined(tests, every=False), [ast.Return(constant(rule))], [])


def _returned(statement: ast.stmt) -> str | None:
    """The text that a test returns, where that is all it does."""
    if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[0], ast.Return):
        value = statement.body[0].value
        return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
    return None


def _without_implied(parts: Sequence[ast.expr]) -> list[ast.expr]:
    """Alternatives without those that a later one holds for anyway: what is absent is no text either."""
    return [part for number, part in enumerate(parts) if not _is_implied(part, parts[number + 1 :])]


def _is_implied(part: ast.expr, later: Sequence[ast.expr]) -> bool:
    question = _question(part)
    if question is None or not question.positive:
        return False
    for other in takewhile(_cannot_fail, later):
        found = _question(other)
        if found and not found.positive and found.local == question.local and found.kind != question.kind:
            return True
    return False


def _cannot_fail(test: ast.expr) -> bool:
    """Whether a test is certain not to ask a plugin, which could say that it does not know."""
    calls = [node.func for node in ast.walk(test) if isinstance(node, ast.Call)]
    return all(isinstance(called, ast.Name) and called.id in ("type", "len") for called in calls)


def _targets(target: ast.expr) -> list[str]:
    """The locals that an assignment gives a value."""
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _assigned(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The locals that statements assign."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            yield from _targets(statement.targets[0])
        elif isinstance(statement, ast.If):
            yield from _assigned([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.For):
            yield from _targets(statement.target)
            yield from _assigned(statement.body)
