"""Makes one frozen catalog of what all plugins declared, and finds where they contradict each other.

Contributions come ordered by the names of their plugins, so neither the catalog nor the problems
depend on the order in which plugins were found. Where two plugins define the same name, that is a
problem; which of them was meant is never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from capgate.plugins.api import Placement, Primitive
from capgate.plugins.errors import Origin, PluginError
from capgate.policy.catalog import Catalog, FactTerms, OperatorTerms, PlacementTerms, PrimitiveTerms

__all__ = ["BUILT_IN_WORDS", "Contribution", "assemble"]

#: The words that conditions have without plugins: operators, combinators, and the key of a fact operand.
BUILT_IN_WORDS: Final = frozenset(
    {"equals", "in", "not_in", "matches", "contains", "lacks", "subset_of", "empty", "min", "max"}
    | {"minlength", "maxlength", "type", "each", "exists", "all", "any", "none", "not", "fact"}
)


class Contribution:
    """What one plugin declared, each value checked for itself."""

    def __init__(self, origin: Origin):
        self.origin = origin
        self.capabilities: list[tuple[str, str]] = []
        self.primitives: list[Primitive] = []
        self.placements: list[Placement] = []
        self.operators: list[OperatorTerms] = []
        self.facts: list[FactTerms] = []
        self.rules: list[str] = []

    def adds(self) -> dict[str, tuple[str, ...]]:
        """Kind of thing to the names that the plugin defines; only the kinds that it has."""
        names = {
            "capabilities": tuple(name for name, _ in self.capabilities),
            "primitives": tuple(item.name for item in self.primitives),
            "placements": tuple(item.name for item in self.placements),
            "operators": tuple(item.name for item in self.operators),
            "facts": tuple(item.path for item in self.facts),
            "rules": tuple(self.rules),
        }
        return {kind: found for kind, found in names.items() if found}


def assemble(contributions: Sequence[Contribution]) -> tuple[Catalog, list[PluginError]]:
    """The catalog of all contributions, in their order, and every contradiction among them."""
    assembly = _Assembly()
    for step in (
        assembly.capabilities,
        assembly.primitives,
        assembly.placements,
        assembly.extensions,
        assembly.operators,
        assembly.facts,
    ):
        for contribution in contributions:
            step(contribution)
    plugins = {(one.origin.name, one.origin.version): None for one in contributions}
    return assembly.catalog(tuple(plugins)), assembly.problems


class _Assembly:
    """One dict for each kind of thing, and who defined what; the steps are called kind by kind."""

    def __init__(self) -> None:
        self.problems: list[PluginError] = []
        self._owners: dict[tuple[str, str], Origin] = {}
        self._capabilities: dict[str, str] = {}
        self._primitives: dict[str, PrimitiveTerms] = {}
        self._placements: dict[str, PlacementTerms] = {}
        self._operators: dict[str, OperatorTerms] = {}
        self._facts: dict[str, FactTerms] = {}

    def catalog(self, plugins: tuple[tuple[str, str], ...]) -> Catalog:
        """What was gathered, frozen."""
        return Catalog(
            capabilities=MappingProxyType(self._capabilities),
            primitives=MappingProxyType(self._primitives),
            placements=MappingProxyType(self._placements),
            operators=MappingProxyType(self._operators),
            facts=MappingProxyType(self._facts),
            plugins=plugins,
        )

    def capabilities(self, one: Contribution) -> None:
        for name, meaning in one.capabilities:
            if self._claim("capability", name, one.origin, "capgate_capabilities"):
                self._capabilities[name] = meaning

    def primitives(self, one: Contribution) -> None:
        hook = "capgate_primitives"
        for primitive in one.primitives:
            title = f"primitive '{primitive.name}'"
            for need in primitive.needs:
                self._known_capability(need, f"{title} needs", one.origin, hook)
            free = [self._claim("ABI", abi, one.origin, hook) for abi in primitive.abis]
            if self._claim("primitive", primitive.name, one.origin, hook) and all(free):
                self._primitives[primitive.name] = PrimitiveTerms(
                    name=primitive.name,
                    needs=tuple(primitive.needs),
                    arguments=tuple(param.name for param in primitive.params if param.from_caller),
                    abis=MappingProxyType({abi: tuple(fields) for abi, fields in primitive.abis.items()}),
                    discloses=primitive.discloses,
                    plugin=one.origin.name,
                )

    def placements(self, one: Contribution) -> None:
        for placement in one.placements:
            if placement.extends or not self._claim("placement", placement.name, one.origin, "capgate_placements"):
                continue
            self._known_in_placement(placement, one.origin)
            self._placements[placement.name] = PlacementTerms(
                name=placement.name,
                mechanisms=_frozen({name: made.name for name, made in placement.mechanisms.items()}),
                gives=_frozen({name: made.gives for name, made in placement.mechanisms.items()}),
                absent=_frozen(placement.absent),
                plugin=one.origin.name,
            )
            for capability in (*placement.mechanisms, *placement.absent):
                self._owners[f"capability on {placement.name}", capability] = one.origin

    def extensions(self, one: Contribution) -> None:
        hook = "capgate_placements"
        for placement in one.placements:
            if not placement.extends:
                continue
            terms = self._placements.get(placement.name)
            if terms is None:
                what = f"placement '{placement.name}' is extended, but no plugin defines it"
                self.problems.append(PluginError("plugin-unknown-placement", what, origin=one.origin, hook=hook))
                continue
            self._known_in_placement(placement, one.origin)
            kind = f"capability on {placement.name}"
            # Only what nobody has spoken of: an extension must not loosen what another plugin says.
            spoken = (*placement.mechanisms, *placement.absent)
            new = [name for name in spoken if self._claim(kind, name, one.origin, hook)]
            made = {name: placement.mechanisms[name] for name in new if name in placement.mechanisms}
            absent = {name: placement.absent[name] for name in new if name in placement.absent}
            self._placements[placement.name] = PlacementTerms(
                name=terms.name,
                mechanisms=_frozen({**terms.mechanisms, **{name: mechanism.name for name, mechanism in made.items()}}),
                gives=_frozen({**terms.gives, **{name: mechanism.gives for name, mechanism in made.items()}}),
                absent=_frozen({**terms.absent, **absent}),
                plugin=terms.plugin,
            )

    def operators(self, one: Contribution) -> None:
        hook = "capgate_operators"
        for operator in one.operators:
            if operator.name in BUILT_IN_WORDS:
                what = f"operator '{operator.name}' shadows a word that conditions already have"
                self.problems.append(PluginError("plugin-shadow", what, origin=one.origin, hook=hook))
            elif self._claim("operator", operator.name, one.origin, hook):
                self._operators[operator.name] = operator

    def facts(self, one: Contribution) -> None:
        for fact in one.facts:
            if self._claim("fact", fact.path, one.origin, "capgate_facts"):
                self._facts[fact.path] = fact

    def _claim(self, kind: str, name: str, origin: Origin, hook: str) -> bool:
        """Notes that `origin` defines `name`; False, and a problem, where the name is taken."""
        owner = self._owners.get((kind, name))
        if owner is None:
            self._owners[kind, name] = origin
            return True
        by = "capgate" if owner.kind == "built-in" else "itself" if owner is origin else str(owner)
        what = f"{kind} '{name}' is already defined by {by}"
        self.problems.append(PluginError("plugin-clash", what, origin=origin, hook=hook))
        return False

    def _known_in_placement(self, placement: Placement, origin: Origin) -> None:
        title = f"placement '{placement.name}' speaks of"
        for capability in (*placement.mechanisms, *placement.absent):
            self._known_capability(capability, title, origin, "capgate_placements")

    def _known_capability(self, name: str, title: str, origin: Origin, hook: str) -> None:
        if name not in self._capabilities:
            known = ", ".join(self._capabilities)
            what = f"{title} the capability '{name}', which no plugin defines; there are {known}"
            self.problems.append(PluginError("plugin-unknown-capability", what, origin=origin, hook=hook))


def _frozen(names: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(names))
