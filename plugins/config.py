"""``capgate.yaml``: which installed plugins are used, and what the host that runs extensions may do.

plugins:
  - name: capgate-tides            # the distribution, as pip names it
    version: "==1.2"               # optional: versions that may be loaded
    digest: "sha256:…"             # optional: exactly these files; `capgate plugins` prints it
    deadline: 5                    # optional: seconds that one call of it may take
    config: {station: harbour}     # optional: handed to its hooks
host: {}                           # optional: read by the host alone (docs/running.md)
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from capgate.plugins.guard import DEADLINE
from capgate.plugins.versions import allows
from capgate.policy.documents import Document, DocumentError, load_yaml
from capgate.policy.errors import CapgateError, PolicyInvalid, Span
from capgate.policy.paths import Path, format_path

__all__ = ["Config", "ConfigError", "Pin", "Section", "read_config"]

_KEYS: Final = ("plugins", "host")
_PIN_KEYS: Final = ("name", "version", "digest", "deadline", "config")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST: Final = 3600.0
#: The most that the loader takes, in bytes.
_LARGEST: Final = 1 << 20


class ConfigError(CapgateError, ValueError):
    """The config file cannot be used."""

    ids = {
        "config-unreadable": "Create the file, or change or unset CAPGATE_CONFIG.",
        "config-invalid": "Mend the config file at this place.",
    }
    status = 503


class Pin(NamedTuple):
    """One installed plugin that may be loaded.

    Attributes:
        name: name of the distribution.
        version: specifier of the versions allowed; empty for any.
        digest: ``sha256:<hex>`` of its files (`capgate.plugins.pinned`); empty for any.
        deadline: seconds that one call of it may take.
        config: what its hooks are given.
        span: where the config names it.
    """

    name: str
    version: str = ""
    digest: str = ""
    deadline: float = DEADLINE
    config: Mapping[str, Any] = MappingProxyType({})
    span: Span | None = None

    @property
    def key(self) -> str:
        """The name in the form in which two spellings of it are one."""
        return re.sub(r"[-_.]+", "-", self.name).lower()


class Section(NamedTuple):
    """A part of the file that somebody else reads.

    Attributes:
        key: its key.
        data: what stands under it.
        document: the whole file.
    """

    key: str
    data: Mapping[str, Any]
    document: Document

    def wrong(self, path: Path, what: str) -> ConfigError:
        """A mistake in it, at a path below its key."""
        at = (self.key, *path)
        return ConfigError("config-invalid", f"{format_path(at)}: {what}", span=self.document.span(at))

    def unknown(self, path: Path, what: str) -> ConfigError:
        """A key in it that is none."""
        return ConfigError("config-invalid", what, span=self.document.span((self.key, *path), key=True))


class Config(NamedTuple):
    """What the config file says; by default nothing.

    Attributes:
        plugins: the installed plugins that are loaded.
        host: what is for the host that runs extensions; None where there is nothing.
    """

    plugins: tuple[Pin, ...] = ()
    host: Section | None = None


def read_config(path: str | os.PathLike[str]) -> Config:
    """Reads a config file.

    Raises:
        PolicyInvalid: the file cannot be read or has mistakes; `problems` has each with its place.
    """
    name = os.fspath(path)
    try:
        # A named pipe would wait for a writer, and a device may never end.
        with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is not a regular file")
            source = file.read(_LARGEST + 1)  # one more, so that the loader says that it is too large
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PolicyInvalid([ConfigError("config-unreadable", f"cannot read it: {reason}", span=Span(name))]) from None
    try:
        document = load_yaml(source, name)
    except DocumentError as error:
        raise PolicyInvalid([error]) from None
    reader = _Reader(document)
    config = reader.config()
    if reader.problems:
        raise PolicyInvalid(reader.problems)
    return config


class _Reader:
    """Reads one document and notes every mistake in it."""

    def __init__(self, document: Document):
        self.problems: list[ConfigError] = []
        self._document = document

    def config(self) -> Config:
        data = self._document.data
        if not isinstance(data, dict):
            self._wrong((), "expected a map with the key 'plugins'")
            return Config()
        self._known(data, (), _KEYS)
        entries = data.get("plugins", [])
        host = data.get("host", {})
        if not isinstance(host, dict):
            self._wrong(("host",), "expected a map")
            host = {}
        if not isinstance(entries, list):
            self._wrong(("plugins",), "expected a list")
            return Config()
        pins: dict[str, Pin] = {}
        for index, entry in enumerate(entries):
            at: Path = ("plugins", index)
            pin = self._pin(entry, at)
            if pin and pin.key in pins:
                self._wrong((*at, "name"), f"'{pin.name}' is named twice")
            elif pin:
                pins[pin.key] = pin
        return Config(tuple(pins.values()), Section("host", host, self._document) if host else None)

    def _pin(self, entry: Any, at: Path) -> Pin | None:
        if not isinstance(entry, dict):
            self._wrong(at, "expected a map with the key 'name'")
            return None
        self._known(entry, at, _PIN_KEYS)
        before = len(self.problems)
        if "name" not in entry:
            self._wrong(at, "the key 'name' is missing")
        name = self._text(entry, at, "name", "a distribution's name", _NAME)
        digest = self._text(entry, at, "digest", "'sha256:' and 64 lower-case hex digits", _DIGEST)
        version = self._text(entry, at, "version", "a quoted specifier such as '==1.2'", None)
        if version and allows(version, "1") is None:
            self._wrong((*at, "version"), f"'{version}' is no specifier such as '==1.2' or '>=1.2,<2'")
        deadline = entry.get("deadline", DEADLINE)
        if type(deadline) not in (int, float) or not 0 < deadline <= _LONGEST:
            self._wrong((*at, "deadline"), f"expected seconds, more than 0 and at most {_LONGEST:g}")
        config = entry.get("config", {})
        if not isinstance(config, dict):
            self._wrong((*at, "config"), "expected a map")
        if len(self.problems) > before:
            return None
        span = self._document.span((*at, "name"))
        return Pin(name, version, digest, float(deadline), MappingProxyType(config), span)

    def _text(self, entry: dict[str, Any], at: Path, key: str, expected: str, form: re.Pattern[str] | None) -> str:
        if key not in entry:
            return ""
        value = entry[key]
        if not isinstance(value, str) or not value or (form and not form.fullmatch(value)):
            self._wrong((*at, key), f"expected {expected}")
            return ""
        return value

    def _known(self, entry: dict[str, Any], at: Path, keys: tuple[str, ...]) -> None:
        for key in entry:
            if key not in keys:
                what = f"unknown key '{key}'; known are {', '.join(keys)}"
                self.problems.append(
                    ConfigError("config-invalid", what, span=self._document.span((*at, key), key=True))
                )

    def _wrong(self, at: Path, what: str) -> None:
        where = f"{format_path(at)}: " if at else ""
        self.problems.append(ConfigError("config-invalid", where + what, span=self._document.span(at)))
