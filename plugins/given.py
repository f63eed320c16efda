"""Plugins as objects: what they say of themselves, before any hook is called."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from capgate.plugins.calls import Fault
from capgate.plugins.checks import NAME, shown
from capgate.plugins.errors import Origin, PluginError
from capgate.plugins.guard import DEADLINE, Caller
from capgate.plugins.hooks import VERSION, Source
from capgate.plugins.versions import allows, base

__all__ = ["given_sources", "suits"]


def given_sources(plugins: Iterable[object], deadline: float | None, problems: list[PluginError]) -> list[Source]:
    """A source for each of `plugins` that has a name of its own and suits this version of capgate."""
    sources = []
    for plugin in plugins:
        caller = Caller(DEADLINE if deadline is None else deadline)
        fallback = Origin(type(plugin).__name__)
        try:
            said = caller.call(partial(_said, plugin))
        except Fault as fault:
            problems.append(PluginError(fault.id, fault.what, origin=fallback))
            continue
        if type(said.name) is not str or not NAME.fullmatch(said.name) or said.name == "capgate":
            problems.append(PluginError("plugin-name", f"its name is {shown(said.name)}", origin=fallback))
            continue
        origin = Origin(said.name, said.version if type(said.version) is str else "")
        if suits(said.requires_capgate, origin, problems):
            location = said.location if type(said.location) is str else ""
            sources.append(Source(origin, (plugin,), caller, location=location))
    return sources


def suits(specifier: Any, origin: Origin, problems: list[PluginError]) -> bool:
    """Whether ``requires_capgate`` of a plugin, None where it has none, allows this version of capgate."""
    if specifier is None:
        return True
    fits = allows(specifier, base(VERSION)) if type(specifier) is str else None
    if fits is None:
        what = f"requires_capgate is {shown(specifier)}, expected a specifier such as '>=0.1,<0.2'"
        problems.append(PluginError("plugin-value", what, origin=origin))
    elif not fits:
        what = f"it requires capgate {specifier}, and this is {VERSION}"
        problems.append(PluginError("plugin-api", what, origin=origin))
    return bool(fits)


class _Said(NamedTuple):
    name: Any
    version: Any
    requires_capgate: Any
    location: Any


def _said(plugin: Any) -> _Said:
    """Reads the attributes; they may be properties, so this is code of the plugin."""
    name = getattr(plugin, "name", None)
    if name is None:
        name = getattr(plugin, "__name__", type(plugin).__name__)
    return _Said(
        name,
        getattr(plugin, "version", None),
        getattr(plugin, "requires_capgate", None),
        getattr(plugin, "__file__", None),
    )
