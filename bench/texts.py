"""The reasons and remedies of the shipped rules, ready for ``%``, so that hand-written code gives the same texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from capgate import rules

__all__ = ["Text", "texts"]

_KNOWN: Final = {
    "catalog.capabilities": "read, write, delete, network, exec, eval, import",
    "catalog.mediated": "read, write, network",
    "catalog.primitives": "now, read-file, write-file, list-files, http-get, wasm",
    "catalog.abis": "buffer-abi/1, buffer-abi/diff",
}
_HOLE: Final = re.compile(r"\{\{|\}\}|\{([^{}]+)\}")


class Text(NamedTuple):
    """What one trigger says. A text with ``%s`` in it takes the values in the order of the rule file."""

    reason: str
    remedy: str


def texts(rule: str) -> tuple[Text, ...]:
    """The texts of a shipped rule, one for each trigger."""
    file = Path(next(iter(rules.__path__))) / f"{rule}.yaml"
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    shared = data.get("remedy", "")
    return tuple(Text(_filled(each["reason"]), _filled(each.get("remedy", shared))) for each in data["triggers"])


def _filled(template: str) -> str:
    """The template with what is the same for every descriptor filled in, and ``%s`` for the rest."""
    filled = _HOLE.sub(_piece, template.replace("%", "%%"))
    return filled if "%s" in filled else filled.replace("%%", "%")


def _piece(found: re.Match[str]) -> str:
    path = found[1]
    return found[0][0] if path is None else _KNOWN.get(path, "%s")
