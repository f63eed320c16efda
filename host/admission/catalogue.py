"""The catalogue: descriptors that come with capgate and may be sideloaded (contract 1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.records import parse_descriptor
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
    for path in _files(folder or _shipped()):
        try:
            entries[path.stem] = submitted(parse_descriptor(path.read_bytes(), path.name, path.stem))
        except AdmissionError as error:
            broken[path.stem] = error.message
        except OSError as error:
            broken[path.stem] = f"{path.name} cannot be read: {error.strerror}"
    return Catalogue(entries, broken)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.glob("*.json")) if not path.name.startswith("."))


def _shipped() -> Path:
    from capgate import catalogue

    return Path(next(iter(catalogue.__path__)))
