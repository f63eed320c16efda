"""The tests that a rule obviously needs, as a file of cases to begin with.

For each trigger a descriptor is looked for on which it refuses. Then each of its conditions is tried on
that descriptor with the value absent, of other types, and at every edge of what it is compared with. What is
expected is what the rules say now: whoever reads the file sees what the rule does, and where that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.cases import read_cases
from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.possible import edges
from capgate.policy.authoring.seeds import Found, first, loops_of, operand_here, texts_of
from capgate.policy.authoring.settle import Subject, place_of, settings_of, settle
from capgate.policy.authoring.suite import run
from capgate.policy.conditions import Test, leaves_of
from capgate.policy.documents import DocumentError, canonical
from capgate.policy.errors import Span
from capgate.policy.operators import ABSENT
from capgate.policy.paths import format_path
from capgate.policy.patterns import Pattern
from capgate.policy.rule_errors import Problems
from capgate.policy.rulefile import Rule
from capgate.policy.shapes import found_type
from capgate.policy.text import show

__all__ = ["Start", "Starter", "start", "text_of"]

_ONE_OF_EACH: Final[tuple[Any, ...]] = (None, True, 5, "a", ["a"], {"a": 1})
#: So many edges of an operand are tried, and descriptors with no more bytes than this.
_EDGES: Final = 10
_LARGEST: Final = 2000
_NAME_LENGTH: Final = 60


class Start(NamedTuple):
    """One case to begin with.

    Attributes:
        name: its name.
        subject: the descriptor, and what it is judged against.
        refused: whether the rule refuses.
        stopped: the rules of the stage `shape` that refuse, so that this one is not asked.
    """

    name: str
    subject: Subject
    refused: bool
    stopped: tuple[str, ...]


class Starter(NamedTuple):
    """The cases of a rule to begin with.

    Attributes:
        rule: the rule.
        starts: the cases.
        open: triggers for which no descriptor was found on which they refuse: number from 1, and place.
    """

    rule: Rule
    starts: tuple[Start, ...]
    open: tuple[tuple[int, Span], ...]


def start(rule: Rule, gates: Gates) -> Starter:
    """Makes the cases that a rule obviously needs.

    Raises:
        FactUnavailable: a plugin could not say what a rule asked it.
    """
    found: dict[bytes, Start] = {}
    names: set[str] = set()
    missing = []
    for number, trigger in enumerate(rule.triggers):
        seed = first(rule, number, gates)
        if seed is None:
            missing.append((number + 1, rule.document.span(trigger.source)))
            continue
        prefix = f"trigger {number + 1}: " if len(rule.triggers) > 1 else ""
        for name, subject in _variations(rule, number, seed, gates):
            case = _judged(name if name.startswith("the rule") else prefix + name, subject, rule, gates)
            try:
                key = canonical([subject.descriptor, subject.given.to_json()])
            except DocumentError:
                continue  # such a value cannot stand in a file
            if len(key) <= _LARGEST and key not in found:
                found[key] = case._replace(name=_unique(case.name, names))
    return Starter(rule, tuple(found.values()), tuple(missing))


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


def _variations(rule: Rule, number: int, seed: Found, gates: Gates) -> Iterator[tuple[str, Subject]]:
    trigger = rule.triggers[number]
    loops = loops_of(trigger, gates)
    yield "the rule refuses" if number == 0 else f"the rule refuses by trigger {number + 1}", seed.subject
    for leaf in leaves_of(trigger.when):
        operand = operand_here(leaf.checks[0], seed, loops, gates)
        place = place_of(leaf.reference, loops, seed.element)
        if place is None:
            texts = operand if type(operand) is list else [operand]
            yield from settings_of(leaf.reference, texts, seed.subject, seed.element, gates.catalog)
            continue
        for value in _worth_trying(leaf, operand):
            subject = settle(seed.subject, place, value)
            if subject is not None:
                yield f"{format_path(place)} {_said(value)}", subject


def _worth_trying(leaf: Test, operand: Any) -> Iterator[Any]:
    """Absent; what a pattern matches, or the edges of the operand; one of each type that was not among them."""
    yield ABSENT
    kinds: set[str] = set()
    found = texts_of(operand) if isinstance(operand, Pattern) else edges(leaf.checks[0], operand)
    for value in islice(found, _EDGES):
        kinds.add(found_type(value))
        yield value
    yield from (value for value in _ONE_OF_EACH if found_type(value) not in kinds)


def _judged(name: str, subject: Subject, rule: Rule, gates: Gates) -> Start:
    given = subject.given
    gate = gates.on(given)
    found = [
        refusal.rule for refusal in gate.admit(subject.descriptor, given.placement, frozenset(given.taken)).refusals
    ]
    shape = {other.id for stage in gates.rules.stages if stage.name == "shape" for other, _ in stage.triggers}
    stopped = tuple(dict.fromkeys(id for id in found if id in shape)) if set(found) <= shape else ()
    return Start(name, subject, rule.id in found, stopped)


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
