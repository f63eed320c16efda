"""The server's application: every request passes here, and every error leaves in one shape."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from capgate.host.web import decide, extensions, files, health, sign_in, turn
from capgate.host.web.answers import HttpError, error_answer
from capgate.host.web.bodies import ClientGone
from capgate.host.web.routes import EXCHANGE, Exchange, Operation, make_router
from capgate.host.web.shim import Shim
from capgate.policy.errors import CapgateError

__all__ = ["MOST_REQUESTS", "OPERATIONS", "make_app"]

#: Everything that is answered; `openapi.json` describes each of them. What is asked most comes first.
OPERATIONS: Final[tuple[Operation, ...]] = (
    *decide.OPERATIONS,
    *health.OPERATIONS,
    *extensions.OPERATIONS,
    *sign_in.OPERATIONS,
    *turn.OPERATIONS,
    *files.OPERATIONS,
)
#: How many requests are served at a time; each may hold a body.
MOST_REQUESTS: Final = 256


def make_app(shim: Shim, operations: tuple[Operation, ...] = OPERATIONS) -> ASGIApp:
    """The application, for any ASGI server.

    Args:
        shim: what it works with.
        operations: what it answers.
    """
    return _App(shim, operations)


class _App:
    def __init__(self, shim: Shim, operations: tuple[Operation, ...]):
        self._shim = shim
        self._router = make_router(shim, operations)
        self._serving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = self._shim.clock.monotonic()
        headers = scope["headers"]
        exchange = scope[EXCHANGE] = Exchange(dict(headers))
        self._serving += 1
        try:
            if self._serving > MOST_REQUESTS:
                raise HttpError("too-busy", f"{MOST_REQUESTS} requests are being served")
            self._shim.door.check_host(headers)
            exchange.caller = self._shim.door.caller(exchange.headers)
            await self._router(scope, receive, send)
        except ClientGone:
            return
        except CapgateError as error:
            self._shim.metrics.failed(error.id)
            await self._fail(error, exchange, scope, receive, send)
        except Exception as defect:  # noqa: BLE001  # whatever a defect is, whoever asked gets an answer in our shape
            self._shim.report(defect, f"{scope['method']} {scope['path']}")
            await self._fail(HttpError("internal-error", "capgate failed"), exchange, scope, receive, send)
        finally:
            self._serving -= 1
            self._shim.metrics.answered(
                scope["method"], exchange.route, exchange.status, self._shim.clock.monotonic() - started
            )

    async def _fail(self, error: CapgateError, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        if exchange.status:
            return  # The answer has begun: the server ends the connection, so that nobody takes it for whole.
        answer = error_answer(error)
        exchange.status = answer.status
        await answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Starts and ends with the server."""
        await receive()
        following = None if self._shim.problems else asyncio.create_task(self._shim.follow())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if following:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        await send({"type": "lifespan.shutdown.complete"})
