"""What a route answers: bytes with a status, and one shape for every error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from starlette.types import Receive, Scope, Send

from capgate.host.admission.errors import AdmissionError
from capgate.policy.errors import CapgateError, PolicyInvalid

__all__ = ["JSON", "Answer", "HttpError", "error_answer", "error_body", "json_answer", "json_bytes"]

JSON: Final = "application/json"
#: What every answer carries: it is of this moment, and of the type that it says.
_ALWAYS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_ascii: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class HttpError(AdmissionError):
    """A request was not taken, for a reason that only a server has."""

    answers: ClassVar[Mapping[str, tuple[int, str]]] = {
        "request-timeout": (408, "Send the body without pauses."),
        "unknown-command": (400, "Use the verb extensions, extension or propose_extension."),
        "unknown-format": (400, "Ask with format=openai or format=gemini; declarations there are for format=mcp too."),
        "internal-error": (500, "Please report this; the host's standard error says more."),
        "too-busy": (503, "Ask again in a moment."),
    }
    ids: ClassVar[Mapping[str, str]] = {id: advice for id, (_, advice) in answers.items()}


class Answer:
    """A whole answer, as an ASGI application.

    Args:
        status: the HTTP status.
        body: what is sent.
        content_type: of the body.
        headers: further headers, lower case.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes, content_type: str = JSON, headers: Sequence[tuple[bytes, bytes]] = ()):
        self.status = status
        self.body = body
        self.headers = [
            (b"content-type", content_type.encode()),
            (b"content-length", b"%d" % len(body)),
            *_ALWAYS,
            *headers,
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


def json_bytes(value: Any) -> bytes:
    """A JSON value as compact UTF-8; half a surrogate pair stays an escape."""
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:
        return _encode_ascii(value).encode()


def json_answer(value: Any, status: int = 200) -> Answer:
    """A JSON value as an answer."""
    return Answer(status, json_bytes(value))


def error_answer(error: CapgateError, status: int | None = None) -> Answer:
    """An error as an answer.

    Args:
        error: what is wrong.
        status: the HTTP status, where it is not the error's own.
    """
    own = error.http_status if isinstance(error, AdmissionError) else error.status
    return json_answer(error_body(error), status or own)


def error_body(error: CapgateError) -> dict[str, Any]:
    """The one shape: ``{ok, refused, why, error, hint}``, and what else the error has to say."""
    if isinstance(error, AdmissionError):
        return error.to_body()
    why = f"{error.span}: {error.message}" if error.span else error.message
    body = {"ok": False, "refused": error.id, "why": why, "error": f"{error.id}: {why}", "hint": error.hint}
    if isinstance(error, PolicyInvalid):
        body["problems"] = [problem.to_json() for problem in error.problems]
    return body
