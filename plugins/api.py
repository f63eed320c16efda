"""The whole plugin contract: the hooks, what they return, and the version of it all.

A plugin is a module, or an object, with functions marked ``@hookimpl`` and named as the hooks below:

    from capgate.plugins.api import HookContext, Primitive, hookimpl

    requires_capgate = ">=0.1,<0.2"

    @hookimpl
    def capgate_primitives(context: HookContext) -> list[Primitive]:
        return [Primitive("read-file-length", needs=("read",))]

Hooks return lists of the value types below. Every name a plugin brings must be new. Hooks, facts and
operators run in threads of their own, have a deadline, and get frozen values or copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pluggy

if TYPE_CHECKING:
    import os

__all__ = [
    "API_VERSION",
    "Fact",
    "HookContext",
    "Hooks",
    "Mechanism",
    "Operator",
    "Param",
    "Placement",
    "Primitive",
    "hookimpl",
]

#: Grows by one whenever a hook or a value type changes so that plugins must follow.
API_VERSION = 1

hookimpl = pluggy.HookimplMarker("capgate")
_hookspec = pluggy.HookspecMarker("capgate")

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class HookContext(NamedTuple):
    """What every hook is given; new attributes may come, none goes.

    Attributes:
        capgate_version: version of capgate that calls.
        api_version: its `API_VERSION`.
        config: what ``capgate.yaml`` says under ``config`` of this plugin; a copy, empty by default.
    """

    capgate_version: str
    api_version: int = API_VERSION
    config: Mapping[str, Any] = _NOTHING


class Param(NamedTuple):
    """One parameter of a primitive.

    Attributes:
        name: the key in ``tools[].params``.
        type: ``string``, ``number``, ``boolean``, or ``headers`` (an object of strings).
        from_caller: whether a call may give it too; otherwise only the descriptor sets it.
    """

    name: str
    type: str = "string"
    from_caller: bool = True


class Primitive(NamedTuple):
    """One thing that a tool can do.

    Attributes:
        name: the word in ``tools[].primitive``, such as ``read-file``.
        needs: capabilities that the descriptor must declare; only their interfaces are handed over.
        params: its parameters, in the order in which the inventory lists them.
        abis: binary layouts it takes: ABI name to the dotted paths of the whole numbers that must be set.
        discloses: what the person who admits it should know beyond its capabilities; one phrase.
    """

    name: str
    needs: Sequence[str] = ()
    params: Sequence[Param] = ()
    abis: Mapping[str, Sequence[str]] = _NOTHING
    discloses: str = ""


class Mechanism(NamedTuple):
    """What enforces a capability on a placement.

    Attributes:
        name: for example ``mediated-fetch``.
        gives: what the host hands over for the capability; one phrase.
    """

    name: str
    gives: str


class Placement(NamedTuple):
    """Where an extension may run.

    Attributes:
        name: for example ``machine``.
        mechanisms: capability to what enforces it here.
        absent: capability to the reason why nothing enforces it here; one phrase.
        extends: adds to a placement of another plugin. Only capabilities of which that placement
            says nothing may be added: no plugin changes what another has said.
    """

    name: str
    mechanisms: Mapping[str, Mechanism] = _NOTHING
    absent: Mapping[str, str] = _NOTHING
    extends: bool = False


class Operator(NamedTuple):
    """A condition operator for rules.

    Attributes:
        name: the word in rules.
        accepts: (operand) to None where a rule may use it, else to a text that says what is wrong.
        holds: (value, operand) to True or False, or None where the operator is not for such a value;
            a trigger that ends with None refuses.
        absent: what the operator says of a path that is not there.
    """

    name: str
    accepts: Callable[[Any], str | None]
    holds: Callable[[Any, Any], bool | None]
    absent: bool = False


class Fact(NamedTuple):
    """A fact for rules, under ``plugin.<plugin>.<name>``.

    Attributes:
        name: letters, digits, ``_`` and ``-``.
        type: string, boolean, null, list, object, number, whole or host.
        meaning: one line for the documentation.
        read: (descriptor, placement name) to the value, which must be of `type` and plain JSON data.
    """

    name: str
    type: str
    meaning: str
    read: Callable[[Any, str], Any]


class Hooks(Protocol):
    """The hooks. Each is optional; a plugin's own functions may leave out arguments they do not need."""

    @_hookspec
    def capgate_capabilities(self, context: HookContext) -> Mapping[str, str]:
        """New capabilities: name to a one-line meaning."""

    @_hookspec
    def capgate_primitives(self, context: HookContext) -> Sequence[Primitive]:
        """New primitives; they may need any capability that some plugin defines."""

    @_hookspec
    def capgate_placements(self, context: HookContext) -> Sequence[Placement]:
        """New placements, and additions to those of others (`Placement.extends`)."""

    @_hookspec
    def capgate_operators(self, context: HookContext) -> Sequence[Operator]:
        """New condition operators."""

    @_hookspec
    def capgate_facts(self, context: HookContext) -> Sequence[Fact]:
        """New facts."""

    @_hookspec
    def capgate_rules(self, context: HookContext) -> Sequence[str | os.PathLike[str]]:
        """Absolute paths of folders with rules; they are read like any ``--rules`` folder."""

    @_hookspec
    def capgate_decided(self, context: HookContext, descriptor: Any, verdict: Mapping[str, Any]) -> None:
        """Told of each verdict and what it is about, as JSON data; an error here is logged and changes nothing."""
