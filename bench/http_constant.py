"""A server that answers every POST with the same text: what the load is compared with.

It is served exactly as capgate is. ``python -m bench.http_constant`` prints its address.
"""

from __future__ import annotations

import sys

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from capgate.host.web.serving import listen, serve

__all__ = ["TEXT", "app"]

#: As long as a verdict is.
TEXT = b'{"decision":"admitted"}'.ljust(800)


async def constant(request: Request) -> Response:
    """Reads the body, as every handler of such a route does, and answers."""
    await request.body()
    return Response(TEXT, media_type="application/json")


app = Starlette(routes=[Route("/v1/decide", constant, methods=["POST"])])

if __name__ == "__main__":
    listening = listen("127.0.0.1", 0)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    serve(app, listening, lambda: print(address, flush=True))
    sys.exit(0)
