"""Descriptors on which a trigger refuses: its rule's examples, or else some that are made up for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.given import Gates, read_given
from capgate.policy.authoring.possible import judged, tried_values
from capgate.policy.authoring.samples import matching
from capgate.policy.authoring.settle import Subject, place_of, settings_of, settle, value_at
from capgate.policy.authoring.text_checks import TextChecks
from capgate.policy.authoring.truth import Truth
from capgate.policy.catalog import RESERVED_TOOL_NAMES, Catalog
from capgate.policy.compiler import Asked
from capgate.policy.conditions import AllOf, AnyOf, Check, Condition, Each, Fact, Not, Test
from capgate.policy.errors import FactUnavailable
from capgate.policy.operators import ABSENT
from capgate.policy.paths import Path, parse_path
from capgate.policy.patterns import Pattern
from capgate.policy.rulefile import Loop, Rule, Trigger
from capgate.policy.vocabulary import Reference, constant_value

__all__ = ["Found", "first", "loops_of", "operand_here", "operand_of", "texts_of"]

#: So many ways to meet a condition are tried.
_MOST: Final = 64
#: So many values are tried for a path, and lists of so many elements.
_FEW: Final = 12
_DIGEST: Final = "0" * 64


class Found(NamedTuple):
    """A subject of which a trigger was asked, and the element it was asked of."""

    subject: Subject
    element: Path | None


def first(rule: Rule, number: int, gates: Gates) -> Found | None:
    """A subject on which the trigger of that number refuses, and the element; None where none was found.

    Raises:
        FactUnavailable: none was found, and a plugin cannot even judge a plain descriptor.
    """
    trigger = rule.triggers[number]
    for subject in islice(_candidates(rule, trigger, number, gates), 8 * _MOST):
        for asked in _asked(subject, rule, number, gates):
            if asked.can_hold and asked.answers:
                return Found(subject, parse_path(asked.element) if asked.element else None)
    _asked_strictly(_bases(gates.catalog)[0], rule, number, gates)
    return None


def _asked_strictly(subject: Subject, rule: Rule, number: int, gates: Gates) -> list[Asked]:
    """What the trigger of that number was asked of a subject.

    Raises:
        FactUnavailable: a plugin could not say what a rule asked it.
    """
    given = subject.given
    asked = gates.on(given).explain(subject.descriptor, given.placement, frozenset(given.taken))
    return [one for one in asked if one.rule == rule.id and one.trigger == number]


def _asked(subject: Subject, rule: Rule, number: int, gates: Gates) -> list[Asked]:
    """As `_asked_strictly`; nothing where a plugin could not answer."""
    try:
        return _asked_strictly(subject, rule, number, gates)
    except FactUnavailable:
        return []


def loops_of(trigger: Trigger, gates: Gates) -> list[Loop]:
    """The loops around a trigger: the stage's, then its own."""
    outer = next(stage.loop for stage in gates.rules.stages if stage.name == trigger.stage)
    return [loop for loop in (outer, trigger.loop) if loop]


def operand_of(check: Check, subject: Subject, gates: Gates) -> Any:
    """The operand, for a fact its value; `ABSENT` where it has none, or where that depends on the descriptor."""
    if not isinstance(check.operand, Fact):
        return check.operand
    fact = check.operand.reference.term
    if fact.fact == "host.taken":
        return sorted(RESERVED_TOOL_NAMES.union(subject.given.taken))
    if fact.origin != "constant":
        return ABSENT
    catalog = gates.on(subject.given).catalog
    try:
        return constant_value(fact.fact, catalog, catalog.placements[subject.given.placement])
    except KeyError:
        return ABSENT


def operand_here(check: Check, found: Found, loops: Sequence[Loop], gates: Gates) -> Any:
    """The operand as `operand_of` has it, or what stands in the descriptor where it is read from there."""
    if isinstance(check.operand, Fact):
        place = place_of(check.operand.reference, *_around(check.operand.reference, loops, found))
        if place is not None:
            return value_at(found.subject.descriptor, place)
    return operand_of(check, found.subject, gates)


def _around(reference: Reference, loops: Sequence[Loop], found: Found) -> tuple[Sequence[Loop], Path | None]:
    """The loops as far as the one whose variable a path begins with, and the element that it stands for.

    Of the stage's loop, where the trigger has one of its own, that is the first: what is made up has no other.
    """
    if len(loops) < 2 or not reference.looped or reference.root != loops[0].variable:
        return loops, found.element
    over = place_of(loops[0].over, (), None)
    return loops[:1], (*over, 0) if over else None


def texts_of(pattern: Pattern) -> Iterator[str]:
    """A text that a pattern matches, if one was found, and texts that look like it."""
    text = matching(pattern)
    if text is not None:
        yield from (text, f"{text}\n", f" {text}")
    yield ""


def _candidates(rule: Rule, trigger: Trigger, number: int, gates: Gates) -> Iterator[Subject]:
    for example in rule.examples:
        if example.refused:
            yield Subject(example.descriptor, read_given(example.given))
    loops = loops_of(trigger, gates)
    for base in _bases(gates.catalog):
        for subject in (base, *_with_elements(base, loops)):
            for asked in _asked(subject, rule, number, gates)[:2]:
                element = parse_path(asked.element) if asked.element else None
                yield subject
                for plan in islice(_plans(trigger.when, True), _MOST):
                    yield from _met(plan, Found(subject, element), loops, gates)


def _bases(catalog: Catalog) -> list[Subject]:
    """Descriptors that have something of everything, between them."""
    plain = next((terms for terms in catalog.primitives.values() if not terms.needs and not terms.abis), None)
    tool: dict[str, Any] = {"name": "a", "primitive": plain.name if plain else next(iter(catalog.primitives))}
    declared: dict[str, Any] = {"capabilities": list(catalog.mediated)}
    declared["bounds"] = {"hosts": ["a.test"], "maxRequests": 1}
    made: list[dict[str, Any]] = [{"tools": [tool]}, {**declared, "tools": [tool]}]
    for primitive in catalog.primitives.values():
        made += [{"tools": [{**tool, "primitive": primitive.name}]}] if primitive.needs else []
        for abi, fields in primitive.abis.items():
            settings: dict[str, Any] = {"path": "m.wasm", "digest": _DIGEST, "abi": abi}
            for field in fields:
                holder = settings
                *names, last = field.split(".")
                for name in names:
                    holder = holder.setdefault(name, {})
                holder[last] = 8
            settings["call"] = {"export": "run"}
            made.append({"tools": [{**tool, "primitive": primitive.name, primitive.name: settings}]})
    made += [{"id": 7, "tools": [tool]}, {}]
    return [Subject(descriptor) for descriptor in made]


def _with_elements(base: Subject, loops: Sequence[Loop]) -> Iterator[Subject]:
    """The base with something in the lists that are walked over."""
    outer: Path | None = None
    for number, loop in enumerate(loops):
        place = place_of(loop.over, loops[:number], outer)
        items: tuple[Any, ...] = ("a", {})
        for item in items:
            found = settle(base, place, [item]) if place else None
            if found:
                yield found
        outer = (*place, 0) if place else None


def _plans(condition: Condition, want: bool) -> Iterator[list[tuple[Test, bool]]]:
    """What the single operators have to say for a condition to be true, or false: each way that it can be."""
    if isinstance(condition, Not):
        yield from _plans(condition.part, not want)
        return
    if isinstance(condition, Test):
        parts = [Test(condition.reference, (check,), check.at) for check in condition.checks]
        if want:
            yield [(part, True) for part in parts]
        else:
            yield from ([(part, False)] for part in parts)
        return
    if isinstance(condition, AllOf) is want and isinstance(condition, AllOf | AnyOf):
        for ways in product(*(list(islice(_plans(part, want), _MOST)) for part in condition.parts)):
            yield [step for way in ways for step in way]
        return
    for part in condition.parts:
        yield from _plans(part, want)


def _met(plan: list[tuple[Test, bool]], found: Found, loops: Sequence[Loop], gates: Gates) -> Iterator[Subject]:
    """Subjects that may meet a plan: each path is given a value of which its operators say what they have to."""
    by_path: dict[str, list[tuple[Test, bool]]] = {}
    for test, want in plan:
        by_path.setdefault(test.reference.text, []).append((test, want))
    subjects = [found.subject]
    said = [test.checks[0].operand for test, _ in plan]
    for operand in said:
        if isinstance(operand, Fact):
            subjects += _with_fact(operand, [text for text in said if type(text) is str], found, loops, gates)
    # What stands higher goes first, so that it does not undo what was set below it.
    for path in sorted(by_path, key=lambda text: text.count(".")):
        reference = by_path[path][0][0].reference
        around = _around(reference, loops, found)
        place = place_of(reference, *around)
        made: list[Subject] = []
        for subject in subjects[:_FEW]:
            if place is None:
                here = found._replace(subject=subject)
                texts = [text for test, _ in by_path[path] for text in _texts(test, here, loops, gates)]
                made += [other for _, other in settings_of(reference, texts, subject, around[1], gates.catalog)]
                made.append(subject)
            else:
                values = islice(_fitting(by_path[path], found._replace(subject=subject), loops, gates), _FEW)
                made += [other for value in values if (other := settle(subject, place, value))]
        subjects = made
    yield from subjects[: 2 * _MOST]


def _with_fact(operand: Fact, texts: Sequence[str], found: Found, loops: Sequence[Loop], gates: Gates) -> list[Subject]:
    """The subject with other values for what an operand is read from."""
    place = place_of(operand.reference, *_around(operand.reference, loops, found))
    if place is None:
        settings = settings_of(operand.reference, texts, found.subject, None, gates.catalog)
        return [subject for _, subject in settings]
    values: tuple[Any, ...] = (1, "a", ["a"])
    return [subject for value in values if (subject := settle(found.subject, place, value))]


def _texts(test: Test, found: Found, loops: Sequence[Loop], gates: Gates) -> list[Any]:
    operand = operand_here(test.checks[0], found, loops, gates)
    return operand if type(operand) is list else [operand]


def _fitting(wants: Sequence[tuple[Test, bool]], found: Found, loops: Sequence[Loop], gates: Gates) -> Iterator[Any]:
    operands = [(test.checks[0], operand_here(test.checks[0], found, loops, gates), want) for test, want in wants]
    tried = [value for check, operand, _ in operands for value in _tried(check, operand)]
    asked = TextChecks()
    for check, operand, _ in operands:
        asked.ask(check, operand, changed=True)
    tried += asked.told().texts
    lengths = {operand for _, operand, _ in operands if type(operand) is int and 1 < operand <= _FEW}
    tried += [value * length for value in tried if type(value) is list and len(value) == 1 for length in lengths]
    for value in (*tried, ABSENT):
        said = [(judged(check, operand, value), want) for check, operand, want in operands]
        if all(truth is (Truth.TRUE if want else Truth.FALSE) for truth, want in said):
            yield value


def _tried(check: Check, operand: Any) -> Iterator[Any]:
    if isinstance(operand, Each):
        yield from ([value] for part in operand.checks for value in _tried(part, part.operand))
    elif isinstance(operand, Pattern):
        yield from texts_of(operand)
    yield from tried_values(check, operand)
