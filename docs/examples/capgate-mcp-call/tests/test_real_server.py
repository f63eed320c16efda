"""The whole of it: a host with the plugin, and a real server of the official package on loopback."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer

from capgate.host.admission.settings import Settings
from capgate.host.admission.store import Actor
from capgate.host.calls.opening import Runtime, open_runtime
from capgate.host.mediation.console import Console

HOME = Path(__file__).parents[1]
ME = Actor("human-at-host", "test")


class Remote:
    """A server in a thread."""

    def __init__(self, json_response: bool):
        made = MCPServer("tides", version="2.1")

        @made.tool()
        def next_tide(harbour: str) -> dict[str, str]:
            """When the next tide comes."""
            if harbour != "Oban":
                raise ValueError("there is no such harbour")
            return {"harbour": harbour, "at": "06:12"}

        app = made.streamable_http_app(json_response=json_response)
        self.authorized: list[str] = []

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                self.authorized.append(dict(scope["headers"]).get(b"authorization", b"").decode())
            await app(scope, receive, send)

        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        # The loop of the standard library: an old uvloop may never return from closing one in a thread.
        config = uvicorn.Config(counted, log_level="critical", ws="none", log_config=None, loop="asyncio")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=60)
        self._listening.close()


@pytest.fixture(params=[True, False], ids=["json", "events"])
def remote(request: pytest.FixtureRequest) -> Iterator[Remote]:
    made = Remote(request.param)
    yield made
    made.stop()


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """A host that has the plugin, and lets headers be filled from one variable."""
    config = {
        "plugins": [{"name": "capgate-mcp-call", "deadline": 20}],
        "host": {"header_variables": ["TIDES_TOKEN"]},
    }
    (tmp_path / "capgate.yaml").write_text(json.dumps(config))
    monkeypatch.setenv("CAPGATE_CONFIG", str(tmp_path / "capgate.yaml"))
    monkeypatch.setenv("TIDES_TOKEN", "Bearer s3cr3t-of-the-tides")
    settings = Settings(tmp_path / "workspace", True, tmp_path / "extensions", tmp_path / "shelf")
    screen = io.StringIO()
    made = open_runtime(settings, console=Console(screen, screen))
    yield made
    made.host.close()
    assert "s3cr3t" not in screen.getvalue()
    assert "s3cr3t" not in (tmp_path / "workspace/audit.jsonl").read_text()


@pytest.fixture
def call(runtime: Runtime, remote: Remote) -> Callable[..., dict[str, Any]]:
    """Admits the example, changed so that it leads to the real server, and calls a tool of it."""

    def call(name: str = "next_tide", /, _bounds: Any = None, **said: str) -> dict[str, Any]:
        descriptor = json.loads((HOME / "examples/tide-server.json").read_text())
        descriptor["bounds"] |= {"hosts": ["127.0.0.1"]} | (_bounds or {})
        for one in descriptor["tools"]:
            one["params"]["url"] = f"http://127.0.0.1:{remote.port}/mcp"
        if not runtime.host.registry.tools:
            assert runtime.host.create(descriptor, actor=ME)["decision"] == "admitted"
        return runtime.caller.call(name, said, actor=ME)

    return call


def test_a_tool_is_called_within_hosts_and_budget(call: Callable[..., dict[str, Any]], remote: Remote) -> None:
    result = call(arguments='{"harbour": "Oban"}')

    assert (result["ok"], result["isError"], result["request"]) == (True, False, "3/30")
    assert result["server"] == {"name": "tides", "version": "2.1"}
    assert json.loads(result["content"][0]["text"]) == {"harbour": "Oban", "at": "06:12"}
    assert remote.authorized == ["Bearer s3cr3t-of-the-tides"] * 3


def test_the_tools_are_listed(call: Callable[..., dict[str, Any]]) -> None:
    (tool,) = call("tide_server")["tools"]
    assert (tool["name"], tool["description"]) == ("next_tide", "When the next tide comes.")
    assert tool["inputSchema"]["required"] == ["harbour"]


def test_a_tool_that_fails_is_told_as_such(call: Callable[..., dict[str, Any]]) -> None:
    result = call("tide_server", tool="next_tide", arguments='{"harbour": "Nowhere"}')
    assert (result["ok"], result["isError"]) == (True, True)
    assert call("tide_server", tool="nonsense")["isError"] is True


def test_the_budget_ends_it(call: Callable[..., dict[str, Any]], remote: Remote) -> None:
    assert call(_bounds={"maxRequests": 4}, arguments='{"harbour": "Oban"}')["request"] == "3/4"
    assert call(arguments='{"harbour": "Oban"}')["refused"] == "budget-exhausted"
    assert len(remote.authorized) == 4


def test_another_host_is_not_reached(call: Callable[..., dict[str, Any]], remote: Remote) -> None:
    assert call(_bounds={"hosts": ["tides.example.com"]})["refused"] == "host-not-allowed"
    assert remote.authorized == []


def test_a_server_that_is_down_is_told(call: Callable[..., dict[str, Any]], remote: Remote) -> None:
    remote.stop()
    assert call()["refused"] == "fetch-failed"


def test_the_call_is_audited(call: Callable[..., dict[str, Any]], runtime: Runtime) -> None:
    result = call(arguments='{"harbour": "Oban"}')
    lines = (runtime.host.settings.workspace / "audit.jsonl").read_text().splitlines()
    (line,) = [line for line in map(json.loads, lines) if line.get("correlationId") == result["correlationId"]]

    assert (line["act"]["kind"], line["rule"], line["result"]) == ("network", "tide-server", "ok")
    assert len(line["observed"]["via"]) == 3
