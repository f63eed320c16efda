"""Explanations as lines for people, and as JSON data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capgate.host.cli.page import Page
from capgate.policy.authoring.explanation import Explanation
from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.questions import Leaf, Node, Question
from capgate.policy.authoring.truth import Truth
from capgate.policy.errors import Span
from capgate.policy.operators import ABSENT
from capgate.policy.text import show

__all__ = ["condition_text", "explanation_json", "explanation_lines", "span_json"]

#: The widest of the truth words, and a space.
_COLUMN = 8
#: How much of a value is shown, and of what it is compared with, in code points.
_WIDEST = 80
_WIDER = 200


def explanation_lines(explanation: Explanation, page: Page, indent: int = 0) -> Iterator[str]:
    """What a rule was asked, condition by condition, and what that comes to."""
    for question in explanation.questions:
        yield from _question(question, explanation.rule.severity, page, indent)
    for unasked in explanation.unasked:
        yield from page.lines(
            f"{unasked.span}: trigger {unasked.trigger} in stage {unasked.stage}: not asked: {unasked.why}", indent, 4
        )
    yield from page.lines(f"so {explanation.meaning}", indent, 4)


def _question(question: Question, severity: str, page: Page, indent: int) -> Iterator[str]:
    of = f", of {question.element} at {question.place}" if question.element else ""
    yield from page.lines(
        f"{question.span}: trigger {question.trigger} in stage {question.stage}{of}: {_answer(question, severity)}",
        indent,
        4,
    )
    if question.tree is not None:
        yield from _tree(question.tree, page, indent + 2, 0)


def _answer(question: Question, severity: str) -> str:
    does = "so it warns" if severity == "warn" else "so it refuses"
    if question.tree is None:
        return f"unknown, {does}: what it is to walk over is no list"
    return "false" if question.truth is Truth.FALSE else f"{question.truth}, {does}"


def _tree(part: Node | Leaf, page: Page, indent: int, depth: int) -> Iterator[str]:
    truth = page.word(part.truth, f"{part.truth:<{_COLUMN}}")
    head = " " * indent + truth + "  " * depth
    if isinstance(part, Node):
        yield f"{head}{part.word}  (line {part.span.line})"
        for inner in part.parts:
            yield from _tree(inner, page, indent, depth + 1)
        return
    yield f"{head}{condition_text(part.path, part.operator, part.operand)}  (line {part.span.line})"
    below = indent + _COLUMN + 2 * depth + 4
    place = f", at {part.place} ({part.at})" if part.at else ""
    yield from page.lines(f"found {_shown(part.value)}{place}", below, 4)
    if part.fact is not ABSENT:
        yield from page.lines(f"{part.operand['fact']} is {_shown(part.fact, _WIDER)}", below, 4)


def condition_text(path: str, operator: str, operand: Any) -> str:
    """One operator on a path, as a rule file writes it; for people."""
    return f"{path}: {{{operator}: {flow(operand)}}}"


def _shown(value: Any, widest: int = _WIDEST) -> str:
    """A value for people; text in quotes, so that it cannot be taken for what it is not."""
    shown = show(value)
    if len(shown) > widest:
        shown = shown[: widest - 1] + "…"
    if type(value) is str:
        return f"'{shown}'"
    return f"[{shown}]" if type(value) is list else shown


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """An explanation as JSON data."""
    return {
        "rule": explanation.rule.id,
        "severity": explanation.rule.severity,
        "refuses": bool(explanation.refusals),
        "meaning": explanation.meaning,
        "verdict": {"decision": explanation.verdict.decision, "rule": explanation.verdict.rule},
        "questions": [
            {
                "trigger": question.trigger,
                "stage": question.stage,
                "at": span_json(question.span),
                "truth": question.truth,
                "element": question.element,
                "place": span_json(question.place),
                "condition": None if question.tree is None else _tree_json(question.tree),
            }
            for question in explanation.questions
        ],
        "unasked": [
            {
                "trigger": unasked.trigger,
                "stage": unasked.stage,
                "at": span_json(unasked.span),
                "cause": unasked.cause,
                "why": unasked.why,
            }
            for unasked in explanation.unasked
        ],
        "refusals": [refusal._asdict() for refusal in explanation.refusals],
    }


def _tree_json(part: Node | Leaf) -> dict[str, Any]:
    made: dict[str, Any] = {"truth": part.truth, "at": span_json(part.span)}
    if isinstance(part, Node):
        return {**made, "word": part.word, "parts": [_tree_json(inner) for inner in part.parts]}
    made |= {"path": part.path, "operator": part.operator, "operand": part.operand}
    made |= {"exists": part.value is not ABSENT, "shown": show(part.value), "value": _plain(part.value)}
    if part.fact is not ABSENT:
        made["fact"] = part.fact
    return {**made, "found_at": part.at, "place": span_json(part.place)}


def _plain(value: Any) -> Any:
    return None if value is ABSENT else value


def span_json(span: Span | None) -> dict[str, Any] | None:
    """A place as JSON data."""
    return None if span is None else {"file": span.file, "line": span.line, "column": span.column}
