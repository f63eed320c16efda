"""A session with a server of the Model Context Protocol, over streamable HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from capgate.plugins.api import Fetcher, Refused, Response
from capgate_mcp_call.messages import Malformed, messages

__all__ = ["MOST_PAGES", "Session"]

#: The version of the protocol that is asked for, and those that differ in nothing that is used here.
_VERSION = "2025-06-18"
_KNOWN = ("2025-03-26", _VERSION, "2025-11-25")
#: How many pages of a list are read.
MOST_PAGES = 10
_LONGEST = 500


class Session:
    """Asks one server; every request is one of the mediated fetch.

    Args:
        network: the fetch.
        url: where the server speaks the protocol.
        secret_headers: headers that the host fills from its environment.

    Raises:
        Refused: by all methods: what the fetch refuses; ``mcp-unavailable``: the server answered with an HTTP
            status that says no; ``mcp-malformed``: it does not keep to the protocol; ``mcp-version``: it speaks
            none of the known versions; ``mcp-error``: it answered with an error of the protocol.
    """

    def __init__(self, network: Fetcher, url: str, secret_headers: Mapping[str, str]):
        self._network = network
        self._url = url
        self._secrets = secret_headers
        self._headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        self._last = 0
        self.used = ""

    def open(self) -> dict[str, str]:
        """Agrees on a session; the name and the version of the server."""
        client = {"name": "capgate-mcp-call", "version": "1.0.0"}
        params = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": client}
        result, response = self._ask("initialize", params)
        version, server = result.get("protocolVersion"), result.get("serverInfo")
        if version not in _KNOWN:
            raise Refused("mcp-version", f"{response.host} speaks none of {', '.join(_KNOWN)}")
        self._headers["mcp-protocol-version"] = version
        if "mcp-session-id" in response.headers:
            self._headers["mcp-session-id"] = response.headers["mcp-session-id"]
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        server = server if isinstance(server, dict) else {}
        return {key: str(server.get(key, ""))[:_LONGEST] for key in ("name", "version")}

    def list_tools(self) -> list[dict[str, Any]]:
        """The tools that the server offers."""
        tools: list[dict[str, Any]] = []
        cursor: Any = None
        for _ in range(MOST_PAGES):
            result, response = self._ask("tools/list", {"cursor": cursor} if cursor else {})
            page, cursor = result.get("tools"), result.get("nextCursor")
            if not isinstance(page, list) or not all(isinstance(tool, dict) for tool in page):
                raise _malformed(response, "a list of tools that is none")
            tools += ({key: tool.get(key) for key in ("name", "description", "inputSchema")} for tool in page)
            if not cursor:
                break
        return tools

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a tool of the server answers: ``tool``, ``content``, ``isError``, perhaps ``structuredContent``."""
        result, response = self._ask("tools/call", {"name": name, "arguments": dict(arguments)})
        content = result.get("content", [])
        if not isinstance(content, list):
            raise _malformed(response, "a result whose content is no list")
        found = {"tool": name, "content": content, "isError": result.get("isError") is True}
        if "structuredContent" in result:
            found["structuredContent"] = result["structuredContent"]
        return found

    def _ask(self, method: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], Response]:
        """The result of a request, and the answer that it came in."""
        self._last += 1
        response = self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        try:
            # A server may send notifications, and requests of its own, before it answers.
            found = messages(response.headers.get("content-type", ""), response.body)
        except Malformed as error:
            raise _malformed(response, str(error)) from None
        for message in found:
            if message.get("id") != self._last or "method" in message:
                continue
            if isinstance(message.get("result"), dict):
                return message["result"], response
            raise self._error(response, message.get("error"))
        raise _malformed(response, "no answer to the request")

    def _send(self, message: Mapping[str, Any]) -> Response:
        body = json.dumps(message).encode()
        response = self._network.request(
            "POST", self._url, headers=self._headers, body=body, secret_headers=self._secrets
        )
        self.used = response.used
        if not 200 <= response.status < 300:
            raise Refused("mcp-unavailable", f"{response.host} answered with the status {response.status}")
        return response

    def _error(self, response: Response, error: Any) -> Refused:
        if not isinstance(error, dict) or type(error.get("code")) is not int:
            return _malformed(response, "neither a result nor an error")
        details = {"code": error["code"], "message": str(error.get("message", ""))[:_LONGEST], "request": self.used}
        return Refused("mcp-error", f"{response.host} answered with the error {error['code']}", details)


def _malformed(response: Response, what: str) -> Refused:
    return Refused("mcp-malformed", f"{response.host} does not keep to the protocol: it answered with {what}")
