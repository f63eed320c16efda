"""Where the values come from that conditions ask of: one slot for each place that can vary by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from capgate.policy.authoring.domains import Domains
from capgate.policy.authoring.lint.values import NOWHERE, Value, answering, classes, exactly
from capgate.policy.catalog import Catalog
from capgate.policy.conditions import Check
from capgate.policy.paths import Path
from capgate.policy.rulefile import Loop, Trigger
from capgate.policy.vocabulary import Reference, Vocabulary

__all__ = ["CAPABILITIES", "Key", "Option", "Role", "Slot", "Slots", "View", "listed"]

#: What tells slots apart: where a value begins, and the steps or the fact that lead on from there.
Key: TypeAlias = "tuple[str, tuple[str, ...] | str]"
#: The slot of ``capabilities``, from which ``subject.capabilities`` is made.
CAPABILITIES: Final[Key] = ("descriptor", ("capabilities",))

_SUBMITTED_LISTS: Final = {"subject.capabilities": "capabilities", "subject.tools": "tools"}


class Role(NamedTuple):
    """What a loop variable is in the comparison: ``outer`` for the stage's, ``inner`` for the trigger's own."""

    name: str
    loop: Loop


class View(NamedTuple):
    """What is read of a slot.

    Attributes:
        key: the slot.
        name: ``itself``, or what is made of its value.
        of: makes it.
    """

    key: Key
    name: str
    of: Callable[[Value], Value]


class Option(NamedTuple):
    """One class of values of a slot, with all that is asked of it.

    Attributes:
        value: the class.
        answers: number of the trigger, place of the operator, and what it says.
    """

    value: Value
    answers: tuple[tuple[int, Path, int], ...]


@dataclass
class Slot:
    """One place whose value can vary.

    Attributes:
        view: reads the slot itself.
        fits, absent, known: what it can be; see `Domain`.
        any_text: whether there may be texts of which `fits` does not know.
        asked: number of the trigger, operator, and what of the slot it asks.
        beside: operators that no condition asks, and that tell apart what other slots depend on.
        features: what other slots depend on besides.
    """

    view: View
    fits: Callable[[Any], bool]
    absent: bool
    known: tuple[Any, ...]
    any_text: bool = False
    asked: list[tuple[int, Check, View]] = field(default_factory=list)
    beside: list[Check] = field(default_factory=list)
    features: list[Callable[[Value], Any]] = field(default_factory=list)

    def options(self) -> list[Option]:
        """Every class of values, told apart as far as anything depends on it.

        Raises:
            TooMany: there are too many.
        """
        checks = [check for _, check, view in self.asked if view.name in ("itself", "listed")] + self.beside
        values = classes(checks, self.fits, self.known, any_text=self.any_text)
        found: dict[Any, Option] = {}
        asks = [(number, check.at, answering(check), view) for number, check, view in self.asked]
        besides = [answering(check) for check in self.beside]
        for value in [NOWHERE, *values] if self.absent else values:
            answers = tuple((number, at, ask(view.of(value))) for number, at, ask, view in asks)
            told = [feature(value) for feature in self.features] + [ask(value) for ask in besides]
            found.setdefault((answers, value.kind, repr(told)), Option(value, answers))
        return list(found.values())


def itself(value: Value) -> Value:
    """The value as it is."""
    return value


def listed(value: Value) -> Value:
    """The value where it is a list, and an empty one where it is not."""
    return value if value.kind == "list" else exactly([])


class Slots:
    """Finds the slots of references, the same for the same thing.

    Args:
        catalog: what exists.
        domains: what each path can be.

    Attributes:
        found: the slots that there are so far.
        catalog: what exists.
    """

    def __init__(self, catalog: Catalog, domains: Domains):
        self.found: dict[Key, Slot] = {}
        self.catalog = catalog
        self._domains = domains
        self._vocabulary = Vocabulary(catalog)

    def view(self, reference: Reference, trigger: Trigger, roles: Mapping[str, Role]) -> View:
        """What a reference that is no constant reads; its slot is there afterwards."""
        term = reference.term
        if reference.looped:
            return self._of_loop(reference, trigger, roles[reference.root])
        if term.fact in _SUBMITTED_LISTS:
            place = self._vocabulary.resolve(f"descriptor.{_SUBMITTED_LISTS[term.fact]}", {})
            key = self._slot(("descriptor", place.steps), place, trigger).view.key
            return View(key, "listed", listed)
        if term.origin in ("derived", "plugin"):
            return self._slot((term.origin, term.fact), reference, trigger).view
        return self._slot(("descriptor", reference.steps), reference, trigger).view

    def tool(self, role: Role, trigger: Trigger, *steps: str) -> Slot:
        """The slot of something below a loop variable."""
        variable = role.loop.variable
        reference = self._vocabulary.resolve(".".join((variable, *steps)), {variable: role.loop.element})
        return self._slot((role.name, steps), reference, trigger)

    def _of_loop(self, reference: Reference, trigger: Trigger, role: Role) -> View:
        fact = reference.term.fact
        if reference.term.origin != "derived":
            return self._slot((role.name, reference.steps), reference, trigger).view
        if fact in ("tool.known", "tool.needs"):
            primitive = self.tool(role, trigger, "primitive")
            primitive.known = tuple(dict.fromkeys((*primitive.known, *self.catalog.primitives)))
            return View(primitive.view.key, fact, self._known if fact == "tool.known" else self._needs)
        slot = self._slot((role.name, fact), reference, trigger)
        if fact == "tool.first_use":
            slot.any_text = True
        elif fact == "tool.undeclared":
            slot.known = tuple(_sublists([terms.needs for terms in self.catalog.primitives.values()]))
        return slot.view

    def _known(self, value: Value) -> Value:
        return exactly(value.exact and value.kind == "string" and value.one in self.catalog.primitives)

    def _needs(self, value: Value) -> Value:
        known = value.exact and value.kind == "string" and value.one in self.catalog.primitives
        return exactly(list(self.catalog.primitives[value.one].needs) if known else [])

    def _slot(self, key: Key, reference: Reference, trigger: Trigger) -> Slot:
        found = self.found.get(key)
        if found is None:
            domain = self._domains.of(reference, trigger)
            found = Slot(View(key, "itself", itself), domain.fits, domain.absent, domain.known)
            if reference.looped and reference.term.fact == "layout":
                found.fits = _is_object  # it has a name, and may have any value
            found.any_text = reference.term.origin == "plugin"
            self.found[key] = found
        return found


def _is_object(value: Any) -> bool:
    return type(value) is dict


def _sublists(lists: list[tuple[str, ...]]) -> list[list[str]]:
    """Every list that is left of one of `lists` when some items are taken out."""
    found: dict[tuple[str, ...], None] = {(): None}
    for items in lists:
        for number in range(1 << len(items)):
            found[tuple(item for at, item in enumerate(items) if number >> at & 1)] = None
    return [list(items) for items in found]
