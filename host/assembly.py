"""Puts a gate together: plugins, the shipped rules, the rules of plugins, overlays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from capgate.plugins.manager import LoadedPlugins, load
from capgate.policy.gate import Gate
from capgate.policy.ruleset import RuleFolder, load_ruleset

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
        rules: folders of overlay rules, in order; they can only add refusals.
        plugins: objects with hook implementations, besides the built-in ones and those that ``capgate.yaml``,
            or the file that the environment variable ``CAPGATE_CONFIG`` names, allows.

    Raises:
        PolicyInvalid: with every mistake in every plugin and rule file; nothing is judged then.
    """
    return assemble(rules, plugins).gate


def assemble(rules: Sequence[str | os.PathLike[str]] = (), plugins: Sequence[object] = ()) -> Assembled:
    """As `open_gate`, with the plugins."""
    loaded = load(plugins)
    overlays = [RuleFolder(folder, name) for name, folder in loaded.rule_folders]
    overlays += [RuleFolder(Path(folder), os.fspath(folder)) for folder in rules]
    ruleset = load_ruleset(loaded.catalog, RuleFolder(_shipped_rules(), "capgate"), overlays)
    return Assembled(Gate(loaded.catalog, ruleset, decided=loaded.decided), loaded)


def _shipped_rules() -> Path:
    from capgate import rules

    return Path(next(iter(rules.__path__)))
