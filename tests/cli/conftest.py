"""Running ``capgate`` inside a test, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Done, runner

#: What a caller's environment could change in a report.
SETTINGS = ("CAPGATE_DEBUG", "COLUMNS", "FORCE_COLOR", "NO_COLOR")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the test: empty, and of no influence from outside."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def capgate(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs a command in this process."""
    return runner(capsysbinary, monkeypatch)


@pytest.fixture
def process() -> Callable[..., Done]:
    """Runs a command in a process of its own; `shell` is what a shell does to it, as ``"$@"``."""

    def run(*arguments: str | bytes, env: dict[str, str] | None = None, shell: str = "", **options: Any) -> Done:
        before = ["sh", "-c", shell, "sh"] if shell else []
        done = subprocess.run(
            [*before, sys.executable, "-m", "capgate", *arguments],
            env={**os.environ, **(env or {})},
            check=False,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )
        return Done(done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode())

    return run


@pytest.fixture
def write(folder: Path) -> Callable[..., Path]:
    """Writes a file under the current folder: bytes, text, or a value as JSON."""

    def write(name: str, content: Any) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def clock() -> dict[str, Any]:
    """A descriptor that is admitted."""
    return {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}


@pytest.fixture
def launcher() -> dict[str, Any]:
    """A descriptor that is refused."""
    return {"id": "launcher", "capabilities": ["exec"], "tools": [{"name": "launch", "primitive": "now"}]}


@pytest.fixture
def warning_rules(tmp_path: Path) -> Path:
    """A folder with a rule that warns of every descriptor that may write."""
    rules = tmp_path / "warning-rules"
    rules.mkdir()
    rule = """\
id: writes-files
title: Writing is worth a look
applies_to: descriptor
severity: warn
remedy: Look at what it writes.
triggers:
  - stage: bounds
    at: subject.capabilities
    when: {subject.capabilities: {contains: write}}
    reason: this extension writes files
"""
    (rules / "writes-files.yaml").write_text(rule)
    return rules


@pytest.fixture
def broken_rules(tmp_path: Path) -> Path:
    """A folder with a rule that cannot be loaded."""
    rules = tmp_path / "broken-rules"
    rules.mkdir()
    (rules / "half.yaml").write_text("id: half\ntitle: No triggers\napplies_to: descriptor\n")
    return rules
