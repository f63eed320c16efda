"""What exists, as the gate sees it: capabilities, primitives, placements, and what plugins add.

Plugins declare these things through hooks; the gate only ever sees this frozen picture of them, so
that a decision cannot depend on the order or the later behaviour of a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["RESERVED_TOOL_NAMES", "Catalog", "FactTerms", "OperatorTerms", "PlacementTerms", "PrimitiveTerms"]

#: Tool names of the host's own commands; no extension may take one (contract 11.13).
RESERVED_TOOL_NAMES = frozenset(
    {"list_extensions", "call_extension", "propose_extension", "delegate_task", "task_status"}
)

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class PrimitiveTerms(NamedTuple):
    """What one primitive needs and takes.

    Attributes:
        name: the word a descriptor uses, for example ``read-file``.
        needs: names of the capabilities that a tool over it must have declared.
        arguments: names of the arguments a caller may give, in order.
        abis: for a primitive with binary layouts, ABI name to the dotted paths of the whole numbers
            that the ABI reads from the tool's settings (``input.addr``); empty for all others.
        discloses: what the person who admits it should know beyond its capabilities; may be empty.
        plugin: name of the plugin that defines it.
    """

    name: str
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    abis: Mapping[str, tuple[str, ...]] = _NOTHING
    discloses: str = ""
    plugin: str = "capgate"


@dataclass(frozen=True)
class PlacementTerms:
    """Where an extension may run, and what enforces each capability there.

    Attributes:
        name: for example ``machine``.
        mechanisms: capability to the name of the mechanism that enforces it.
        gives: capability to what the host hands over for it, one phrase.
        absent: capability to the reason why nothing enforces it here.
        plugin: name of the plugin that defines it.
    """

    name: str
    mechanisms: Mapping[str, str]
    gives: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    absent: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    plugin: str = "capgate"


class OperatorTerms(NamedTuple):
    """A condition operator that a plugin adds.

    Attributes:
        name: the word used in rules; never one of the built-in operators.
        accepts: tells whether an operand in a rule file is fit; the text says what is wrong, None that it is fit.
        holds: (value, operand) to True, False, or None where the operator is not for such a value.
        absent: what the operator says of an absent value.
        plugin: name of the plugin that defines it.
    """

    name: str
    accepts: Callable[[Any], str | None]
    holds: Callable[[Any, Any], bool | None]
    absent: bool = False
    plugin: str = ""


class FactTerms(NamedTuple):
    """A fact that a plugin adds under ``plugin.<plugin>.<name>``.

    Attributes:
        path: the whole dotted path.
        type: one of the condition language's types; what `read` must return.
        meaning: one line for the documentation.
        read: (descriptor, placement name) to the value; both are copies.
        plugin: name of the plugin that defines it.
    """

    path: str
    type: str
    meaning: str
    read: Callable[[Any, str], Any]
    plugin: str = ""


@dataclass(frozen=True)
class Catalog:
    """All that plugins declare, checked and frozen.

    Attributes:
        capabilities: name to its one-line meaning.
        primitives, placements, operators: name to terms.
        facts: dotted path to terms.
        plugins: (name, version) of every plugin that contributed, in no meaningful order.
        settings: plugin name to what the host's configuration says for it, as JSON data.
    """

    capabilities: Mapping[str, str]
    primitives: Mapping[str, PrimitiveTerms]
    placements: Mapping[str, PlacementTerms]
    operators: Mapping[str, OperatorTerms] = field(default_factory=lambda: _NOTHING)
    facts: Mapping[str, FactTerms] = field(default_factory=lambda: _NOTHING)
    plugins: tuple[tuple[str, str], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)

    @cached_property
    def mediated(self) -> tuple[str, ...]:
        """The capabilities that some primitive uses, in the order of `capabilities`."""
        needed = {need for primitive in self.primitives.values() for need in primitive.needs}
        return tuple(name for name in self.capabilities if name in needed)

    @cached_property
    def abis(self) -> Mapping[str, tuple[str, ...]]:
        """ABI name to the whole-number fields it reads, over all primitives."""
        return {abi: fields for primitive in self.primitives.values() for abi, fields in primitive.abis.items()}

    def to_json(self) -> dict[str, Any]:
        """All that can decide, as JSON data in an order that does not depend on the plugins' order."""
        return {
            "capabilities": sorted(self.capabilities),
            "primitives": {
                name: {"needs": sorted(terms.needs), "abis": {abi: list(f) for abi, f in terms.abis.items()}}
                for name, terms in self.primitives.items()
            },
            "placements": {name: dict(terms.mechanisms) for name, terms in self.placements.items()},
            "operators": sorted(self.operators),
            "facts": {path: terms.type for path, terms in self.facts.items()},
            "plugins": [list(plugin) for plugin in sorted(self.plugins)],
            "settings": dict(self.settings),
        }
