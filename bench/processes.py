"""Whole processes: what the command costs from start to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

__all__ = ["Cost", "check_command", "cost", "write_files"]


class Cost(NamedTuple):
    """The least of some runs, in seconds: processor time (user and system) and wall time, each for itself."""

    cpu: float
    wall: float


def cost(command: Sequence[str], times: int) -> Cost:
    """Runs a command; what it prints is dropped. Exit code 1 is that of `check` where something is refused.

    It runs once before, so that the bytecode is there, as where pip has installed a wheel.
    """
    _run(command)
    runs = [_run(command) for _ in range(times)]
    return Cost(min(run.cpu for run in runs), min(run.wall for run in runs))


def check_command(path: Path) -> list[str]:
    """``capgate check PATH``, for the Python that runs this."""
    return [sys.executable, "-m", "capgate", "check", str(path)]


def write_files(folder: Path, descriptors: Sequence[Any], count: int) -> Path:
    """Writes `count` descriptors into a new `folder`, one a file, beginning again where there are fewer."""
    folder.mkdir()
    for number in range(count):
        descriptor = descriptors[number % len(descriptors)]
        (folder / f"{number:05}.json").write_text(json.dumps(descriptor, indent=2), encoding="utf-8")
    return folder


def _run(command: Sequence[str]) -> Cost:
    start = perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    complaints = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode not in (0, 1) or complaints:
        raise RuntimeError(f"{command} ended with {process.returncode}: {complaints.decode(errors='replace')}")
    return Cost(usage.ru_utime + usage.ru_stime, wall)
