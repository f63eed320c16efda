"""The shipped rules as plain data, read with yaml's own safe loader, and overlays put after them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from reference.rulesets import Overlay

__all__ = ["RULES", "assembled", "shipped_rules", "shipped_stages", "write_overlay"]

RULES = Path(__file__).parents[2] / "rules"


class _Loader(yaml.SafeLoader):
    """The safe loader with the booleans of YAML 1.2: `no` and `on` are strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _read(file: Path) -> Any:
    return yaml.load(file.read_text(encoding="utf-8"), _Loader)


@cache
def shipped_stages() -> list[dict[str, Any]]:
    """The stages of the shipped ruleset.yaml, in order. Not to be changed."""
    stages: list[dict[str, Any]] = _read(RULES / "ruleset.yaml")["stages"]
    return stages


@cache
def shipped_rules() -> dict[str, dict[str, Any]]:
    """Each shipped rule's data by its id. Not to be changed."""
    return {file.stem: _read(file) for file in sorted(RULES.glob("*.yaml")) if file.stem != "ruleset"}


def assembled(
    rules: Mapping[str, Mapping[str, Any]], stages: Sequence[Mapping[str, Any]], overlay: Overlay
) -> tuple[dict[str, Mapping[str, Any]], list[dict[str, Any]]]:
    """Rules and stages with an overlay's: its stages after those they name, its rules last in each stage."""
    order = [dict(stage, rules=list(stage["rules"])) for stage in stages]
    for stage in overlay.stages:
        at = next(at for at, earlier in enumerate(order) if earlier["name"] == stage["after"])
        while at + 1 < len(order) and order[at + 1].get("after") == stage["after"]:
            at += 1  # Stages after the same one keep the order in which they are listed.
        order.insert(at + 1, {**stage, "rules": []})
    for name in sorted(overlay.rules, key=lambda name: f"{name}.yaml"):
        for stage in order:
            if any(trigger["stage"] == stage["name"] for trigger in overlay.rules[name]["triggers"]):
                stage["rules"].append(name)
    return {**rules, **overlay.rules}, order


def write_overlay(overlay: Overlay, folder: Path) -> Path:
    """Writes the files of an overlay into a new `folder`. JSON is YAML, so the files are JSON."""
    folder.mkdir(parents=True)
    for name, rule in overlay.rules.items():
        _write(folder / f"{name}.yaml", rule)
    if overlay.stages:
        _write(folder / "ruleset.yaml", {"language": 1, "stages": overlay.stages})
    return folder


def _write(file: Path, data: Any) -> None:
    file.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")
