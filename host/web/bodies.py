"""Reading what a request carries: capped, timed, strict JSON, and of the content type that the route takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from starlette.types import Message, Receive

from capgate.host.admission.errors import AdmissionError
from capgate.host.web.answers import HttpError
from capgate.policy.documents import DocumentError, load_json
from capgate.policy.documents.source import MAX_BYTES

__all__ = ["MAX_BODY", "SECONDS", "BodyRule", "ClientGone", "check_content_type", "in_time", "read_json"]

#: No route reads more, in bytes.
MAX_BODY: Final = MAX_BYTES
#: How long a body may take to arrive, in seconds.
SECONDS: Final = 30.0

T = TypeVar("T")


class ClientGone(Exception):
    """Whoever asked closed the connection; there is nobody to answer."""


class BodyRule(NamedTuple):
    """What a route asks of a body.

    Attributes:
        cap: its most bytes. What is longer, up to 1 MiB, counts as a body that cannot be read.
        types: the content types that the route takes.
        wrong_type: id of the error for another one.
        unreadable: id of the error for what cannot be read (contract 4: the route's own).
        own_cap: whether what is over 1 MiB is `unreadable` too, and not ``body-too-large`` (contract 5).
        type_needed: whether a content type is needed even where there is no body (contract 5).
        says_why: whether a body that cannot be read is answered with what is wrong in it.
    """

    cap: int = MAX_BODY
    types: tuple[str, ...] = ("application/json",)
    wrong_type: str = "unsupported-content-type"
    unreadable: str = "bad-request"
    own_cap: bool = False
    type_needed: bool = False


def check_content_type(rule: BodyRule, headers: Mapping[bytes, bytes]) -> None:
    """Looks at what the body says it is.

    Where nothing is said, an empty body may still follow; `read_json` looks at that.

    Raises:
        AdmissionError: ``unsupported-content-type``, or the rule's own id for that.
    """
    given = headers.get(b"content-type")
    if given is None:
        if rule.type_needed:
            raise AdmissionError(rule.wrong_type, "the request has no content type")
        return
    main = given.partition(b";")[0].strip().lower().decode("latin-1")
    if main not in rule.types:
        raise AdmissionError(rule.wrong_type, f"the content type is {main!r}, not {' or '.join(rule.types)}")


async def read_json(rule: BodyRule, headers: Mapping[bytes, bytes], receive: Receive) -> Any:
    """The body as JSON data; an empty one is an empty object.

    Raises:
        AdmissionError: ``unsupported-content-type``, ``body-too-large``, or the rule's ids for what cannot be read.
        HttpError: ``request-timeout``.
        ClientGone: nobody is there any more.
    """
    check_content_type(rule, headers)
    source = await _read(receive)
    if not source:
        return {}
    if b"content-type" not in headers:
        raise AdmissionError(rule.wrong_type, f"the body has no content type; it has to be {' or '.join(rule.types)}")
    if len(source) > MAX_BODY and not rule.own_cap:
        raise AdmissionError("body-too-large", f"the body has more than {MAX_BODY} bytes")
    if len(source) > rule.cap:
        raise AdmissionError(rule.unreadable, f"the body has more than {rule.cap} bytes")
    try:
        return load_json(source, "<body>").data
    except DocumentError as error:
        why = f"the body is not strict JSON: {error.span}: {error.id}: {error.message}"
        raise AdmissionError(rule.unreadable, why, hint=error.hint) from None


async def _read(receive: Receive) -> bytes:
    """The body, or somewhat more than 1 MiB of a longer one."""
    message = await in_time(receive(), "the body did not come")
    if message["type"] == "http.request" and not message.get("more_body"):
        return bytes(message.get("body", b""))
    return await in_time(_whole(message, receive), "the body did not come")


async def _whole(message: Message, receive: Receive) -> bytes:
    source = bytearray()
    while message["type"] == "http.request":
        source += message.get("body", b"")
        if not message.get("more_body") or len(source) > MAX_BODY:
            return bytes(source)
        message = await receive()
    raise ClientGone


async def in_time(waiting: Awaitable[T], what: str) -> T:
    """Waits for 30 seconds at most. What `asyncio.timeout` does besides would cost a tenth of a decision.

    Raises:
        HttpError: ``request-timeout``; `what` says what did not happen.
    """
    task = asyncio.current_task()
    assert task is not None
    late = object()
    timer = asyncio.get_running_loop().call_later(SECONDS, task.cancel, late)
    try:
        return await waiting
    except asyncio.CancelledError as cancelled:
        if late not in cancelled.args:
            raise
        task.uncancel()
        raise HttpError("request-timeout", f"{what} within {SECONDS:g} seconds") from None
    finally:
        timer.cancel()
