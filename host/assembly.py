"""Puts a gate together: plugins, the shipped rules, the rules of plugins, overlays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from capgate.plugins.errors import PluginError
from capgate.plugins.manager import LoadedPlugins, load
from capgate.policy.errors import PolicyInvalid
from capgate.policy.gate import Gate
from capgate.policy.rule_errors import RuleError
from capgate.policy.ruleset import RuleFolder, load_ruleset

if TYPE_CHECKING:
    from pathlib import Path  # slow to import, and a start without rules of its own needs none

__all__ = ["Assembled", "assemble", "open_gate"]


class Assembled(NamedTuple):
    """Everything that decides, and what it was made of.

    Attributes:
        gate: ready to judge.
        plugins: the plugins that it was made with.
    """

    gate: Gate
    plugins: LoadedPlugins


def open_gate(rules: Sequence[str | os.PathLike[str]] = (), plugins: Sequence[object] = ()) -> Gate:
    """Loads everything that decides and gives a gate that is ready to judge.

    Args:
        rules: folders of overlay rules, in order; they can only add refusals. A folder that a plugin ships
            is not loaded a second time.
        plugins: objects with hook implementations, besides the built-in ones and those that ``capgate.yaml``,
            or the file that the environment variable ``CAPGATE_CONFIG`` names, allows.

    Raises:
        PolicyInvalid: with every mistake in every plugin and rule file; nothing is judged then.
    """
    return assemble(rules, plugins).gate


def assemble(rules: Sequence[str | os.PathLike[str]] = (), plugins: Sequence[object] = ()) -> Assembled:
    """As `open_gate`, with the plugins."""
    if isinstance(rules, (str, bytes, os.PathLike)):
        message = f"the folders of rules are given as {rules!r}, which is no list"
        raise PolicyInvalid([RuleError("rules-unreadable", message, hint="Give a list of folders, also of one.")])
    loaded = load(plugins)
    overlays = _overlays(loaded, _paths(rules))
    try:
        ruleset = load_ruleset(loaded.catalog, RuleFolder(_shipped_rules(), "capgate"), overlays)
    except PolicyInvalid as error:
        raise PolicyInvalid([*_plugins_to_blame(loaded, overlays, error), *error.problems]) from None
    return Assembled(Gate(loaded.catalog, ruleset, decided=loaded.decided), loaded)


def _paths(rules: Sequence[str | os.PathLike[str]]) -> list[Path]:
    if not rules:
        return []
    from pathlib import Path

    return [Path(folder) for folder in rules]


def _overlays(loaded: LoadedPlugins, given: Sequence[Path]) -> list[RuleFolder]:
    """The folders of plugins, then those that were given.

    One that is both, as when an author tests the rules of a plugin, is there once: as the plugin's, by
    the path that was given.
    """
    if not loaded.rule_folders:
        return [RuleFolder(folder, os.fspath(folder)) for folder in given]
    paths = {_real(folder): folder for folder in given}
    shipped = {_real(folder) for _, folder in loaded.rule_folders}
    overlays = [RuleFolder(paths.get(_real(folder), folder), name) for name, folder in loaded.rule_folders]
    return overlays + [RuleFolder(folder, os.fspath(folder)) for folder in given if _real(folder) not in shipped]


def _real(folder: Path) -> str:
    try:
        return os.path.realpath(folder)
    except ValueError:  # A NUL in it; whoever reads the folder says so.
        return os.fspath(folder)


def _plugins_to_blame(
    loaded: LoadedPlugins, overlays: Sequence[RuleFolder], error: PolicyInvalid
) -> Iterator[PluginError]:
    """A problem for each plugin in whose rules there is one: a path alone does not say who shipped it."""
    from pathlib import Path

    origins = {listing.origin.name: listing.origin for listing in loaded.listing}
    files = [Path(problem.span.file) for problem in error.problems if problem.span]
    for folder in overlays[: len(loaded.rule_folders)]:
        if any(file.is_relative_to(folder.path) for file in files):
            what = f"its rules in {folder.path} do not load"
            hint = "Mend the rules of the plugin, or take it out of capgate.yaml."
            origin = origins[folder.provider]
            yield PluginError("plugin-rule-folder", what, origin=origin, hook="capgate_rules", hint=hint)


def _shipped_rules() -> str:
    from capgate import rules

    return str(next(iter(rules.__path__)))
