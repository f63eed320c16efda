"""Loads plugins: calls their hooks, checks what they return, and makes one frozen picture of it all.

A plugin that is wrong in any way stops the start, with every problem of every plugin in one error.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from capgate.plugins import builtin
from capgate.plugins.api import Grant, Primitive
from capgate.plugins.assembly import assemble
from capgate.plugins.calls import Calls
from capgate.plugins.errors import Origin, PluginError
from capgate.plugins.hooks import VERSION, Gathered, Source, gather
from capgate.policy.catalog import Catalog
from capgate.policy.errors import PolicyInvalid

if TYPE_CHECKING:
    from pathlib import Path

    from capgate.plugins.config import Config

__all__ = ["CONFIG_FILE", "Listing", "LoadedPlugins", "SpeaksJson", "find_config", "load"]

#: Read from the current folder, unless the environment variable ``CAPGATE_CONFIG`` names another file.
CONFIG_FILE: Final = "capgate.yaml"

#: Problems that may only follow from a hook that failed; they are left out where one did.
_CONSEQUENCES: Final = frozenset({"plugin-unknown-capability", "plugin-unknown-placement"})


class SpeaksJson(Protocol):
    """A verdict, as far as plugins are concerned."""

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON data of its own."""


class Listing(NamedTuple):
    """One plugin in a list for people.

    Attributes:
        origin: name, version, distribution and kind.
        location: file that the plugin was loaded from; empty where there is none.
        hooks: names of the hooks it implements.
        adds: kind of thing (``primitives``, …) to the names that it defines; only the kinds it has.
    """

    origin: Origin
    location: str
    hooks: tuple[str, ...]
    adds: Mapping[str, tuple[str, ...]]

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON data."""
        return {
            "name": self.origin.name,
            "version": self.origin.version,
            "distribution": self.origin.distribution,
            "kind": self.origin.kind,
            "location": self.location,
            "hooks": list(self.hooks),
            "adds": {kind: list(names) for kind, names in self.adds.items()},
        }


class LoadedPlugins(NamedTuple):
    """All plugins, called and checked.

    Attributes:
        catalog: what they declare.
        rule_folders: (plugin name, folder) of the rules they ship, by plugin name.
        decided: (descriptor, verdict) tells every plugin that listens; it raises nothing, and logs
            what goes wrong with a plugin. None where no plugin listens.
        listing: one entry a plugin, built-in ones first.
        primitives: name to the primitive, with what does it.
        providers: (placement, capability) to what makes the interface that a mechanism hands over, where
            the plugin of the mechanism brings one.
        callers: name of a primitive to what calls the code of its plugin.
    """

    catalog: Catalog
    rule_folders: tuple[tuple[str, Path], ...]
    decided: Callable[[Any, SpeaksJson], None] | None
    listing: tuple[Listing, ...]
    primitives: Mapping[str, Primitive]
    providers: Mapping[tuple[str, str], Callable[[Grant], Any]]
    callers: Mapping[str, Calls]


def load(
    plugins: Sequence[object] = (), *, config: Config | None = None, deadline: float | None = None
) -> LoadedPlugins:
    """Loads the built-in plugins, those that the config names, and `plugins`.

    Args:
        plugins: modules or objects with functions marked ``@hookimpl``. One is known by its
            attribute ``name`` or ``__name__``; ``version`` and ``requires_capgate`` are optional.
        config: which installed plugins to use. By default it is read from the file that the
            environment variable ``CAPGATE_CONFIG`` names, else from ``capgate.yaml`` in the current
            folder, else it is empty. `Config()` is a config that names none.
        deadline: seconds that one call of a plugin in `plugins` may take; 5 by default.

    Raises:
        PolicyInvalid: the config or some plugin cannot be used; `problems` has an error for each mistake.
    """
    if config is None:
        config = find_config()
    problems: list[PluginError] = []
    sources = [Source(Origin("capgate", VERSION, "capgate", "built-in"), builtin.MODULES)]
    if plugins:
        from capgate.plugins.given import given_sources

        sources += given_sources(plugins, deadline, problems)
    if config and config.plugins:
        from capgate.plugins.loading import configured_sources

        sources += configured_sources(config, problems)
    sources = _apart(sources, problems)
    gathered = [gather(source, problems) for source in sources]
    catalog, contradictions = assemble([one.contribution for one in gathered])
    problems += [one for one in contradictions if not problems or one.id not in _CONSEQUENCES]
    if problems:
        problems.sort(key=_place)
        raise PolicyInvalid(problems)
    settings = {source.origin.name: dict(source.config) for source in sources if source.config}
    return LoadedPlugins(
        catalog=replace(catalog, settings=settings) if settings else catalog,
        rule_folders=_rule_folders(gathered),
        decided=_decided(gathered),
        listing=tuple(_listing(one) for one in gathered),
        primitives={item.name: item for one in gathered for item in one.contribution.primitives},
        providers=_providers(gathered),
        callers={item.name: one.source.caller for one in gathered for item in one.contribution.primitives},
    )


def find_config() -> Config | None:
    """The config that holds for this process and its current folder; None where there is none.

    Raises:
        PolicyInvalid: there is one, and it cannot be used.
    """
    named = os.environ.get("CAPGATE_CONFIG")
    if not named and not os.path.lexists(CONFIG_FILE):
        return None
    from capgate.plugins.config import read_config

    return read_config(named or CONFIG_FILE)


def _apart(sources: list[Source], problems: list[PluginError]) -> list[Source]:
    """Those of `sources` that share their name with no other, by name, built-in ones first."""
    count = Counter(source.origin.name for source in sources)
    for source in sources:
        if count[source.origin.name] > 1:
            problems.append(PluginError("plugin-twice", "another plugin has the same name", origin=source.origin))
    alone = [source for source in sources if count[source.origin.name] == 1]
    return sorted(alone, key=lambda source: (source.origin.kind != "built-in", source.origin.name))


def _place(problem: PluginError) -> tuple[str, int, str, str]:
    """Problems are reported in the order of the config file, then by plugin."""
    span = problem.span
    name = problem.origin.name if problem.origin else ""
    return (span.file, span.line or 0, name, str(problem)) if span else ("", 0, name, str(problem))


def _listing(one: Gathered) -> Listing:
    source = one.source
    return Listing(source.origin, source.location, one.hooks, one.contribution.adds())


def _rule_folders(gathered: Sequence[Gathered]) -> tuple[tuple[str, Path], ...]:
    folders = [(one.source.origin.name, path) for one in gathered for path in one.contribution.rules]
    if not folders:
        return ()
    from pathlib import Path

    return tuple((name, Path(path)) for name, path in folders)


def _providers(gathered: Sequence[Gathered]) -> Mapping[tuple[str, str], Callable[[Grant], Any]]:
    return {
        (placement.name, capability): mechanism.provide
        for one in gathered
        for placement in one.contribution.placements
        for capability, mechanism in placement.mechanisms.items()
        if mechanism.provide is not None
    }


def _decided(gathered: Sequence[Gathered]) -> Callable[[Any, SpeaksJson], None] | None:
    listening = [one for one in gathered if one.listeners]
    if not listening:
        return None
    from capgate.plugins.listeners import tell

    return lambda descriptor, verdict: tell(listening, descriptor, verdict.to_json())
