"""A rule set compiled for one placement: `decide`, `admit` and `explain`.

All three come from the same tree by the same walk and ask the same compiled questions; they differ
only in what they do with the answers. `decide` returns the first refusing rule's id, `admit` reports
every refusal in reading order, `explain` reports every answer, refusing or not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from capgate.policy import schema
from capgate.policy.catalog import Catalog, PlacementTerms
from capgate.policy.codegen import constant, expression, in_passing, load, name, statements, text_of
from capgate.policy.conditions import leaves_of
from capgate.policy.hosts import is_host
from capgate.policy.index import pick
from capgate.policy.operators import ABSENT
from capgate.policy.paths import format_path
from capgate.policy.places import below, element_place, nearest_place, place
from capgate.policy.rulefile import Rule, Trigger
from capgate.policy.ruleset import RuleSet, Stage
from capgate.policy.shapes import Shape
from capgate.policy.templates import Template
from capgate.policy.text import show
from capgate.policy.values import RUNTIME, Frame, Values
from capgate.policy.vocabulary import Reference
from capgate.policy.walk import SHAPE, Row, Walk, asks_plugin

__all__ = ["MOST_REFUSALS", "Answer", "Asked", "Program", "Refusal", "descriptor_shape", "warns_by_plugin"]

#: So many refusals are reported at the most, so that a document of 1 MiB cannot ask for a gigabyte of reasons.
MOST_REFUSALS = 10_000


class Refusal(NamedTuple):
    """One refusal, or one warning.

    Attributes:
        rule: id of the rule.
        reason: why, with the values found.
        remedy: what to do about it; may be empty.
        severity: ``refuse``, or ``warn`` for what decides nothing.
        path: JSON path of the place it points at, such as ``$.tools[0].name``.
        element: JSON path of the element it was judged on, where its stage walks over a list.
    """

    rule: str
    reason: str
    remedy: str
    severity: str
    path: str
    element: str | None


class Answer(NamedTuple):
    """What one operator said of one value.

    Attributes:
        can_hold, can_fail: both are True where it is unknown.
        value: what was found, `ABSENT` where nothing was.
        path: JSON path of the value, or of its nearest parent, in the subject.
    """

    can_hold: bool
    can_fail: bool
    value: Any
    path: str


class Asked(NamedTuple):
    """One trigger, asked of one element.

    Attributes:
        rule: id of the rule.
        trigger: number of the trigger in the rule, from 0.
        element: JSON path of the element, where the stage or the trigger walks over a list.
        can_hold, can_fail: the condition's answer; a trigger refuses where it can hold.
        answers: one for each operator of the condition in the order of the file; empty where the list to walk
            over was no list, so that nothing could be asked.
    """

    rule: str
    trigger: int
    element: str | None
    can_hold: bool
    can_fail: bool
    answers: tuple[Answer, ...]


class Program:
    """A rule set for one placement; each function is compiled when it is first asked for.

    Two threads may then both compile it, and either result will do.
    """

    def __init__(self, rules: RuleSet, catalog: Catalog, placement: PlacementTerms, shape: Shape):
        self._rules = rules
        self._catalog = catalog
        self._placement = placement
        self._shape = shape

    @cached_property
    def decide(self) -> Callable[[Any, Any, Any], str | None]:
        """(descriptor, taken, facts) to the id of the first refusing rule, or None."""
        return self._compiled(_Decide)

    @cached_property
    def admit(self) -> Callable[[Any, Any, Any, list[Refusal]], bool | None]:
        """(descriptor, taken, facts, out): appends every refusal to `out`.

        So those that were found before a plugin's fact failed are not lost.
        """
        return self._compiled(_Admit)

    @cached_property
    def admit_late(self) -> Callable[[Any, Any, Any, list[Refusal]], bool | None]:
        """As `admit`, which is compiled when something is refused: until then `decide` says the same.

        Of one descriptor that is sound, as at most starts, that takes a third of the time.
        """
        terms = self._catalog
        warns = any(rule.severity == "warn" for rule in self._rules.rules.values())
        # Plugins are asked once, and by the one that reports what was found before they failed.
        return self.admit if warns or terms.facts or terms.operators else self._admit_by_deciding

    def _admit_by_deciding(self, descriptor: Any, taken: Any, facts: Any, out: list[Refusal]) -> bool | None:
        if self.decide(descriptor, taken, facts) is None:
            return None
        self.__dict__["admit_late"] = self.admit
        return self.admit(descriptor, taken, facts, out)

    @cached_property
    def explain(self) -> Callable[[Any, Any, Any, list[Asked]], None]:
        """(descriptor, taken, facts, out): appends what every trigger answers to `out`."""
        return self._compiled(_Explain)

    def _compiled(self, mode: type[Walk]) -> Callable[..., Any]:
        space = _space(self._shape)
        walk = mode(self._rules, Values(self._catalog, self._placement, space))
        made: Callable[..., Any] = load([walk.function()], space, f"{mode.name} on {self._placement.name}")[mode.name]
        return made


def warns_by_plugin(rules: RuleSet) -> bool:
    """Whether a warning asks plugins, which may fail: then a decision has to ask warnings, too."""
    return any(
        asks_plugin(trigger, stage)
        for stage in rules.stages
        for rule, trigger in stage.triggers
        if rule.severity == "warn"
    )


@cache
def descriptor_shape() -> Shape:
    """The shape check of descriptors, compiled once in a process."""
    return Shape(schema.DESCRIPTOR, "descriptor schema")


def _space(shape: Shape) -> dict[str, Any]:
    return {
        **RUNTIME,
        "ANSWER": Answer,
        "ASKED": Asked,
        "ENOUGH": _is_refused,
        "FAULTS": lambda descriptor: _faults(shape, descriptor),
        "IS_HOST": is_host,
        "BELOW": below,
        "PICK": pick,
        "PLACE": place,
        "MADE": tuple.__new__,
        "REFUSAL": Refusal,
        "SHOW": show,
        "WELL_FORMED": shape.holds,
    }


def _is_refused(refusals: list[Refusal]) -> bool:
    """Whether the decision is made; warnings alone make none, however many."""
    return any(refusal.severity == "refuse" for refusal in refusals)


def _faults(shape: Shape, descriptor: Any) -> list[dict[str, str]]:
    return [
        {"path": format_path(fault.path), "expected": fault.expected, "found": fault.found}
        for fault in shape.faults(descriptor)
    ]


def _refusing_ids(stage: Stage) -> set[str]:
    return {rule.id for rule, _ in stage.triggers if rule.severity == "refuse"}


class _Decide(Walk):
    name = "decide"
    parameters = ("descriptor", "taken", "facts")
    texts = False
    places = False

    def takes(self, rule: Rule) -> bool:
        return rule.severity == "refuse"

    def refuse(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame], *, where: ast.expr) -> list[ast.stmt]:
        return statements("return RULE", RULE=constant(rule.id))

    def shortcut(self, stage: Stage, rows: Sequence[Row]) -> list[ast.stmt]:
        """Where any fault refuses, nobody has to know which there are."""
        if not rows or stage.loop is None or stage.loop.over.term.fact != "subject.faults":
            return []
        rule, trigger = rows[0]
        if not self.always(stage.loop, trigger):
            return []
        return statements("if not WELL_FORMED(descriptor): return RULE", RULE=constant(rule.id))


class _Admit(Walk):
    name = "admit"
    parameters = ("descriptor", "taken", "facts", "out")

    def refuse(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame], *, where: ast.expr) -> list[ast.stmt]:
        shown: dict[str, str] = {}
        return statements(
            "out.append(MADE(REFUSAL, (RULE, REASON, REMEDY, SEVERITY, PLACE, ELEMENT)))\n"
            "if len(out) >= MOST and ENOUGH(out): return True",
            MOST=constant(MOST_REFUSALS),
            RULE=constant(rule.id),
            REASON=self._text(trigger.reason, frames, shown),
            REMEDY=self._text(trigger.remedy, frames, shown),
            SEVERITY=constant(rule.severity),
            PLACE=nearest_place(where, frames),
            ELEMENT=element_place(frames),
        )

    def after(self, stage: Stage) -> list[ast.stmt]:
        if stage.name != SHAPE:
            return []
        refusing = self.values.keep(_refusing_ids(stage))
        return statements("if out and any(found.rule in IDS for found in out): return", IDS=refusing)

    def _text(self, template: Template, frames: Sequence[Frame], shown: dict[str, str]) -> ast.expr:
        """A template's text; `shown` has the locals that hold the text of a value, by its path.

        A loop variable that never got an element has no value.
        """
        bound = {frame.loop.variable for frame in frames}
        made: list[str | ast.expr] = []
        for piece in template:
            if isinstance(piece, str):
                made.append(piece)
            elif piece.term.origin == "constant":
                made.append(show(self.values.constant_of(piece)))
            elif piece.looped and piece.root not in bound:
                made.append(show(ABSENT))
            elif piece.text in shown:
                made.append(name(shown[piece.text]))
            else:
                shown[piece.text] = local = in_passing(f"shown_{len(shown)}")
                made.append(ast.NamedExpr(ast.Name(local, ast.Store()), self._shown(piece, frames)))
        return text_of(made)

    def _shown(self, piece: Reference, frames: Sequence[Frame]) -> ast.expr:
        """The text of a value. A plugin that cannot give it takes no refusal away."""
        if piece.term.origin == "plugin":
            return expression("facts.shown(PATH)", PATH=constant(piece.term.fact))
        return expression("SHOW(V)", V=self.values.read(piece, frames))


class _Explain(Walk):
    name = "explain"
    parameters = ("descriptor", "taken", "facts", "out")
    texts = False
    indexed = False

    def asked(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame]) -> list[ast.stmt]:
        answers = [
            expression(
                "ANSWER(bool(HOLD), bool(FAIL), VALUE, WHERE)",
                HOLD=self.logic.can_hold(leaf, frames),
                FAIL=self.logic.can_fail(leaf, frames),
                VALUE=self.values.read(leaf.reference, frames),
                WHERE=nearest_place(self.values.path(leaf.reference, frames), frames),
            )
            for leaf in leaves_of(trigger.when)
        ]
        return self._report(
            rule,
            trigger,
            frames,
            hold=self.logic.can_hold(trigger.when, frames),
            fail=self.logic.can_fail(trigger.when, frames),
            answers=answers,
        )

    def refuse(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame], *, where: ast.expr) -> list[ast.stmt]:
        return self._report(rule, trigger, frames, hold=constant(True), fail=constant(True), answers=[])

    def after(self, stage: Stage) -> list[ast.stmt]:
        if stage.name != SHAPE:
            return []
        refusing = self.values.keep(_refusing_ids(stage))
        return statements("if any(found.can_hold and found.rule in IDS for found in out): return", IDS=refusing)

    def _report(
        self,
        rule: Rule,
        trigger: Trigger,
        frames: Sequence[Frame],
        *,
        hold: ast.expr,
        fail: ast.expr,
        answers: list[ast.expr],
    ) -> list[ast.stmt]:
        return statements(
            "out.append(ASKED(RULE, NUMBER, ELEMENT, bool(HOLD), bool(FAIL), ANSWERS))",
            RULE=constant(rule.id),
            NUMBER=constant(rule.triggers.index(trigger)),
            ELEMENT=element_place(frames),
            HOLD=hold,
            FAIL=fail,
            ANSWERS=ast.Tuple(answers, ast.Load()),
        )
