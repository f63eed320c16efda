"""Paths into a JSON document: tuples of keys and indexes, and how they are written.

The written form is that of RFC 9535: ``$`` is the whole document, ``$.tools[0].name`` a member.
"""

from __future__ import annotations

import re
from typing import TypeAlias

__all__ = ["ROOT", "Path", "format_path", "parse_path"]

Path: TypeAlias = "tuple[str | int, ...]"
ROOT: Path = ()

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]")
_ESCAPE = re.compile(r"[\\']")
_UNESCAPE = re.compile(r"\\(.)", re.DOTALL)


def format_path(path: Path) -> str:
    """Writes `path`, for example ``("tools", 0, "name")`` as ``$.tools[0].name``."""
    steps = []
    for step in path:
        if isinstance(step, int):
            steps.append(f"[{step}]")
        elif _PLAIN.fullmatch(step):
            steps.append(f".{step}")
        else:
            steps.append(f"['{_ESCAPE.sub(lambda found: chr(92) + found[0], step)}']")
    return "$" + "".join(steps)


def parse_path(text: str) -> Path | None:
    """Reads what `format_path` wrote; None for anything else."""
    if not text.startswith("$"):
        return None
    path: list[str | int] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        name, index, quoted = found.groups()
        if name is not None:
            path.append(name)
        elif index is not None:
            path.append(int(index))
        else:
            path.append(_UNESCAPE.sub(r"\1", quoted))
        at = found.end()
    return tuple(path)
