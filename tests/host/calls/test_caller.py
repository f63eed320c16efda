"""Calling tools: what is looked up, what is handed over, what comes back, what is told (contract 6, 7 and 9)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.plugins.api import Refused
from host_samples import HUMAN, MODEL, clock_descriptor, exec_descriptor, fetch_descriptor

World = Any  # of conftest.py
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def reader(id: str = "notes", tool: str = "peek", **params: Any) -> dict[str, Any]:
    tools = [{"name": tool, "primitive": "read-file", "params": params}]
    return clock_descriptor(id, capabilities=["read"], tools=tools)


def writer(id: str = "log", tool: str = "log_write", **params: Any) -> dict[str, Any]:
    tools = [{"name": tool, "primitive": "write-file", "params": params}]
    return clock_descriptor(id, capabilities=["write"], tools=tools)


# What runs


def test_a_tool_that_runs_is_called_with_what_it_may_have(world: World) -> None:
    world.admit(clock_descriptor())

    assert world.call("tide_now") == {"ok": True, "action": "now", "content": "Friday, 15 January 2027, 08:00:00 UTC"}
    assert world.interfaces.made == ["clock"]


def test_what_the_caller_says_comes_before_what_the_descriptor_sets(world: World) -> None:
    world.interfaces.files["other.txt"] = "low tide at noon"
    world.admit(reader(path="notes.txt"))

    assert world.call("peek") == {"ok": True, "action": "notes.txt", "content": "high tide at 6"}
    assert world.call("peek", {"path": "other.txt"})["content"] == "low tide at noon"


def test_a_written_file_is_told_in_bytes(world: World) -> None:
    world.admit(writer(path="berths.txt"))

    assert world.call("log_write", {"content": "é"}) == {"ok": True, "action": "wrote berths.txt (2 bytes)"}
    assert world.interfaces.files["berths.txt"] == "é"


def test_a_fetch_is_made_for_the_extension_and_its_bounds(world: World) -> None:
    world.admit(fetch_descriptor())
    result = world.call("buoy_get", {"query": "wind"})

    assert (result["ok"], result["status"], result["body"], result["request"]) == (True, 200, "calm", "1/12")
    ((grant, method, url, options),) = world.interfaces.requests
    assert (grant.extension, grant.tool) == ("buoy-feed", "buoy_get")
    assert grant.bounds == {"hosts": ["buoys.test"], "maxRequests": 12}
    assert (method, url) == ("GET", "https://buoys.test/v1/latest?token=hidden&q=wind")
    assert options["secret_headers"] == {"X-Feed-Key": "$BUOY_KEY"}


def test_each_call_has_an_id_of_its_own_that_the_audit_has_too(world: World) -> None:
    world.admit(clock_descriptor())
    ids = [world.caller.call(name, {}, actor=MODEL)["correlationId"] for name in ("tide_now", "tide_now", "missing")]

    assert all(map(UUID.fullmatch, ids))
    assert [line["correlationId"] for line in world.audited()] == ids
    assert len(set(ids)) == 3


def test_a_tool_of_the_command_line_is_called_at_once(world: World) -> None:
    """Another host on the same folders admits; this one knows."""
    assert world.call("tide_now")["refused"] == "unknown-tool"
    world.admit(clock_descriptor())
    assert world.call("tide_now")["ok"] is True
    world.host.revoke("tide-clock", confirm=True, actor=HUMAN)
    assert world.call("tide_now")["refused"] == "unknown-tool"


# What does not run


def test_an_unknown_tool_is_told_in_the_words_of_the_contract(world: World) -> None:
    why = "no tool 'missing_calc' in the loaded set"

    assert world.call("missing_calc") == {"ok": False, "refused": "unknown-tool", "why": why}
    assert world.err.getvalue() == f"[extension:refused] unknown-tool: {why}\n"


def test_a_tool_that_waits_or_was_refused_says_so(world: World) -> None:
    world.host.propose(clock_descriptor(), actor=HUMAN)
    world.host.propose(exec_descriptor(), actor=HUMAN)
    assert world.call("run_it")["refused"] == "not-admitted"
    world.host.admit("runner", confirm=True, actor=HUMAN)

    waiting, refused = world.call("tide_now"), world.call("run_it")
    assert waiting == {
        "ok": False,
        "refused": "not-admitted",
        "why": "the tool 'tide_now' of 'tide-clock' waits for the host's review",
    }
    assert refused["refused"] == "admission-refused"
    assert refused["why"].startswith("the tool 'run_it' was refused: exec-absent: ")


def test_what_waits_is_told_before_what_was_refused(world: World) -> None:
    for id in ("a", "b", "c"):
        world.host.propose(clock_descriptor(id), actor=HUMAN)
    for id in ("a", "c"):
        world.host.deny(id, actor=HUMAN)

    assert "'b' waits" in world.call("tide_now")["why"]


@pytest.mark.parametrize("tools", [None, "x", 7, [None], [{"name": 7}], [{}]])
def test_odd_proposals_have_no_tools(world: World, tools: Any) -> None:
    folder = world.settings.workspace / "proposals"
    folder.mkdir(parents=True)
    (folder / "odd.json").write_text(json.dumps({"id": "odd", "tools": tools}))
    (folder / "torn.json").write_text("{")

    assert world.call("peek")["refused"] == "unknown-tool"


def test_a_file_that_nobody_admitted_is_unknown(world: World) -> None:
    world.settings.extensions.mkdir(exist_ok=True)
    (world.settings.extensions / "tide-clock.json").write_text(json.dumps(clock_descriptor()))

    assert world.call("tide_now")["refused"] == "unknown-tool"


# Arguments


@pytest.mark.parametrize(
    ("name", "args", "refused"),
    [
        (None, {}, "missing-argument"),
        (None, ["x"], "missing-argument"),
        ("", {}, "invalid-argument"),
        (7, {}, "invalid-argument"),
        (["tide_now"], {}, "invalid-argument"),
        ("tide_now", [], "invalid-argument"),
        ("tide_now", "x", "invalid-argument"),
        ("tide_now", {"url": 7}, "invalid-argument"),
        ("tide_now", {"url": None}, "invalid-argument"),
        ("tide_now", {"actor": "me"}, "invalid-argument"),
        ("tide_now", {"__proto__": "x"}, "invalid-argument"),
        ("tide_now", {"constructor": "x"}, "invalid-argument"),
        ("tide_now", {7: "x"}, "invalid-argument"),
        ("missing", {"nonsense": "x"}, "invalid-argument"),
    ],
)
def test_arguments_are_checked_before_anything_is_done(world: World, name: Any, args: Any, refused: str) -> None:
    world.admit(clock_descriptor())

    assert world.call(name, args)["refused"] == refused
    assert world.interfaces.made == []
    assert [line["rule"] for line in world.audited()] == [refused]


def test_arguments_of_any_tool_may_come_to_any_tool(world: World) -> None:
    world.admit(clock_descriptor())

    everything = dict.fromkeys(("url", "path", "content", "query", "input", "a", "b"), "x")
    assert world.call("tide_now", everything)["ok"] is True


# What is told


def test_a_call_is_told_on_the_console_without_secrets(make_world: Callable[..., World]) -> None:
    world = make_world(environ={"FEED_TOKEN": "s3cret-tide-value"})
    world.admit(reader())
    world.call(
        "peek",
        {
            "path": "notes.txt",
            "url": "https://u:pw@a.test/?token=abcdef123&q=weather",
            "content": "it is s3cret-tide-value",
            "query": "x" * 5000,
        },
    )

    (line,) = [line for line in world.out.getvalue().splitlines() if "calling" in line]
    assert line == (
        "[extension] calling 'peek' args="
        '{"path":"notes.txt","url":"https://[redacted]@a.test/?token=[redacted]&q=weather",'
        '"content":"it is [redacted]","query":"‹5000 characters›"}'
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://tok3n@a.test/",
        "https:tok3n@a.test",
        "https:\\\\tok3n:@a.test",
        "//tok3n@a.test",
        " https://to\tk3n@a.test/",
        "ht\ttps:/\n/tok3n@a.test/",
    ],
)
def test_userinfo_of_a_url_is_never_written(world: World, url: str) -> None:
    world.admit(fetch_descriptor(tools=[{"name": "buoy_get", "primitive": "http-get", "params": {"url": url}}]))
    world.interfaces.answers = [Refused("bad-url", "this URL is not asked for") for _ in range(2)]
    world.call("buoy_get")
    world.call("buoy_get", {"url": url})

    written = world.out.getvalue() + world.err.getvalue() + str(world.audited())
    assert "k3n" not in written
    assert "[redacted]@" in written


def test_a_refusal_carries_its_details_without_secrets(world: World) -> None:
    world.admit(fetch_descriptor())
    chain = ["https://buoys.test/?key=abcdef12345", "https://evil.test/"]
    world.interfaces.answers = [
        Refused("redirect-host-not-allowed", f"chain: {' → '.join(chain)}", {"chain": chain, "ok": True, "refused": 7})
    ]
    result = world.call("buoy_get")

    assert result == {
        "ok": False,
        "refused": "redirect-host-not-allowed",
        "why": "chain: https://buoys.test/?key=[redacted] → https://evil.test/",
        "chain": ["https://buoys.test/?key=[redacted]", "https://evil.test/"],
    }
    assert "abcdef12345" not in world.out.getvalue() + world.err.getvalue() + str(world.audited())


def test_the_way_that_a_request_took_is_told_without_secrets(world: World) -> None:
    world.admit(fetch_descriptor())
    result = world.call("buoy_get")

    assert result["via"] == ["https://buoys.test/v1/latest?token=[redacted]"]


def test_a_name_cannot_steer_the_terminal(world: World) -> None:
    world.call("\x1b[2J\u202e" + "x" * 5000)

    assert "\x1b" not in world.out.getvalue() + world.err.getvalue()
    assert len(world.out.getvalue()) < 400
    (line,) = world.audited()
    assert len(line["act"]["tool"]) <= 200


# What fails below


def test_a_store_that_cannot_be_read_is_a_refusal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.admit(clock_descriptor())

    def gone(self: Any) -> Any:
        raise AdmissionError("store-unavailable", "the database is gone")

    monkeypatch.setattr(type(world.host), "registry", property(gone))
    assert world.call("tide_now") == {"ok": False, "refused": "store-unavailable", "why": "the database is gone"}
    assert [line["rule"] for line in world.audited()] == ["store-unavailable"]


def test_a_defect_is_audited_and_not_hidden(world: World) -> None:
    world.admit(reader())
    world.interfaces.files["notes.txt"] = ZeroDivisionError("a mistake of ours")

    with pytest.raises(ZeroDivisionError):
        world.call("peek", {"path": "notes.txt"})
    (line,) = world.of_root()
    assert (line["decision"], line["result"], line["why"]) == ("allow", "error", "capgate failed")


# Budgets


def test_a_call_says_how_much_of_the_budget_is_used(world: World) -> None:
    world.admit(fetch_descriptor(bounds={"hosts": ["buoys.test"], "maxRequests": 2}))
    world.interfaces.answers = [Refused("fetch-failed", "the network is down")]
    outcomes = [world.outcome("buoy_get") for _ in range(3)]

    assert [outcome.result.get("refused") for outcome in outcomes] == ["fetch-failed", None, "budget-exhausted"]
    assert [outcome.budget for outcome in outcomes] == ["1/2", "2/2", "2/2"]
    assert re.search(r"2 of 2 requests used", outcomes[2].result["why"])
    assert world.outcome("tide_now").budget is None


def test_all_tools_of_an_extension_share_its_budget(world: World) -> None:
    tools = [
        {"name": name, "primitive": "http-get", "params": {"url": "https://buoys.test/"}} for name in ("one", "two")
    ]
    world.admit(fetch_descriptor(tools=tools, bounds={"hosts": ["buoys.test"], "maxRequests": 2}))

    assert [world.call(name).get("request") for name in ("one", "two", "one")] == ["1/2", "2/2", None]


def test_files_cost_nothing(world: World) -> None:
    world.admit(reader())
    assert world.outcome("peek", {"path": "notes.txt"}).budget is None
