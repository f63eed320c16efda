"""Hosts to test: over files, and over a PostgreSQL database."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import postgresql
from capgate import open_gate
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from capgate.host.mediation.console import Console
from capgate.policy.gate import Gate
from commands import Done, runner
from host_samples import Clock, Screen

#: Where a host can keep its state.
STORES = ("files", "postgresql")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The address of a server; skips the test, by name, where none is installed and this is no CI run."""
    bin = postgresql.programs()
    if bin is None:
        if os.environ.get("CI"):
            pytest.fail(postgresql.MISSING)
        pytest.skip(postgresql.MISSING)
    with postgresql.server(bin) as address:
        yield address


@pytest.fixture
def database(postgresql_server: str) -> str:
    """The address of an empty database."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server.format("postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return postgresql_server.format(name)


@pytest.fixture(scope="session")
def gate() -> Gate:
    """The shipped rules."""
    return open_gate()


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until it is set."""
    return Clock()


@pytest.fixture
def screen() -> Screen:
    """What the console showed."""
    return Screen()


@pytest.fixture(params=STORES)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Where a host keeps its state: once in files, once in a database."""
    url = request.getfixturevalue("database") if request.param == "postgresql" else None
    return Settings(tmp_path / "workspace", True, tmp_path / "extensions", tmp_path / "shelf", database_url=url)


@pytest.fixture
def open_another(gate: Gate, settings: Settings, clock: Clock, screen: Screen) -> Iterator[Callable[[], AdmissionHost]]:
    """Opens one more host over the same state."""
    opened: list[AdmissionHost] = []

    def open_one() -> AdmissionHost:
        opened.append(open_host(gate, settings, clock=clock, console=Console(screen, screen)))
        return opened[-1]

    yield open_one
    for host in opened:
        host.close()


@pytest.fixture
def host(open_another: Callable[[], AdmissionHost]) -> AdmissionHost:
    """A host."""
    return open_another()


@pytest.fixture
def capgate(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs a command in this process."""
    return runner(capsysbinary, monkeypatch)
