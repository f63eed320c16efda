"""The descriptors by which sets of rules can be told apart: a finite space, walked from its nearest corner.

A space is made of triggers in which the sets differ. Each place of a descriptor that such a trigger reads
is a dimension. Its values are those between which the operators that any rule has on that place change their
answers; of values that all of them answer alike one is enough. From every descriptor to begin with, one
place is changed, then two at once, and so on.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.dimensions import Dimension, Settings, dimensions_of
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.seeds import first
from capgate.policy.authoring.settle import Subject, settle
from capgate.policy.documents import DocumentError, canonical
from capgate.policy.operators import ABSENT
from capgate.policy.paths import format_path
from capgate.policy.rulefile import Rule

__all__ = ["Bounds", "Space", "size_of"]

_DIGEST: Final = "0" * 64
#: So many descriptors of a rule's own examples are begun with.
_MOST_SEEDS: Final = 12


@dataclass(slots=True)
class Bounds:
    """What was looked at.

    Attributes:
        places: each place that was varied, with the number of its values.
        bases: the descriptors that were begun with.
        tried: how many descriptors were tried.
        at_once: so many places at once were changed, in every way; what came after was cut short.
        whole: whether that is all of them.
    """

    places: dict[str, int]
    bases: int
    tried: int = 0
    at_once: int = 0
    whole: bool = False

    def to_json(self) -> dict[str, Any]:
        """The bounds as JSON data."""
        return {
            "places": self.places,
            "bases": self.bases,
            "tried": self.tried,
            "at_once": self.at_once,
            "whole": self.whole,
        }


class _Ask(NamedTuple):
    rule: Rule
    number: int
    gates: Gates


class Space:
    """What two sets of rules could be told apart by.

    Args:
        sides: both sets of rules.
        asks: the triggers in which they differ: the side, the rule, and the number of its trigger.
        seeds: descriptors that are tried as they are.
        limit: how many descriptors are tried at most.

    Attributes:
        bounds: what was looked at so far.
    """

    def __init__(
        self, sides: Sequence[Gates], asks: Sequence[tuple[Gates, Rule, int]], seeds: Sequence[Subject], limit: int
    ):
        self._seeds = list(seeds)
        self._limit = limit
        self._dimensions = dimensions_of(sides, [(gates, rule.triggers[number]) for gates, rule, number in asks])
        made = [*_bases(sides[0]), *self._found([_Ask(*ask) for ask in asks])]
        unique: dict[bytes, Subject] = {}
        for subject in made:
            unique.setdefault(_key(subject), subject)
        self._bases = list(unique.values())
        places = {dimension.name: dimension.count for dimension in self._dimensions}
        self.bounds = Bounds(places, len(self._bases))

    def subjects(self) -> Iterator[Subject]:
        """The descriptors, those that were given first, then the others by the number of places changed."""
        for subject in self._seeds:
            self.bounds.tried += 1
            yield subject
        for count in range(len(self._dimensions) + 1):
            for base in self._bases:
                for subject in self._changed(base, count):
                    if self.bounds.tried >= self._limit:
                        return
                    self.bounds.tried += 1
                    yield subject
            self.bounds.at_once = count
        self.bounds.whole = True

    def level(self) -> int:
        """How many places at once are being changed."""
        return self.bounds.at_once

    def _changed(self, base: Subject, count: int) -> Iterator[Subject]:
        for chosen in combinations(self._dimensions, count):
            options = [list(dimension.options(base)) for dimension in chosen]
            for values in product(*options):
                subject: Subject | None = base
                for dimension, value in zip(chosen, values, strict=True):
                    subject = _apply(subject, dimension, value)
                    if subject is None:
                        break
                if subject is not None:
                    yield subject

    def _found(self, asks: Sequence[_Ask]) -> Iterator[Subject]:
        """A subject on which each of the triggers refuses, so far as one is found."""
        for ask in asks:
            found = first(ask.rule, ask.number, ask.gates)
            if found:
                yield found.subject


def size_of(subject: Subject) -> tuple[int, bytes]:
    """What is smaller is shorter; of the same length any order will do that is always the same."""
    key = _key(subject)
    return len(key), key


def _apply(subject: Subject | None, dimension: Dimension, value: Any) -> Subject | None:
    if subject is None:
        return None
    if isinstance(value, Settings):
        return subject._replace(given=subject.given._replace(**value.changes))
    # A part of something that is not there would bring the whole back.
    holder = subject.descriptor
    for step in dimension.place[:-1]:
        there = (
            holder.get(step, ABSENT)
            if type(holder) is dict
            else holder[step]
            if type(holder) is list and isinstance(step, int) and step < len(holder)
            else ABSENT
        )
        if there is ABSENT and value is ABSENT:
            return None
        if there is not ABSENT and type(there) not in (dict, list):
            return None
        holder = there
    return settle(subject, dimension.place, value)


def _bases(gates: Gates) -> Iterator[Subject]:
    """For each primitive and each ABI a descriptor with one tool over it, and all that it needs."""
    catalog = gates.catalog
    whole: dict[str, Any] = {"capabilities": list(catalog.mediated)}
    whole["bounds"] = {"hosts": ["a.test"], "maxRequests": 1}
    tools: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    for primitive in catalog.primitives.values():
        tool = {"name": "a", "primitive": primitive.name}
        if not primitive.abis:
            tools.append((primitive.needs, tool))
        for abi, fields in primitive.abis.items():
            settings: dict[str, Any] = {"path": "m.wasm", "digest": _DIGEST, "abi": abi, "call": {"export": "f"}}
            for field in fields:
                holder = settings
                *names, last = field.split(".")
                for name in names:
                    holder = holder.setdefault(name, {})
                holder[last] = 1
            tools.append((primitive.needs, {**tool, primitive.name: settings}))
    tools.sort(key=lambda pair: len(canonical(pair[1])))
    for needs, tool in tools:
        made: dict[str, Any] = {"capabilities": list(needs)} if needs else {}
        if "network" in needs:
            made["bounds"] = copy.deepcopy(whole["bounds"])
        yield Subject({**made, "tools": [tool]})
    if tools:
        yield Subject({**whole, "tools": [tools[0][1]]})


def _key(subject: Subject) -> bytes:
    try:
        return canonical([subject.descriptor, subject.given.to_json()])
    except DocumentError:
        return repr(subject).encode("utf-8", "backslashreplace")


def shown_places(bounds: Bounds) -> str:
    """The places of a space, with the number of their values, for people."""
    return ", ".join(f"{place} ({count})" for place, count in bounds.places.items())


def place_name(place: tuple[str | int, ...]) -> str:
    """A place of a descriptor."""
    return format_path(place)
