"""The script resolver: what a few fixed sentences ask for (contract 4, the turn endpoint).

It stands in for a model where a script drives the host. Every sentence becomes an action, as a model would
have made it.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

__all__ = ["action_of"]

_MAKE: Final = re.compile(
    r"create a tool called (?P<name>\S+) that "
    r"(?:(?P<now>tells the time)|(?P<list>lists files)|reads (?P<read>.+)"
    r"|writes (?P<write>.+?) with (?P<content>.*)|gets (?P<url>\S+))"
)
_CREATE: Final = re.compile(r"create a file called (?P<path>.+?) with (?P<content>.*)")
_CALL: Final = re.compile(r"(?:run|call|use) the tool (?P<name>\S+)(?: (?P<url>.+))?")
_SEARCH: Final = re.compile(r"search the web for (?P<query>.+)")
#: A transcript ends where people end a sentence.
_ENDS: Final = " .!?"
_MAX_REQUESTS: Final = 5
_MAX_BYTES: Final = 65536


def action_of(transcript: str) -> dict[str, Any] | None:
    """The action that a transcript asks for, ``{verb, name, args}``; None where it is not understood."""
    text = " ".join(transcript.lower().split())
    if text.rstrip(_ENDS) == "list extensions":
        return {"verb": "extensions", "name": ""}
    if found := _MAKE.fullmatch(text):
        return {"verb": "make_tool", "name": found["name"], "args": {"descriptor": _descriptor(found, transcript)}}
    if found := _CALL.fullmatch(text):
        return {"verb": "extension", "name": found["name"], "args": {"url": found["url"]} if found["url"] else {}}
    if found := _SEARCH.fullmatch(text):
        return {"verb": "extension", "name": "web_search", "args": {"query": found["query"]}}
    if found := _CREATE.fullmatch(text):
        return {"verb": "create_file", "name": found["path"], "args": {"content": found["content"]}}
    return None


def _descriptor(found: re.Match[str], transcript: str) -> dict[str, Any]:
    name = found["name"]
    primitive, capabilities, params, bounds = _tool(found)
    tool = {"name": name, "description": transcript, "primitive": primitive, "params": params}
    return {
        "id": f"{name}-tool",
        "name": name,
        "description": transcript,
        "runsIn": "host",
        "capabilities": capabilities,
        "bounds": bounds,
        "tools": [tool],
    }


def _tool(found: re.Match[str]) -> tuple[str, list[str], dict[str, Any], dict[str, Any]]:
    """Primitive, capabilities, params and bounds of the tool that a sentence describes."""
    if found["now"]:
        return "now", [], {}, {}
    if found["list"]:
        return "list-files", ["read"], {}, {}
    if found["read"]:
        return "read-file", ["read"], {"path": found["read"]}, {}
    if found["write"]:
        content = found["content"].strip("\"'")
        return "write-file", ["write"], {"path": found["write"], "content": content}, {"maxBytes": _MAX_BYTES}
    url = found["url"]
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    # Without a host the gate refuses it, and says why.
    return "http-get", ["network"], {"url": url}, {"hosts": [host] if host else [], "maxRequests": _MAX_REQUESTS}
