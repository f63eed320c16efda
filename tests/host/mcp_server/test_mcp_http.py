"""``capgate mcp --http``: the official client over HTTP, and those that have no business there."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from host_samples import clock_descriptor
from mcp_client import MODES, PATIENCE, admit, connected, names, over_http, run

Process = Any  # of conftest.py
Start = Callable[..., Process]
OWN = ["list_extensions", "call_extension", "propose_extension"]
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


class Served:
    """A server, and ways to ask it."""

    def __init__(self, process: Process):
        self.process = process
        self.port = int(process.says(r"http://127\.0\.0\.1:(\d+)/mcp$")[1])
        self.address = f"http://127.0.0.1:{self.port}/mcp"

    def ask(self, method: str = "POST", address: str | None = None, **options: Any) -> httpx.Response:
        headers = {
            "authorization": f"Bearer {self.process.token}",
            "accept": "application/json, text/event-stream",
        } | options.pop("headers", {})
        headers = {name: value for name, value in headers.items() if value is not None}
        if method == "POST" and "content" not in options:
            options["json"] = HELLO
        return httpx.request(method, address or self.address, headers=headers, timeout=PATIENCE, **options)


@pytest.fixture
def serve(start: Start) -> Callable[..., Served]:
    return lambda *arguments, **options: Served(start("--http", "--port", "0", *arguments, **options))


@pytest.mark.parametrize("mode", MODES)
def test_a_client_calls_and_is_told_what_others_admit(mode: str, serve: Callable[..., Served], cli: Any) -> None:
    served = serve()

    async def use() -> None:
        async with connected(over_http(served.address, served.process.token), mode) as (client, told):
            assert await names(client) == OWN
            async with anyio.create_task_group() as tasks:
                # The stream of a client with a handshake opens some time after it; what happens before, it is not told.
                tasks.start_soon(anyio.to_thread.run_sync, come_and_go, cli, told_at_last := [False])
                await told.wait()
                told_at_last[0] = True
            admit(cli, clock_descriptor())
            await told.wait_until("tide_now", there=True)
            result = await client.call_tool("tide_now")
            assert result.structured_content["action"] == "now"
            assert cli("revoke", "tide-clock", "--yes").code == 0
            await told.wait_until("tide_now", there=False)

    run(use)
    (line,) = [line for line in audit(served) if "correlationId" in line]
    assert line["actor"] == {"name": "model", "harness": "mcp-http", "session": None}


def come_and_go(cli: Any, told: list[bool]) -> None:
    """Changes the list of tools until the client was told."""
    while not told[0]:
        admit(cli, clock_descriptor("coming", "come_and_go"))
        assert cli("revoke", "coming", "--yes").code == 0


def audit(served: Served) -> list[dict[str, Any]]:
    text = (served.process.folder / "workspace/audit.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_the_token_is_for_its_owner_and_shown_nowhere(serve: Callable[..., Served]) -> None:
    served = serve()
    file = served.process.folder / "extensions/.mcp-token"

    assert re.fullmatch("[0-9a-f]{64}", served.process.token)
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(file) in served.process.says("Bearer")[0] + served.process.said[-1]
    assert served.ask().status_code == 200
    served.ask(headers={"host": served.process.token})
    assert served.process.stop() == 0
    out = served.process.process.stdout.read()
    assert served.process.token not in "".join(served.process.said) + out + served.process.errors()


def test_only_who_comes_from_the_right_place_with_the_token_is_answered(serve: Callable[..., Served]) -> None:
    served = serve()
    host_token = served.process.folder / "extensions/.host-token"
    host_token.write_text("ab" * 32)
    host_token.chmod(0o600)
    wanted = [
        ({}, 200, None),
        ({"authorization": f"bearer  {served.process.token}"}, 200, None),
        ({"authorization": None}, 401, "mcp-token-required"),
        ({"authorization": ""}, 401, "mcp-token-required"),
        ({"authorization": served.process.token}, 401, "mcp-token-required"),
        ({"authorization": f"Basic {served.process.token}"}, 401, "mcp-token-required"),
        ({"authorization": f"Bearer {served.process.token[:-1]}"}, 401, "mcp-token-required"),
        ({"authorization": "Bearer " + "ab" * 32}, 401, "mcp-token-required"),
        ({"authorization": None, "x-voicebox-host-token": "ab" * 32}, 401, "mcp-token-required"),
        ({"host": "localhost:1"}, 200, None),
        ({"host": "[::1]"}, 200, None),
        ({"host": "rebound.test"}, 421, "host-header-refused"),
        ({"host": "127.0.0.1.rebound.test"}, 421, "host-header-refused"),
        ({"origin": "http://localhost:5173"}, 200, None),
        ({"origin": "https://page.test"}, 403, "origin-refused"),
        ({"origin": "null"}, 403, "origin-refused"),
        ({"origin": "http://localhost.page.test"}, 403, "origin-refused"),
        ({"origin": ""}, 403, "origin-refused"),
    ]
    for headers, status, refused in wanted:
        answer = served.ask(headers=headers)
        assert answer.status_code == status, (headers, answer.text)
        if refused:
            assert answer.json()["refused"] == refused
        assert ("www-authenticate" in answer.headers) is (status == 401)


def test_what_is_not_of_the_protocol_is_refused(serve: Callable[..., Served]) -> None:
    served = serve()
    modern = {"mcp-protocol-version": "2026-07-28"}
    for status, method, options in [
        (404, "GET", {"address": served.address.replace("/mcp", "/api/extensions")}),
        (404, "POST", {"address": served.address.replace("/mcp", "/")}),
        (405, "PUT", {"content": b"{}"}),
        (400, "POST", {"content": b"{}", "headers": {"content-type": "text/plain"}}),
        (400, "POST", {"content": b"nonsense", "headers": {"content-type": "application/json"}}),
        (400, "POST", {"content": json.dumps(LIST).encode(), "headers": {"content-type": "application/json"}}),
        (400, "POST", {"content": b"[]", "headers": modern | {"content-type": "application/json"}}),
        (400, "POST", {"content": json.dumps(LIST).encode(), "headers": modern | {"content-type": "application/json"}}),
        (404, "POST", {"headers": {"mcp-session-id": "made-up"}}),
        (413, "POST", {"content": b" " * 1_100_000, "headers": {"content-type": "application/json"}}),
        (406, "POST", {"headers": {"accept": "text/plain"}}),
    ]:
        answer = served.ask(method, **options)
        assert answer.status_code == status, (method, options, answer.text)
    assert "Traceback" not in served.process.errors()
    assert served.ask().status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_at_once_though_clients_listen(serve: Callable[..., Served], number: int) -> None:
    code = (
        "import sys\n"
        "import capgate.host.web.serving as serving\n"
        "from capgate.host.cli.main import main\n"
        "serving.STOP_SECONDS = 3600\n"
        "sys.exit(main())\n"
    )
    served = serve(code=code)
    token = served.process.token

    async def use() -> None:
        async with (
            connected(over_http(served.address, token), "auto") as (modern, _),
            connected(over_http(served.address, token), "legacy") as (legacy, _),
        ):
            assert await names(modern) == await names(legacy)
            code = await anyio.to_thread.run_sync(served.process.stop, number)
            assert code == 0

    run(use)
    assert "Traceback" not in served.process.errors()


def test_a_port_that_is_taken_is_said(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = start("--http", "--port", str(taken.getsockname()[1]))
        assert process.ended() == 2
    assert "address-unavailable" in process.errors()
    assert not (process.folder / "extensions").exists()


def test_a_token_that_cannot_be_kept_is_said(start: Start, tmp_path: Path) -> None:
    (tmp_path / "extensions/.mcp-token").mkdir(parents=True)
    process = start("--http", "--port", "0")

    assert process.ended() == 4
    assert "mcp-token-unusable" in process.errors()
    assert ".host-token" not in process.errors()


def test_only_this_machine_is_listened_to(serve: Callable[..., Served]) -> None:
    served = serve()
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {address for _, address, _, state, *_ in listening if state == "0A"}

    assert f"0100007F:{served.port:04X}" in addresses
    assert f"00000000:{served.port:04X}" not in addresses
