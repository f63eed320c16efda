"""Plugins that are installed, and that the config names.

Only the distributions named are looked at; no entry point of any other is read.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from functools import partial
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, entry_points
from typing import Any, Final, NamedTuple

from capgate.plugins.calls import Fault
from capgate.plugins.checks import NAME
from capgate.plugins.config import Config, Pin
from capgate.plugins.errors import Origin, PluginError
from capgate.plugins.given import suits
from capgate.plugins.guard import Caller
from capgate.plugins.hooks import Source
from capgate.plugins.pinned import NotPinnable, PinnedFiles, pin_imports, pinned_files
from capgate.plugins.versions import allows

__all__ = ["GROUP", "configured_sources", "distribution_digest", "installed"]

GROUP: Final = "capgate"


def configured_sources(config: Config, problems: list[PluginError]) -> list[Source]:
    """Imports the plugins that `config` names; what is wrong with one goes to `problems`."""
    sources = []
    for pin in config.plugins:
        try:
            sources += _sources(pin)
        except PluginError as problem:
            problems.append(problem)
    return sources


def installed(known: Collection[str] = ()) -> tuple[Origin, ...]:
    """Every installed plugin, without importing it, except those of the distributions `known`.

    It looks into all distributions, so it is for lists for people, not for a start.
    """
    found = set()
    for entry in entry_points(group=GROUP):
        name = entry.dist.name if entry.dist else ""
        if name not in known:
            found.add(Origin(entry.name, entry.dist.version if entry.dist else "", name, "not allowed"))
    return tuple(sorted(found))


def distribution_digest(name: str) -> str:
    """The digest to pin the installed distribution `name` with.

    Raises:
        PluginError: it is not installed, or installed so that it cannot be pinned.
    """
    pin = Pin(name)
    return _pinned(pin, _found(pin)).digest


class _Entry(NamedTuple):
    """An entry point; `module` is the module it names."""

    name: str
    module: str
    point: EntryPoint


class _Found(NamedTuple):
    """An installed distribution, as far as its metadata can be read."""

    distribution: Distribution
    origin: Origin
    entries: tuple[_Entry, ...]


def _found(pin: Pin) -> _Found:
    try:
        # Metadata can be broken in many ways, each of which importlib.metadata answers with another exception.
        found = Caller(pin.deadline).call(partial(_read, pin.name))
    except Fault as fault:
        origin = Origin(pin.name, distribution=pin.name, kind="configured")
        raise PluginError(fault.id, f"reading its metadata {fault.what}", origin=origin, span=pin.span) from None
    if found is None:
        what = f"no distribution '{pin.name}' is installed"
        raise PluginError("plugin-not-installed", what, span=pin.span)
    return found


def _read(name: str) -> _Found | None:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    metadata = found.metadata
    origin = Origin(name, metadata["Version"] or "", metadata["Name"] or name, "configured")
    points = [point for point in found.entry_points if point.group == GROUP]
    return _Found(found, origin, tuple(_Entry(point.name, point.module, point) for point in points))


def _sources(pin: Pin) -> list[Source]:
    """The plugins of one distribution, imported."""
    found = _found(pin)
    origin = found.origin
    if pin.version and not allows(pin.version, origin.version):
        what = f"version {origin.version} is installed, and the config allows {pin.version}"
        raise PluginError("plugin-version", what, origin=origin, span=pin.span)
    if not found.entries:
        what = f"it has no entry point in the group '{GROUP}'"
        raise PluginError("plugin-without-entry-point", what, origin=origin, span=pin.span)
    if pin.digest:
        _check_digest(pin, found)
    return [_source(pin, entry, origin._replace(name=entry.name)) for entry in found.entries]


def _source(pin: Pin, entry: _Entry, origin: Origin) -> Source:
    if not NAME.fullmatch(entry.name) or entry.name == "capgate":
        raise PluginError("plugin-name", f"its entry point is named '{entry.name}'", origin=origin, span=pin.span)
    caller = Caller(pin.deadline)
    try:
        plugin, requires, location = caller.call(partial(_imported, entry))
    except Fault as fault:
        raise PluginError(fault.id, f"its import {fault.what}", origin=origin, span=pin.span) from None
    problems: list[PluginError] = []
    if not suits(requires, origin, problems):
        raise problems[0]
    return Source(origin, (plugin,), caller, pin.config, location)


def _imported(entry: _Entry) -> tuple[object, Any, str]:
    """The plugin, what it says it requires, and its file. All of this runs code of the plugin."""
    plugin = entry.point.load()
    location = getattr(sys.modules.get(entry.module), "__file__", None)
    return plugin, getattr(plugin, "requires_capgate", None), location if type(location) is str else ""


def _pinned(pin: Pin, found: _Found) -> PinnedFiles:
    try:
        return pinned_files(found.distribution)
    except NotPinnable as error:
        raise PluginError("plugin-not-pinnable", str(error), origin=found.origin, span=pin.span) from None


def _check_digest(pin: Pin, found: _Found) -> None:
    """Holds the files against the pin, and later imports to the files."""
    pinned = _pinned(pin, found)
    if pinned.digest != pin.digest:
        what = f"its files have the digest {pinned.digest}, and the config pins {pin.digest}"
        raise PluginError("plugin-digest", what, origin=found.origin, span=pin.span)
    for entry in found.entries:
        if not pinned.owns(entry.module):
            what = f"its entry point '{entry.name}' is in {entry.module}, which is none of its files"
            raise PluginError("plugin-not-pinnable", what, origin=found.origin, span=pin.span)
    early = pin_imports(pinned)
    if early is not None:
        what = f"its module {early} was imported before its files were checked"
        raise PluginError("plugin-digest", what, origin=found.origin, span=pin.span)
