"""Adds ``mcp-call``, which asks servers of the Model Context Protocol, and a rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capgate.plugins.api import Call, Given, HookContext, Param, Primitive, Refused, hookimpl
from capgate_mcp_call.session import Session

#: The versions of capgate that this plugin is written for.
requires_capgate = ">=0.1,<0.2"

#: In place of a name: whoever calls says which tool.
_ANY = "*"


def mcp_call(call: Call, given: Given) -> Mapping[str, Any]:
    """Calls one tool of a server, or lists them all.

    Returns:
        ``server`` (name and version), ``request`` (used of the budget), and what the server answered: ``tool``,
        ``content``, ``isError`` and perhaps ``structuredContent``; or ``tools``.

    Raises:
        Refused: ``invalid-argument``, ``tool-not-allowed``, what the fetch refuses, or as `Session` says.
    """
    tool, arguments = _tool(call), _arguments(call)
    headers = call.params.get("headers", {})
    session = Session(given.network, str(call.params.get("url", "")), headers)
    server = session.open()
    found = session.call_tool(tool, arguments) if tool else {"tools": session.list_tools()}
    return {"server": server, **found, "request": session.used}


def _tool(call: Call) -> str:
    """The name of the server's tool; empty to list them."""
    # The person who admitted it read the descriptor's name, so nobody else may say another.
    pinned, said = call.params.get("tool", _ANY), call.arguments.get("tool", "")
    if pinned == _ANY:
        return said
    if said not in ("", pinned):
        raise Refused("tool-not-allowed", f"this calls the tool {pinned!r} alone")
    return str(pinned)


def _arguments(call: Call) -> dict[str, Any]:
    try:
        arguments = json.loads(call.value("arguments") or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise Refused("invalid-argument", "arguments is no JSON object")
    return arguments


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive. Where it leads is for the descriptor alone to say."""
    params = (
        Param("url", from_caller=False),
        Param("tool"),
        Param("arguments"),
        Param("headers", "headers", from_caller=False),
    )
    warning = "what the server's tools do, and what they answer, is for the server to say, and it may change its mind"
    return [Primitive("mcp-call", needs=("network",), params=params, discloses=warning, invoke=mcp_call)]


@hookimpl
def capgate_rules(context: HookContext) -> list[str]:
    """The rule that has the descriptor say which server."""
    return [str(Path(__file__).with_name("rules"))]
