"""Servers for the tests of HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.errors import PolicyInvalid
from served import Served
from web_server import Server


@pytest.fixture(scope="session")
def gate() -> capgate.Gate:
    return capgate.open_gate()


@pytest.fixture
def make_server(tmp_path: Path, gate: capgate.Gate) -> Iterator[Callable[..., Server]]:
    made: list[Server] = []

    def make(gate: capgate.Gate | PolicyInvalid = gate, **changes: Any) -> Server:
        made.append(Server(tmp_path, gate, **changes))
        return made[-1]

    yield make
    for server in made:
        if not server.shim.problems:
            server.host.close()


@pytest.fixture
def server(make_server: Callable[..., Server]) -> Server:
    return make_server()


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Served]]:
    for name in ("CAPGATE_CONFIG", "CAPGATE_DATABASE_URL", "CAPGATE_RULES", "VOICEBOX_LOOPBACK_AUTH", "CAPGATE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    made: list[Served] = []

    def serve(*arguments: str, **options: Any) -> Served:
        made.append(Served(tmp_path, *arguments, **options))
        return made[-1]

    yield serve
    for served in made:
        served.process.kill()
        served.process.communicate()
