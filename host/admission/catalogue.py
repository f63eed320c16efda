"""The catalogue: descriptors that come with capgate and may be sideloaded (contract 1)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.records import parse_descriptor
from capgate.host.mediation.disk import Disk
from capgate.policy.documents.source import MAX_BYTES
from capgate.policy.verdict import submitted

__all__ = ["Catalogue", "load_catalogue"]


class Catalogue(NamedTuple):
    """The entries.

    Attributes:
        entries: id to descriptor, by id.
        broken: id to what is wrong with its file, by id.
    """

    entries: Mapping[str, dict[str, Any]]
    broken: Mapping[str, str]


def load_catalogue(folder: Path | None = None) -> Catalogue:
    """Reads every entry of a folder; one broken file never hides the rest.

    Args:
        folder: where they lie; None for those that come with capgate.
    """
    entries, broken = {}, {}
    disk, place = Disk(), folder or _shipped()
    for name in sorted(entry.name for entry in disk.scandir(place)):
        id, suffix = os.path.splitext(name)
        if suffix != ".json" or name.startswith("."):
            continue
        try:
            entries[id] = submitted(parse_descriptor(disk.read(place / name, MAX_BYTES), name, id))
        except AdmissionError as error:
            broken[id] = error.message
        except OSError as error:
            broken[id] = f"{name} cannot be read: {error.strerror}"
    return Catalogue(entries, broken)


def _shipped() -> Path:
    from capgate import catalogue

    return Path(next(iter(catalogue.__path__)))
