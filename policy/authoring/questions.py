"""What a rule was asked of a descriptor, condition by condition, with the places of everything.

The answers are those of `Gate.explain`, so of the compiled questions that decide. Here they are only
laid over the conditions of the rule file, and joined as the combinators join them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capgate.policy.authoring.given import Given
from capgate.policy.authoring.truth import Truth, every, opposite, some, truth_of
from capgate.policy.catalog import RESERVED_TOOL_NAMES, Catalog
from capgate.policy.compiler import Answer, Asked
from capgate.policy.conditions import AllOf, AnyOf, Check, Condition, Fact, Not, Test
from capgate.policy.errors import Span
from capgate.policy.operators import ABSENT
from capgate.policy.paths import ROOT, Path, parse_path
from capgate.policy.rulefile import Loop, Rule, Trigger
from capgate.policy.vocabulary import Reference, constant_value

__all__ = ["Leaf", "Node", "Question", "Scope", "question", "stands_in_subject"]

#: The first words of paths whose values are not in the descriptor.
_ELSEWHERE = frozenset({"placement", "host", "catalog", "plugin"})
#: Tells where a path of the descriptor stands.
Locate = Callable[[Path], Span]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One operator on one path, and what it said.

    Attributes:
        truth: what it said.
        span: where the operator stands in the rule file.
        path: the path, as the rule writes it.
        operator: the operator.
        operand: as the rule writes it.
        fact: of an operand that is a fact, its value; `ABSENT` where there is none or it is not known here.
        value: what was found under the path; `ABSENT` where nothing was.
        at: JSON path of the value in the descriptor, or of its nearest parent; None where it comes from elsewhere.
        place: the same in the file.
    """

    truth: Truth
    span: Span
    path: str
    operator: str
    operand: Any
    fact: Any
    value: Any
    at: str | None
    place: Span | None


@dataclass(frozen=True, slots=True)
class Node:
    """A combinator, or several operators under one path (``all``), with what it makes of its parts.

    Attributes:
        truth: what it comes to.
        span: where it stands in the rule file.
        word: ``all``, ``any``, ``none`` or ``not``.
        parts: what it joins.
    """

    truth: Truth
    span: Span
    word: str
    parts: tuple[Node | Leaf, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One trigger, asked of one element.

    Attributes:
        trigger: number of the trigger in its rule, from 1.
        stage: the stage in which it is asked.
        span: where the trigger stands in the rule file.
        truth: the answer; a trigger refuses unless it is false.
        element: JSON path of the element, where the stage or the trigger walks over a list.
        place: the same in the file.
        tree: the condition; None where the list to walk over was none, so that nothing could be asked.
    """

    trigger: int
    stage: str
    span: Span
    truth: Truth
    element: str | None
    place: Span | None
    tree: Node | Leaf | None


@dataclass(frozen=True, slots=True)
class Scope:
    """What is needed to lay answers over conditions.

    Attributes:
        catalog: what exists.
        given: what was judged against.
        locate: tells where a path of the descriptor stands.
        loops: the loop of every stage that has one.
    """

    catalog: Catalog
    given: Given
    locate: Locate
    loops: Mapping[str, Loop | None]


def question(asked: Asked, rule: Rule, scope: Scope) -> Question:
    """Lays one answer of `Gate.explain` over the rule that gave it."""
    trigger = rule.triggers[asked.trigger]
    loops = [loop for loop in (scope.loops[trigger.stage], trigger.loop) if loop]
    there = {loop.variable: loop.over for loop in loops}
    answers = iter(asked.answers)
    tree = _Layer(rule, trigger, scope, there).node(trigger.when, answers) if asked.answers else None
    truth = truth_of(asked.can_hold, asked.can_fail)
    assert tree is None or tree.truth is truth, "the parts of a condition disagree with the whole"
    return Question(
        asked.trigger + 1,
        trigger.stage,
        rule.document.span(trigger.source),
        truth,
        asked.element,
        None if asked.element is None else scope.locate(parse_path(asked.element) or ROOT),
        tree,
    )


def stands_in_subject(reference: Reference, loops: Mapping[str, Reference]) -> bool:
    """Whether what a path names stands in the descriptor, or was worked out from what stands there."""
    while reference.looped:
        reference = loops[reference.root]
    return reference.root not in _ELSEWHERE


@dataclass(frozen=True, slots=True)
class _Layer:
    rule: Rule
    trigger: Trigger
    scope: Scope
    loops: Mapping[str, Reference]

    def node(self, condition: Condition, answers: Iterator[Answer]) -> Node | Leaf:
        document = self.rule.document
        if isinstance(condition, Test):
            leaves = tuple(self.leaf(condition.reference, check, next(answers)) for check in condition.checks)
            if len(leaves) == 1:
                return leaves[0]
            return Node(every(leaf.truth for leaf in leaves), document.span(condition.at), "all", leaves)
        if isinstance(condition, Not):
            inner = condition.part
            none = isinstance(inner, AnyOf) and inner.at == condition.at
            part = self.node(inner, answers)
            parts = part.parts if none and isinstance(part, Node) else (part,)
            return Node(opposite(part.truth), document.span(condition.at), "none" if none else "not", parts)
        parts = tuple(self.node(part, answers) for part in condition.parts)
        join, word = (every, "all") if isinstance(condition, AllOf) else (some, "any")
        return Node(join(part.truth for part in parts), document.span(condition.at), word, parts)

    def leaf(self, reference: Reference, check: Check, answer: Answer) -> Leaf:
        document = self.rule.document
        operand: Any = document.data
        for step in check.at:
            operand = operand[step]
        inside = stands_in_subject(reference, self.loops)
        return Leaf(
            truth_of(answer.can_hold, answer.can_fail),
            document.span(check.at, key=True),
            reference.text,
            check.operator,
            operand,
            self.fact(check.operand) if isinstance(check.operand, Fact) else ABSENT,
            answer.value,
            answer.path if inside else None,
            self.scope.locate(parse_path(answer.path) or ROOT) if inside else None,
        )

    def fact(self, operand: Fact) -> Any:
        """The value of an operand that does not come from the descriptor."""
        scope, term = self.scope, operand.reference.term
        if term.fact == "host.taken":
            return sorted(RESERVED_TOOL_NAMES.union(scope.given.taken))
        if term.origin != "constant":
            return ABSENT
        try:
            return constant_value(term.fact, scope.catalog, scope.catalog.placements[scope.given.placement])
        except KeyError:
            return ABSENT
