"""Fixtures for tests of plugins."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from plugin_samples.installation import SOURCE, Install


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that nobody sets before the test is over."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution into a folder on the import path, as an installer would."""
    modules, finders = set(sys.modules), list(sys.meta_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(
        name: str = "capgate-tides",
        version: str = "1.2",
        entry_points: str = "[capgate]\ntides = capgate_tides.plugin\n",
        record: str | None = None,
        raw: Mapping[str, str] = MappingProxyType({}),
        **files: str,
    ) -> Path:
        package = {
            "capgate_tides/__init__.py": "",
            "capgate_tides/plugin.py": SOURCE,
            "capgate_tides/names.py": "NAME = 'tide'\n",
            "capgate_tides/tables/high.txt": "12:30\n",
        }
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        package |= {path.replace("__", "/", 1) + ".py": text for path, text in files.items()}
        package |= raw
        package[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        package[f"{info}/entry_points.txt"] = entry_points
        package[f"{info}/INSTALLER"] = "pip\n"
        lines = [f"{path},sha256=x,1" for path in package]
        lines += [f"{info}/RECORD,,", "capgate_tides/__pycache__/names.cpython-311.pyc,,", "../../bin/tides,,"]
        package[f"{info}/RECORD"] = "\n".join(lines) + "\n" if record is None else record
        for path, text in package.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        importlib.invalidate_caches()
        return tmp_path

    yield install
    sys.meta_path[:] = finders
    for module in set(sys.modules) - modules:
        if module.startswith("capgate_tides"):
            del sys.modules[module]
