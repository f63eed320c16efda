"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

__all__ = ["describe"]

_DISTRIBUTIONS: Final = ("gordon-to-regorus", "cel-expr-python", "cedarpy", "jsonschema-rs", "orjson")


def describe(distributions: Sequence[str] = _DISTRIBUTIONS) -> str:
    """One line: processor, cores, Python, the load average now, versions of what is measured with."""
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    versions = ", ".join(f"{name} {_version(name)}" for name in distributions)
    return (
        f"{_model()}, {os.cpu_count()} cores, {platform.python_implementation()} {platform.python_version()}, "
        f"{platform.system()}; load average at the start {load}; {versions}"
    )


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"
