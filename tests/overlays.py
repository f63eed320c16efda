"""Overlay rules for tests, written from data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["overlay", "rule"]


def overlay(folder: Path, **files: Any) -> Path:
    """A folder of rules; JSON is YAML."""
    folder.mkdir(exist_ok=True)
    for stem, data in files.items():
        (folder / f"{stem.replace('_', '-')}.yaml").write_text(json.dumps(data), encoding="utf-8")
    return folder


def rule(id: str, when: Any, *, stage: str = "bounds", **more: Any) -> dict[str, Any]:
    trigger = {"stage": stage, "when": when, "reason": "because"} | {k: v for k, v in more.items() if k != "severity"}
    made = {"id": id, "title": "A rule", "applies_to": "descriptor", "triggers": [trigger]}
    return made | ({"severity": more["severity"]} if "severity" in more else {})
