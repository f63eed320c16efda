"""Puts a gate together: plugins, the shipped rules, the rules of plugins, overlays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from capgate.plugins.manager import load
from capgate.policy.gate import Gate
from capgate.policy.ruleset import RuleFolder, load_ruleset

__all__ = ["open_gate"]


def open_gate(rules: Sequence[str | os.PathLike[str]] = (), plugins: Sequence[object] = ()) -> Gate:
    """Loads everything that decides and gives a gate that is ready to judge.

    Args:
        rules: folders of overlay rules, in order; they can only add refusals.
        plugins: objects with hook implementations, besides the built-in ones.

    Raises:
        PolicyInvalid: with every mistake in every plugin and rule file; nothing is judged then.
    """
    loaded = load(plugins)
    overlays = [RuleFolder(folder, name) for name, folder in loaded.rule_folders]
    overlays += [RuleFolder(Path(folder), os.fspath(folder)) for folder in rules]
    ruleset = load_ruleset(loaded.catalog, RuleFolder(_shipped_rules(), "capgate"), overlays)
    return Gate(loaded.catalog, ruleset, decided=loaded.decided)


def _shipped_rules() -> Path:
    from capgate import rules

    return Path(next(iter(rules.__path__)))
