"""Folders of further rules, each of which refuses a capability of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.engines import more_capabilities

__all__ = ["write_overlay"]

_RULE: Final = """\
id: {name}
title: No extension has {name}
applies_to: descriptor
triggers:
  - stage: {stage}
    when: {{{condition}}}
    reason: "{name} is declared, and this host does not grant it"
    remedy: Take {name} out of capabilities.
"""


def write_overlay(folder: Path, count: int) -> Path:
    """Writes `count` rules into a new `folder`; half of them ask the list, half are asked of each of its elements."""
    folder.mkdir()
    for number, name in enumerate(more_capabilities(count)):
        if number % 2:
            stage, condition = "capabilities", f"capability: {{equals: {name}}}"
        else:
            stage, condition = "bounds", f"subject.capabilities: {{contains: {name}}}"
        rule = _RULE.format(name=name, stage=stage, condition=condition)
        (folder / f"{name}.yaml").write_text(rule, encoding="utf-8")
    return folder
