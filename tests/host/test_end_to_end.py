"""As a stranger does it: propose, read the plan, approve by code, call, see the audit, revoke, be refused.

Once over HTTP, once over the Model Context Protocol, once by the command line; processes, all of them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from mcp_client import connected, environment, names, over_stdio, run
from network_samples import Server, answer, pages, serving

#: How long a process may take to do what it is told, in seconds.
PATIENCE = 60
BODY = b'{"Answer": "waves of 2 m"}'


@pytest.fixture
def buoy() -> Iterator[Server]:
    """A server on this machine that extensions may ask."""
    with serving(pages(v1=answer(BODY, content_type="application/json"))) as made:
        yield made


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("CAPGATE_", "VOICEBOX_"))]:
        monkeypatch.delenv(name)


class Host:
    """``capgate serve``, and its person, who reads what it prints."""

    def __init__(self, folder: Path):
        self.folder = folder
        with open(folder / "served", "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "capgate", "serve", "--port", "0"],
                env=environment(folder),
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.address = self.prints(r"http://127\.0\.0\.1:\d+")[0]

    def prints(self, pattern: str) -> re.Match[str]:
        """Waits for a line on standard output."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"never printed {pattern!r}: {(self.folder / 'served').read_text()}")

    def ask(self, method: str, path: str, body: Any = None, *, token: bool = False) -> Any:
        """The answer to a request, which has to be 200."""
        headers = {"x-voicebox-host-token": (self.folder / "extensions/.host-token").read_text().strip()}
        options = {"json": body} if body is not None else {}
        done = httpx.request(method, self.address + path, headers=headers if token else {}, timeout=PATIENCE, **options)
        assert done.status_code == 200, done.text
        return done.json()

    def plan(self, id: str) -> Any:
        return self.ask("GET", f"/api/extensions/proposals/{id}/plan")

    def approve_by_code(self, id: str, plan: Any) -> Any:
        """Asks for a code, sees that it is for the plan that was read, and enters what the host prints."""
        asked = self.ask("POST", "/api/extensions/approval-request", {"id": id})
        assert asked["plan"]["digest"] == plan["digest"]
        code = self.prints(rf'{asked["requestId"]} approve "{id}": (\d{{8}}) ')[1]
        assert code not in json.dumps(asked)
        return self.ask("POST", "/api/extensions/approve", {"id": id, "requestId": asked["requestId"], "code": code})

    def audited(self, result: Any) -> Any:
        """The one line of the audit about a call."""
        lines = map(json.loads, (self.folder / "workspace/audit.jsonl").read_text().splitlines())
        (line,) = [line for line in lines if line.get("correlationId") == result["correlationId"]]
        return line


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Host]]:
    made: list[Host] = []

    def start() -> Host:
        made.append(Host(tmp_path))
        return made[-1]

    yield start
    for host in made:
        host.process.terminate()
        host.process.communicate()
        assert host.process.returncode == 0


def descriptor(buoy: Server) -> dict[str, Any]:
    return {
        "id": "buoy-feed",
        "name": "Buoy feed",
        "description": "Reads one buoy",
        "capabilities": ["network"],
        "bounds": {"hosts": [f"127.0.0.1:{buoy.port}"], "maxRequests": 2},
        "tools": [{"name": "buoy_get", "primitive": "http-get", "params": {"url": f"{buoy.url}/v1"}}],
    }


def was_read(plan: Any, buoy: Server) -> None:
    """What the person has to have seen before deciding."""
    assert plan["state"] == "pending"
    assert plan["gate"]["decision"] == "admitted"
    assert plan["bounds"]["hosts"] == [f"127.0.0.1:{buoy.port}"]
    assert [tool["primitive"] for tool in plan["tools"]] == ["http-get"]
    assert any(what.startswith("network: ") for what in plan["gate"]["gets"])
    assert any(what.startswith("exec \u2014 absent: ") for what in plan["gate"]["cannotHave"])


def was_called(result: Any, line: Any, buoy: Server, harness: str, most: int = 2) -> None:
    assert (result["ok"], result["answer"], result["request"]) == (True, "waves of 2 m", f"1/{most}")
    assert (line["act"]["kind"], line["act"]["tool"], line["decision"]) == ("network", "buoy_get", "allow")
    assert (line["rule"], line["result"], line["actor"]["harness"]) == ("buoy-feed", "ok", harness)
    assert line["observed"] == {
        "bytes": len(BODY),
        "servedBy": f"http://127.0.0.1:{buoy.port}",
        "via": [f"{buoy.url}/v1"],
    }
    assert len(buoy.requests) == 1


def was_refused(result: Any, line: Any, buoy: Server) -> None:
    assert (result["ok"], result["refused"]) == (False, "unknown-tool")
    assert (line["decision"], line["rule"], line["result"]) == ("refuse", "unknown-tool", "refused")
    assert len(buoy.requests) == 1


def test_over_http(start: Callable[[], Host], buoy: Server) -> None:
    host = start()
    filed = host.ask("POST", "/api/extensions/proposals", {"descriptor": descriptor(buoy)})
    assert (filed["id"], filed["state"]) == ("buoy-feed", "pending")
    call = {"transcript": "use the tool buoy_get"}
    assert host.ask("POST", "/api/turn", call)["result"]["refused"] == "not-admitted"

    plan = host.plan("buoy-feed")
    was_read(plan, buoy)
    assert host.approve_by_code("buoy-feed", plan)["decision"] == "admitted"

    result = host.ask("POST", "/api/turn", call)["result"]
    was_called(result, host.audited(result), buoy, "turn")

    assert host.ask("DELETE", "/api/extensions/buoy-feed", token=True)["decision"] == "revoked"
    result = host.ask("POST", "/api/turn", call)["result"]
    was_refused(result, host.audited(result), buoy)


def test_over_the_model_context_protocol(start: Callable[[], Host], buoy: Server, tmp_path: Path) -> None:
    host = start()

    async def use() -> None:
        async with connected(over_stdio(tmp_path), "auto") as (client, told):

            async def call(name: str, **arguments: str) -> Any:
                return (await client.call_tool(name, arguments)).structured_content

            proposal = {"id": "buoy-feed", "toolName": "buoy_get", "primitive": "http-get"}
            address = {"host": f"127.0.0.1:{buoy.port}", "defaultUrl": f"{buoy.url}/v1"}
            filed = await call("propose_extension", **proposal, **address)
            assert filed["action"] == "proposed extension buoy-feed"
            assert (await call("buoy_get"))["refused"] == "not-admitted"
            assert "buoy_get" not in await names(client)

            # The person at the host, whom no tool can stand in for.
            plan = await anyio.to_thread.run_sync(host.plan, "buoy-feed")
            was_read(plan, buoy)
            await anyio.to_thread.run_sync(host.approve_by_code, "buoy-feed", plan)

            await told.wait_until("buoy_get", there=True)
            shown = await call("list_extensions")
            assert [one["id"] for one in shown["extensions"]] == ["buoy-feed"]
            result = await call("buoy_get")
            was_called(result, host.audited(result), buoy, "mcp-stdio", most=10)

            revoked = host.ask("DELETE", "/api/extensions/buoy-feed", token=True)
            assert revoked["decision"] == "revoked"
            await told.wait_until("buoy_get", there=False)
            result = await call("buoy_get")
            was_refused(result, host.audited(result), buoy)

    run(use)


def test_by_the_command_line(start: Callable[[], Host], buoy: Server, tmp_path: Path) -> None:
    host = start()
    (tmp_path / "buoy.json").write_text(json.dumps(descriptor(buoy)))

    def capgate(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "capgate", *arguments],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
        assert done.returncode == code, done
        return done.stdout

    assert "Filed proposal 'buoy-feed', revision 1: pending." in capgate("propose", "buoy.json")
    assert "refused by not-admitted" in capgate("call", "buoy_get", code=1)

    shown = capgate("admit", "buoy-feed", code=1)  # Nobody is there to be asked, so nothing is done but to show it.
    assert "buoy-feed: would be admitted" in shown
    assert f"127.0.0.1:{buoy.port}" in shown
    was_read(host.plan("buoy-feed"), buoy)

    # The code is asked for, and entered, where the page would; the command shows it to who may read the host's folder.
    asked = host.ask("POST", "/api/extensions/approval-request", {"id": "buoy-feed"})
    block = capgate("approval-code")
    assert "Buoy feed" in block
    assert asked["plan"]["digest"] in block
    code = re.search(r"Approval code: (\d{8})\n", block)
    assert code is not None
    entered = {"id": "buoy-feed", "requestId": asked["requestId"], "code": code[1]}
    assert host.ask("POST", "/api/extensions/approve", entered)["decision"] == "admitted"
    assert '"buoy-feed"' in capgate("inventory", "--format", "json")

    called = json.loads(capgate("call", "buoy_get", "--format", "json"))
    was_called(called["result"], host.audited(called["result"]), buoy, "cli")
    assert (called["budget"], called["audited"]) == ("1/2", str(tmp_path / "workspace/audit.jsonl"))
    assert called["result"]["correlationId"] in capgate("audit", "tail", "--lines", "1", "--format", "json")
    assert "buoy_get" in capgate("audit", "tail")

    assert "Revoked 'buoy-feed'." in capgate("revoke", "buoy-feed", "--yes")
    refused = json.loads(capgate("call", "buoy_get", "--format", "json", code=1))["result"]
    was_refused(refused, host.audited(refused), buoy)
    assert refused["correlationId"] in capgate("audit", "grep", refused["correlationId"], "--format", "json")
