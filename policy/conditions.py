"""The condition language: from the data of a rule file to a tree.

Everything that can be wrong with a condition is found here, with its place in the file. The tree
says nothing about how it is evaluated; `operators` and `compiler` do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

from capgate.policy.catalog import OperatorTerms
from capgate.policy.documents import Document
from capgate.policy.operators import BUILT_IN, TYPES, operand_problem
from capgate.policy.paths import Path
from capgate.policy.patterns import Pattern, PatternRefused, compile_pattern
from capgate.policy.rule_errors import Problems, RuleError, did_you_mean
from capgate.policy.text import escape
from capgate.policy.vocabulary import Reference, Term, UnknownPath, Vocabulary

__all__ = ["AllOf", "AnyOf", "Check", "Condition", "Each", "Fact", "Not", "Reader", "Test", "is_path"]

_INDEX = re.compile(r"\[|\.[0-9*]")
_SEGMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_COMBINATORS = ("all", "any", "none", "not")
#: What other languages call our combinators.
_ELSEWHERE = {"and": "all", "or": "any", "nor": "none"}
_T = TypeVar("_T")
#: How much of a pattern a message repeats, in code points.
_SHOWN = 60


class Fact(NamedTuple):
    """An operand that is read from the facts: ``{fact: path}``."""

    reference: Reference


class Each(NamedTuple):
    """The operand of ``each``: what every element has to meet."""

    checks: tuple[Check, ...]


def _own_kind(kind: type[_T]) -> type[_T]:
    """Makes named tuples equal to those of their own class alone; as they come, equal fields are enough."""

    def equal(self: tuple[Any, ...], other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def differ(self: tuple[Any, ...], other: object) -> bool:
        return not equal(self, other)

    for name, method in (("__eq__", equal), ("__ne__", differ), ("__hash__", tuple.__hash__)):
        setattr(kind, name, method)
    return kind


@_own_kind
class Check(NamedTuple):
    """One operator with its operand.

    Attributes:
        operator: its name.
        operand: a literal, a `Fact`, an `Each`, or for ``matches`` a `Pattern`.
        at: where it stands in the rule file.
        added: the terms of an operator that a plugin adds.
    """

    operator: str
    operand: Any
    at: Path
    added: OperatorTerms | None = None


@_own_kind
class Test(NamedTuple):
    """One path with the operators it has to meet, all of them."""

    reference: Reference
    checks: tuple[Check, ...]
    at: Path


@_own_kind
class AllOf(NamedTuple):
    """Holds when every part holds."""

    parts: tuple[Condition, ...]
    at: Path


@_own_kind
class AnyOf(NamedTuple):
    """Holds when some part holds."""

    parts: tuple[Condition, ...]
    at: Path


@_own_kind
class Not(NamedTuple):
    """Holds when its part does not."""

    part: Condition
    at: Path


Condition: TypeAlias = "AllOf | AnyOf | Not | Test"


def is_path(text: str) -> bool:
    """Whether `text` has the form of a path, known or not."""
    return all(_SEGMENT.fullmatch(word) for word in text.split("."))


def paths_of(condition: Condition) -> Iterator[Reference]:
    """Every path that a condition reads, in the order of the file."""
    match condition:
        case Not():
            yield from paths_of(condition.part)
        case AllOf() | AnyOf():
            for part in condition.parts:
                yield from paths_of(part)
        case _:
            yield condition.reference
            yield from _operand_paths(condition.checks)


def leaves_of(condition: Condition) -> Iterator[Test]:
    """Every operator of a condition as a test of its own, in the order of the file."""
    match condition:
        case Not():
            yield from leaves_of(condition.part)
        case AllOf() | AnyOf():
            for part in condition.parts:
                yield from leaves_of(part)
        case _:
            for check in condition.checks:
                yield Test(condition.reference, (check,), check.at)


def _operand_paths(checks: tuple[Check, ...]) -> Iterator[Reference]:
    for check in checks:
        if isinstance(check.operand, Fact):
            yield check.operand.reference
        elif isinstance(check.operand, Each):
            yield from _operand_paths(check.operand.checks)


class Reader:
    """Reads the conditions and paths of one rule file, gathering every problem.

    Args:
        document: the rule file.
        vocabulary: the paths that exist.
        operators: the operators that plugins add.
        problems: where mistakes go.
    """

    def __init__(
        self,
        document: Document,
        vocabulary: Vocabulary,
        operators: Mapping[str, OperatorTerms],
        problems: Problems,
    ):
        self._document = document
        self._vocabulary = vocabulary
        self._operators = operators
        self._problems = problems

    def condition(self, data: Any, at: Path, loops: Mapping[str, Term]) -> Condition | None:
        """Reads one condition; None, with the problem noted, where it cannot be understood."""
        if not isinstance(data, dict) or len(data) != 1:
            self._refuse(
                "condition-form",
                f"a condition is a map with one key, a path or one of {', '.join(_COMBINATORS)}; "
                + (f"this has {len(data)} keys" if isinstance(data, dict) else "this is no map"),
                at,
            )
            return None
        ((key, inner),) = data.items()
        there = (*at, key)
        if key == "not":
            part = self.condition(inner, there, loops)
            return Not(part, at) if part else None
        if key in _COMBINATORS:
            return self._combinator(key, inner, at, loops)
        if not isinstance(inner, dict) and "." not in key and key not in loops:
            hint = did_you_mean(_ELSEWHERE.get(str(key).lower()) or str(key), _COMBINATORS)
            message = f"{key!r} is none of {', '.join(_COMBINATORS)}, and a path is followed by a map of operators"
            self._refuse("condition-form", message, there, hint=hint, key=True)
            return None
        reference = self.path(key, there, loops, key=True)
        checks = self._checks(inner, there, loops)
        return Test(reference, checks, at) if reference and checks else None

    def path(self, text: str, at: Path, loops: Mapping[str, Term], *, key: bool = False) -> Reference | None:
        """Resolves a path; None, with the problem noted, where nothing knows it."""
        if not is_path(text):
            hint = "A path has no index: walk the list with for_each." if _INDEX.search(text) else None
            self._refuse("path-syntax", f"{text!r} is no path: names joined by dots", at, hint=hint, key=key)
            return None
        try:
            return self._vocabulary.resolve(text, loops)
        except UnknownPath as unknown:
            hint = did_you_mean(unknown.word, unknown.known)
            if not unknown.word:
                message = f"{text!r} has no value of its own"
            elif unknown.prefix:
                message = f"{text!r}: {unknown.prefix!r} has no {unknown.word!r}"
                if self._is_list(unknown.prefix, loops):
                    hint = f"{unknown.prefix!r} is a list: walk it with for_each, and name the variable here."
            else:
                message = f"{text!r}: nothing is called {unknown.word!r}"
            self._refuse("path-unknown", message, at, hint=hint, key=key)
            return None

    def _is_list(self, text: str, loops: Mapping[str, Term]) -> bool:
        try:
            term = self._vocabulary.resolve(text, loops).term
        except UnknownPath:
            return False  # a prefix without a value of its own
        return term.element is not None or term.type == "list"

    def _combinator(self, key: str, inner: Any, at: Path, loops: Mapping[str, Term]) -> Condition | None:
        there = (*at, key)
        if not isinstance(inner, list) or not inner:
            what = "an empty list decides nothing" if inner == [] else "this is no list"
            self._refuse("condition-list", f"{key!r} takes a list of conditions; {what}", there)
            return None
        read = [self.condition(part, (*there, number), loops) for number, part in enumerate(inner)]
        parts = tuple(part for part in read if part)
        if len(parts) < len(inner):
            return None
        if key == "all":
            return AllOf(parts, at)
        some = AnyOf(parts, at)
        return some if key == "any" else Not(some, at)

    def _checks(self, data: Any, at: Path, loops: Mapping[str, Term]) -> tuple[Check, ...]:
        """The operators under a path or under ``each``; empty where some cannot be understood."""
        if not isinstance(data, dict) or not data:
            what = "'each'" if at[-1] == "each" else "a path"
            self._refuse("operators-missing", f"{what} is followed by a map of operators, such as {{equals: 1}}", at)
            return ()
        checks = [self._check(name, operand, (*at, name), loops) for name, operand in data.items()]
        return tuple(check for check in checks if check) if all(checks) else ()

    def _check(self, name: str, operand: Any, at: Path, loops: Mapping[str, Term]) -> Check | None:
        added = self._operators.get(name)
        if added is not None:
            problem = added.accepts(operand)
            if problem:
                self._refuse("operand-unfit", f"{name!r}: {problem}", at)
                return None
            return Check(name, operand, at, added)
        if name not in BUILT_IN:
            known = (*BUILT_IN, *self._operators)
            hint = did_you_mean(name, known)
            self._refuse("operator-unknown", f"no operator is called {name!r}", at, hint=hint, key=True)
            return None
        if isinstance(operand, dict) and "fact" in operand:
            return self._fact(name, operand, at, loops)
        if name == "each":
            checks = self._checks(operand, at, loops)
            return Check(name, Each(checks), at) if checks else None
        problem = operand_problem(name, operand)
        if problem:
            hint = None
            if name == "type":
                hint = 'Write "null" in quotes.' if operand is None else did_you_mean(str(operand), TYPES)
            self._refuse("operand-unfit", f"{name!r}: {problem}", at, hint=hint)
            return None
        if name == "matches":
            return self._pattern(operand, at)
        return Check(name, operand, at)

    def _fact(self, name: str, operand: dict[str, Any], at: Path, loops: Mapping[str, Term]) -> Check | None:
        operator = BUILT_IN[name]
        if not operator.takes_facts:
            hint = f"Give it {operator.takes}."
            self._refuse("operand-fact", f"{name!r} takes no fact as its operand", at, hint=hint)
            return None
        if len(operand) != 1 or not isinstance(operand["fact"], str):
            self._refuse("operand-fact", f"{name!r}: a fact operand is {{fact: some.path}} and nothing else", at)
            return None
        reference = self.path(operand["fact"], (*at, "fact"), loops)
        return Check(name, Fact(reference), at) if reference else None

    def _pattern(self, text: str, at: Path) -> Check | None:
        try:
            pattern: Pattern = compile_pattern(text)
        except PatternRefused as refused:
            shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
            self._refuse("pattern-unfit", f"the pattern '{escape(shown)}' {refused}", at)
            return None
        return Check("matches", pattern, at)

    def _refuse(self, id: str, message: str, at: Path, *, hint: str | None = None, key: bool = False) -> None:
        self._problems.add(RuleError(id, message, hint=hint, span=self._document.span(at, key=key)))
