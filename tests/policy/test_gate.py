"""The gate through its Python interface."""

from __future__ import annotations

import copy
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.errors import CapgateError, PolicyInvalid
from overlays import overlay, rule

CLOCK: dict[str, Any] = {"id": "clock", "tools": [{"name": "tide_now", "primitive": "now"}]}
FEED: dict[str, Any] = {
    "id": "buoy-feed",
    "name": "Buoy feed",
    "description": "Reads one buoy",
    "runsIn": "remote",
    "capabilities": ["network"],
    "bounds": {"hosts": ["buoys.test"], "maxRequests": 12},
    "tools": [
        {
            "name": "buoy_get",
            "primitive": "http-get",
            "params": {
                "url": "https://buoys.test/v1/latest",
                "headers": {"X-Feed-Key": "$BUOY_KEY", "Accept": "text/plain"},
            },
        }
    ],
}


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


def test_an_admitted_descriptor_is_told_what_enforces_and_what_it_gets(gate: capgate.Gate) -> None:
    verdict = gate.admit(
        {**CLOCK, "capabilities": ["read", "network"], "bounds": {"hosts": ["a.test"], "maxRequests": 1}}
    )
    assert (verdict.decision, verdict.rule, verdict.why, verdict.refusals) == ("admitted", None, None, ())
    assert dict(verdict.enforced) == {"read": "host-primitive-scope", "network": "mediated-fetch"}
    assert [text.split(":")[0] for text in verdict.gets] == ["read", "network"]
    assert "root-scoped read function" in verdict.gets[0]


def test_a_wasm_tool_is_disclosed_first(gate: capgate.Gate) -> None:
    wasm = {
        "path": "m.wasm",
        "digest": "0" * 64,
        "abi": "buffer-abi/1",
        "input": {"addr": 0, "maxBytes": 8.0},
        "output": {"addr": 64, "bytes": 32},
        "call": {"export": "f"},
    }
    verdict = gate.admit({"capabilities": ["read"], "tools": [{"name": "w", "primitive": "wasm", "wasm": wasm}]})
    assert verdict.decision == "admitted"
    assert [text.split(":")[0] for text in verdict.gets] == ["wasm", "read"]


@pytest.mark.parametrize(
    ("placement", "absent"), [("machine", ["exec", "eval", "import"]), ("browser", ["exec", "eval"])]
)
def test_every_verdict_says_what_cannot_be_had(gate: capgate.Gate, placement: str, absent: list[str]) -> None:
    for descriptor in (CLOCK, {}):
        texts = gate.admit(descriptor, placement).cannot_have
        assert [text.split(" — absent: ")[0] for text in texts] == absent
        assert all(text.split(" — absent: ")[1] for text in texts)


def test_the_placement_decides_what_enforces(gate: capgate.Gate) -> None:
    verdict = gate.admit({**CLOCK, "capabilities": ["read"]}, "browser")
    assert dict(verdict.enforced) == {"read": "handle-scope"}


def test_a_verdict_is_a_value_that_later_changes_do_not_reach(gate: capgate.Gate) -> None:
    descriptor = copy.deepcopy(FEED)
    descriptor["tools"].append({"name": "Bad-Name", "primitive": "shell"})
    verdict, plan = gate.admit(descriptor), gate.plan(descriptor)
    before = (verdict.to_json(), plan.to_json())
    descriptor["tools"][1]["name"] = "good"
    descriptor["capabilities"].clear()
    assert (verdict.to_json(), plan.to_json()) == before
    verdict.to_json()["refusals"].clear()
    assert verdict.to_json() == before[0]
    admitted = gate.admit(FEED)
    for change in (
        lambda: setattr(admitted, "decision", "refused"),
        lambda: admitted.enforced.update(exec="x"),  # type: ignore[attr-defined]
        lambda: setattr(verdict.refusals[0], "rule", "x"),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()


def test_the_json_of_a_verdict_has_the_contracts_shape(gate: capgate.Gate) -> None:
    admitted, refused = gate.admit(CLOCK).to_json(), gate.admit({}).to_json()
    assert list(admitted) == ["decision", "enforced", "gets", "cannotHave", "refusals", "policy"]
    assert list(refused) == ["decision", "rule", "why", "gets", "cannotHave", "refusals", "policy"]
    assert refused["policy"] == {"fingerprint": gate.fingerprint}
    assert (gate.admit({}).enforced, gate.admit({}).gets) == ({}, ())
    assert list(refused["refusals"][0]) == ["rule", "reason", "remedy", "severity", "path", "element"]
    json.dumps(refused)


def test_all_refusals_are_reported_and_the_first_is_the_refusal(gate: capgate.Gate) -> None:
    verdict = gate.admit(
        {"capabilities": ["exec", "bogus"], "runsIn": "process", "tools": [{"name": "a b", "primitive": "x"}]}
    )
    assert [(found.rule, found.path, found.element) for found in verdict.refusals] == [
        ("exec-absent", "$.capabilities[0]", "$.capabilities[0]"),
        ("unknown-capability", "$.capabilities[1]", "$.capabilities[1]"),
        ("exec-absent", "$.runsIn", None),
        ("bad-tool-name", "$.tools[0].name", "$.tools[0]"),
        ("unknown-primitive", "$.tools[0].primitive", "$.tools[0]"),
    ]
    assert (verdict.rule, verdict.why) == (verdict.refusals[0].rule, verdict.refusals[0].reason)


def test_names_in_use_are_taken_from_any_set_of_texts(gate: capgate.Gate) -> None:
    for names in (frozenset({"tide_now"}), {"tide_now"}, ["tide_now"], ("tide_now",)):
        assert gate.decide(CLOCK, existing_tools=names) == "duplicate-tool"
    assert gate.decide(CLOCK, existing_tools=["other"]) is None


@pytest.mark.parametrize(
    "names",
    ["tide_now", b"tide_now", [1], frozenset([5]), {"a", None}, None, 5],
    ids=["text", "bytes", "numbers", "a frozen set of numbers", "nulls", "nothing", "a number"],
)
def test_names_that_are_no_texts_are_refused_before_anything_is_judged(gate: capgate.Gate, names: Any) -> None:
    with pytest.raises(CapgateError) as caught:
        gate.decide(CLOCK, existing_tools=names)
    assert caught.value.id == "bad-tool-names"


@pytest.mark.parametrize("placement", ["Machine", "", None, 5, ["machine"]])
def test_an_unknown_placement_is_an_error_that_names_the_known_ones(gate: capgate.Gate, placement: Any) -> None:
    for ask in (gate.decide, gate.admit, gate.plan):
        with pytest.raises(CapgateError) as caught:
            ask(CLOCK, placement)
        assert caught.value.id == "unknown-placement"
        assert "machine" in caught.value.hint


def test_a_plan_discloses_what_was_asked_for_and_names_secrets(gate: capgate.Gate) -> None:
    plan = gate.plan(FEED).to_json()
    tools = copy.deepcopy(FEED["tools"])
    tools[0]["params"]["headers"]["Accept"] = "[redacted]"  # only headers that name a variable are ever sent
    assert {key: plan[key] for key in ("id", "name", "description", "runsIn", "declared", "bounds", "tools")} == {
        "id": "buoy-feed",
        "name": "Buoy feed",
        "description": "Reads one buoy",
        "runsIn": "remote",
        "declared": ["network"],
        "bounds": FEED["bounds"],
        "tools": tools,
    }
    assert plan["gate"]["decision"] == "admitted"
    assert plan["secrets"] == [{"header": "X-Feed-Key", "variable": "BUOY_KEY", "hosts": ["buoys.test"]}]


def test_a_header_that_several_tools_send_is_told_once(gate: capgate.Gate) -> None:
    tools = [FEED["tools"][0], FEED["tools"][0] | {"name": "again"}]
    assert len(gate.plan(FEED | {"tools": tools}).secrets) == 2
    assert gate.plan(FEED | {"tools": tools}).to_json()["secrets"] == gate.plan(FEED).to_json()["secrets"]


def test_a_plans_digest_changes_with_everything_in_it(gate: capgate.Gate) -> None:
    digests = {
        gate.plan(FEED).digest,
        gate.plan(FEED, "browser").digest,
        gate.plan(FEED, existing_tools={"buoy_get"}).digest,
    }
    for change in ({"name": "x"}, {"bounds": {**FEED["bounds"], "maxRequests": 13}}, {"tools": FEED["tools"] * 2}):
        digests.add(gate.plan({**FEED, **change}).digest)
    assert len(digests) == 6
    plan = gate.plan(FEED)
    assert plan.to_json()["digest"] == plan.digest == gate.plan(copy.deepcopy(FEED)).digest


def test_a_plan_of_something_malformed_is_still_a_plan(gate: capgate.Gate) -> None:
    for odd in (
        None,
        [],
        {"tools": [None], "bounds": 5, "capabilities": "read"},
        {"tools": [{"params": {"headers": 5}}]},
    ):
        plan = gate.plan(odd).to_json()
        assert plan["gate"]["rule"] == "malformed-descriptor"


def test_a_plan_of_what_is_no_json_is_an_error(gate: capgate.Gate) -> None:
    loop: dict[str, Any] = {"tools": []}
    loop["name"] = loop
    for odd in (loop, {"tools": [{1: 2}]}, {"bounds": {"x": object()}}, {"bounds": {"x": float("nan")}}):
        with pytest.raises(CapgateError):
            gate.plan(odd)


def test_many_threads_ask_one_gate(gate: capgate.Gate) -> None:
    fresh = capgate.open_gate()
    expected = gate.admit({}).to_json()
    wrong: list[object] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        for number in range(200):
            placement = ("machine", "browser")[number % 2]
            if fresh.decide(FEED, placement) is not None or fresh.admit({}).to_json() != expected:
                wrong.append(number)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_overlay_adds_refusals_after_the_shipped_ones(tmp_path: Path, gate: capgate.Gate) -> None:
    folder = overlay(
        tmp_path / "rules", house_name=rule("house-name", {"not": {"descriptor.name": {"type": "string"}}})
    )
    strict = capgate.open_gate(rules=[folder])
    assert gate.decide(CLOCK) is None
    assert strict.decide(CLOCK) == "house-name"
    assert strict.decide(FEED) is None
    assert strict.fingerprint != gate.fingerprint


def test_a_warning_is_reported_and_decides_nothing(tmp_path: Path) -> None:
    folder = overlay(
        tmp_path / "rules",
        a_warning=rule("a-warning", {"descriptor.id": {"exists": True}}, severity="warn"),
        b_refusal=rule("b-refusal", {"descriptor.name": {"equals": "no"}}),
    )
    gate = capgate.open_gate(rules=[folder])
    verdict = gate.admit(CLOCK)
    assert (verdict.decision, verdict.rule) == ("admitted", None)
    assert [(found.rule, found.severity) for found in verdict.refusals] == [("a-warning", "warn")]
    both = gate.admit({**CLOCK, "name": "no"})
    assert both.rule == "b-refusal"
    assert both.why == both.refusals[1].reason
    assert gate.decide({**CLOCK, "name": "no"}) == "b-refusal"


def test_the_same_rules_have_the_same_fingerprint_wherever_they_lie(tmp_path: Path) -> None:
    one = overlay(tmp_path / "one", x=rule("x", {"descriptor.id": {"equals": "x"}}))
    two = overlay(tmp_path / "two", x=rule("x", {"descriptor.id": {"equals": "x"}}))
    prints = {capgate.open_gate(rules=[folder]).fingerprint for folder in (one, two)}
    assert len(prints) == 1
    overlay(two, x=rule("x", {"descriptor.id": {"equals": "y"}}))
    assert capgate.open_gate(rules=[two]).fingerprint not in prints


def test_a_loop_variable_called_host_leaves_the_facts_of_the_host_in_reach(tmp_path: Path) -> None:
    when = {"all": [{"host": {"equals": "buoys.test"}}, {"host.taken": {"contains": "gone"}}]}
    folder = overlay(tmp_path / "rules", x=rule("x", when, stage="hosts", reason="{host} of {host.taken}"))
    gate = capgate.open_gate(rules=[folder])
    assert gate.decide(FEED) is None
    refusal = gate.admit(FEED, existing_tools={"gone"}).refusals[0]
    assert refusal.path == "$.bounds.hosts[0]"
    assert refusal.reason.startswith("buoys.test of call_extension, delegate_task, gone, ")


def test_stages_of_an_overlay_come_after_the_stage_they_name(tmp_path: Path) -> None:
    stages = {"language": 1, "stages": [{"name": "house", "after": "bounds"}, {"name": "later", "after": "bounds"}]}
    always = {"descriptor.tools": {"exists": True}}
    folder = overlay(
        tmp_path / "rules",
        ruleset=stages,
        a_later=rule("a-later", always, stage="later"),
        b_house=rule("b-house", always, stage="house"),
        c_tools=rule("c-tools", always, stage="tools"),
    )
    gate = capgate.open_gate(rules=[folder])
    assert [found.rule for found in gate.admit(CLOCK).refusals] == ["b-house", "a-later", "c-tools"]


def test_a_broken_overlay_is_never_half_loaded(tmp_path: Path) -> None:
    folder = overlay(
        tmp_path / "rules",
        good=rule("good", {"descriptor.id": {"exists": True}}),
        bad=rule("bad", {"descriptor.idd": {"exists": True}}),
        worse=rule("worse", {"descriptor.id": {"exits": True}}),
    )
    with pytest.raises(PolicyInvalid) as caught:
        capgate.open_gate(rules=[folder])
    assert [problem.id for problem in caught.value.problems] == ["path-unknown", "operator-unknown"]
    assert "descriptor.idd" in str(caught.value)
    assert "Did you mean 'id'?" in str(caught.value)


@pytest.mark.parametrize("rules", ["my-rules", b"my-rules", Path("my-rules")], ids=["text", "bytes", "path"])
def test_one_folder_in_place_of_a_list_is_told_apart(rules: Any) -> None:
    with pytest.raises(PolicyInvalid, match="which is no list"):
        capgate.open_gate(rules=rules)


def opcodes(ask: Any) -> int:
    """How many instructions of ours a call runs: a measure that no other load on the machine can change."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        ask()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "condition",
    [
        lambda number: ("bounds", {"subject.capabilities": {"contains": f"cap-{number}"}}),
        lambda number: ("capabilities", {"capability": {"equals": f"cap-{number}"}}),
        lambda number: ("tools", {"tool.needs": {"contains": f"cap-{number}"}}),
        lambda number: ("tools", {"tool.primitive": {"in": [f"cap-{number}", f"cup-{number}"]}}),
    ],
    ids=["contains", "equals on a loop variable", "contains on a tool's fact", "in"],
)
def test_a_thousand_rules_for_other_names_cost_next_to_nothing(
    tmp_path: Path, gate: capgate.Gate, condition: Any
) -> None:
    files = {}
    for number in range(1000):
        stage, when = condition(number)
        files[f"cap_{number}"] = rule(f"cap-{number}", when, stage=stage)
    many = capgate.open_gate(rules=[overlay(tmp_path / "rules", **files)])
    for entry in ("decide", "admit"):
        getattr(many, entry)(FEED), getattr(gate, entry)(FEED)
        few = opcodes(lambda entry=entry: getattr(gate, entry)(FEED))
        assert opcodes(lambda entry=entry: getattr(many, entry)(FEED)) <= 1.2 * few
    hit = {"capabilities": ["cap-7"], "tools": [{"name": "a", "primitive": "cap-7"}]}
    stage, _ = condition(7)
    found = [refusal.rule for refusal in many.admit(hit).refusals]
    assert ("cap-7" in found) is ("needs" not in str(condition(7)))


def test_indexed_rules_keep_their_order_and_are_each_asked_once(tmp_path: Path) -> None:
    files = {
        f"r_{number:02}": rule(f"r-{number:02}", {"subject.capabilities": {"contains": name}})
        for number, name in enumerate(["write", "read", "x1", "x2", "read", "write", "x3", "x4", "x5", "x6", "read"])
    }
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", **files)])
    found = gate.admit({**CLOCK, "capabilities": ["read", "write", "read"]}).refusals
    assert [refusal.rule for refusal in found] == ["r-00", "r-01", "r-04", "r-05", "r-10"]
    assert gate.decide({**CLOCK, "capabilities": ["read"]}) == "r-01"


@pytest.mark.parametrize("host", ["evil.test", "EVIL.test", "evil.test.", "evil.test:8443", "ｅｖｉｌ.test"])
def test_a_rule_against_a_host_is_not_evaded_by_its_spelling(tmp_path: Path, host: str) -> None:
    stages = {
        "language": 1,
        "stages": [{"name": "places", "after": "hosts", "for_each": {"to": "subject.destinations"}}],
    }
    evil = rule("evil", {"to.name": {"equals": "evil.test"}}, stage="places")
    gate = capgate.open_gate(rules=[overlay(tmp_path / "rules", ruleset=stages, evil=evil)])
    refusals = gate.admit({**FEED, "bounds": {"hosts": ["good.test", "no host", host], "maxRequests": 1}}).refusals
    assert [(found.rule, found.path) for found in refusals] == [
        ("host-invalid", "$.bounds.hosts[1]"),
        ("evil", "$.bounds.hosts[2]"),
    ]
