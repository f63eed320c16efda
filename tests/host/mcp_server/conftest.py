"""Servers of the Model Context Protocol: in this process, and as processes of their own."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from capgate.host.admission.store import Actor
from capgate.host.calls.opening import Runtime, open_caller
from capgate.host.calls.roots import Roots
from capgate.host.calls.tools import ModelTools
from capgate.host.mcp.server import ToolServer
from capgate.host.mediation.console import Console
from capgate.host.mediation.redaction import Redactor
from commands import Done, runner
from host_samples import HUMAN, Clock
from mcp_client import environment
from web_server import built_in_plugins

#: How long a process may take to do what it is told, in seconds.
PATIENCE = 60


class World:
    """A host in folders of its own, and a server of its tools in this process."""

    def __init__(self, folder: Path, gate: capgate.Gate):
        self.out, self.err = io.StringIO(), io.StringIO()
        console, redactor, clock = Console(self.out, self.err), Redactor({}), Clock()
        self.settings = Settings(folder / "workspace", True, folder / "extensions", folder / "shelf")
        host = open_host(gate, self.settings, clock=clock, console=console, redactor=redactor)
        roots, plugins = Roots(self.settings), built_in_plugins()
        caller = open_caller(host, plugins, roots=roots, console=console, redactor=redactor, clock=clock)
        self.runtime = Runtime(host, plugins, roots, caller, ModelTools(host, caller, plugins))
        self.defects: list[tuple[Exception, str]] = []
        self.server = ToolServer(self.runtime, Actor("model", "mcp-test"), lambda *defect: self.defects.append(defect))

    def admit(self, descriptor: dict[str, Any]) -> None:
        self.runtime.host.propose(descriptor, actor=HUMAN)
        answer = self.runtime.host.admit(descriptor["id"], confirm=True, actor=HUMAN)
        assert answer["decision"] == "admitted", answer

    def revoke(self, id: str) -> None:
        self.runtime.host.revoke(id, confirm=True, actor=HUMAN)

    def calls(self) -> list[dict[str, Any]]:
        """The lines of the audit about calls."""
        lines = (self.settings.workspace / "audit.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, lines) if "correlationId" in line]


@pytest.fixture(scope="session")
def gate() -> capgate.Gate:
    return capgate.open_gate()


@pytest.fixture
def world(tmp_path: Path, gate: capgate.Gate) -> Iterator[World]:
    made = World(tmp_path, gate)
    yield made
    made.runtime.host.close()


class Process:
    """``capgate mcp`` as a process; with `code`, a program of Python that gets its arguments."""

    def __init__(self, folder: Path, *arguments: str, code: str | None = None, stdin: Any = subprocess.PIPE):
        self.folder = folder
        command = ["-c", code] if code else ["-m", "capgate"]
        with open(folder / "stderr", "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *command, "mcp", *arguments],
                env=environment(folder),
                cwd=folder,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.said: list[str] = []

    def says(self, pattern: str) -> re.Match[str]:
        """Waits for a line on standard output."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"never said {pattern!r}: {self.said} {self.errors()}")

    def errors(self) -> str:
        return (self.folder / "stderr").read_text()

    def send(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def ended(self) -> int:
        """Its exit code; the rest of what it said is in `said`."""
        out, _ = self.process.communicate(timeout=PATIENCE)
        self.said += out.splitlines(keepends=True)
        return self.process.returncode

    @property
    def token(self) -> str:
        return (self.folder / "extensions/.mcp-token").read_text().strip()


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Process]]:
    for name in [name for name in os.environ if name.startswith(("CAPGATE_", "VOICEBOX_"))]:
        monkeypatch.delenv(name)
    made: list[Process] = []

    def start(*arguments: str, **options: Any) -> Process:
        made.append(Process(tmp_path, *arguments, **options))
        return made[-1]

    yield start
    for one in made:
        one.process.kill()
        one.process.communicate()


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs a command on the folders of the process."""
    run = runner(capsysbinary, monkeypatch)

    def command(*arguments: str, stdin: bytes = b"") -> Done:
        monkeypatch.chdir(tmp_path)
        folders = ("--workspace", str(tmp_path / "workspace"), "--extensions", str(tmp_path / "extensions"))
        return run(*arguments, *folders, stdin=stdin)

    return command
