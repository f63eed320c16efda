"""The tests that a rule obviously needs, as a file of cases to begin with.

For each trigger a descriptor is looked for on which it refuses. Then each path that its condition reads is
given other values in that descriptor, where the variable of its own loop stands: none, of other types, and at every
edge of what it is compared with. What is expected is what the rules say now: whoever reads the file sees what the
rule does, and where that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.cases import read_cases
from capgate.policy.authoring.domains import domain_at
from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.possible import edges
from capgate.policy.authoring.seeds import Found, first, loops_of, operand_of, texts_of
from capgate.policy.authoring.settle import Subject, place_of, settings_of, settle, value_at
from capgate.policy.authoring.suite import run
from capgate.policy.conditions import Check, Each, Fact, Test, leaves_of
from capgate.policy.documents import DocumentError, canonical
from capgate.policy.errors import Span
from capgate.policy.hosts import normalise_host
from capgate.policy.operators import ABSENT
from capgate.policy.paths import Path, format_path
from capgate.policy.patterns import Pattern
from capgate.policy.rule_errors import Problems
from capgate.policy.rulefile import Loop, Rule
from capgate.policy.shapes import found_type
from capgate.policy.text import show
from capgate.policy.vocabulary import Reference

__all__ = ["LARGEST", "Start", "Starter", "start", "text_of"]

_ONE_OF_EACH: Final[tuple[Any, ...]] = (None, True, 5, "a", ["a"], {"a": 1})
#: Operators whose answer another value of the same type can change, wherever that lies.
_BY_VALUE: Final = frozenset(["equals", "in", "not_in", "contains", "lacks", "subset_of"])
#: So many edges of an operand are tried.
_EDGES: Final = 10
#: No case has a descriptor of more bytes.
LARGEST: Final = 2000
_NAME_LENGTH: Final = 60


class Start(NamedTuple):
    """One case to begin with.

    Attributes:
        name: its name.
        subject: the descriptor, and what it is judged against.
        refused: whether the rule refuses.
        stopped: the rules of the stage `shape` that refuse, so that this one is not asked.
        seed: whether it is the descriptor that was found for a trigger, and not one with a change.
    """

    name: str
    subject: Subject
    refused: bool
    stopped: tuple[str, ...]
    seed: bool


class Starter(NamedTuple):
    """The cases of a rule to begin with.

    Attributes:
        rule: the rule.
        starts: the cases.
        open: triggers for which no descriptor was found on which they refuse: number from 1, and place.
        fixed: paths that are read and that none of the cases changes, such as what a plugin says: path, and place.
        large: places in the rule file that take a descriptor of more than `LARGEST` bytes, so that no case has it.
    """

    rule: Rule
    starts: tuple[Start, ...]
    open: tuple[tuple[int, Span], ...]
    fixed: tuple[tuple[str, Span], ...]
    large: tuple[Span, ...]


def start(rule: Rule, gates: Gates) -> Starter:
    """Makes the cases that a rule obviously needs.

    Raises:
        FactUnavailable: a plugin could not say what a rule asked it.
    """
    found: dict[bytes, Start] = {}
    names: set[str] = set()
    missing = []
    fixed: dict[str, Path] = {}
    large: dict[Path, None] = {}
    for number, trigger in enumerate(rule.triggers):
        seed = first(rule, number, gates)
        if seed is None:
            missing.append((number + 1, rule.document.span(trigger.source)))
            large |= {leaf.checks[0].at: None for leaf in leaves_of(trigger.when) if _asks_much(leaf)}
            continue
        prefix = f"trigger {number + 1}: " if len(rule.triggers) > 1 else ""
        for name, subject, at in _variations(rule, number, seed, gates, fixed):
            try:
                key = None if _exceeds(subject.descriptor) else canonical([subject.descriptor, subject.given.to_json()])
            except DocumentError:
                continue  # such a value cannot stand in a file
            if key is None or len(key) > LARGEST:
                if domain_at(()).fits(subject.descriptor):  # what the stage shape stops is no loss
                    large[at] = None
                continue
            if key in found:
                found[key] = found[key]._replace(seed=found[key].seed or subject is seed.subject)
                continue
            case = _judged(name if name.startswith("the rule") else prefix + name, subject, rule, gates)
            found[key] = case._replace(name=_unique(case.name, names), seed=subject is seed.subject)
    unchanged = tuple((text, rule.document.span(at)) for text, at in fixed.items())
    left = tuple(rule.document.span(at, key=True) for at in large)
    return Starter(rule, tuple(found.values()), tuple(missing), unchanged, left)


def text_of(starter: Starter, gates: Gates) -> str:
    """The file of cases; every case in it passes."""
    id = starter.rule.id
    rows = [
        f"# What {id} says now, condition by condition. Read each case: where it is not what you want,",
        "# correct the rule, and then the case.",
        "cases:",
    ]
    for case in starter.starts:
        rows.append(f"  - name: {flow(case.name)}")
        rows.append(f"    descriptor: {flow(case.subject.descriptor)}")
        given = case.subject.given.to_json()
        rows += [f"    given: {flow(given)}"] if given else []
        refused = [id] if case.refused else [other for other in case.stopped if other != id]
        rows += [f"    refused: {flow(refused)}"] if refused else []
        rows += [] if case.refused else [f"    absent: {flow([id])}"]
    text = "".join(f"{row}\n" for row in rows)
    problems = Problems()
    trials = list(read_cases(text.encode(), f"{id}.yaml", gates.catalog, problems))
    failed = [trial.name for trial in trials if run(trial, gates).messages]
    assert not problems, "cases that were made up cannot be read"
    assert len(trials) == len(starter.starts), "cases that were made up are not all run"
    assert not failed, f"cases that were made up do not pass: {failed}"
    return text


def _variations(
    rule: Rule, number: int, seed: Found, gates: Gates, fixed: dict[str, Path]
) -> Iterator[tuple[str, Subject, Path]]:
    """The seed, and what is changed in it, each with what it is made for; paths that nothing changes go to `fixed`."""
    trigger = rule.triggers[number]
    loops = loops_of(trigger, gates)
    here = _Here(seed.subject, loops, _elements(rule, number, seed, loops, gates), gates)
    name = "the rule refuses" if number == 0 else f"the rule refuses by trigger {number + 1}"
    yield name, seed.subject, trigger.source
    if trigger.loop and trigger.loop.over.term.origin == "submitted":
        for name, subject in here.varied(trigger.loop.over, (ABSENT, [], *_ONE_OF_EACH)):
            yield name, subject, (*trigger.source, "for_each")
    for leaf in leaves_of(trigger.when):
        (check,) = leaf.checks
        read = [(leaf.reference, list(_worth_trying(check, here.operand(check))))]
        read += [(fact, list(_compared(asked, here.value(leaf.reference)))) for asked, fact in _with_facts(check)]
        for reference, values in read:
            changed = list(here.varied(reference, values))
            yield from ((name, subject, check.at) for name, subject in changed)
            if not changed and reference.root != "catalog":  # whose values are always the same
                fixed.setdefault(reference.text, leaf.checks[0].at)


def _elements(rule: Rule, number: int, seed: Found, loops: Sequence[Loop], gates: Gates) -> tuple[Path | None, ...]:
    """Where the element of each loop stands of which the seed is refused; None where that is not in the descriptor."""
    if len(loops) < 2:
        return (seed.element,) * len(loops)
    outer, inner = loops
    over = place_of(outer.over, (), None)
    if over is None:
        return None, seed.element
    if inner.over.looped:  # its list is one of the outer element's
        return seed.element and seed.element[: len(over) + 1], seed.element
    given, descriptor = seed.subject.given, seed.subject.descriptor
    asked = gates.on(given).explain(descriptor, given.placement, frozenset(given.taken))
    own = [one for one in asked if (one.rule, one.trigger) == (rule.id, number)]
    place = next(place for place, one in enumerate(own) if one.can_hold and one.answers)
    # The elements of the inner loop are the same ones for each of the outer.
    return (*over, place * len(value_at(descriptor, over)) // len(own)), seed.element


@dataclass(frozen=True, slots=True)
class _Here:
    """A descriptor on which a trigger refuses, and where the variables of its loops stand in it."""

    subject: Subject
    loops: Sequence[Loop]
    elements: Sequence[Path | None]
    gates: Gates

    def varied(self, reference: Reference, values: Sequence[Any]) -> Iterator[tuple[str, Subject]]:
        """Descriptors in which a path has other values, each with what was changed."""
        place = self.place(reference)
        if place is not None:
            for value in self.written(reference, place, values):
                subject = settle(self.subject, place, value)
                if subject is not None:
                    yield f"{format_path(place)} {_said(value)}", subject
            return
        loop, element = self.loop(reference)
        texts = [text for value in values for text in (value if type(value) is list else [value])]
        settings = settings_of(reference, texts, self.subject, element, self.gates.catalog)
        if loop is not None and not settings:
            yield from self.varied(loop.over, values)  # of an element that is worked out, what it is worked out from
        yield from settings

    def loop(self, reference: Reference) -> tuple[Loop | None, Path | None]:
        """The loop that a path begins at, and the element."""
        for loop, element in zip(self.loops, self.elements, strict=True):
            if reference.looped and loop.variable == reference.root:
                return loop, element
        return None, None

    def place(self, reference: Reference) -> Path | None:
        """Where a path stands; None where it is worked out."""
        loop, element = self.loop(reference)
        if loop is None:
            return place_of(reference, (), None)
        if loop.element.fact == "fault" or loop.over.term.fact == "subject.destinations":
            return element
        return place_of(reference, self.loops[: self.loops.index(loop) + 1], element)

    def value(self, reference: Reference) -> Any:
        """What stands in the place of a path; `ABSENT` where nothing does, or it has none."""
        place = self.place(reference)
        return ABSENT if place is None else value_at(self.subject.descriptor, place)

    def operand(self, check: Check) -> Any:
        """The operand of a check, for a fact its value as far as it is known, below ``each`` too."""
        if isinstance(check.operand, Each):
            return Each(tuple(part._replace(operand=self.operand(part)) for part in check.operand.checks))
        if isinstance(check.operand, Fact) and self.place(check.operand.reference) is not None:
            return self.value(check.operand.reference)
        return operand_of(check, self.subject, self.gates)

    def written(self, reference: Reference, place: Path, values: Sequence[Any]) -> Iterator[Any]:
        """The values as they are written at `place`: the port of a host stands behind its name."""
        loop, _ = self.loop(reference)
        if loop is None or loop.over.term.fact != "subject.destinations" or reference.steps != ("port",):
            yield from values
            return
        host = normalise_host(value_at(self.subject.descriptor, place))
        if host is None:
            return
        name = f"[{host.name}]" if ":" in host.name else host.name
        for value in values:
            if value is ABSENT:
                yield name
            elif type(value) is int:
                yield f"{name}:{value}"


def _with_facts(check: Check) -> Iterator[tuple[Check, Reference]]:
    """The check, or those below ``each``, as far as their operands are facts: with the fact."""
    if isinstance(check.operand, Fact):
        yield check, check.operand.reference
    elif isinstance(check.operand, Each):
        for part in check.operand.checks:
            yield from _with_facts(part)


def _worth_trying(check: Check, operand: Any) -> Iterator[Any]:
    """Absent; what a pattern matches, or the edges of the operand; one of each type, as far as it says more."""
    yield ABSENT
    kinds: set[str] = set()
    found = texts_of(operand) if isinstance(operand, Pattern) else edges(check, operand)
    for value in islice(found, _EDGES):
        if check.operator not in _BY_VALUE:
            kinds.add(found_type(value))
        yield value
    yield from (value for value in _ONE_OF_EACH if found_type(value) not in kinds)


def _compared(check: Check, value: Any) -> Iterator[Any]:
    """What a fact may be that `value` is compared with: absent, at the edges of the value, one of each type."""
    made: list[Any] = []
    if value is ABSENT:
        made = []
    elif check.operator in ("in", "not_in"):
        made = [[value], []]
    elif check.operator in ("minlength", "maxlength"):
        made = [len(value), len(value) - 1, len(value) + 1] if type(value) in (str, list, dict) else []
    elif type(value) in (int, float) and check.operator in ("min", "max"):
        made = [value, value - 1, value + 1]
    elif check.operator in ("contains", "lacks"):
        made = value[:1] if type(value) is list else []
    else:
        made = [value]
    kinds = {found_type(part) for part in made}
    yield from (ABSENT, *made)
    yield from (part for part in _ONE_OF_EACH if found_type(part) not in kinds)


def _asks_much(leaf: Test) -> bool:
    """Whether a value at an edge of a test is too large for a case."""
    (check,) = leaf.checks
    return any(map(_exceeds, edges(check, check.operand)))


def _exceeds(value: Any) -> bool:
    """Whether a value certainly takes more bytes than a case has, without looking at all of it."""
    todo, size = [value], LARGEST
    while todo and size >= 0:
        part = todo.pop()
        size -= len(part) if type(part) in (str, list, dict) else 1
        if size >= 0 and type(part) in (list, dict):
            todo.extend(part if type(part) is list else part.values())
    return size < 0


def _judged(name: str, subject: Subject, rule: Rule, gates: Gates) -> Start:
    given = subject.given
    gate = gates.on(given)
    found = [
        refusal.rule for refusal in gate.admit(subject.descriptor, given.placement, frozenset(given.taken)).refusals
    ]
    shape = {other.id for stage in gates.rules.stages if stage.name == "shape" for other, _ in stage.triggers}
    stopped = tuple(dict.fromkeys(id for id in found if id in shape)) if set(found) <= shape else ()
    return Start(name, subject, rule.id in found, stopped, False)


def _said(value: Any) -> str:
    if value is ABSENT:
        return "is absent"
    if type(value) in (str, list, dict) and not value:
        return f"is an empty {found_type(value)}"
    shown = show(value)
    if len(shown) > _NAME_LENGTH:
        return f"is of type {found_type(value)} and size {len(value)}"
    if type(value) is str:
        return f"is the text '{shown}'"
    return f"is the list [{shown}]" if type(value) is list else f"is {shown}"


def _unique(name: str, names: set[str]) -> str:
    made, count = name, 1
    while made in names:
        count += 1
        made = f"{name} ({count})"
    names.add(made)
    return made
