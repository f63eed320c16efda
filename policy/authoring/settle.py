"""Descriptors in which a path has a value that a test wants there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from capgate.policy.authoring.given import Given
from capgate.policy.authoring.questions import stands_in_subject
from capgate.policy.catalog import Catalog
from capgate.policy.operators import ABSENT
from capgate.policy.paths import Path
from capgate.policy.rulefile import Loop
from capgate.policy.vocabulary import Reference

__all__ = ["Subject", "place_of", "settings_of", "settle", "value_at"]

_LISTS: Mapping[str, Path] = {
    "subject.capabilities": ("capabilities",),
    "subject.tools": ("tools",),
    "subject.hosts": ("bounds", "hosts"),
    "subject.destinations": ("bounds", "hosts"),
}


class Subject(NamedTuple):
    """A descriptor, with what it is judged against."""

    descriptor: Any
    given: Given = Given()


def place_of(reference: Reference, loops: Sequence[Loop], element: Path | None) -> Path | None:
    """Where the value of a submitted path stands, in a descriptor of which a loop's `element` is known; or None.

    Args:
        reference: the path.
        loops: the stage's loop and the trigger's own, as far as there are such.
        element: where the element of the innermost loop stands.
    """
    term = reference.term
    if reference.root == "descriptor":
        return reference.steps
    if term.fact in _LISTS:
        return _LISTS[term.fact]
    loop = next((loop for loop in loops if reference.looped and loop.variable == reference.root), None)
    if loop is None or element is None or term.origin != "submitted" or loop.element.fact == "fault":
        return None
    if not stands_in_subject(reference, {loop.variable: loop.over for loop in loops}):
        return None
    if loop.element.fact == "layout":
        # An element of a tool's layout stands where its value does, and is nothing that could be set.
        return element if reference.steps == ("value",) else None
    if loop.over.term.fact == "subject.destinations":
        return element if loop is loops[-1] and reference.steps == ("name",) else None
    if loop.over.term.origin == "derived" and loop.over.term.fact not in _LISTS:
        return None
    if loop is loops[-1]:
        return (*element, *reference.steps)
    over = loop.over.steps if loop.over.root == "descriptor" else _LISTS.get(loop.over.term.fact)
    if over is None or element[: len(over)] != over:
        return None
    return (*element[: len(over) + 1], *reference.steps)


def value_at(descriptor: Any, place: Path) -> Any:
    """What stands at a place; `ABSENT` where nothing does."""
    for step in place:
        descriptor = _there(descriptor, step)
    return descriptor


def settle(subject: Subject, place: Path, value: Any) -> Subject | None:
    """The subject with `value` at `place`, or without anything there for `ABSENT`; None where that cannot be.

    Both stay as they are, and are shared with the result as far as they are not on the way: they may be large, and
    nothing changes a descriptor in place.
    """
    if not place:
        return None if value is ABSENT else subject._replace(descriptor=value)
    if type(subject.descriptor) is not dict:
        return None
    descriptor = dict(subject.descriptor)
    holder: Any = descriptor
    for number, step in enumerate(place[:-1]):
        below = _there(holder, step)
        wanted = list if isinstance(place[number + 1], int) else dict
        if type(below) is wanted:
            below = wanted(below)
        elif value is ABSENT:
            return subject
        else:
            below = wanted()
        if not _put(holder, step, below):
            return None
        holder = below
    last = place[-1]
    if value is not ABSENT:
        return subject._replace(descriptor=descriptor) if _put(holder, last, value) else None
    if _there(holder, last) is not ABSENT:
        del holder[last]
    return subject._replace(descriptor=descriptor)


def settings_of(
    reference: Reference, wanted: Sequence[Any], subject: Subject, element: Path | None, catalog: Catalog
) -> list[tuple[str, Subject]]:
    """Subjects in which a path that is not submitted has other values, each with what was changed.

    Args:
        reference: the path.
        wanted: texts that a rule compares it with.
        subject: where to begin.
        element: where the element of the stage's loop stands.
        catalog: what exists.
    """
    term, given = reference.term, subject.given
    texts = [text for text in wanted if type(text) is str]
    if term.fact.startswith("placement.mechanism"):
        named = [text for text in texts if text in catalog.capabilities]
        named += [part for part in [term.fact.rpartition(".")[2]] if part in catalog.capabilities]
        own = tuple(catalog.placements[given.placement].mechanisms)
        sets = [own, (), *(((*own, name) if name not in own else own) for name in named)]
        sets += [tuple(other for other in own if other != name) for name in named]
        return [
            (f"mechanisms are [{', '.join(names)}]", subject._replace(given=given._replace(mechanisms=names)))
            for names in dict.fromkeys(sets)
        ]
    if term.fact == "placement.name":
        return [
            (f"the placement is {name}", subject._replace(given=given._replace(placement=name)))
            for name in catalog.placements
        ]
    if term.fact == "host.taken":
        return [
            (f"'{name}' is taken", subject._replace(given=given._replace(taken=(name,)))) for name in texts or ["a"]
        ]
    if term.fact == "tool.first_use" and element is not None:
        return _repeated(subject, element)
    if term.fact.startswith("tool.") and element is not None:
        made = [(name, settle(subject, (*element, "primitive"), name)) for name in (*catalog.primitives, "shell")]
        return [(f"the primitive is {name}", found) for name, found in made if found]
    return []


def _repeated(subject: Subject, element: Path) -> list[tuple[str, Subject]]:
    """The tool at `element` once more, and under another name."""
    descriptor = subject.descriptor
    tool = value_at(descriptor, element)
    if type(tool) is not dict:
        return []
    once = subject._replace(descriptor={**descriptor, "tools": [tool]})
    twice = subject._replace(descriptor={**descriptor, "tools": [tool, tool]})
    other = subject._replace(descriptor={**descriptor, "tools": [tool, {**tool, "name": "another_name"}]})
    return [("the tool is there once", once), ("the tool is there twice", twice), ("two names differ", other)]


def _there(holder: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return holder[step] if type(holder) is list and step < len(holder) else ABSENT
    return holder.get(step, ABSENT) if type(holder) is dict else ABSENT


def _put(holder: Any, step: str | int, value: Any) -> bool:
    if isinstance(step, int) and type(holder) is list and step <= len(holder):
        holder[step : step + 1] = [value]
        return True
    if isinstance(step, str) and type(holder) is dict:
        holder[step] = value
        return True
    return False
