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
from itertools import combinations
from typing import Any, Final, TypeAlias

from capgate.policy.authoring.dimensions import Dimension, Settings, dimensions_of
from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.seeds import first
from capgate.policy.authoring.settle import Subject
from capgate.policy.authoring.text_checks import Told
from capgate.policy.documents import DocumentError, canonical
from capgate.policy.errors import FactUnavailable
from capgate.policy.operators import ABSENT
from capgate.policy.paths import Path
from capgate.policy.rulefile import Rule

__all__ = ["Ask", "Bounds", "Space", "plain_subjects", "refused_subjects", "size_of"]

_DIGEST: Final = "0" * 64
#: Nothing is changed in a descriptor that takes more bytes than this; it is tried as it is.
_LARGEST: Final = 100_000
#: A list or an object counts as one more descriptor for each so many items.
_ITEMS: Final = 100


@dataclass(slots=True)
class Bounds:
    """What was looked at.

    Attributes:
        places: each place that was varied, with the number of its values.
        texts: of those of them of which patterns are asked, the texts among these values.
        left_out: of those of them where something is too much to be tried, what that is, in words.
        bases: the descriptors that were begun with.
        tried: how many descriptors were tried.
        at_once: so many places at once were changed, in every way; what came after was cut short.
        whole: whether that is all of them.
    """

    places: dict[str, int]
    texts: dict[str, Told]
    left_out: dict[str, tuple[str, ...]]
    bases: int
    tried: int = 0
    at_once: int = 0
    whole: bool = False

    def to_json(self) -> dict[str, Any]:
        """The bounds as JSON data."""
        return {
            "places": self.places,
            "texts": {
                place: {"patterns": told.patterns, "texts": len(told.texts), "whole": told.whole}
                for place, told in self.texts.items()
            },
            "left_out": {place: list(words) for place, words in self.left_out.items()},
            "bases": self.bases,
            "tried": self.tried,
            "at_once": self.at_once,
            "whole": self.whole,
        }


#: A trigger: the rules it belongs to, its rule, and its number in it.
Ask: TypeAlias = tuple[Gates, Rule, int]


class Space:
    """What two sets of rules could be told apart by.

    Args:
        sides: both sets of rules.
        asks: the triggers in which they differ: the side, the rule, and the number of its trigger.
        seeds: descriptors that are tried as they are.
        bases: descriptors to begin with; those that are too large for that are tried as they are.
        limit: how many descriptors are tried at most; those with large values count as several.

    Attributes:
        bounds: what was looked at so far.
    """

    def __init__(
        self,
        sides: Sequence[Gates],
        asks: Sequence[Ask],
        seeds: Sequence[Subject],
        bases: Sequence[Subject],
        limit: int,
    ):
        self._limit = limit
        self._dimensions = dimensions_of(sides, [(gates, rule.triggers[number]) for gates, rule, number in asks])
        unique: dict[bytes, Subject] = {}
        for subject in bases:
            unique.setdefault(_key(subject), subject)
        self._bases = [subject for key, subject in unique.items() if len(key) <= _LARGEST]
        self._seeds = [*seeds, *(subject for key, subject in unique.items() if len(key) > _LARGEST)]
        places = {dimension.name: dimension.count for dimension in self._dimensions}
        texts = {dimension.name: dimension.told for dimension in self._dimensions if dimension.told.patterns}
        left_out = {dimension.name: dimension.left_out for dimension in self._dimensions if dimension.left_out}
        self.bounds = Bounds(places, texts, left_out, len(self._bases))

    def subjects(self) -> Iterator[Subject]:
        """The descriptors, those that were given first, then the others by the number of places changed."""
        for subject in self._seeds[: self._limit]:
            self.bounds.tried += 1
            yield subject
        left = self._limit - self.bounds.tried
        for count in range(len(self._dimensions) + 1):
            for base in self._bases:
                for subject, effort in self._changed(base, count):
                    if left <= 0:
                        return
                    left -= effort
                    self.bounds.tried += 1
                    yield subject
            self.bounds.at_once = count
        self.bounds.whole = True

    def _changed(self, base: Subject, count: int) -> Iterator[tuple[Subject, int]]:
        """The base with so many places changed, each with what it counts."""
        for chosen in combinations(self._dimensions, count):
            yield from _every(base, 1, [(dimension, dimension.options(base)) for dimension in chosen])


def _every(
    subject: Subject, effort: int, options: Sequence[tuple[Dimension, Sequence[Any]]]
) -> Iterator[tuple[Subject, int]]:
    """A subject with each value in the first of some dimensions, and with each in the next, and so on."""
    if not options:
        yield subject, effort
        return
    dimension, values = options[0]
    for value in values:
        made = _apply(subject, dimension, value)
        if made:
            more = len(value) // _ITEMS if type(value) in (list, dict) else 0
            yield from _every(made, effort + more, options[1:])


def size_of(subject: Subject) -> tuple[int, bytes]:
    """What is smaller is shorter; of the same length any order will do that is always the same."""
    key = _key(subject)
    return len(key), key


def _apply(subject: Subject, dimension: Dimension, value: Any) -> Subject | None:
    """The subject with another value in one dimension; None where nothing can stand there."""
    if isinstance(value, Settings):
        return subject._replace(given=subject.given._replace(**value.changes))
    made = _put(subject.descriptor, dimension.place, value)
    return None if made is ABSENT else subject._replace(descriptor=made)


def _put(holder: Any, place: Path, value: Any) -> Any:
    """A copy of `holder` with `value` at `place`, as far as it differs; `ABSENT` where nothing can stand there.

    What is missing on the way is made, unless it is only to be taken away.
    """
    if not place:
        return value
    step, rest = place[0], place[1:]
    if isinstance(step, int):
        items = [] if holder is ABSENT else holder
        if type(items) is not list or step > len(items):
            return ABSENT
        part = _put(items[step] if step < len(items) else ABSENT, rest, value)
        return ABSENT if part is ABSENT else [*items[:step], part, *items[step + 1 :]]
    members = {} if holder is ABSENT else holder
    if type(members) is not dict:
        return ABSENT
    if not rest and value is ABSENT:
        return {key: part for key, part in members.items() if key != step} if step in members else ABSENT
    part = _put(members.get(step, ABSENT), rest, value)
    return ABSENT if part is ABSENT else {**members, step: part}


def refused_subjects(asks: Sequence[Ask]) -> Iterator[Subject]:
    """For each trigger a subject on which it refuses, if one is found."""
    for gates, rule, number in asks:
        try:
            found = first(rule, number, gates)
        except FactUnavailable:
            continue  # what no plugin can judge, both sides refuse
        if found:
            yield found.subject


def plain_subjects(gates: Gates, given: Given) -> Iterator[Subject]:
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
        yield Subject({**made, "tools": [tool]}, given)
    for _, tool in tools[:1]:
        yield Subject({**whole, "tools": [tool]}, given)


def _key(subject: Subject) -> bytes:
    try:
        return canonical([subject.descriptor, subject.given.to_json()])
    except DocumentError:
        return repr(subject).encode("utf-8", "backslashreplace")
