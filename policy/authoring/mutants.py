"""Mutants: rules in which one thing was changed.

Each is a change to the text of a rule file or of a ``ruleset.yaml``, so that it can be shown as a person
would have made it, and is read by the loader that reads all rules. What the loader would refuse is no mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from capgate.policy.authoring.alternatives import OPPOSITES, literals, neighbour, same_texts
from capgate.policy.authoring.edits import Edit, Text
from capgate.policy.authoring.flow import flow
from capgate.policy.folders import RULESET
from capgate.policy.paths import Path, format_path

__all__ = ["Mutant", "Sources", "mutants_of_rule", "mutants_of_ruleset"]

_COMBINATORS: Final[Mapping[str, tuple[str, ...]]] = {
    "all": ("any", "none"),
    "any": ("all", "none"),
    "none": ("any", "all"),
}
#: Operators that have an opposite, so that the negation of one alone is another mutant already.
_WITH_OPPOSITE: Final = frozenset({"in", "not_in", "contains", "lacks", "exists", "empty"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change.

    Attributes:
        kind: ``operator``, ``literal``, ``path``, ``combinator``, ``condition``, ``trigger``, ``order``, ``stage``,
            ``severity`` or ``loop``.
        where: the rule, or ``ruleset``, with the JSON path of what was changed.
        what: what was done there, in words.
        rules: the ids of the rules whose refusals it can change, or whose order.
        triggers: rule and number of each trigger that it moved, or moved past another one; empty for all other kinds.
        file: name of the file whose text was changed first, and `at` the place in it.
        edits: the changes, by name of file.
        equivalent: whether it is certain that the rules decide as before.
    """

    kind: str
    where: str
    what: str
    rules: tuple[str, ...]
    triggers: tuple[tuple[str, int], ...]
    file: str
    at: Path
    edits: Mapping[str, Sequence[Edit]]
    equivalent: bool = False

    @property
    def name(self) -> str:
        """Tells it apart from all others, and does not depend on lines."""
        return f"{self.where}: {self.what}"


class Sources:
    """The files of one folder of rules.

    Args:
        files: the text of each, by name in the folder.
        data: their plain data, by the same names.
        listed: whether its ``ruleset.yaml`` lists the rules of each stage.
        stages: the names of all stages, in order.
        near: (path, stage) to the paths that it could be taken for.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        data: Mapping[str, Any],
        *,
        listed: bool,
        stages: Sequence[str],
        near: Callable[[str, str], Sequence[str]],
    ):
        self.data = data
        self.near = near
        self.listed = listed
        self.stages = list(stages)
        self._files = files
        self._texts: dict[str, Text] = {}

    def text(self, file: str) -> Text:
        """One file."""
        if file not in self._texts:
            self._texts[file] = Text(self._files[file])
        return self._texts[file]

    def asked(self, stage: str, ids: Sequence[str]) -> tuple[tuple[str, int], ...]:
        """The triggers that some of the rules of this folder have in a stage."""
        return tuple(
            (id, number)
            for id in ids
            for number, trigger in enumerate(self.data[f"{id}.yaml"]["triggers"])
            if trigger["stage"] == stage
        )

    def rows(self) -> list[tuple[str, list[str]]]:
        """The stages of the ``ruleset.yaml`` with the ids they list."""
        return [(stage["name"], stage["rules"]) for stage in self.data[RULESET]["stages"]]


def mutants_of_rule(id: str, sources: Sources) -> Iterator[Mutant]:
    """The mutants of one rule."""
    yield from _OfRule(id, sources).all()


def mutants_of_ruleset(sources: Sources) -> Iterator[Mutant]:
    """The mutants of a ``ruleset.yaml``: neighbours in the order of rules and stages, swapped."""
    text = sources.text(RULESET) if RULESET in sources.data else None
    if text is None or not sources.listed:
        return
    rows = sources.rows()
    for number, (stage, ids) in enumerate(rows):
        at: Path = ("stages", number, "rules")
        for first, (one, other) in enumerate(pairwise(ids)):
            there = (*at, first)
            edits = {RULESET: text.swap(there, (*at, first + 1))}
            what = f"'{one}' after '{other}'"
            moved = sources.asked(stage, (one, other))
            yield Mutant("order", f"ruleset stage {stage}", what, (one, other), moved, RULESET, there, edits)
    for number, ((one, ids), (other, others)) in enumerate(pairwise(rows)):
        place: Path = ("stages", number)
        edits = {RULESET: text.swap(place, ("stages", number + 1))}
        every = tuple(dict.fromkeys((*ids, *others)))
        moved = sources.asked(one, ids) + sources.asked(other, others)
        yield Mutant("order", "ruleset", f"the stage '{one}' after '{other}'", every, moved, RULESET, place, edits)


class _OfRule:
    def __init__(self, id: str, sources: Sources):
        self.id = id
        self.file = f"{id}.yaml"
        self.sources = sources
        self.text = sources.text(self.file)
        self.data = sources.data[self.file]
        self.triggers = self.data["triggers"]

    def all(self) -> Iterator[Mutant]:
        yield self.severity()
        for number, trigger in enumerate(self.triggers):
            at: Path = ("triggers", number)
            if not self.text.has(at):
                continue
            yield from self.trigger(number, trigger, at)
            ((first, _),) = trigger["when"].items()
            if first in _COMBINATORS:
                yield self.negated(trigger["when"], (*at, "when"))
            yield from self.condition(trigger["when"], (*at, "when"), trigger["stage"])

    def made(
        self,
        kind: str,
        at: Path,
        what: str,
        edits: list[Edit],
        listing: Mapping[str, list[Edit]] | None = None,
        moved: tuple[tuple[str, int], ...] = (),
    ) -> Mutant:
        every = {self.file: edits, **(listing or {})}
        return Mutant(kind, f"{self.id} {format_path(at)}", what, (self.id,), moved, self.file, at, every)

    def severity(self) -> Mutant:
        now = self.data.get("severity", "refuse")
        other = "warn" if now == "refuse" else "refuse"
        if "severity" in self.data:
            edits = self.text.replace(("severity",), other)
        else:
            edits = self.text.insert(("triggers",), f"severity: {other}")
        return self.made("severity", ("severity",), f"{other} for {now}", edits)

    def trigger(self, number: int, trigger: Any, at: Path) -> Iterator[Mutant]:
        stage = trigger["stage"]
        stays = any(other["stage"] == stage for other in self.triggers if other is not trigger)
        if len(self.triggers) > 1:
            listing = {} if stays else self.listing(drop=stage)
            if listing is not None:
                yield self.made("trigger", at, "dropped", self.text.drop(at), listing)
        later = [place for place, other in enumerate(self.triggers) if place > number and other["stage"] == stage]
        if later and self.text.has(("triggers", later[0])):
            edits = self.text.swap(at, ("triggers", later[0]))
            moved = ((self.id, number), (self.id, later[0]))
            yield self.made("order", at, "after the next trigger of its stage", edits, moved=moved)
        if "for_each" in trigger:
            yield self.made("loop", (*at, "for_each"), "dropped", self.text.drop((*at, "for_each")))
        place = self.sources.stages.index(stage)
        for target in (*self.sources.stages[max(place - 1, 0) : place], *self.sources.stages[place + 1 : place + 2]):
            listing = self.listing(drop=None if stays else stage, add=target)
            if listing is not None:
                there, edits = (*at, "stage"), self.text.replace((*at, "stage"), target)
                yield self.made("stage", there, f"in the stage '{target}'", edits, listing, ((self.id, number),))

    def listing(self, *, drop: str | None, add: str | None = None) -> dict[str, list[Edit]] | None:
        """What has to change in the ``ruleset.yaml``; None where a stage would be left without rules."""
        if not self.sources.listed:
            return {}
        text, edits = self.sources.text(RULESET), []
        for number, (stage, ids) in enumerate(self.sources.rows()):
            at: Path = ("stages", number, "rules")
            if stage == drop:
                if len(ids) == 1:
                    return None
                edits += text.drop((*at, ids.index(self.id)))
            elif stage == add and self.id not in ids:
                edits += text.replace(at, flow([*ids, self.id]))
        return {RULESET: edits} if edits else {}

    def negated(self, data: Any, at: Path) -> Mutant:
        return self.made("operator", at, "negated", self.text.replace(at, f"{{not: {flow(data)}}}"))

    def condition(self, data: Any, at: Path, stage: str, *, negated: bool = False) -> Iterator[Mutant]:
        if not self.text.has(at):
            return
        ((key, inner),) = data.items()
        there = (*at, key)
        if key == "not":
            yield self.made("combinator", at, "not dropped", self.text.replace(at, self.text.source(there)))
            yield from self.condition(inner, there, stage, negated=True)
        elif key in _COMBINATORS:
            for other in _COMBINATORS[key]:
                if len(inner) > 1 or "none" in (key, other):
                    yield self.made("combinator", at, f"{other} for {key}", self.text.rename(there, other))
            for number, part in enumerate(inner):
                place = (*there, number)
                if len(inner) > 1 and self.text.has(place):
                    yield self.made("condition", place, "dropped", self.text.drop(place))
                yield from self.condition(part, place, stage)
        else:
            if not negated and (len(inner) > 1 or not _WITH_OPPOSITE.intersection(inner)):
                yield self.negated(data, at)
            for other in self.sources.near(key, stage):
                yield self.made("path", there, f"{other} for {key}", self.text.rename(there, other))
            yield from self.operators(inner, there)

    def operators(self, data: Mapping[str, Any], at: Path) -> Iterator[Mutant]:
        for name, operand in data.items():
            there = (*at, name)
            if not self.text.has(there):
                continue
            if len(data) > 1:
                yield self.made("condition", there, "dropped", self.text.drop(there))
            other = OPPOSITES.get(name)
            if other and other not in data:
                yield self.made("operator", there, f"{other} for {name}", self.text.rename(there, other))
            if name == "each":
                yield from self.operators(operand, there)
            elif isinstance(operand, dict) and "fact" in operand:
                fact = neighbour(operand["fact"])
                if fact:
                    yield self.made("literal", there, f"{fact} for {operand['fact']}", self.fact(there, fact))
            else:
                for what, value in literals(name, operand):
                    made = self.made("literal", there, what, self.text.replace(there, flow(value)))
                    yield replace(made, equivalent=name == "matches" and same_texts(operand, value))

    def fact(self, at: Path, fact: str) -> list[Edit]:
        return self.text.replace((*at, "fact"), fact)
