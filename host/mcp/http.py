"""Serving clients over streamable HTTP, on a loopback address: whoever holds the token of this server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.token import HostToken
from capgate.host.mcp.server import ToolServer
from capgate.host.web.answers import error_answer
from capgate.host.web.authority import Doorkeeper

__all__ = ["LARGEST_BODY", "MOST_SESSIONS", "PATH", "TOKEN", "McpError", "make_app", "open_token"]

#: Where the protocol is spoken.
PATH: Final = "/mcp"
#: Name of the file, in the host's own folder, with the token that clients send.
TOKEN: Final = ".mcp-token"
#: How many clients of the protocol's versions with sessions are served at a time.
MOST_SESSIONS: Final = 256
#: The largest body of a request, in bytes.
LARGEST_BODY: Final = 1024 * 1024
_BEARER: Final = "bearer "


class McpError(AdmissionError):
    """A request was not taken, for a reason that only this server has."""

    answers: ClassVar[Mapping[str, tuple[int, str]]] = {
        "mcp-token-required": (401, f"Send the content of {TOKEN} as Authorization: Bearer."),
        "mcp-token-unusable": (500, f"Remove {TOKEN}; `capgate mcp --http` makes a new one when it starts."),
        "origin-refused": (403, "Ask from a program, or from a page of this machine."),
    }
    ids: ClassVar[Mapping[str, str]] = {id: advice for id, (_, advice) in answers.items()}


def open_token(folder: Path) -> HostToken:
    """The token of the server, made where there is none; it admits nothing.

    Args:
        folder: the host's own folder.

    Raises:
        McpError: ``mcp-token-unusable``.
    """
    try:
        return HostToken(folder / TOKEN)
    except AdmissionError as error:
        raise McpError("mcp-token-unusable", error.message) from None


def make_app(server: ToolServer, door: Doorkeeper, is_token: Callable[[str], bool]) -> ASGIApp:
    """The application, for any ASGI server.

    Args:
        server: answers.
        door: looks at the name by which this host was asked.
        is_token: whether a text is the token, in constant time.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LARGEST_BODY,
        max_sessions=MOST_SESSIONS,
        # The door looks at the same headers, by the rules of the whole host.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return _Guarded(app, door, is_token)


class _Guarded:
    """Lets requests through that come from where they should, with the token."""

    def __init__(self, app: ASGIApp, door: Doorkeeper, is_token: Callable[[str], bool]):
        self._app = app
        self._door = door
        self._is_token = is_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._check(scope["headers"])
            except AdmissionError as error:
                answer = error_answer(error)
                if error.id == "mcp-token-required":
                    answer.headers.append((b"www-authenticate", b"Bearer"))
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._door.check_host(headers)
        for name, value in headers:
            if name == b"origin":
                self._check_origin(value)
        given = next((value.decode("latin-1") for name, value in headers if name == b"authorization"), "")
        if given[: len(_BEARER)].lower() != _BEARER or not self._is_token(given[len(_BEARER) :].strip()):
            raise McpError("mcp-token-required", f"this takes the token of this server, from the file {TOKEN}")

    def _check_origin(self, origin: bytes) -> None:
        try:
            self._door.check_host([(b"host", origin.partition(b"://")[2])])
        except AdmissionError:
            raise McpError("origin-refused", "the request comes from a page of another host") from None
