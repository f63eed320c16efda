"""The description held against the routes: no request, well or badly formed, is answered outside of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks as openapi_checks

import capgate
from capgate.host.web.openapi import description
from web_server import Server

CHECKS = [
    not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
]
BASE = "http://127.0.0.1"
#: Running, waiting, refused and found: so that acts on them get somewhere.
TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}
LAUNCHER = {"id": "launcher", "capabilities": ["exec"], "tools": [{"name": "launch", "primitive": "now"}]}


class Living:
    """The application that the description is held against; it is there once a test runs."""

    server: Server

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.server.app(scope, receive, send)


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def lines(context: Any, value: Any) -> bytes:
    """Text as it is; what is no text as one line of JSON."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


app = Living()
schema = schemathesis.openapi.from_dict(json.loads(description()))
schema.app = app


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory, gate: capgate.Gate) -> Iterator[Any]:
    """A server with something in every state."""
    server = Server(Path(tmp_path_factory.mktemp("described")), gate)
    server.admit(TIDE)
    server.post("/api/extensions/proposals", {"descriptor": TIDE | {"id": "waiting"}})
    server.post("/api/extensions/proposals", {"descriptor": LAUNCHER})
    server.post("/api/extensions/admit", {"id": "launcher", "confirm": True}, token=True)
    (server.settings.extensions / "found.json").write_text('{"id": "found", "tools": []}')
    app.server = server
    yield server
    server.host.close()


bounded = settings(
    max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)


@schema.parametrize()
@bounded
def test_whoever_asks_gets_what_is_described(case: Any, living: Server) -> None:
    case.call_and_validate(checks=CHECKS, base_url=BASE, headers={"x-voicebox-host-token": ""})


@schema.parametrize()
@bounded
def test_the_host_gets_what_is_described(case: Any, living: Server) -> None:
    case.call_and_validate(checks=CHECKS, base_url=BASE, headers={"x-voicebox-host-token": living.token})
