"""Serving on a loopback address, until somebody says stop."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from capgate.host.web.protocol import LimitedProtocol
from capgate.policy.errors import CapgateError

__all__ = ["STOP_SECONDS", "ServeError", "listen", "serve"]

#: How long requests that are being served may take once the server is to stop, in seconds.
STOP_SECONDS: Final = 10
#: How long an idle connection is kept, in seconds.
_IDLE_SECONDS: Final = 15
_BACKLOG: Final = 1024
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class ServeError(CapgateError):
    """A server cannot be started."""

    ids = {"address-unavailable": "Stop what listens there, or give another port; 0 takes any free one."}


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens there.

    Args:
        address: a loopback address.
        port: 0 takes any free one.

    Raises:
        ServeError: ``address-unavailable``.
    """
    listening = socket.socket()
    try:
        # A server that is started again finds its port free at once.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise ServeError("address-unavailable", f"{address}:{port} cannot be listened on: {error.strerror}") from None
    return listening


def serve(
    app: ASGIApp,
    listening: socket.socket,
    ready: Callable[[], None],
    *,
    stopping: Callable[[], None] = lambda: None,
) -> None:
    """Serves until SIGTERM or SIGINT, then lets what was begun be answered, and returns.

    A second SIGINT does not wait.

    Args:
        app: answers.
        listening: from `listen`; closed in the end.
        ready: called once requests are answered.
        stopping: called once no more are taken, to end answers that would otherwise go on.
    """
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    _Server(config, ready, stopping).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that says when it answers, and for which a signal to stop is no failure."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], stopping: Callable[[], None]):
        super().__init__(config)
        self._ready = ready
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
