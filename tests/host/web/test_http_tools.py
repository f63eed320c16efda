"""Tools over HTTP: declared for the live APIs, called for real, answered in kind (contract 7, 9 and 11.29)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mcp.types
import pytest
from google.genai import types as gemini
from openai.types.realtime import (
    RealtimeConversationItemFunctionCall,
    RealtimeConversationItemFunctionCallOutput,
    RealtimeSessionCreateRequest,
)

from web_server import Server

TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}
NOTES = {
    "id": "notes",
    "capabilities": ["read", "write"],
    "tools": [
        {"name": "peek", "primitive": "read-file", "params": {"path": "notes.txt"}},
        {"name": "poke", "primitive": "write-file"},
    ],
}
NOW = "Friday, 15 January 2027, 08:00:00 UTC"
CALL = "/api/extensions/tools/call"


def without_id(result: dict[str, Any]) -> dict[str, Any]:
    assert result.pop("correlationId")
    return result


def audited(server: Server, file: str = "audit.jsonl") -> list[dict[str, Any]]:
    lines = (server.settings.workspace / file).read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if "correlationId" in entry]


# Turns


def test_a_sentence_calls_a_tool(server: Server) -> None:
    server.admit(TIDE)
    answer = server.post("/api/turn", {"transcript": "run the tool tide_now"}).json()

    assert (answer["transcript"], answer["action"]["verb"]) == ("run the tool tide_now", "extension")
    assert [line["correlationId"] for line in audited(server)] == [answer["result"]["correlationId"]]
    assert without_id(answer["result"]) == {"ok": True, "action": "now", "content": NOW}


def test_an_act_on_a_file_is_audited_in_the_root(server: Server) -> None:
    server.admit(NOTES)
    (server.settings.workspace / "notes.txt").write_text("high tide")
    result = server.post("/api/turn", {"transcript": "run the tool peek"}).json()["result"]

    assert without_id(result) == {"ok": True, "action": "notes.txt", "content": "high tide"}
    (line,) = audited(server, ".audit/extensions.jsonl")
    assert line["act"] == {"kind": "read", "target": "notes.txt", "tool": "peek"}
    assert (line["root"], line["result"]) == (f"machine:{server.settings.workspace}", "ok")
    assert audited(server) == []


def test_a_created_file_is_audited_in_the_root(server: Server) -> None:
    server.post("/api/turn", {"transcript": "create a file called a.txt with y"})
    server.post("/api/turn", {"transcript": "create a file called ../extensions/x with y"})

    written, refused = audited(server, ".audit/extensions.jsonl")
    assert (written["act"]["target"], written["rule"], written["observed"]) == ("a.txt", "host", {"bytes": 1})
    assert (refused["rule"], refused["result"]) == ("outside-root", "refused")


def test_another_root_is_what_tools_see(server: Server, tmp_path: Any) -> None:
    server.admit(NOTES)
    folder = tmp_path / "harbour"
    folder.mkdir()
    (folder / "notes.txt").write_text("three berths")
    declared = server.post(
        "/api/root", {"project": "harbour", "root": {"kind": "machine", "path": str(folder)}}, token=True
    )
    result = server.post("/api/turn", {"action": {"verb": "extension", "name": "peek"}}).json()["result"]

    assert declared.json()["actsVia"] == "server"
    assert result["content"] == "three berths"
    assert (folder / ".audit" / "extensions.jsonl").exists()
    server.post("/api/root", {"root": {"kind": "opfs"}}, token=True)
    result = server.post("/api/turn", {"action": {"verb": "extension", "name": "peek"}}).json()["result"]
    assert (result["refused"], result["via"]) == ("no-page", "page")


def test_slow_tools_keep_nothing_else_waiting(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """More calls than there are threads for anything: the inventory is answered all the same."""
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def slow(self: Any, name: Any, args: Any, *, actor: Any) -> Any:
        begun.release()
        go_on.wait()
        return {"ok": True}

    monkeypatch.setattr("capgate.host.calls.tools.ModelTools.call_tool", slow)
    monkeypatch.setattr("capgate.host.web.shim.MOST_CALLS", 2)
    import asyncio

    import httpx

    async def ask() -> tuple[int, int]:
        transport = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8787") as client:
            body = {"action": {"verb": "extension", "name": "x"}}
            calls = [asyncio.create_task(client.post("/api/turn", json=body)) for _ in range(60)]
            try:
                async with asyncio.timeout(30):
                    while not begun.acquire(blocking=False):
                        await asyncio.sleep(0)
                    listed = await client.get("/api/extensions")
            finally:
                go_on.set()
            return listed.status_code, len([await call for call in calls])

    assert asyncio.run(ask()) == (200, 60)


# Declarations


@pytest.mark.parametrize(
    ("form", "check"),
    [
        ("openai", lambda body: RealtimeSessionCreateRequest.model_validate({"type": "realtime"} | body).tools),
        ("gemini", lambda body: gemini.LiveConnectConfig.model_validate(body).tools[0].function_declarations),
        ("mcp", lambda body: mcp.types.ListToolsResult.model_validate(body).tools),
    ],
)
def test_the_tools_are_declared_for_an_api(server: Server, form: str, check: Callable[[Any], Any]) -> None:
    server.admit(TIDE)
    server.admit(NOTES)
    answer = server.get(f"/api/extensions/tools?format={form}")

    assert answer.status_code == 200
    names = [tool.name for tool in check(answer.json())]
    assert names == ["list_extensions", "call_extension", "propose_extension", "peek", "poke", "tide_now"]


@pytest.mark.parametrize("query", ["", "?format=", "?format=other", "?format=OPENAI"])
def test_another_form_of_declaration_is_400(server: Server, query: str) -> None:
    answer = server.get(f"/api/extensions/tools{query}")

    assert (answer.status_code, answer.json()["refused"]) == (400, "unknown-format")


# Calls of live APIs


def test_a_call_of_openai_is_done_and_answered_in_kind(server: Server) -> None:
    server.admit(NOTES)
    call = RealtimeConversationItemFunctionCall(
        type="function_call",
        call_id="call-1",
        name="poke",
        arguments=json.dumps({"path": "a.txt", "content": "low tide"}),
    )
    answer = server.post(f"{CALL}?format=openai", call.model_dump(exclude_none=True), token=True).json()

    output = RealtimeConversationItemFunctionCallOutput.model_validate(answer)
    assert output.call_id == "call-1"
    assert without_id(json.loads(output.output)) == {"ok": True, "action": "wrote a.txt (8 bytes)"}
    assert (server.settings.workspace / "a.txt").read_text() == "low tide"
    (line,) = audited(server, ".audit/extensions.jsonl")
    assert line["actor"] == {"name": "model", "harness": "openai-live", "session": None}


def test_calls_of_gemini_are_done_and_answered_in_kind(server: Server) -> None:
    server.admit(TIDE)
    calls = [
        gemini.FunctionCall(id="1", name="tide_now", args={}),
        gemini.FunctionCall(id="2", name="call_extension", args={"name": "tide_now"}),
        gemini.FunctionCall(id="3", name="missing"),
    ]
    body = {"functionCalls": [call.model_dump(exclude_none=True) for call in calls]}
    answer = server.post(f"{CALL}?format=gemini", body, headers=server.sign_in()).json()

    responses = [gemini.FunctionResponse.model_validate(one) for one in answer["functionResponses"]]
    assert [one.id for one in responses] == ["1", "2", "3"]
    assert [(one.response or {}).get("content") for one in responses] == [NOW, NOW, None]
    assert (responses[2].response or {})["refused"] == "unknown-command"
    assert {line["actor"]["harness"] for line in audited(server)} == {"gemini-live"}
    assert all(line["actor"]["session"] for line in audited(server))


def test_one_extension_is_followed_from_proposal_to_revocation(server: Server) -> None:
    """As a stranger: propose, read the plan, approve by the printed code, call, look it up, revoke, be refused."""
    import re

    proposed = server.post("/api/extensions/proposals", {"descriptor": NOTES}).json()
    assert proposed["state"] == "pending"
    turn = {"action": {"verb": "extension", "name": "peek"}}
    assert server.post("/api/turn", turn).json()["result"]["refused"] == "not-admitted"
    plan = server.get("/api/extensions/proposals/notes/plan").json()
    assert plan["gate"]["decision"] == "admitted"
    asked = server.post("/api/extensions/approval-request", {"id": "notes"}).json()
    (code,) = re.findall(rf'{asked["requestId"]} approve "notes": (\d{{8}}) ', server.out.getvalue())
    body = {"id": "notes", "requestId": asked["requestId"], "code": code}
    assert server.post("/api/extensions/approve", body).json()["decision"] == "admitted"

    (server.settings.workspace / "notes.txt").write_text("high tide")
    result = server.post("/api/turn", turn).json()["result"]
    assert result["content"] == "high tide"
    (line,) = audited(server, ".audit/extensions.jsonl")
    assert line["correlationId"] == result["correlationId"]

    assert server.ask("DELETE", "/api/extensions/notes", token=True).json()["decision"] == "revoked"
    assert server.post("/api/turn", turn).json()["result"]["refused"] == "unknown-tool"


def test_many_at_once_share_one_budget(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptor = {
        "id": "buoy-feed",
        "capabilities": ["network"],
        "bounds": {"hosts": ["localhost"], "maxRequests": 10, "window": "day"},
        "tools": [{"name": "buoy_get", "primitive": "http-get", "params": {"url": "http://localhost:1/"}}],
    }
    server.admit(descriptor)
    body = {"action": {"verb": "extension", "name": "buoy_get"}}
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: server.post("/api/turn", body).json()["result"]["refused"], range(24)))

    assert sorted(results) == ["budget-exhausted"] * 14 + ["fetch-failed"] * 10
