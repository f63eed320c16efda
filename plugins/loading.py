"""Plugins that are installed, and that the config names.

Only the distributions named are looked at; no entry point of any other is read.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from functools import partial
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, entry_points
from typing import Final

from capgate.plugins.checks import NAME
from capgate.plugins.config import Config, Pin
from capgate.plugins.errors import Fault, Origin, PluginError
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
    return _pinned(Pin(name), _distribution(Pin(name))).digest


def _sources(pin: Pin) -> list[Source]:
    """The plugins of one distribution, imported."""
    found = _distribution(pin)
    origin = Origin(pin.name, found.version, found.name, "configured")
    if pin.version and not allows(pin.version, found.version):
        what = f"version {found.version} is installed, and the config allows {pin.version}"
        raise PluginError("plugin-version", what, origin=origin, span=pin.span)
    entries = [entry for entry in found.entry_points if entry.group == GROUP]
    if not entries:
        what = f"it has no entry point in the group '{GROUP}'"
        raise PluginError("plugin-without-entry-point", what, origin=origin, span=pin.span)
    if pin.digest:
        _check_digest(pin, _pinned(pin, found), origin, entries)
    return [_source(pin, entry, origin._replace(name=entry.name)) for entry in entries]


def _source(pin: Pin, entry: EntryPoint, origin: Origin) -> Source:
    if not NAME.fullmatch(entry.name) or entry.name == "capgate":
        raise PluginError("plugin-name", f"its entry point is named '{entry.name}'", origin=origin, span=pin.span)
    caller = Caller(pin.deadline)
    try:
        plugin = caller.call(entry.load)
        requires = caller.call(partial(getattr, plugin, "requires_capgate", None))
    except Fault as fault:
        raise PluginError(fault.id, f"its import {fault.what}", origin=origin, span=pin.span) from None
    problems: list[PluginError] = []
    if not suits(requires, origin, problems):
        raise problems[0]
    location = getattr(sys.modules.get(entry.module), "__file__", None) or ""
    return Source(origin, (plugin,), caller, pin.config, location)


def _distribution(pin: Pin) -> Distribution:
    try:
        return distribution(pin.name)
    except PackageNotFoundError:
        what = f"no distribution '{pin.name}' is installed"
        raise PluginError("plugin-not-installed", what, span=pin.span) from None


def _pinned(pin: Pin, found: Distribution) -> PinnedFiles:
    try:
        return pinned_files(found)
    except NotPinnable as error:
        origin = Origin(pin.name, found.version, found.name, "configured")
        raise PluginError("plugin-not-pinnable", str(error), origin=origin, span=pin.span) from None


def _check_digest(pin: Pin, pinned: PinnedFiles, origin: Origin, entries: list[EntryPoint]) -> None:
    """Holds the files against the pin, and later imports to the files."""
    if pinned.digest != pin.digest:
        what = f"its files have the digest {pinned.digest}, and the config pins {pin.digest}"
        raise PluginError("plugin-digest", what, origin=origin, span=pin.span)
    for entry in entries:
        if not pinned.owns(entry.module):
            what = f"its entry point '{entry.name}' is in {entry.module}, which is none of its files"
            raise PluginError("plugin-not-pinnable", what, origin=origin, span=pin.span)
    early = pin_imports(pinned)
    if early is not None:
        what = f"its module {early} was imported before its files were checked"
        raise PluginError("plugin-digest", what, origin=origin, span=pin.span)
