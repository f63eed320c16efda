"""The walk over a rule set that emits code: stages, elements, rules, triggers, inner elements.

What the code does where a trigger refuses is left to the modes in `compiler`; in which order, and
under which index, triggers are asked is decided here, once for all of them.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, ClassVar

from capgate.policy.codegen import constant, expression, function, load, name, statements
from capgate.policy.conditions import Check, Each, leaves_of, paths_of
from capgate.policy.index import Key, key_of
from capgate.policy.logic import Logic
from capgate.policy.rulefile import Loop, Rule, Trigger
from capgate.policy.ruleset import RuleSet, Stage
from capgate.policy.simplify import simplified
from capgate.policy.values import Frame, Values, subject_locals, with_needs
from capgate.policy.vocabulary import Reference, Term

__all__ = ["SHAPE", "Row", "Walk", "asks_plugin"]

#: The stage whose refusals end the judgement.
SHAPE = "shape"

#: So many triggers are looked through for what is worth reading once.
_MANY = 100
#: So many triggers with keys in a row are looked up; fewer are asked one by one.
_ENOUGH = 8

Row = tuple[Rule, Trigger]


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


class Walk(ABC):
    """Emits one function of a rule set; a mode says what happens at each trigger.

    Attributes:
        name, parameters: of the function.
        texts: whether reasons and remedies are made, so that what they name has to be at hand.
        places: whether the code speaks of places, so that it counts elements.
        indexed: whether triggers that cannot match may be left out.
    """

    name: ClassVar[str]
    parameters: ClassVar[Sequence[str]]
    texts: ClassVar[bool] = True
    places: ClassVar[bool] = True
    indexed: ClassVar[bool] = True

    def __init__(self, rules: RuleSet, values: Values):
        self.rules = rules
        self.values = values
        self.logic = Logic(values)

    def takes(self, rule: Rule) -> bool:
        """Whether the mode asks this rule at all."""
        return True

    def asked(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame]) -> list[ast.stmt]:
        """The code that asks a trigger of one element."""
        test = self.logic.can_hold(trigger.when, frames)
        if isinstance(test, ast.Constant) and not test.value:
            return []
        refuse = self.refuse(rule, trigger, frames, where=self._where(trigger, frames))
        return statements("if TEST: REFUSE", TEST=test, REFUSE=refuse)

    @abstractmethod
    def refuse(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame], *, where: ast.expr) -> list[ast.stmt]:
        """The code that refuses, pointing at the path `where`."""

    def call(self, late: ast.expr) -> list[ast.stmt]:
        """The code that asks a trigger through a call of its function, whose result ends the walk if it has one."""
        return statements("found = CALL\nif found is not None: return found", CALL=late)

    def after(self, stage: Stage) -> list[ast.stmt]:
        """The code that follows a stage."""
        return []

    def function(self) -> ast.stmt:
        """The whole function."""
        ready: set[str] = set()
        body: list[ast.stmt] = []
        document = statements("document = descriptor if type(descriptor) is dict else EMPTY_OBJECT")
        single = [
            row[1] for stage in self.rules.stages if not stage.loop for row in stage.triggers if self.takes(row[0])
        ]
        often = _often_read(single[:_MANY], "descriptor")
        for stage in self.rules.stages:
            rows = [row for row in stage.triggers if self.takes(row[0])]
            shaping = self._ends_what_is_malformed(stage)
            quick = self.shortcut(stage, rows)
            if not quick:
                body += document
                document = []
            if not shaping:
                body += self.values.prepare_document(often)
                often = []
            body += quick or self._whole(stage, rows, ready)
            body += self.after(stage)
            self.values.shaped = self.values.shaped or shaping
            document = document and statements("document = descriptor")  # nothing else is taken up to here
        return function(self.name, self.parameters, simplified(body, self.values.kinds))

    def shortcut(self, stage: Stage, rows: Sequence[Row]) -> list[ast.stmt]:
        """Code that says the same as the walk over a stage, where the mode has such."""
        return []

    def _ends_what_is_malformed(self, stage: Stage) -> bool:
        """Whether no stage behind this one is asked of a malformed descriptor."""
        if stage.name != SHAPE or stage.loop is None or stage.loop.over.term.fact != "subject.faults":
            return False
        return any(rule.severity == "refuse" and self.always(stage.loop, trigger) for rule, trigger in stage.triggers)

    def always(self, loop: Loop, trigger: Trigger) -> bool:
        """Whether a trigger refuses on every element of its stage."""
        test = self.logic.can_hold(trigger.when, [Frame(loop, ast.Tuple([], ast.Load()))])
        return trigger.loop is None and isinstance(test, ast.Constant) and bool(test.value)

    def _whole(self, stage: Stage, rows: Sequence[Row], ready: set[str]) -> list[ast.stmt]:
        facts = with_needs(self._facts(rows, stage.loop))
        return [*self.values.prepare_subject(facts, ready), *self._stage(stage, rows, facts, ready)]

    def _facts(self, rows: Sequence[Row], loop: Loop | None) -> set[str]:
        references = [found for _, trigger in rows for found in _references(trigger, texts=self.texts)]
        if loop:
            references.append(loop.over)
        return {reference.term.fact for reference in references if reference.term.origin == "derived"}

    def _stage(self, stage: Stage, rows: Sequence[Row], facts: set[str], ready: set[str]) -> list[ast.stmt]:
        if not rows:
            return []
        if stage.loop is None:
            return self._rows(rows, [], facts, ready)
        frame = Frame(stage.loop, self.values.element_path(stage.loop, []))
        tool_facts = facts if _walks_tools(stage.loop) else set()
        inline = [trigger for _, trigger in rows if self._key(trigger) is None or len(rows) < _ENOUGH]
        members = _often_read(inline, stage.loop.variable)
        body = self.values.prepare_members(frame, members)
        body += self._rows(rows, [frame], tool_facts, ready)
        return self._loop(frame, [], body, self._undecidable(rows, stage.loop, []))

    def _loop(
        self, frame: Frame, outer: Sequence[Frame], body: list[ast.stmt], otherwise: list[ast.stmt]
    ) -> list[ast.stmt]:
        """A loop; what is no list, and not absent either, leads to `otherwise`."""
        is_list = frame.loop.over.term.type == "list"
        if not body and (is_list or not otherwise):
            return []
        over = self.values.read(frame.loop.over, outer)
        self.values.note_element(frame)
        if "record" in frame.needs:
            record = expression("E if type(E) is dict else EMPTY_OBJECT", E=frame.local("element"))
            body = [*statements("R = MADE", R=frame.local("record"), MADE=record), *body]
        walk = statements(
            "for I, E in enumerate(L): BODY" if self.places or "index" in frame.needs else "for E in L: BODY",
            I=frame.local("index"),
            E=frame.local("element"),
            L=frame.local("list"),
            BODY=body or [ast.Pass()],
        )
        if frame.loop.over.term.fact == "subject.faults":
            walk = statements("if L: WALK", L=frame.local("list"), WALK=walk)  # there hardly ever is one
        if "seen" in frame.needs:
            walk = [*statements("SEEN = {}", SEEN=frame.local("seen")), *walk]
        if not is_list:
            walk = statements(
                "if type(L) is list: WALK\nelif L is not ABSENT: OTHERWISE",
                L=frame.local("list"),
                WALK=walk,
                OTHERWISE=otherwise or [ast.Pass()],
            )
        return [*statements("L = OVER", L=frame.local("list"), OVER=over), *walk]

    def _undecidable(self, rows: Sequence[Row], loop: Loop, frames: Sequence[Frame]) -> list[ast.stmt]:
        """Every trigger refuses where the list to walk is no list."""
        where = self.values.path(loop.over, frames)
        return [part for rule, trigger in rows for part in self.refuse(rule, trigger, frames, where=where)]

    def _rows(self, rows: Sequence[Row], frames: list[Frame], facts: set[str], ready: set[str]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for key, group in self._runs(rows):
            texts = {k.texts for _, k in group} if key is not None and self.indexed else set()
            if key is not None and len(frozenset().union(*texts)) >= _ENOUGH:
                made += self._prepared(frames, facts)
                made += self._indexed(group, frames, facts, ready)
            elif key is not None and len(texts) == 1 and len(group) > 1 and not key.items:
                together = [row for row, _ in group]
                made += self._prepared(frames, self._facts(together, None))
                made += self._shared(key, together, frames)
            else:
                for row, _ in group:
                    made += self._prepared(frames, self._facts([row], None))
                    made += self._row(*row, frames)
        return made

    def _prepared(self, frames: Sequence[Frame], facts: set[str]) -> list[ast.stmt]:
        """What works out the facts of a stage's tool: as late as it can be, so that many a tool is refused before."""
        if not frames or not _walks_tools(frames[0].loop):
            return []
        return self.values.prepare_facts(frames[0], with_needs(facts))

    def _runs(self, rows: Sequence[Row]) -> Iterator[tuple[Key | None, list[tuple[Row, Any]]]]:
        """Rows in order, in runs whose keys can share an index.

        Rules of different providers do not share one: those of an overlay, however many, leave the shipped
        ones as they are.
        """
        keyed = [(row, self._key(row[1])) for row in rows]
        for _, group in groupby(keyed, key=lambda pair: (pair[0][0].provider, pair[1].kind) if pair[1] else None):
            run = list(group)
            yield run[0][1], run

    def _key(self, trigger: Trigger) -> Key | None:
        loop = trigger.loop
        if loop is not None and loop.over.term.fact == "tool.layout":
            # No other primitive has a layout, so there would be nothing to walk over.
            source = loop.over._replace(
                text=f"{loop.over.root}.primitive", steps=("primitive",), term=Term("submitted")
            )
            return Key(source, False, frozenset(self.values.constants["LAID_OUT"]))
        return key_of(trigger)

    def _shared(self, key: Key, rows: Sequence[Row], frames: list[Frame]) -> list[ast.stmt]:
        """One question for all the triggers that need the same text in the same place."""
        made: list[ast.stmt] = []
        members: list[str] = []
        if frames:
            often = _often_read([trigger for _, trigger in rows], frames[0].loop.variable)
            members = [member for member in often if member not in frames[0].members]
            made += self.values.prepare_members(frames[0], members)
        asked = [part for row in rows for part in self._row(*row, frames)]
        for member in members:
            del frames[0].members[member]  # outside of this block it has no value
        if not asked:
            return []
        value = self.values.read(key.source, frames)
        if len(key.texts) == 1:
            return statements("if V == TEXT: BODY", V=value, TEXT=constant(*key.texts), BODY=[*made, *asked])
        texts = constant(tuple(sorted(key.texts)))
        return statements("if V in TEXTS: BODY", V=value, TEXTS=texts, BODY=[*made, *asked])

    def _indexed(
        self, group: Sequence[tuple[Row, Key]], frames: list[Frame], facts: set[str], ready: set[str]
    ) -> list[ast.stmt]:
        """A look-up instead of one question after the other."""
        index: dict[str, list[int]] = {}
        for number, (_, key) in enumerate(group):
            for text in key.texts:
                index.setdefault(text, []).append(number)
        known = [*self.parameters, "document", *subject_locals(ready)]
        for frame in frames:
            frame.needs |= {"index", "record"}
            known += self.values.locals_of(frame, facts if _walks_tools(frame.loop) else set())
        late = tuple(_Late(self._later(row, list(frames), known)) for row, _ in group)
        keep = self.values.keep
        key = group[0][1]
        frozen = {text: tuple(numbers) for text, numbers in index.items()}
        arguments = ast.Tuple([name(identifier) for identifier in known], ast.Load())
        call = expression("LATE[number](*ARGUMENTS)", LATE=keep(late), ARGUMENTS=arguments)
        # The usual case is that nothing is found, so that one costs no call.
        template = (
            "for item in SOURCE:\n"
            "    if type(item) is str and item in INDEX:\n"
            "        for number in PICK(INDEX, SOURCE): BODY\n"
            "        break"
            if key.items
            else "item = SOURCE\nif type(item) is str and item in INDEX:\n    for number in INDEX[item]: BODY"
        )
        return statements(
            template,
            SOURCE=self.values.read(key.source, frames),
            INDEX=keep(frozen),
            BODY=self.call(call),
        )

    def _later(self, row: Row, frames: list[Frame], parameters: list[str]) -> Callable[[], Callable[..., Any]]:
        def make() -> Callable[..., Any]:
            constants = dict(self.values.constants)
            walk = type(self)(self.rules, Values(self.values.catalog, self.values.placement, constants))
            body = walk._row(*row, frames)
            made: Callable[..., Any] = load([function("late", parameters, body)], constants, row[0].id)["late"]
            return made

        return make

    def _row(self, rule: Rule, trigger: Trigger, frames: Sequence[Frame]) -> list[ast.stmt]:
        if trigger.loop is None:
            return self.asked(rule, trigger, frames)
        frame = Frame(trigger.loop, self.values.element_path(trigger.loop, frames))
        facts = with_needs(self._facts([(rule, trigger)], None)) if _walks_tools(trigger.loop) else set()
        body = self.values.prepare_facts(frame, facts)
        body += self.asked(rule, trigger, [*frames, frame])
        return self._loop(frame, frames, body, self._undecidable([(rule, trigger)], trigger.loop, frames))

    def _where(self, trigger: Trigger, frames: Sequence[Frame]) -> ast.expr:
        """The path that a refusal points at."""
        if trigger.at is not None and trigger.at_value:
            value = self.values.read(trigger.at, frames)
            if trigger.at.term.origin == "plugin":  # one that cannot say where takes no refusal away
                value = expression("facts.shown(PATH)", PATH=constant(trigger.at.term.fact))
            return expression("type(_held := V) is str and PARSE(_held) or ROOT", V=value)
        if trigger.at is not None:
            return self.values.path(trigger.at, frames)
        if frames:
            return frames[-1].path
        return self.values.path(next(paths_of(trigger.when)), frames)


def asks_plugin(trigger: Trigger, stage: Stage) -> bool:
    """Whether a fact or an operator of a plugin has a say in whether the trigger refuses in a stage."""
    loops = [loop.over for loop in (stage.loop, trigger.loop) if loop]
    reads = any(reference.term.origin == "plugin" for reference in (*paths_of(trigger.when), *loops))
    return reads or any(check.added for leaf in leaves_of(trigger.when) for check in _all_checks(leaf.checks))


def _all_checks(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        yield check
        if isinstance(check.operand, Each):
            yield from _all_checks(check.operand.checks)


def _walks_tools(loop: Loop) -> bool:
    return loop.element.fact == "tool"


def _often_read(triggers: Sequence[Trigger], variable: str) -> list[str]:
    """The members of a loop's element that are worth a local of their own."""
    count: dict[str, int] = {}
    for trigger in triggers:
        for reference in paths_of(trigger.when):
            if reference.root == variable and reference.steps:
                count[reference.steps[0]] = count.get(reference.steps[0], 0) + 1
    return [member for member, times in count.items() if times > 1]


def _references(trigger: Trigger, *, texts: bool) -> Iterator[Reference]:
    """Every path that a trigger reads; those of its texts only if `texts`."""
    yield from paths_of(trigger.when)
    if trigger.loop:
        yield trigger.loop.over
    if texts:
        yield from (piece for piece in (*trigger.reason, *trigger.remedy) if isinstance(piece, Reference))
        if trigger.at is not None:
            yield trigger.at
