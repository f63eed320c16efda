"""The modules that are built-in plugins."""

from __future__ import annotations

from types import ModuleType

from capgate.plugins import capabilities
from capgate.plugins.placements import browser, machine
from capgate.plugins.primitives import http_get, list_files, now, read_file, wasm, write_file

__all__ = ["MODULES"]

#: In the order in which people read what they declare.
MODULES: tuple[ModuleType, ...] = (
    capabilities,
    machine,
    browser,
    now,
    read_file,
    write_file,
    list_files,
    http_get,
    wasm,
)
