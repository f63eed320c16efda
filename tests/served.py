"""``capgate serve`` in a process of its own, over real sockets, for tests."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

__all__ = ["PATIENCE", "Served", "answer_of", "one_answer"]

#: What is there by the time that any of this takes, in seconds; nothing waits for so long where all is well.
PATIENCE = 30


class Served:
    """A server in its own process."""

    def __init__(self, folder: Path, *arguments: str, code: str = "", **environment: str):
        self.folder = folder
        self.extensions = folder / "extensions"
        command = ["-c", code] if code else ["-m", "capgate"]
        own = {
            "PORT": "0",
            "VOICEBOX_PROVIDER": "script",
            "VOICEBOX_WORKSPACE": str(folder / "workspace"),
            "VOICEBOX_EXTENSIONS_DIR": str(self.extensions),
            "HOME": str(folder),
        }
        with open(folder / "stderr", "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *command, "serve", *arguments],
                env={**os.environ, **own, **environment},
                cwd=folder,
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

    def start(self) -> str:
        """Waits until it serves; its address."""
        self.port = int(self.says(r"http://127\.0\.0\.1:(\d+)")[1])
        self.address = f"http://127.0.0.1:{self.port}"
        return self.address

    def errors(self) -> str:
        return (self.folder / "stderr").read_text()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Its exit code; the rest of what it said is in `said`."""
        out, _ = self.process.communicate(timeout=PATIENCE)
        self.said += out.splitlines(keepends=True)
        return self.process.returncode

    @property
    def token(self) -> str:
        return (self.extensions / ".host-token").read_text().strip()

    def post(self, path: str, body: Any, *, token: bool = False) -> httpx.Response:
        headers = {"x-voicebox-host-token": self.token} if token else {}
        return httpx.post(self.address + path, json=body, headers=headers, timeout=PATIENCE)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


def answer_of(connection: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def one_answer(connection: socket.socket) -> bytes:
    """All that comes until an object of JSON ends; the connection stays."""
    data = b""
    while not data.endswith(b"}") and (part := connection.recv(65536)):
        data += part
    return data
