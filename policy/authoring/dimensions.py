"""The dimensions of a space of descriptors: the places that triggers read, and the values worth trying there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.destinations import ALL
from capgate.policy.authoring.domains import Domain, Domains, domain_at
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.lengths import LONGEST
from capgate.policy.authoring.places import Asked, Place, unique
from capgate.policy.authoring.relations import Relation, Slot, compared, relate
from capgate.policy.authoring.seeds import loops_of, operand_of
from capgate.policy.authoring.settle import Subject, place_of
from capgate.policy.authoring.text_checks import NOTHING, Told
from capgate.policy.catalog import Catalog
from capgate.policy.conditions import Check, leaves_of
from capgate.policy.operators import ABSENT
from capgate.policy.paths import Path, format_path
from capgate.policy.rulefile import Loop, Trigger
from capgate.policy.vocabulary import Reference

__all__ = ["Dimension", "Settings", "dimensions_of"]

_TOOLS: Final[Path] = ("tools",)
_CAPABILITIES: Final[Path] = ("capabilities",)
_HOSTS: Final[Path] = ("bounds", "hosts")
_PRIMITIVE: Final[Path] = ("tools", 0, "primitive")
_DESTINATIONS: Final = "subject.destinations"
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
        told: the texts among them, where patterns are asked of the place.
        left_out: what is too much to be tried, in words.
    """

    name: str
    place: Path
    options: Callable[[Subject], Sequence[Any]]
    count: int
    told: Told = NOTHING
    left_out: tuple[str, ...] = ()


def dimensions_of(sides: Sequence[Gates], asked: Sequence[tuple[Gates, Trigger]]) -> list[Dimension]:
    """The dimensions that the triggers in which `sides` differ make, the higher places first."""
    return _Reader(sides, asked).dimensions()


class _Reader:
    def __init__(self, sides: Sequence[Gates], asked: Sequence[tuple[Gates, Trigger]]):
        self.gates = sides[0]
        self.catalog: Catalog = sides[0].catalog
        self.places: dict[Path, Place] = {}
        self.facts: dict[str, list[Any]] = {}
        self.asked: set[str] = set()
        self.relations: list[Relation] = []
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
            for check, item in compared(leaf.checks[0]):
                other = check.operand.reference
                if varied:
                    self.depend(other.term.fact, ABSENT)
                # What is not read from the descriptor, an operator is asked with as if it stood in the rule.
                if other.term.origin == "constant" or other.term.fact == "host.taken":
                    continue
                self.compare(leaf.reference, domain, check, loops, domains.of(other, trigger), item)
                if varied:
                    self.varied |= dict.fromkeys(slot.place for slot in self.relations[-1][1:] if slot.place)

    def reach(
        self, reference: Reference, loops: Sequence[Loop], domain: Domain, check: Check | None, *, varied: bool
    ) -> None:
        """Notes what a trigger asks of a path, and with `varied` that its place is to be varied."""
        operand = operand_of(check, Subject({}), self.gates) if check else ABSENT
        for place in self.where(reference, loops):
            item = isinstance(place[-1], int)
            at = place[:-1] if item else place
            there = self.places.setdefault(at, Place(domain))
            if check and item:
                there.ask_item(Asked(check, operand, _part(reference, loops)), domain, changed=varied)
            elif check:
                part = ALL if reference.term.fact == _DESTINATIONS else None
                there.ask(Asked(check, operand, part), changed=varied)
            if varied:
                self.varied[at] = None
        if varied:
            self.asked.add(reference.term.fact)
            self.depend(reference.term.fact, operand)

    def compare(
        self, reference: Reference, domain: Domain, check: Check, loops: Sequence[Loop], other: Domain, item: bool
    ) -> None:
        """Notes that what a path names is compared with what a fact is read from."""
        left = self.slot(reference, loops, domain)
        if item and left.part is None:
            left = left._replace(part="item")
        self.relations.append(Relation(check, left, self.slot(check.operand.reference, loops, other)))

    def slot(self, reference: Reference, loops: Sequence[Loop], domain: Domain) -> Slot:
        """Where what a path names can be set."""
        place = next(iter(self.where(reference, loops)), None)
        if place is None:
            return Slot(None, None, domain.known)
        item = isinstance(place[-1], int)
        at = place[:-1] if item else place
        self.places.setdefault(at, Place(domain))
        return Slot(at, (_part(reference, loops) or "item") if item else None)

    def where(self, reference: Reference, loops: Sequence[Loop]) -> Sequence[Path]:
        """The places that a path can name where each list walked over is at its first element."""
        if reference.looped:
            while loops[-1].variable != reference.root:
                loops = loops[:-1]
            if loops[-1].element.fact == "layout":
                return self.fields()
            if loops[-1].over.term.fact == _DESTINATIONS:
                return [(*_HOSTS, 0)]
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
            there = self.places.setdefault(_PRIMITIVE, Place(domain_at(_PRIMITIVE)))
            there.domain = replace(there.domain, known=(*self.catalog.primitives, "shell"))
            # No operator tells these apart on the place itself, but on what is worked out of them.
            alike = {(terms.needs, tuple(terms.abis)): name for name, terms in self.catalog.primitives.items()}
            there.apart += alike.values()
        if fact in ("tool.undeclared", "subject.hosts", "subject.destinations"):
            self.varied[_CAPABILITIES] = None
            there = self.places.setdefault(_CAPABILITIES, Place(domain_at(_CAPABILITIES)))
            there.kept += self.catalog.mediated
        if fact == "tool.first_use":
            self.varied[_TOOLS] = None

    def dimensions(self) -> list[Dimension]:
        relate(self.relations, self.places)
        places = sorted(self.varied, key=lambda place: (len(place), format_path(place)))
        made = [self.dimension(place) for place in places]
        if self.shapes:
            made += [_fixed(place, values) for place, values in _MALFORMED.items()]
        return [*made, *self.settings()]

    def dimension(self, place: Path) -> Dimension:
        there = self.places[place]
        plain, items, told = there.plain(), there.worthwhile(), there.told()[2]
        # Of texts of which all say the same one is left.
        told = told._replace(texts=tuple(value for value in (*plain, *items) if type(value) is str))
        name, count, left_out = format_path(place), len(plain), tuple(there.left_out())
        lengths = sorted({len(value) for value in plain if type(value) is list and len(value) > 1})
        if place == _TOOLS:
            count += _MOST_TOOLS + len(lengths)
            return Dimension(name, place, lambda base: [*plain, *_tools(base, lengths)], count, told, left_out)
        if not items and not any(type(value) is list for value in plain):
            return Dimension(name, place, lambda base: plain, count, told, left_out)
        long = _long(items, lengths)
        count += 2 * len(items) + len(long)

        def options(base: Subject) -> Sequence[Any]:
            return unique([*plain, *_lists(base, place, items, lengths), *long])

        return Dimension(name, place, options, count, told, left_out)

    def settings(self) -> Iterator[Dimension]:
        if any(fact.startswith("placement.") for fact in self.facts):
            words = [text for texts in self.facts.values() for text in texts]
            names = [name for name in self.catalog.capabilities if name in words] or list(self.catalog.capabilities)
            # What is only compared with can be told by one of them, there or not.
            most = 3 if any(fact.startswith("placement.") for fact in self.asked) else 1
            sets = [part for size in range(min(len(names), most) + 1) for part in combinations(names, size)]
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


def _fixed(place: Path, values: Sequence[Any]) -> Dimension:
    return Dimension(f"{format_path(place)} of another type", place, lambda base: values, len(values))


def _part(reference: Reference, loops: Sequence[Loop]) -> str | None:
    """What a path names of a host in the list of them; None where it names no such thing."""
    hosts = [loop.variable for loop in loops if loop.over.term.fact == _DESTINATIONS]
    if not reference.looped or reference.root not in hosts:
        return None
    return reference.steps[0] if reference.steps else ""


def _long(items: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
    """Lists of one and the same item, of each length, as far as they are not too large all in all."""
    return [[item] * length for length in lengths for item in items[: max(LONGEST // (4 * length), 1)]]


def _lists(base: Subject, place: Path, items: Sequence[Any], lengths: Sequence[int]) -> Iterator[Any]:
    """Lists near to the one that is there: with something more, with something less, of something else, longer."""
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
    yield from ([*old, *[old[0]] * (length - len(old))] for length in lengths if 0 < len(old) < length)
    # A text after another, and one text twice.
    texts = [item for item in items if type(item) is str]
    for pair in combinations(texts[:6], 2):
        yield list(pair)


def _tools(base: Subject, lengths: Sequence[int]) -> Iterator[Any]:
    """More tools like the first, under other names and under its own."""
    tools = base.descriptor.get("tools") if type(base.descriptor) is dict else None
    if type(tools) is not list or not tools or type(tools[0]) is not dict:
        return
    counts = [*range(1, _MOST_TOOLS), *(length - len(tools) for length in lengths)]
    for count in sorted({count for count in counts if count > 0}):
        yield [*tools, *({**tools[0], "name": f"t{number}"} for number in range(count))]
    yield [*tools, tools[0]]
