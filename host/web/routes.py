"""One route: what it asks of a request before its handler sees it, and how a handler is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qs

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.identity import is_id
from capgate.host.web.answers import Answer
from capgate.host.web.authority import ANYONE, Authority
from capgate.host.web.bodies import BodyRule, read_json

if TYPE_CHECKING:
    from capgate.host.web.shim import Shim

__all__ = ["EXCHANGE", "Call", "Exchange", "Operation", "Stream", "make_router"]

#: Where the exchange of a request is kept in its scope.
EXCHANGE: Final = "capgate"
_MOST_PARAMETERS: Final = 16


class Exchange:
    """What is known of a request, and of its answer, while it is served.

    Attributes:
        headers: the headers, names in lower case.
        caller: who asks.
        route: template of the path; empty where none is.
        status: of the answer; 0 while there is none.
    """

    __slots__ = ("caller", "headers", "route", "status")

    def __init__(self, headers: Mapping[bytes, bytes]):
        self.headers = headers
        self.caller = ANYONE
        self.route = ""
        self.status = 0


class Stream(NamedTuple):
    """The two directions of a connection, for a route that streams."""

    receive: Receive
    send: Send


class Call(NamedTuple):
    """A request as a handler sees it.

    Attributes:
        shim: what the server works with.
        exchange: who asks, and the headers.
        body: JSON data; None where the route reads none.
        id: the id in the path; empty where the path has none.
        query: the query string.
        stream: for routes that stream.
    """

    shim: Shim
    exchange: Exchange
    body: Any
    id: str
    query: bytes
    stream: Stream

    def parameter(self, name: str) -> str | None:
        """The last value of a query parameter, or None.

        Raises:
            AdmissionError: ``bad-request``: there are too many of them.
        """
        try:
            values = parse_qs(self.query.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
        except ValueError:
            raise AdmissionError("bad-request", f"the query has more than {_MOST_PARAMETERS} parameters") from None
        return values[name][-1] if name in values else None


class Operation(NamedTuple):
    """A method of a path.

    Attributes:
        method: GET, POST, PATCH or DELETE.
        path: template, ``{id}`` for an id.
        handler: answers; None where it has sent the answer itself.
        authority: what is asked of the caller, before the body is read (contract 4).
        body: what is asked of the body; None where none is read.
        open: whether it is answered to everybody, whatever the wall says.
        safe: whether a GET changes nothing, so that HEAD can be asked too.
    """

    method: str
    path: str
    handler: Callable[[Call], Awaitable[Answer | None]]
    authority: Authority = Authority.NONE
    body: BodyRule | None = None
    open: bool = False
    safe: bool = True


class _Endpoint:
    """All methods of a path, as an ASGI application; without any, it answers that there is nothing."""

    def __init__(self, shim: Shim, operations: Iterable[Operation] = ()):
        self._shim = shim
        self._operations = {operation.method: (operation, "") for operation in operations}
        self._open = any(operation.open for operation, _ in self._operations.values())
        if "GET" in self._operations and self._operations["GET"][0].safe:
            self._operations["HEAD"] = self._operations["GET"]

    def add(self, operation: Operation, id: str) -> None:
        """Takes an operation of a template that this path fits too."""
        self._operations.setdefault(operation.method, (operation, id))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope[EXCHANGE]
        if not self._open:
            self._shim.door.check_wall(exchange.caller)
        found = self._operations.get(scope["method"])
        if found is None:
            raise _not_found(scope)
        operation, id = found
        if scope.get("path_params"):
            id = scope["path_params"]["id"]
            if not is_id(id):
                raise _not_found(scope)
        exchange.route = operation.path
        exchange.caller.check(operation.authority)
        rule = operation.body
        body = await read_json(rule, exchange.headers, receive) if rule is not None else None
        call = Call(self._shim, exchange, body, id, scope["query_string"], Stream(receive, send))
        answer = await operation.handler(call)
        if answer is not None:
            exchange.status = answer.status
            await answer(scope, receive, send)


def make_router(shim: Shim, operations: Iterable[Operation]) -> ASGIApp:
    """The routes of a server."""
    paths: dict[str, list[Operation]] = {}
    for operation in operations:
        paths.setdefault(operation.path, []).append(operation)
    endpoints = {path: _Endpoint(shim, of_path) for path, of_path in paths.items()}
    plain = {path: endpoint for path, endpoint in endpoints.items() if "{id}" not in path}
    templates = [path for path in paths if path not in plain]
    for template in templates:
        before, after = template.split("{id}")
        for path, endpoint in plain.items():
            id = path.removeprefix(before).removesuffix(after)
            if path == before + id + after and is_id(id):
                for operation in paths[template]:
                    endpoint.add(operation, id)
    routes = [Route(template, endpoints[template]) for template in templates]
    others = Router(routes, redirect_slashes=False, default=_Endpoint(shim))

    async def router(scope: Scope, receive: Receive, send: Send) -> None:
        # Looking through all patterns would take as long as a decision.
        await plain.get(scope["path"], others)(scope, receive, send)

    return router


def _not_found(scope: Scope) -> AdmissionError:
    return AdmissionError("not-found", f"nothing answers {scope['method']} {scope['path']}")
