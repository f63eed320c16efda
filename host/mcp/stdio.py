"""Serving one client over standard input and output."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final, cast

import anyio
from mcp.server.stdio import stdio_server

from capgate.host.mcp.server import ToolServer

__all__ = ["LONGEST_LINE", "serve_stdio"]

#: A longer message ends the connection, in bytes.
LONGEST_LINE: Final = 4 * 1024 * 1024
_PIECE: Final = 64 * 1024


def serve_stdio(server: ToolServer) -> None:
    """Serves until standard input ends, or until SIGTERM or SIGINT; calls that were begun are finished.

    Standard output carries messages of the protocol and nothing else: while it is served, whatever else in this
    process writes there writes to standard error, and what reads standard input finds it empty.
    """
    wire = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        anyio.run(_serve, server, wire)
    finally:
        os.dup2(wire, 0)
        os.close(wire)


async def _serve(server: ToolServer, wire: int) -> None:
    lines = cast("anyio.AsyncFile[str]", _lines(wire))  # All that is done with it is to loop over it.
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_at_a_signal, tasks.cancel_scope)
            async with stdio_server(stdin=lines) as (read, write):
                await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    except* BrokenPipeError:
        pass  # The client went away without closing our input first.


async def _stop_at_a_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


async def _lines(wire: int) -> AsyncIterator[str]:
    """The lines that arrive; waiting for one can be cancelled, unlike a thread that reads."""
    rest = b""
    while len(rest) <= LONGEST_LINE:
        with suppress(PermissionError):  # It is a file, which need not be waited for.
            await anyio.wait_readable(wire)
        piece = os.read(wire, _PIECE)
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
        if not piece:
            return
