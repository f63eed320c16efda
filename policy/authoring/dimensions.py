"""The dimensions of a space of descriptors: the places that triggers read, and the values worth trying there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.domains import Domain, Domains, domain_at
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.possible import judged, tried_values
from capgate.policy.authoring.seeds import loops_of, operand_of, texts_of
from capgate.policy.authoring.settle import Subject, place_of
from capgate.policy.catalog import Catalog
from capgate.policy.conditions import Check, Each, leaves_of
from capgate.policy.documents import DocumentError, canonical
from capgate.policy.operators import ABSENT
from capgate.policy.paths import Path, format_path
from capgate.policy.patterns import Pattern
from capgate.policy.rulefile import Loop, Trigger
from capgate.policy.vocabulary import Reference

__all__ = ["Dimension", "Settings", "dimensions_of"]

_TOOLS: Final[Path] = ("tools",)
_CAPABILITIES: Final[Path] = ("capabilities",)
_PRIMITIVE: Final[Path] = ("tools", 0, "primitive")
#: A text, list or object of more bytes than this is not tried.
_LARGEST: Final = 1000
#: So many tools are put beside the first where their number counts.
_MOST_TOOLS: Final = 4
#: Values that break the shape, for rules that look at that.
_MALFORMED: Final[Mapping[Path, tuple[Any, ...]]] = {("id",): (7,), _CAPABILITIES: (5,), ("tools", 0, "name"): (7,)}


class Settings(NamedTuple):
    """Other values for what a descriptor is judged against, by the names of `Given`."""

    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One place, and what can stand there.

    Attributes:
        name: the place in words.
        place: the place; empty where it is none of the descriptor's.
        options: gives the other values for a descriptor to begin with: JSON values, `ABSENT`, or `Settings`.
        count: how many there are, about: for lists it depends on the descriptor.
    """

    name: str
    place: Path
    options: Callable[[Subject], Sequence[Any]]
    count: int


@dataclass(slots=True)
class _Place:
    """What is asked of one place, by any rule."""

    domain: Domain
    checks: list[tuple[Check, Any]]
    item_checks: list[tuple[Check, Any]]
    items: list[Any]
    kept: list[Any]

    @classmethod
    def of(cls, domain: Domain) -> _Place:
        """A place of which nothing is asked yet."""
        return cls(domain, [], [], [], [])


def dimensions_of(sides: Sequence[Gates], asked: Sequence[tuple[Gates, Trigger]]) -> list[Dimension]:
    """The dimensions that the triggers in which `sides` differ make, the higher places first."""
    return _Reader(sides, asked).dimensions()


class _Reader:
    def __init__(self, sides: Sequence[Gates], asked: Sequence[tuple[Gates, Trigger]]):
        self.gates = sides[0]
        self.catalog: Catalog = sides[0].catalog
        self.places: dict[Path, _Place] = {}
        self.facts: dict[str, list[Any]] = {}
        self.varied: dict[Path, None] = {}
        self.shapes = False
        chosen = {id(trigger) for _, trigger in asked}
        for gates in sides:
            domains = Domains(gates.rules, gates.catalog)
            for stage in gates.rules.stages:
                for _, trigger in stage.triggers:
                    self.read(trigger, gates, domains, varied=id(trigger) in chosen)
                    self.shapes = self.shapes or (stage.name == "shape" and id(trigger) in chosen)

    def read(self, trigger: Trigger, gates: Gates, domains: Domains, *, varied: bool) -> None:
        loops = loops_of(trigger, gates)
        for number, loop in enumerate(loops):
            self.reach(loop.over, loops[:number], domains.of(loop.over, trigger), None, varied=varied)
        for leaf in leaves_of(trigger.when):
            domain = domains.of(leaf.reference, trigger)
            self.reach(leaf.reference, loops, domain, leaf.checks[0], varied=varied)

    def reach(
        self, reference: Reference, loops: Sequence[Loop], domain: Domain, check: Check | None, *, varied: bool
    ) -> None:
        """Notes what a trigger asks of a path, and with `varied` that its place is to be varied."""
        operand = operand_of(check, Subject({}), self.gates) if check else ABSENT
        for place in self.where(reference, loops):
            item = isinstance(place[-1], int)
            at = place[:-1] if item else place
            there = self.places.setdefault(at, _Place.of(domain))
            if check and item:
                there.item_checks.append((check, operand))
                there.items += [value for value in _values(check, operand) if domain.fits(value)]
            elif check:
                there.checks.append((check, operand))
            if varied:
                self.varied[at] = None
        if varied:
            self.depend(reference.term.fact, operand)

    def where(self, reference: Reference, loops: Sequence[Loop]) -> Sequence[Path]:
        """The places that a path can name where each list walked over is at its first element."""
        if reference.looped:
            while loops[-1].variable != reference.root:
                loops = loops[:-1]
            if loops[-1].element.fact == "layout":
                return self.fields()
        element: Path | None = None
        for number, loop in enumerate(loops):
            over = place_of(loop.over, loops[:number], element)
            element = (*over, 0) if over else None
        place = place_of(reference, loops, element)
        return [place] if place else []

    def fields(self) -> list[Path]:
        """Where the numbers of all binary layouts stand."""
        return [
            ("tools", 0, name, *field.split("."))
            for name, primitive in self.catalog.primitives.items()
            for field in sorted({field for fields in primitive.abis.values() for field in fields})
        ]

    def depend(self, fact: str, operand: Any) -> None:
        """Varies what a fact is worked out from."""
        texts = [text for text in (operand if type(operand) is list else [operand]) if type(text) is str]
        if fact.startswith("placement.") or fact == "host.taken":
            self.facts.setdefault(fact, []).extend(texts)
        if fact in ("tool.known", "tool.needs", "tool.undeclared", "tool.layout"):
            self.varied[_PRIMITIVE] = None
            there = self.places.setdefault(_PRIMITIVE, _Place.of(domain_at(_PRIMITIVE)))
            there.domain = replace(there.domain, known=(*self.catalog.primitives, "shell"))
        if fact in ("tool.undeclared", "subject.hosts", "subject.destinations"):
            self.varied[_CAPABILITIES] = None
            there = self.places.setdefault(_CAPABILITIES, _Place.of(domain_at(_CAPABILITIES)))
            there.kept += self.catalog.mediated
        if fact == "tool.first_use":
            self.varied[_TOOLS] = None

    def dimensions(self) -> list[Dimension]:
        places = sorted(self.varied, key=lambda place: (len(place), format_path(place)))
        made = [self.dimension(place) for place in places]
        if self.shapes:
            made += [_fixed(place, values) for place, values in _MALFORMED.items()]
        return [*made, *self.settings()]

    def dimension(self, place: Path) -> Dimension:
        there = self.places[place]
        tried = [value for check, operand in there.checks for value in _values(check, operand)]
        plain = _classes([*there.domain.values(tried)], there.checks)
        items = _items(there)
        name, count = format_path(place), len(plain)
        if place == _TOOLS:
            return Dimension(name, place, lambda base: [*plain, *_tools(base)], count + _MOST_TOOLS)
        if not items and not any(type(value) is list for value in plain):
            return Dimension(name, place, lambda base: plain, count)
        return Dimension(
            name, place, lambda base: _unique([*plain, *_lists(base, place, items)]), count + 2 * len(items)
        )

    def settings(self) -> Iterator[Dimension]:
        if any(fact.startswith("placement.") for fact in self.facts):
            words = [text for texts in self.facts.values() for text in texts]
            names = [name for name in self.catalog.capabilities if name in words] or list(self.catalog.capabilities)
            sets = [part for size in range(min(len(names), 3) + 1) for part in combinations(names, size)]
            sets.append(tuple(self.catalog.capabilities))
            for terms in self.catalog.placements.values():
                for name in names:
                    without = tuple(kept for kept in terms.mechanisms if kept != name)
                    sets += [(*without, name), without]
            options = [Settings({"placement": name}) for name in self.catalog.placements]
            if any(fact.startswith("placement.mechanism") for fact in self.facts):
                options += [Settings({"mechanisms": part}) for part in dict.fromkeys(sets)]
            yield Dimension("the placement", (), lambda base: options, len(options))
        if "host.taken" in self.facts:
            texts = dict.fromkeys(["a", *self.facts["host.taken"]])
            taken = [Settings({"taken": (text,)}) for text in texts]
            yield Dimension("the names in use", (), lambda base: taken, len(taken))


def _items(place: _Place) -> list[Any]:
    """What is worth having in a list: of what all checks answer alike one, and all that they name."""
    named = list(place.kept)
    tried = list(place.items)
    for check, operand in place.checks:
        if isinstance(operand, Each):
            tried += [value for part in operand.checks for value in _values(part, part.operand)]
        elif check.operator in ("contains", "lacks") and operand is not ABSENT:
            named.append(operand)
        elif check.operator in ("subset_of", "equals", "in", "not_in") and type(operand) is list:
            named += operand
    each = [operand for _, operand in place.checks if isinstance(operand, Each)]
    checks = [*place.item_checks, *((part, part.operand) for operand in each for part in operand.checks)]
    return _unique([*named, *_classes([value for value in tried if value is not ABSENT], checks)])


def _fixed(place: Path, values: Sequence[Any]) -> Dimension:
    return Dimension(f"{format_path(place)} of another type", place, lambda base: values, len(values))


def _values(check: Check, operand: Any) -> list[Any]:
    made: list[Any] = []
    if isinstance(operand, Pattern):
        for text in texts_of(operand):
            made += [text, text.upper(), f"x{text}", f"{text}x", f"{text}0", text[:-1]]
    return [value for value in (*made, *tried_values(check, operand)) if _small(value)]


def _small(value: Any) -> bool:
    try:
        return len(canonical(value)) <= _LARGEST
    except DocumentError:
        return False


def _classes(values: Sequence[Any], checks: Sequence[tuple[Check, Any]]) -> list[Any]:
    """Of values that all checks answer alike the smallest; one of each type is kept."""
    found: dict[Any, Any] = {}
    for value in values:
        key = (type(value), value == {} if type(value) is dict else None, *(judged(*pair, value) for pair in checks))
        if key not in found or _weight(value) < _weight(found[key]):
            found[key] = value
    return list(found.values())


def _weight(value: Any) -> int:
    return 0 if value is ABSENT else len(canonical(value))


def _unique(values: Sequence[Any]) -> list[Any]:
    made: dict[bytes | None, Any] = {}
    for value in values:
        made.setdefault(None if value is ABSENT else canonical(value), value)
    return list(made.values())


def _lists(base: Subject, place: Path, items: Sequence[Any]) -> Iterator[Any]:
    """Lists near to the one that is there: with something more, with something less, of something else."""
    there: Any = base.descriptor
    for step in place:
        there = there.get(step) if type(there) is dict and isinstance(step, str) else None
    old = there if type(there) is list else []
    yield []
    for number in range(len(old)):
        yield [*old[:number], *old[number + 1 :]]
    for item in items:
        yield [item]
        if old and item not in old:
            yield [*old, item]
            yield [item, *old]
    # A text after another, and one text twice.
    texts = [item for item in items if type(item) is str]
    for pair in combinations(texts[:6], 2):
        yield list(pair)


def _tools(base: Subject) -> Iterator[Any]:
    """More tools like the first, under other names and under its own."""
    tools = base.descriptor.get("tools") if type(base.descriptor) is dict else None
    if type(tools) is not list or not tools or type(tools[0]) is not dict:
        return
    for count in range(1, _MOST_TOOLS):
        yield [*tools, *({**copy.deepcopy(tools[0]), "name": f"t{number}"} for number in range(count))]
    yield [*tools, copy.deepcopy(tools[0])]
