"""What a test is judged against: the placement, its mechanisms, the names in use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from capgate.policy.catalog import Catalog
from capgate.policy.gate import Gate

__all__ = ["Gates", "Given", "read_given"]

#: Names a mechanism that a test supposes and no placement has.
_SUPPOSED = "supposed"


class Given(NamedTuple):
    """What a descriptor is judged against.

    Attributes:
        placement: name of the placement.
        taken: tool names in use.
        mechanisms: the capabilities that something enforces there, in place of the placement's own; None
            leaves it its own.
    """

    placement: str = "machine"
    taken: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """As a rule file writes it; what is as usual is left out."""
        made: dict[str, Any] = {}
        if self.placement != Given().placement:
            made["placement"] = self.placement
        if self.taken:
            made["taken"] = list(self.taken)
        if self.mechanisms is not None:
            made["mechanisms"] = list(self.mechanisms)
        return made


def read_given(data: Mapping[str, Any]) -> Given:
    """Reads a ``given`` whose shape is right."""
    mechanisms = tuple(data["mechanisms"]) if "mechanisms" in data else None
    return Given(data.get("placement", Given().placement), tuple(data.get("taken", ())), mechanisms)


class Gates:
    """Gates with one set of rules, on placements as tests suppose them. Nobody is told of their verdicts.

    Args:
        gate: whose rules and catalog they have.
    """

    def __init__(self, gate: Gate):
        self.rules = gate.rules
        self.catalog = gate.catalog
        self._made: dict[tuple[str, tuple[str, ...]] | None, Gate] = {}

    def on(self, given: Given) -> Gate:
        """The gate that judges as `given` says; its placement has to be a known one."""
        key = None if given.mechanisms is None else (given.placement, given.mechanisms)
        found = self._made.get(key)
        if found is None:
            catalog = self.catalog if key is None else _supposing(self.catalog, *key)
            found = self._made[key] = Gate(catalog, self.rules)
        return found


def _supposing(catalog: Catalog, placement: str, mechanisms: tuple[str, ...]) -> Catalog:
    terms = catalog.placements[placement]
    named: dict[str, str] = {}
    for other in (terms, *catalog.placements.values()):
        named = {**other.mechanisms, **named}
    supposed = {name: named.get(name, _SUPPOSED) for name in mechanisms}
    gives = {name: terms.gives.get(name, _SUPPOSED) for name in mechanisms}
    changed = replace(terms, mechanisms=supposed, gives=gives)
    return replace(catalog, placements={**catalog.placements, placement: changed})
