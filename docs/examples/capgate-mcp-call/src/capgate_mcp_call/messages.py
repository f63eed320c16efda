"""Messages of JSON-RPC, as they come in the body of an answer: alone, or in a stream of events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["Malformed", "messages"]

_LINE = re.compile("\r\n|\n|\r")


class Malformed(ValueError):
    """A body is not what its content type says."""


def messages(content_type: str, body: bytes) -> list[dict[str, Any]]:
    """The messages in a body, in order.

    Raises:
        Malformed: it is of another type, or no JSON.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        texts = [body.decode("utf-8", "replace")]
    elif kind == "text/event-stream":
        texts = list(_events(body.decode("utf-8-sig", "replace")))
    else:
        raise Malformed("neither JSON nor a stream of events")
    found = []
    for text in texts:
        message = _parsed(text)
        if not isinstance(message, dict):
            raise Malformed("a message that is no object")
        found.append(message)
    return found


def _events(text: str) -> Iterator[str]:
    """The data of each event; one that is cut off at the end is none."""
    data: list[str] = []
    for line in _LINE.split(text):
        if not line:
            # An event may have no data, to say only where a client is to go on.
            if any(data):
                yield "\n".join(data)
            data = []
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))


def _parsed(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise Malformed(f"{constant}, which is no JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise Malformed("what is no JSON") from None
