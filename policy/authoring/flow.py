"""JSON data as YAML on one line: as a person would write it in a rule file."""

from __future__ import annotations

import json
import re
from typing import Any

from capgate.policy.text import escape

__all__ = ["flow"]

#: Text that YAML reads as itself without quotes; what it reads as another value is left out below.
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_OTHERWISE = frozenset({"null", "true", "false"})


def flow(value: Any) -> str:
    """Writes `value` so that the strict YAML loader reads it back as it is."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(part) for part in value) + "]"
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _OTHERWISE:
        return value
    # What JSON leaves as it is and a person could not see can only stand in a text, where YAML knows its escape.
    return escape(json.dumps(value, ensure_ascii=False))
