"""A plugin's primitive: what it is handed, and that none of its faults reaches a caller as more than a result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from capgate.plugins.api import Mechanism, Param, Placement, Primitive, Refused, hookimpl
from host_samples import clock_descriptor

World = Any  # of conftest.py


def plugin(invoke: Any, *, needs: tuple[str, ...] = (), takes: tuple[str, ...] = (), provide: Any = None) -> Any:
    """A plugin with one primitive, and with one capability of its own, ``mail``."""

    class Mail:
        name = "mail"

        @hookimpl
        def capgate_capabilities(self) -> dict[str, str]:
            return {"mail": "send messages"}

        @hookimpl
        def capgate_primitives(self) -> list[Primitive]:
            params = (Param("subject"), Param("to", from_caller=False))
            return [Primitive("send-mail", needs=needs, params=params, invoke=invoke, takes=takes)]

        @hookimpl
        def capgate_placements(self) -> list[Placement]:
            outbox = Mechanism("mail-outbox", "an outbox", provide)
            return [Placement("machine", mechanisms={"mail": outbox}, extends=True)]

    return Mail()


def mail(*capabilities: str, **parts: Any) -> dict[str, Any]:
    tools = [{"name": "send", "primitive": "send-mail", "params": {"to": "a@example.org"}}]
    bounds = {"hosts": ["a.test"], "maxRequests": 5, "maxBytes": 7}
    return clock_descriptor("mail", capabilities=list(capabilities), bounds=bounds, tools=tools) | parts


@pytest.fixture
def call(make_world: Callable[..., World]) -> Callable[..., Any]:
    """Calls the one tool of an extension over `plugin`."""

    def call(invoke: Any, *capabilities: str, args: Any = None, **options: Any) -> Any:
        world = make_world([plugin(invoke, needs=capabilities, **options)])
        world.admit(mail(*capabilities))
        result = world.call("send", args)
        result["world"] = world
        return result

    return call


# What it is handed


def test_it_is_told_what_was_said_and_what_was_admitted(call: Callable[..., Any]) -> None:
    result = call(lambda call, given: call._asdict(), args={"subject": "tide", "path": "x"})

    assert result["tool"] == "send"
    assert result["arguments"] == {"subject": "tide", "path": "x"}
    assert result["params"] == {"to": "a@example.org"}
    assert result["settings"]["primitive"] == "send-mail"


def test_arguments_that_no_primitive_takes_from_callers_are_unknown(call: Callable[..., Any]) -> None:
    result = call(lambda call, given: {}, args={"to": "b@example.org"})

    assert result["refused"] == "invalid-argument"


@pytest.mark.parametrize("name", ["read", "write", "network", "clock", "wasm", "mail"])
def test_what_it_neither_needs_nor_takes_it_has_no_way_to(call: Callable[..., Any], name: str) -> None:
    def invoke(call: Any, given: Any) -> Any:
        assert not hasattr(given, name)
        return {"handed": sorted(vars(given))}

    assert call(invoke)["handed"] == []


@pytest.mark.parametrize(
    ("needs", "takes", "handed"),
    [(("read",), (), ["read"]), (("network", "mail"), ("clock", "wasm"), ["clock", "mail", "network", "wasm"])],
)
def test_what_it_needs_and_takes_it_is_handed(
    call: Callable[..., Any], needs: tuple[str, ...], takes: tuple[str, ...], handed: list[str]
) -> None:
    result = call(
        lambda call, given: {"handed": sorted(vars(given))}, *needs, takes=takes, provide=lambda grant: "outbox"
    )
    assert result["handed"] == handed


def test_its_own_mechanism_makes_what_is_handed_over(call: Callable[..., Any]) -> None:
    def provide(grant: Any) -> Any:
        return lambda text: f"{grant.extension}/{grant.tool} to {grant.bounds['maxBytes']}: {text}"

    result = call(lambda call, given: {"sent": given.mail("tide")}, "mail", provide=provide)
    assert result["sent"] == "mail/send to 7: tide"


def test_it_cannot_change_what_was_admitted(call: Callable[..., Any]) -> None:
    def provide(grant: Any) -> None:
        grant.bounds["maxBytes"] = 1 << 40

    def invoke(call: Any, given: Any) -> Any:
        call.params["to"] = call.settings["primitive"] = call.arguments["subject"] = "changed"
        call.bounds["maxBytes"] = 1 << 40
        return {}

    world = call(invoke, "mail", provide=provide)["world"]
    descriptor = world.host.registry.extensions["mail"].descriptor
    assert descriptor["bounds"]["maxBytes"] == 7
    assert descriptor["tools"][0]["params"] == {"to": "a@example.org"}


def test_once_the_call_is_over_nothing_it_was_handed_works(call: Callable[..., Any]) -> None:
    kept: list[Any] = []

    def invoke(call: Any, given: Any) -> Any:
        kept.append(given)
        return {"content": given.read.text("notes.txt")}

    needs = ("read", "write", "network")
    assert call(invoke, *needs, takes=("clock", "wasm"))["content"] == "high tide at 6"
    (given,) = kept
    uses: list[Callable[[], Any]] = [
        lambda: given.read.text("notes.txt"),
        lambda: given.read.names(),
        lambda: given.write.text("a", "b"),
        lambda: given.network.request("GET", "https://a.test/"),
        lambda: given.clock.now(),
        lambda: given.wasm.run({}, {}),
    ]
    for use in uses:
        with pytest.raises(Refused, match="call-over"):
            use()


# What comes back


def test_the_parts_of_its_result_are_the_result(call: Callable[..., Any]) -> None:
    result = call(lambda call, given: {"sent": 1, "to": ("a", "b"), "ok": False, "correlationId": "mine"})
    del result["world"]

    assert result == {"ok": True, "sent": 1, "to": ["a", "b"]}


def test_its_refusal_is_a_refusal(call: Callable[..., Any]) -> None:
    def invoke(call: Any, given: Any) -> Any:
        raise Refused("outbox-full", "the outbox is full; token=abcdef12345", {"left": 0, "ok": True})

    result = call(invoke)
    world = result.pop("world")
    assert result == {
        "ok": False,
        "refused": "outbox-full",
        "why": "the outbox is full; token=[redacted]",
        "left": 0,
    }
    assert [line["rule"] for line in world.audited()] == ["outbox-full"]


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (None, "the result is no mapping"),
        ([], "the result is no mapping"),
        ({"x": object()}, "not JSON serializable"),
        ({"x": float("nan")}, "not JSON compliant"),
        ({"x": {1, 2}}, "not JSON serializable"),
    ],
)
def test_a_result_that_is_no_json_data_is_a_fault(call: Callable[..., Any], returned: Any, why: str) -> None:
    result = call(lambda call, given: returned)

    assert result["refused"] == "primitive-failed"
    assert why in result["why"]


@pytest.mark.parametrize(
    "refused",
    [
        Refused("Not An Id", "why"),
        Refused("", "why"),
        Refused("a" * 61, "why"),
        Refused(7, "why"),  # type: ignore[arg-type]
        Refused("fine", 7),  # type: ignore[arg-type]
        Refused("fine", "why", {"x": object()}),
    ],
)
def test_a_refusal_that_is_malformed_is_a_fault(call: Callable[..., Any], refused: Refused) -> None:
    def invoke(call: Any, given: Any) -> Any:
        raise refused

    assert call(invoke)["refused"] == "primitive-failed"


class Loop(dict[str, Any]):
    """A mapping that contains itself."""

    def __init__(self) -> None:
        super().__init__()
        self["x"] = self


@pytest.mark.parametrize(
    "fault",
    [ValueError("bad password=hunter2hunter2"), SystemExit(3), KeyboardInterrupt(), RecursionError(), Exception()],
)
def test_whatever_it_raises_is_a_result(call: Callable[..., Any], fault: BaseException) -> None:
    def invoke(call: Any, given: Any) -> Any:
        raise fault

    result = call(invoke)
    world = result["world"]
    assert result["refused"] == "primitive-failed"
    assert result["why"].startswith(f"the primitive 'send-mail' raised {type(fault).__name__}")
    assert "hunter2" not in str(world.audited()) + world.err.getvalue() + result["why"]
    (line,) = world.audited()
    assert (line["decision"], line["rule"], line["result"], line["why"]) == ("allow", "mail", "error", result["why"])


def test_a_result_that_contains_itself_is_a_fault(call: Callable[..., Any]) -> None:
    assert call(lambda call, given: Loop())["refused"] == "primitive-failed"


def test_a_mechanism_that_fails_is_a_fault(call: Callable[..., Any]) -> None:
    assert call(lambda call, given: {}, "mail", provide=lambda grant: 1 / 0)["refused"] == "primitive-failed"


def test_one_that_hangs_is_left_behind_with_what_it_holds(make_world: Callable[..., World]) -> None:
    go_on = threading.Event()
    late: list[Any] = []
    came_back = threading.Event()

    def invoke(call: Any, given: Any) -> Any:
        go_on.wait()
        try:
            late.append(given.write.text("late.txt", "x"))
        except Refused as refused:
            late.append(refused.id)
        came_back.set()
        return {}

    world = make_world([plugin(invoke, needs=("write",))], deadline=0.05)
    world.admit(mail("write"))
    try:
        hung, again = world.call("send"), world.call("send")
        assert (hung["refused"], again["refused"]) == ("primitive-failed", "primitive-failed")
        assert "did not return within 0.05 seconds" in hung["why"]
        assert "is still busy" in again["why"]
    finally:
        go_on.set()
    assert came_back.wait(30)
    assert late == ["call-over"]
    assert "late.txt" not in world.interfaces.files


def test_one_without_code_can_be_judged_and_not_called(call: Callable[..., Any]) -> None:
    result = call(None)

    assert result["refused"] == "not-callable"
    assert [line["rule"] for line in result["world"].audited()] == ["not-callable"]


# What it did


def test_several_requests_of_a_call_are_told_together(call: Callable[..., Any]) -> None:
    def invoke(call: Any, given: Any) -> Any:
        used = [given.network.request("POST", f"https://a.test/{n}", body=b"{}").used for n in (1, 2)]
        return {"used": used}

    result = call(invoke, "network")
    world = result["world"]
    assert result["used"] == ["1/5", "2/5"]
    (line,) = world.audited()
    assert line["act"]["kind"] == "network"
    via = ["https://a.test/1", "https://a.test/2"]
    assert line["observed"] == {"bytes": 8, "servedBy": "https://buoys.test", "via": via}


def test_a_refusal_that_it_swallows_is_no_refusal_of_the_call(call: Callable[..., Any]) -> None:
    def invoke(call: Any, given: Any) -> Any:
        with pytest.raises(Refused, match="missing"):
            given.read.text("gone.txt")
        return {"content": given.read.text("notes.txt")}

    result = call(invoke, "read")
    assert result["ok"] is True
    (line,) = result["world"].of_root()
    assert (line["act"]["kind"], line["result"], line["observed"]) == ("read", "ok", {"bytes": 14})
