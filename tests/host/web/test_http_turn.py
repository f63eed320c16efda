"""POST /api/turn: sentences and actions in, results out (contract 4 and 9); and calls of live APIs (11.29)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from web_server import Server

TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}
LAUNCHER = {"id": "launcher", "capabilities": ["exec"], "tools": [{"name": "launch", "primitive": "now"}]}


def say(server: Server, transcript: str) -> Any:
    answer = server.post("/api/turn", {"transcript": transcript})
    assert answer.status_code == 200
    assert answer.json()["transcript"] == transcript
    return answer.json()["result"]


def do(server: Server, **action: Any) -> Any:
    answer = server.post("/api/turn", {"action": action})
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


# Sentences


@pytest.mark.parametrize(
    ("sentence", "tool", "capabilities", "bounds"),
    [
        ("tells the time", {"primitive": "now", "params": {}}, [], {}),
        ("lists files", {"primitive": "list-files", "params": {}}, ["read"], {}),
        ("reads notes/today.md", {"primitive": "read-file", "params": {"path": "notes/today.md"}}, ["read"], {}),
        (
            "writes log.txt with 'Hello there'",
            {"primitive": "write-file", "params": {"path": "log.txt", "content": "hello there"}},
            ["write"],
            {"maxBytes": 65536},
        ),
        (
            "gets https://Buoys.test:8443/v1?x=1",
            {"primitive": "http-get", "params": {"url": "https://buoys.test:8443/v1?x=1"}},
            ["network"],
            {"hosts": ["buoys.test"], "maxRequests": 5},
        ),
    ],
)
def test_a_tool_is_proposed_by_a_sentence(
    server: Server, sentence: str, tool: Any, capabilities: list[str], bounds: Any
) -> None:
    said = f"Create a tool called Harbour that {sentence}"
    result = say(server, said)

    assert (result["ok"], result["state"]) == (True, "pending")
    assert result["action"] == "proposed tool 'harbour-tool'"
    assert "NOT loaded" in result["note"]
    filed = json.loads((server.settings.workspace / "proposals" / "harbour-tool.json").read_text())
    assert (filed["source"], filed["state"], filed["description"]) == ("model", "pending", said)
    assert (filed["capabilities"], filed["bounds"]) == (capabilities, bounds)
    assert filed["tools"] == [{"name": "harbour", "description": said} | tool]
    assert server.running() == []
    verdict = server.get("/api/extensions/proposals/harbour-tool/plan").json()["gate"]
    assert verdict["decision"] == "admitted"


def test_a_url_that_is_none_is_left_to_the_gate(server: Server) -> None:
    for number, url in enumerate(["nonsense", "http://[", "https:///x"]):
        assert say(server, f"create a tool called t{number} that gets {url}")["ok"] is True
        plan = server.get(f"/api/extensions/proposals/t{number}-tool/plan").json()
        assert plan["gate"]["rule"] == "network-unbounded"


def test_a_tool_with_an_odd_name_is_refused_in_the_result(server: Server) -> None:
    result = say(server, "create a tool called ../x that tells the time")

    assert (result["ok"], result["refused"]) == (False, "invalid-id")


def test_listing_gives_the_inventory(server: Server) -> None:
    server.admit(TIDE)
    inventory = server.get("/api/extensions").json()

    assert say(server, "List extensions.") == {"ok": True} | inventory
    assert do(server, verb="extensions") == {"ok": True} | inventory


@pytest.mark.parametrize(
    ("sentence", "action"),
    [
        ("Run the tool tide_now", {"verb": "extension", "name": "tide_now", "args": {}}),
        ("call the tool get http://a.test/x", {"verb": "extension", "name": "get", "args": {"url": "http://a.test/x"}}),
        ("USE the tool read  notes.md now", {"verb": "extension", "name": "read", "args": {"url": "notes.md now"}}),
        (
            "search the web for tide tables",
            {"verb": "extension", "name": "web_search", "args": {"query": "tide tables"}},
        ),
        ("list extensions", {"verb": "extensions", "name": ""}),
        ("tell me a story", None),
        ("run the tool", None),
        ("create a tool called x that flies", None),
    ],
)
def test_the_action_is_shown(server: Server, sentence: str, action: Any) -> None:
    answer = server.post("/api/turn", {"transcript": sentence}).json()

    assert answer["action"] == action
    if action is None:
        assert (answer["result"]["ok"], answer["result"]["refused"]) == (False, "not-understood")


def test_a_file_outside_the_root_is_refused(server: Server) -> None:
    result = say(server, "create a file called ../extensions/x with y")

    assert (result["ok"], result["refused"]) == (False, "outside-root")
    assert "'..' segment" in result["why"]
    assert say(server, "create a file called .audit/x with y")["refused"] == "protected-audit"
    assert say(server, "create a file called sub/.env with y")["refused"] == "dotfile-refused"


def test_a_file_is_created(server: Server) -> None:
    result = say(server, "create a file called a.txt with y")
    assert (result["ok"], result["action"]) == (True, "wrote a.txt (1 bytes)")
    assert (server.settings.workspace / "a.txt").read_text() == "y"


def test_without_a_root_there_is_nowhere_to_create_a_file(make_server: Callable[..., Server]) -> None:
    server = make_server(has_root=False)
    assert say(server, "create a file called ../x with y")["refused"] == "root-not-declared"


# Calls


def test_a_call_says_why_there_is_no_such_tool(server: Server) -> None:
    server.admit(TIDE)
    server.post("/api/extensions/proposals", {"descriptor": TIDE | {"id": "other", "tools": [{"name": "waits"}]}})
    server.post("/api/extensions/proposals", {"descriptor": LAUNCHER})
    server.post("/api/extensions/admit", {"id": "launcher", "confirm": True}, token=True)
    (server.settings.extensions / "found.json").write_text(
        json.dumps({"id": "found", "tools": [{"name": "found_tool"}]})
    )
    (server.settings.workspace / "proposals" / "broken.json").write_text("{")

    assert say(server, "run the tool missing_calc")["refused"] == "unknown-tool"
    assert say(server, "run the tool found_tool")["refused"] == "unknown-tool"
    assert say(server, "run the tool waits")["refused"] == "not-admitted"
    refused = say(server, "run the tool launch")
    assert refused["refused"] == "admission-refused"
    assert "exec-absent" in refused["why"]
    assert "--allow-run" in refused["why"]
    assert say(server, "run the tool tide_now")["ok"] is True
    assert "[extension:refused] unknown-tool: no tool 'missing_calc' in the loaded set\n" in server.err.getvalue()
    assert "[extension] calling 'missing_calc' args={}\n" in server.out.getvalue()


def test_what_is_logged_of_a_call_is_redacted_and_escaped(server: Server) -> None:
    do(server, verb="extension", name="get\x1b[2J", args={"url": "https://a.test/?token=abc123456&q=weather"})
    shown = server.out.getvalue() + server.err.getvalue()

    assert "abc123456" not in shown
    assert "token=[redacted]" in shown
    assert "q=weather" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("action", "refused"),
    [
        ({"name": None}, "missing-argument"),
        ({}, "missing-argument"),
        ({"name": ""}, "invalid-argument"),
        ({"name": 7}, "invalid-argument"),
        ({"name": "x", "args": []}, "invalid-argument"),
        ({"name": "x", "args": {"url": 7}}, "invalid-argument"),
        ({"name": "x", "args": {"url": None}}, "invalid-argument"),
        ({"name": "x", "args": {"__proto__": "x"}}, "invalid-argument"),
        ({"name": "x", "args": {"other": "x"}}, "invalid-argument"),
        ({"name": "x", "other": "x"}, "invalid-argument"),
        ({"name": "x", "args": None}, "unknown-tool"),
        ({"name": "x", "url": "http://a.test"}, "unknown-tool"),
        (
            {"name": "x", "args": dict.fromkeys(["url", "path", "content", "query", "input", "a", "b"], "")},
            "unknown-tool",
        ),
    ],
)
def test_the_arguments_of_a_call_are_checked(server: Server, action: Any, refused: str) -> None:
    result = do(server, verb="extension", **action)

    assert (result["ok"], result["refused"]) == (False, refused)
    assert result["why"]


@pytest.mark.parametrize(
    "body",
    [
        {"action": {"verb": "approve"}},
        {"action": {"verb": "make_tool", "name": "x", "args": {}}},
        {"action": {"verb": "create_file", "name": "x"}},
        {"action": {"verb": ["extensions"]}},
        {"action": {}},
        {"action": "extensions"},
        {"action": {"verb": "approve"}, "transcript": "list extensions"},
    ],
)
def test_another_command_is_400(server: Server, body: Any) -> None:
    answer = server.post("/api/turn", body)

    assert (answer.status_code, answer.json()["refused"]) == (400, "unknown-command")


@pytest.mark.parametrize("body", [{}, {"transcript": ""}, {"transcript": " "}, {"transcript": 7}, [], {"action": None}])
def test_a_turn_needs_something_to_do(server: Server, body: Any) -> None:
    answer = server.post("/api/turn", body)

    assert (answer.status_code, answer.json()["refused"]) == (400, "bad-request")


def test_a_turn_proposes_as_the_model_and_admits_nothing(server: Server) -> None:
    result = do(server, verb="propose_extension", args={"catalogueId": "web-search"})

    assert result["action"] == "proposed extension web-search"
    assert result.keys() == {"ok", "action", "proposal", "descriptor", "note"}
    assert "NOT loaded" in result["note"]
    assert server.proposed() == {"web-search": "pending"}
    assert do(server, verb="propose_extension", name="Tide Reader")["ok"] is True
    assert server.proposed()["tide-reader"] == "pending"
    assert server.running() == []
    failed = do(server, verb="propose_extension", args={"catalogueId": "nowhere"})
    assert (failed["refused"], failed["error"]) == ("invalid-id", "refused: invalid-id")


# The live APIs

CALL = "/api/extensions/tools/call"


def openai(server: Server, name: Any, arguments: str) -> Any:
    body = {"type": "function_call", "call_id": "call-1", "name": name, "arguments": arguments}
    answer = server.post(f"{CALL}?format=openai", body, token=True)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"type", "call_id", "output"}
    assert (answer.json()["type"], answer.json()["call_id"]) == ("function_call_output", "call-1")
    return json.loads(answer.json()["output"])


def test_a_function_call_of_openai_is_answered_in_kind(server: Server) -> None:
    inventory = server.get("/api/extensions").json()
    assert openai(server, "list_extensions", "{}") == {"ok": True} | inventory
    assert openai(server, "list_extensions", "") == {"ok": True} | inventory
    assert openai(server, "call_extension", '{"name": "x"}')["refused"] == "unknown-tool"
    assert openai(server, "approve", "{}")["refused"] == "unknown-command"
    assert openai(server, "call_extension", "{}")["refused"] == "missing-argument"
    assert openai(server, "call_extension", "[]")["refused"] == "missing-argument"
    assert openai(server, "missing_calc", '{"url": "http://a.test"}')["refused"] == "unknown-command"
    assert openai(server, "missing_calc", '{"url": "a", "url": "b"}')["refused"] == "invalid-argument"
    assert openai(server, "propose_extension", '{"name": "X"}')["ok"] is True
    assert openai(server, "approve_extension", "{}")["refused"] == "unknown-command"
    assert openai(server, None, "{}")["refused"] == "missing-argument"


def test_function_calls_of_gemini_are_answered_in_kind(server: Server) -> None:
    calls = [
        {"id": "1", "name": "list_extensions"},
        {"id": "2", "name": "call_extension", "args": {"name": "x", "url": 7}},
        {"name": "x", "args": {}},
    ]
    answer = server.post(f"{CALL}?format=gemini", {"functionCalls": calls}, token=True).json()

    first, second, third = answer["functionResponses"]
    assert (first["id"], first["name"]) == ("1", "list_extensions")
    assert first["response"]["ok"] is True
    assert second["response"]["refused"] == "invalid-argument"
    assert (third["id"], third["response"]["refused"]) == (None, "unknown-command")


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("", {}),
        ("?format=other", {}),
        ("?format=openai", {}),
        ("?format=openai", []),
        ("?format=openai", {"type": "function_call", "call_id": 7, "arguments": "{}"}),
        ("?format=openai", {"type": "function_call", "call_id": "1", "arguments": {}}),
        ("?format=gemini", {}),
        ("?format=gemini", {"functionCalls": [7]}),
        ("?format=gemini&" + "x=1&" * 20, {}),
    ],
)
def test_another_form_of_call_is_400(server: Server, query: str, body: Any) -> None:
    answer = server.post(CALL + query, body, token=True)

    assert answer.status_code == 400
    assert answer.json()["refused"] in ("bad-request", "unknown-format")


def test_live_calls_take_the_token_or_a_session(server: Server) -> None:
    body = {"functionCalls": []}
    assert server.post(f"{CALL}?format=gemini", body).status_code == 403
    assert server.post(f"{CALL}?format=gemini", body, headers=server.sign_in()).status_code == 200
