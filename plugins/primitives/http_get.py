"""The primitive ``http-get``: fetches a URL of a declared host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from capgate.plugins.api import Call, Given, HookContext, Param, Primitive, hookimpl

__all__ = ["HTTP_GET", "capgate_primitives"]

#: How much of a body a caller is given, in UTF-16 units.
_SHOWN: Final = 2000


def http_get(call: Call, given: Given) -> Mapping[str, Any]:
    """Fetches ``url``, with ``query`` or ``q`` as its parameter ``q`` unless it has one (contract 7, http-get).

    Headers are filled from the environment: what does not begin with ``$`` is never sent.

    Returns:
        ``status``, ``host``, ``servedBy``, ``via``, ``request``, ``body``, and ``answer`` where the body is JSON
        that holds one.

    Raises:
        Refused: what the fetch refuses.
    """
    url = call.value("url")
    url = url if isinstance(url, str) else ""
    query = call.arguments.get("query") or call.arguments.get("q")
    headers = call.params.get("headers")
    response = given.network.request(
        "GET",
        _with_query(url, query) if query else url,
        secret_headers={
            name: value
            for name, value in (headers.items() if isinstance(headers, Mapping) else ())
            if isinstance(value, str) and value.startswith("$")
        },
    )
    text = response.body.decode("utf-8-sig", "replace")
    result = {
        "status": response.status,
        "host": response.host,
        "servedBy": response.served_by,
        "via": list(response.via),
        "request": response.used,
        "body": text[:_SHOWN].encode("utf-16-le")[: 2 * _SHOWN].decode("utf-16-le", "ignore"),
    }
    answer = _answer(response.headers.get("content-type", ""), text)
    return result if answer is None else result | {"answer": answer}


def _with_query(url: str, query: str) -> str:
    """`url` with the parameter ``q``, unless it has one."""
    from urllib.parse import parse_qsl, quote_plus

    # Blanks at the ends do not belong to a URL, and would get into the middle of it.
    head, hash, fragment = url.strip("".join(map(chr, range(0x21)))).partition("#")
    before, _, said = head.partition("?")
    if any(name == "q" for name, _ in parse_qsl(said, keep_blank_values=True)):
        return url
    # As a form is sent: the star stays as it is, and the tilde does not.
    added = f"q={quote_plus(query, safe='*', errors='replace').replace('~', '%7E')}"
    return f"{before}?{said}&{added}{hash}{fragment}" if said else f"{before}?{added}{hash}{fragment}"


def _answer(content_type: str, text: str) -> str | None:
    """The answer in a body of JSON: that of an instant answer, or a list of search results; None for any other body."""
    import json

    if "json" not in content_type.lower() and not text.startswith("{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    heading, abstract = _text(data, "Heading"), _text(data, "AbstractText")
    found = (
        _text(data, "Answer")
        or (f"{heading}: {abstract}" if heading and abstract else abstract)
        or next((text for topic in _items(data.get("RelatedTopics")) if (text := _text(topic, "Text"))), "")
        or "\n\n".join(_found(result) for result in _items(_part(data, "web", "results")))
    )
    # JSON can hold half a surrogate pair, and no other text can.
    return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") or None


def _found(result: Mapping[str, Any]) -> str:
    """One search result as a block of lines."""
    title, description, url = (_text(result, name) for name in ("title", "description", "url"))
    return "\n".join(filter(None, (": ".join(filter(None, (title, description))), url)))


def _text(data: Any, name: str) -> str:
    """A member that is a text; empty where there is none."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _part(data: Mapping[str, Any], outer: str, inner: str) -> Any:
    part = data.get(outer)
    return part.get(inner) if isinstance(part, Mapping) else None


def _items(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


#: Contract section 2.
HTTP_GET = Primitive(
    "http-get",
    needs=("network",),
    params=(Param("url"), Param("headers", "headers", from_caller=False)),
    invoke=http_get,
)


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [HTTP_GET]
