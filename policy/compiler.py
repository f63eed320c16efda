"""A rule set compiled for one placement: two functions, `decide` and `admit`.

Both come from the same tree by the same walk; they differ only in what happens where a trigger
refuses. `decide` returns the first refusing rule's id, `admit` reports every refusal in reading order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from capgate.policy import schema
from capgate.policy.catalog import Catalog, PlacementTerms
from capgate.policy.codegen import constant, expression, function, load, name, names_read, statements
from capgate.policy.conditions import AllOf, AnyOf, Check, Condition, Each, Fact, Not, Test
from capgate.policy.hosts import is_host
from capgate.policy.index import Key, key_of, pick
from capgate.policy.logic import Logic
from capgate.policy.paths import format_path
from capgate.policy.rulefile import Loop, Rule, Trigger
from capgate.policy.ruleset import RuleSet, Stage
from capgate.policy.shapes import Shape
from capgate.policy.templates import Template
from capgate.policy.text import show
from capgate.policy.values import RUNTIME, Frame, Values, subject_locals, with_needs
from capgate.policy.vocabulary import ROOTS, Reference

__all__ = ["Program", "Refusal", "compile_program"]

#: So many triggers with keys in a row are looked up; fewer are asked one by one.
_ENOUGH = 8
_SHAPE_STAGE = "shape"


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


class Program(NamedTuple):
    """The two functions.

    Attributes:
        decide: (descriptor, taken, facts) to the id of the first refusing rule, or None.
        admit: (descriptor, taken, facts, out); appends every `Refusal` to `out`, so that those found
            before a fact failed are not lost.
    """

    decide: Callable[[Any, Any, Any], str | None]
    admit: Callable[[Any, Any, Any, list[Refusal]], None]


def compile_program(rules: RuleSet, catalog: Catalog, placement: PlacementTerms, shape: Shape) -> Program:
    """Compiles `rules` for a placement."""
    space: dict[str, Any] = {
        **RUNTIME,
        "IS_HOST": is_host,
        "PICK": pick,
        "REFUSAL": Refusal,
        "SHOW": show,
        "WELL_FORMED": shape.holds,
        "FAULTS": lambda descriptor: _faults(shape, descriptor),
    }
    values = Values(catalog, placement, space)
    body = [_Walk(rules, values, deciding=deciding).function() for deciding in (True, False)]
    space.update(load(body, space, f"rules on {placement.name}"))
    return Program(space["decide"], space["admit"])


def descriptor_shape() -> Shape:
    """The compiled shape check of descriptors."""
    return Shape(schema.DESCRIPTOR, "descriptor schema")


def _faults(shape: Shape, descriptor: Any) -> list[dict[str, str]]:
    return [
        {"path": format_path(fault.path), "expected": fault.expected, "found": fault.found}
        for fault in shape.faults(descriptor)
    ]


class _Late:
    """A function that is compiled when it is first called.

    An index can hold thousands of triggers of which hardly any is ever asked.
    """

    __slots__ = ("_function", "_make")

    def __init__(self, make: Callable[[], Callable[..., Any]]):
        self._make = make
        self._function: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        found = self._function
        if found is None:  # two threads may both compile it; either result will do
            found = self._function = self._make()
        return found(*arguments)


class _Walk:
    """Emits one of the two functions."""

    def __init__(self, rules: RuleSet, values: Values, *, deciding: bool):
        self._rules = rules
        self._values = values
        self._logic = Logic(values)
        self._deciding = deciding
        self._parameters = ["descriptor", "taken", "facts", *([] if deciding else ["out"])]

    def function(self) -> ast.stmt:
        ready: set[str] = set()
        body = statements("document = descriptor if type(descriptor) is dict else EMPTY_OBJECT")
        for stage in self._rules.stages:
            asked = [row for row in stage.triggers if row[0].severity == "refuse" or not self._deciding]
            facts = with_needs(self._facts(asked, stage.loop))
            body += self._values.prepare_subject(facts, ready)
            body += self._stage(stage, asked, facts, ready)
            if stage.name == _SHAPE_STAGE and not self._deciding:
                body += statements("if any(found.severity == 'refuse' for found in out): return")
        return function("decide" if self._deciding else "admit", self._parameters, body)

    def _facts(self, rows: Sequence[tuple[Rule, Trigger]], loop: Loop | None) -> set[str]:
        references = [found for _, trigger in rows for found in _references(trigger, texts=not self._deciding)]
        if loop:
            references.append(loop.over)
        return {reference.term.fact for reference in references if reference.term.origin == "derived"}

    def _stage(
        self, stage: Stage, rows: Sequence[tuple[Rule, Trigger]], facts: set[str], ready: set[str]
    ) -> list[ast.stmt]:
        if not rows:
            return []
        if stage.loop is None:
            return self._rows(rows, [], facts, ready)
        frame = Frame(stage.loop, self._values.element_path(stage.loop, []))
        tool_facts = facts if _walks_tools(stage.loop) else set()
        inline = [trigger for _, trigger in rows if key_of(trigger) is None or len(rows) < _ENOUGH]
        members = _often_read(inline, stage.loop.variable)
        body = self._values.prepare_element(frame, tool_facts, members)
        body += self._rows(rows, [frame], facts, ready)
        return self._loop(frame, [], body, self._undecidable(rows, stage.loop, []))

    def _loop(
        self, frame: Frame, outer: Sequence[Frame], body: list[ast.stmt], otherwise: list[ast.stmt]
    ) -> list[ast.stmt]:
        """A loop; what is no list, and not absent either, leads to `otherwise`."""
        over = self._values.read(frame.loop.over, outer)
        index, record, seen = frame.local("index"), frame.local("record"), frame.local("seen")
        if record not in names_read(body):
            body = body[1:]  # the record is made first
        read = names_read(body)
        walk = statements(
            "for I, E in enumerate(L): BODY" if index in read else "for E in L: BODY",
            I=index,
            E=frame.local("element"),
            L=frame.local("list"),
            BODY=body,
        )
        if seen in read:
            walk = [*statements("SEEN = {}", SEEN=seen), *walk]
        if frame.loop.over.term.type != "list":
            walk = statements(
                "if type(L) is list: WALK\nelif L is not ABSENT: OTHERWISE",
                L=frame.local("list"),
                WALK=walk,
                OTHERWISE=otherwise,
            )
        return [*statements("L = OVER", L=frame.local("list"), OVER=over), *walk]

    def _undecidable(self, rows: Sequence[tuple[Rule, Trigger]], loop: Loop, frames: Sequence[Frame]) -> list[ast.stmt]:
        """Every trigger refuses where the list to walk is no list."""
        where = self._values.path(loop.over, frames)
        made: list[ast.stmt] = []
        for rule, trigger in rows:
            made += self._refuse(rule, trigger, frames, where=where)
        return made

    def _rows(
        self, rows: Sequence[tuple[Rule, Trigger]], frames: list[Frame], facts: set[str], ready: set[str]
    ) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for key, group in _runs(rows):
            if key is not None and len({text for _, k in group for text in k.texts}) >= _ENOUGH:
                made += self._indexed(group, frames, facts, ready)
            elif key is not None and not key.items and len(group) > 1 and len({k.texts for _, k in group}) == 1:
                made += statements(
                    "if V in TEXTS: BODY",
                    V=self._values.read(key.source, frames),
                    TEXTS=constant(tuple(sorted(key.texts))),
                    BODY=[part for row, _ in group for part in self._row(*row, frames)] or [ast.Pass()],
                )
            else:
                made += [part for row, _ in group for part in self._row(*row, frames)]
        return made

    def _indexed(
        self,
        group: Sequence[tuple[tuple[Rule, Trigger], Key]],
        frames: list[Frame],
        facts: set[str],
        ready: set[str],
    ) -> list[ast.stmt]:
        """A look-up instead of one question after the other."""
        index: dict[str, list[int]] = {}
        for number, (_, key) in enumerate(group):
            for text in key.texts:
                index.setdefault(text, []).append(number)
        known = [*self._parameters, "document", *subject_locals(ready)]
        for frame in frames:
            known += self._values.locals_of(frame, facts if _walks_tools(frame.loop) else set())
        late = tuple(_Late(self._later(row, list(frames), known)) for row, _ in group)
        keep = self._values.keep
        key = group[0][1]
        frozen = {text: tuple(numbers) for text, numbers in index.items()}
        source = self._values.read(key.source, frames)
        items = source if key.items else ast.Tuple([source], ast.Load())
        call = expression("LATE[number](*ARGUMENTS)", LATE=keep(late), ARGUMENTS=_tuple(known))
        then = "found = CALL\nif found is not None: return found" if self._deciding else "CALL"
        return statements(
            "for number in PICK(INDEX, ITEMS): BODY",
            INDEX=keep(frozen),
            ITEMS=items,
            BODY=statements(then, CALL=call),
        )

    def _later(
        self, row: tuple[Rule, Trigger], frames: list[Frame], parameters: list[str]
    ) -> Callable[[], Callable[..., Any]]:
        def make() -> Callable[..., Any]:
            constants = dict(self._values.constants)
            values = Values(self._values.catalog, self._values.placement, constants)
            walk = _Walk(self._rules, values, deciding=self._deciding)
            body = walk._row(*row, frames)
            made: Callable[..., Any] = load([function("late", parameters, body)], constants, row[0].id)["late"]
            return made

        return make

    def _row(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame]) -> list[ast.stmt]:
        if trigger.loop is None:
            return self._asked(rule, trigger, frames)
        frame = Frame(trigger.loop, self._values.element_path(trigger.loop, frames))
        facts = with_needs(self._facts([(rule, trigger)], None)) if _walks_tools(trigger.loop) else set()
        body = self._values.prepare_element(frame, facts, ())
        body += self._asked(rule, trigger, [*frames, frame])
        return self._loop(frame, frames, body, self._undecidable([(rule, trigger)], trigger.loop, frames))

    def _asked(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame]) -> list[ast.stmt]:
        test = self._logic.can_hold(trigger.when, frames)
        if isinstance(test, ast.Constant) and not test.value:
            return []
        refuse = self._refuse(rule, trigger, frames, where=self._where(trigger, frames))
        return statements("if TEST: REFUSE", TEST=test, REFUSE=refuse)

    def _where(self, trigger: Trigger, frames: Sequence[Frame]) -> ast.expr:
        """The path that a refusal points at."""
        if trigger.at is not None and trigger.at_value:
            value = self._values.read(trigger.at, frames)
            return expression("type(held := V) is str and PARSE(held) or ROOT", V=value)
        if trigger.at is not None:
            return self._values.path(trigger.at, frames)
        if frames:
            return frames[-1].path
        first = next(_paths(trigger.when))
        return self._values.path(first, frames)

    def _refuse(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame], *, where: ast.expr) -> list[ast.stmt]:
        if self._deciding:
            return statements("return RULE", RULE=constant(rule.id))
        element = expression("format_path(PATH)", PATH=frames[-1].path) if frames else constant(None)
        return statements(
            "out.append(REFUSAL(RULE, REASON, REMEDY, SEVERITY, PLACE(descriptor, WHERE), ELEMENT))",
            RULE=constant(rule.id),
            REASON=self._text(trigger.reason, frames),
            REMEDY=self._text(trigger.remedy, frames),
            SEVERITY=constant(rule.severity),
            WHERE=where,
            ELEMENT=element,
        )

    def _text(self, template: Template, frames: Sequence[Frame]) -> ast.expr:
        """A template's text; a loop variable that never got an element has no value."""
        bound = {*ROOTS, *(frame.loop.variable for frame in frames)}
        made: ast.expr | None = None
        for piece in template:
            if isinstance(piece, str):
                part: ast.expr = constant(piece)
            elif piece.term.origin == "constant":
                part = constant(show(self._values.constant_of(piece)))
            else:
                value = self._values.read(piece, frames) if piece.root in bound else name("ABSENT")
                part = expression("SHOW(V)", V=value)
            made = part if made is None else ast.BinOp(made, ast.Add(), part)
        return made or constant("")


def _runs(rows: Sequence[tuple[Rule, Trigger]]) -> Iterator[tuple[Key | None, list[tuple[tuple[Rule, Trigger], Any]]]]:
    """Rows in order, in runs whose keys can share an index."""
    keyed = [(row, key_of(row[1])) for row in rows]
    for _, group in groupby(keyed, key=lambda pair: pair[1].kind if pair[1] else None):
        run = list(group)
        yield run[0][1], run


def _walks_tools(loop: Loop) -> bool:
    return loop.over.term.element is not None and loop.over.term.element.fact == "tool"


def _often_read(triggers: Sequence[Trigger], variable: str) -> list[str]:
    """The members of a loop's element that are worth a local of their own."""
    count: dict[str, int] = {}
    for trigger in triggers:
        for reference in _paths(trigger.when):
            if reference.root == variable and reference.steps:
                count[reference.steps[0]] = count.get(reference.steps[0], 0) + 1
    return [member for member, times in count.items() if times > 1]


def _references(trigger: Trigger, *, texts: bool) -> Iterator[Reference]:
    """Every path that a trigger reads; those of its texts only if `texts`."""
    yield from _paths(trigger.when)
    if trigger.loop:
        yield trigger.loop.over
    if texts:
        yield from (piece for piece in (*trigger.reason, *trigger.remedy) if isinstance(piece, Reference))
        if trigger.at is not None:
            yield trigger.at


def _paths(condition: Condition) -> Iterator[Reference]:
    """Every path that a condition reads, in the order of the file."""
    match condition:
        case Not():
            yield from _paths(condition.part)
        case AllOf() | AnyOf():
            for part in condition.parts:
                yield from _paths(part)
        case Test():
            yield condition.reference
            yield from _operand_paths(condition.checks)


def _operand_paths(checks: Sequence[Check]) -> Iterator[Reference]:
    for check in checks:
        if isinstance(check.operand, Fact):
            yield check.operand.reference
        elif isinstance(check.operand, Each):
            yield from _operand_paths(check.operand.checks)


def _tuple(names: Sequence[str]) -> ast.Tuple:
    return ast.Tuple([name(identifier) for identifier in names], ast.Load())
