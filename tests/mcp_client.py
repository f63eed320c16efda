"""The official client of the Model Context Protocol, as tests use it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ToolListChangedNotification

import capgate

#: The two ways in which client and server agree: with a handshake, and without one.
MODES = ("legacy", "auto")
#: How long a client waits for what has to come, in seconds.
PATIENCE = 60


def environment(folder: Path) -> dict[str, str]:
    """The variables of a process whose host is in `folder`."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(capgate.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
        "VOICEBOX_WORKSPACE": str(folder / "workspace"),
        "VOICEBOX_EXTENSIONS_DIR": str(folder / "extensions"),
        "HOME": str(folder),
    }


class Told:
    """Whether a client was told that the tools are others."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._event = anyio.Event()

    async def note(self, message: object = None) -> None:
        if isinstance(message, ToolListChangedNotification) or message is None:
            self._event.set()

    async def wait(self) -> None:
        """Waits until it is told."""
        with anyio.fail_after(PATIENCE):
            await self._event.wait()
        self._event = anyio.Event()

    async def wait_until(self, name: str, there: bool) -> None:
        """Waits to be told until the list has the tool `name`, or has it no more."""
        while (name in await names(self.client)) is not there:
            await self.wait()


@asynccontextmanager
async def connected(server: Any, mode: str) -> AsyncIterator[tuple[Client, Told]]:
    """A client of a server, or of a transport to one, that wants to be told of changes."""
    told: list[Told] = []

    async def note(message: object) -> None:
        for one in told:
            await one.note(message)

    async with Client(server, mode=mode, message_handler=note, read_timeout_seconds=PATIENCE) as client:
        told.append(Told(client))
        if mode == "legacy":
            yield client, told[0]
            return
        async with client.listen(tools_list_changed=True) as events, anyio.create_task_group() as tasks:

            async def listen() -> None:
                async for _ in events:
                    await told[0].note()

            tasks.start_soon(listen)
            yield client, told[0]
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def over_stdio(folder: Path, *arguments: str, code: str | None = None) -> AsyncIterator[Any]:
    """A transport that starts ``capgate mcp``; what it says on standard error goes to a file."""
    command = ["-c", code] if code else ["-m", "capgate"]
    parameters = StdioServerParameters(
        command=sys.executable, args=[*command, "mcp", *arguments], env=environment(folder), cwd=folder
    )
    with open(folder / "stderr", "w", encoding="utf-8") as errors:
        async with stdio_client(parameters, errlog=errors) as streams:
            yield streams


@asynccontextmanager
async def over_http(address: str, token: str) -> AsyncIterator[Any]:
    """A transport to ``capgate mcp --http``."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE) as http,
        streamable_http_client(address, http_client=http) as streams,
    ):
        yield streams


async def names(client: Client) -> list[str]:
    """The names of the tools that there are."""
    return [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]


def admit(cli: Any, descriptor: dict[str, Any]) -> None:
    """Files and admits a descriptor by the command line, a function of its arguments."""
    assert cli("propose", "-", stdin=json.dumps(descriptor).encode()).code == 0
    assert cli("admit", descriptor["id"], "--yes").code == 0


def run(function: Callable[[], Awaitable[None]]) -> None:
    """Runs a test's coroutine."""
    anyio.run(function)
