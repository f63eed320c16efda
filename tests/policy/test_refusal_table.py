"""Section 3 of the gate contract as a table, with 11.11 to 11.13: what is refused, by which rule, and where."""

from __future__ import annotations

import re
from typing import Any

import pytest

import capgate

NOW: dict[str, Any] = {"name": "a", "primitive": "now"}
MODULE: dict[str, Any] = {
    "path": "m.wasm",
    "digest": "5f" * 32,
    "abi": "buffer-abi/1",
    "input": {"addr": 0, "maxBytes": 8},
    "output": {"addr": 64, "bytes": 32},
    "call": {"export": "f"},
}
DIFF: dict[str, Any] = {
    "abi": "buffer-abi/diff",
    "inputA": {"addr": 0, "maxBytes": 8},
    "inputB": {"addr": 8, "maxBytes": 8},
    "output": {"addr": 64, "maxBytes": 32},
}
PRIMITIVES = ("now", "read-file", "write-file", "list-files", "http-get", "wasm")
EXEC = (
    r"--allow-run bounds which binary, never what it can do",
    r"container that bounds the child",
    r"no mechanism",
)
BOUNDS = (r"where \(bounds\.hosts\)", r"how much \(bounds\.maxRequests\)")


def values(*odd: Any) -> tuple[Any, ...]:
    return odd


def descriptor(**parts: Any) -> dict[str, Any]:
    return {"tools": [NOW], **parts}


def one_tool(**parts: Any) -> dict[str, Any]:
    return {"tools": [{**NOW, **parts}]}


def module(**parts: Any) -> dict[str, Any]:
    """A tool over wasm, changed in `parts`; ... takes a part out."""
    changed = {key: part for key, part in {**MODULE, **parts}.items() if part is not ...}
    return {"tools": [{"name": "w", "primitive": "wasm", "wasm": changed}]}


def network(hosts: Any = ("a.test",), max_requests: Any = 5, **parts: Any) -> dict[str, Any]:
    bounds = {"hosts": list(hosts) if isinstance(hosts, tuple) else hosts, "maxRequests": max_requests}
    return descriptor(capabilities=["network"], bounds=bounds, **parts)


Row = tuple[dict[str, Any], str, str]

CAPABILITIES: list[Row] = [
    # A.1: exact, case-sensitive, of any type
    (descriptor(capabilities=["bogus"]), "unknown-capability", "$.capabilities[0]"),
    (descriptor(capabilities=["Read"]), "unknown-capability", "$.capabilities[0]"),
    (descriptor(capabilities=[" read"]), "unknown-capability", "$.capabilities[0]"),
    (descriptor(capabilities=[""]), "unknown-capability", "$.capabilities[0]"),
    (descriptor(capabilities=["read", 5]), "unknown-capability", "$.capabilities[1]"),
    (descriptor(capabilities=[None]), "unknown-capability", "$.capabilities[0]"),
    (descriptor(capabilities=[True]), "unknown-capability", "$.capabilities[0]"),
    (descriptor(capabilities=[["read"]]), "unknown-capability", "$.capabilities[0]"),
    (descriptor(capabilities=[{}]), "unknown-capability", "$.capabilities[0]"),
    # A.2 to A.5
    (descriptor(capabilities=["eval"]), "eval-not-a-tool-path", "$.capabilities[0]"),
    (descriptor(capabilities=["exec"]), "exec-absent", "$.capabilities[0]"),
    (descriptor(capabilities=["import"]), "capability-unmediated", "$.capabilities[0]"),
    (descriptor(capabilities=["read", "delete"]), "capability-unmediated", "$.capabilities[1]"),
    # B
    (descriptor(runsIn="process"), "exec-absent", "$.runsIn"),
]

NETWORK: list[Row] = [
    # C with 11.11
    (descriptor(capabilities=["network"]), "network-unbounded", "$"),
    (descriptor(capabilities=["network"], bounds=None), "network-unbounded", "$.bounds"),
    (descriptor(capabilities=["network"], bounds={}), "network-unbounded", "$.bounds"),
    (descriptor(capabilities=["network"], bounds={"hosts": ["a.test"]}), "network-unbounded", "$.bounds"),
    (descriptor(capabilities=["network"], bounds={"maxRequests": 5}), "network-unbounded", "$.bounds"),
    *(
        (network(hosts=odd), "network-unbounded", "$.bounds")
        for odd in values([], None, "a.test", "", 5, True, {}, {"a.test": 1})
    ),
    *((network(hosts=["a.test", odd]), "network-unbounded", "$.bounds") for odd in values(5, None, ["b.test"], {})),
    *(
        (network(max_requests=odd), "network-unbounded", "$.bounds")
        for odd in values(None, 0, -1, 0.5, 1.5, "5", "lots", "", True, False, [], [5], {})
    ),
    # 11.12
    *(
        (network(hosts=[odd]), "host-invalid", "$.bounds.hosts[0]")
        for odd in values(
            *("", "*", "*.a.test", "https://a.test", "a.test/x", "u@a.test", "a b.test", "a..test", "-a.test"),
            *("999.1.1.1", "a.test:0", "a.test:99999", "a.test:", "[::1", "fe80::1%eth0"),
            *(f"{'b' * 64}.test", ".".join(["b" * 63] * 4), "a\n.test", "a\u202e.test", "a\u200b.test", "a\u00ad.test"),
        )
    ),
    (network(hosts=["a.test", "b.test", "*"]), "host-invalid", "$.bounds.hosts[2]"),
]

TOOLS: list[Row] = [
    # D
    ({}, "no-tools", "$"),
    *(({"tools": odd}, "no-tools", "$.tools") for odd in values([], None, {}, {"name": "a"}, "a", "", 1, False)),
    # E.1
    ({"tools": [{"primitive": "now"}]}, "bad-tool-name", "$.tools[0]"),
    *(
        (one_tool(name=odd), "bad-tool-name", "$.tools[0].name")
        for odd in values("", "my-tool", "MyTool", "my tool", "café", "a\n", "\na", "a.b", "٣", "ａ")
    ),
    # E.2
    ({"tools": [{"name": "a"}]}, "unknown-primitive", "$.tools[0]"),
    *(
        (one_tool(primitive=odd), "unknown-primitive", "$.tools[0].primitive")
        for odd in values("shell", "process", "Now", "read_file", "", "now ", "__proto__")
    ),
    # E.3
    *(
        (one_tool(primitive=primitive), "under-declared", "$.tools[0].primitive")
        for primitive in ("read-file", "write-file", "list-files", "http-get")
    ),
    (
        descriptor(capabilities=["write"], tools=[{"name": "l", "primitive": "list-files"}]),
        "under-declared",
        "$.tools[0].primitive",
    ),
    # E.5 with 11.13
    ({"tools": [NOW, {"name": "b", "primitive": "now"}, NOW]}, "duplicate-tool", "$.tools[2].name"),
    *(
        (one_tool(name=reserved), "duplicate-tool", "$.tools[0].name")
        for reserved in ("list_extensions", "call_extension", "propose_extension", "delegate_task", "task_status")
    ),
    (one_tool(name="taken_elsewhere"), "duplicate-tool", "$.tools[0].name"),
]

MODULES: list[Row] = [
    # E.4, in the contract's order
    (one_tool(primitive="wasm"), "under-declared", "$.tools[0]"),
    *(
        (one_tool(primitive="wasm", wasm=odd), "under-declared", "$.tools[0].wasm")
        for odd in values(None, "x", 5, [], False)
    ),
    (module(path=...), "under-declared", "$.tools[0].wasm"),
    *((module(path=odd), "under-declared", "$.tools[0].wasm.path") for odd in values("", None, 5, ["m.wasm"])),
    (module(digest=...), "under-declared", "$.tools[0].wasm"),
    *(
        (module(digest=odd), "under-declared", "$.tools[0].wasm.digest")
        for odd in values(
            "",
            "5F" * 32,
            "5f" * 31,
            "5f" * 33,
            "sha256:" + "5f" * 32,
            "5f" * 32 + "\n",
            "５f" * 32,
            None,
            5,
            [],
        )
    ),
    (module(abi=...), "unsupported-abi", "$.tools[0].wasm"),
    *(
        (module(abi=odd), "unsupported-abi", "$.tools[0].wasm.abi")
        for odd in values(
            "", "nope", "buffer-abi/2", "Buffer-Abi/1", "buffer-abi/1 ", None, 1, True, ["buffer-abi/1"], {}
        )
    ),
    *(
        (module(input={"addr": odd, "maxBytes": 8}), "under-declared", "$.tools[0].wasm.input.addr")
        for odd in values("8", True, 8.5, -1, None, [], {})
    ),
    (module(output={"addr": 64, "maxBytes": 32}), "under-declared", "$.tools[0].wasm.output"),
    (module(**{**DIFF, "output": {"addr": 64, "bytes": 32}}), "under-declared", "$.tools[0].wasm.output"),
    (module(call=...), "under-declared", "$.tools[0].wasm"),
    *((module(call=odd), "under-declared", "$.tools[0].wasm.call") for odd in values(None, "f", {}, ["f"])),
    *((module(call={"export": odd}), "under-declared", "$.tools[0].wasm.call.export") for odd in values("", None, 5)),
]

#: Several parts are missing at once; the first one speaks.
SEVERAL: list[Row] = [
    ({"tools": [{}]}, "bad-tool-name", "$.tools[0]"),
    (one_tool(primitive="wasm", wasm={}), "under-declared", "$.tools[0].wasm"),
    (module(input=...), "under-declared", "$.tools[0].wasm"),
    *((module(input=odd), "under-declared", "$.tools[0].wasm.input") for odd in values(None, 8, "x", [0, 8], {})),
    (module(**{**DIFF, "inputB": ...}), "under-declared", "$.tools[0].wasm"),
]
ONE_FAULT = [*CAPABILITIES, *NETWORK, *TOOLS, *MODULES]

ADMITTED: list[dict[str, Any]] = [
    descriptor(),
    descriptor(capabilities=None, bounds=None),
    descriptor(capabilities=["read", "read", "write", "network"], bounds={"hosts": ["a.test"], "maxRequests": 1}),
    descriptor(runsIn="host"),
    descriptor(runsIn="remote"),
    descriptor(bounds={"hosts": 5, "maxRequests": "lots", "command": "x"}),
    descriptor(capabilities=["read"], bounds={"hosts": ["*"]}),
    network(max_requests=1),
    network(max_requests=5.0),
    *(
        network(hosts=[host])
        for host in (
            *(
                "API.test",
                "a.test.",
                "a.test:8443",
                "a_b.test",
                "bücher.test",
                "xn--bcher-kva.test",
                "localhost",
                "127.0.0.1",
            ),
            *("2130706433", "0x7f.1", "::1", "[::1]", "[::1]:8080", "::1:80", "１２７.0.0.1"),
        )
    ),
    one_tool(name="7"),
    one_tool(name="_"),
    one_tool(name="__proto__"),
    one_tool(wasm="ignored"),
    one_tool(wasm=None),
    one_tool(wasm={"path": 5, "abi": "buffer-abi/1"}),
    descriptor(
        capabilities=["read"], tools=[{"name": "r", "primitive": "read-file"}, {"name": "l", "primitive": "list-files"}]
    ),
    module(),
    module(input={"addr": 1e3, "maxBytes": 8.0}),
    module(**DIFF),
]


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


@pytest.mark.parametrize("placement", ["machine", "browser"])
@pytest.mark.parametrize(("subject", "rule", "path"), [*ONE_FAULT, *SEVERAL])
def test_each_line_of_the_contract_refuses_by_its_rule_at_its_place(
    gate: capgate.Gate, placement: str, subject: dict[str, Any], rule: str, path: str
) -> None:
    taken = frozenset({"taken_elsewhere"})
    verdict = gate.admit(subject, placement, taken)
    first = verdict.refusals[0]

    assert (verdict.decision, verdict.rule) == ("refused", rule)
    assert (first.rule, first.path) == (rule, path)
    assert verdict.gets == ()
    assert gate.decide(subject, placement, taken) == rule


@pytest.mark.parametrize(("subject", "rule", "path"), ONE_FAULT)
def test_one_fault_is_told_once_and_by_no_other_rule(
    gate: capgate.Gate, subject: dict[str, Any], rule: str, path: str
) -> None:
    refusals = gate.admit(subject, existing_tools=frozenset({"taken_elsewhere"})).refusals

    assert [(refusal.rule, refusal.path) for refusal in refusals] == [(rule, path)]


@pytest.mark.parametrize("placement", ["machine", "browser"])
@pytest.mark.parametrize("subject", ADMITTED)
def test_what_the_contract_lets_pass_is_admitted_without_a_word(
    gate: capgate.Gate, placement: str, subject: dict[str, Any]
) -> None:
    verdict = gate.admit(subject, placement)

    assert (verdict.decision, verdict.rule, verdict.why, verdict.refusals) == ("admitted", None, None, ())
    assert gate.decide(subject, placement) is None


def test_names_of_a_running_extension_are_free_for_itself_and_taken_for_others(gate: capgate.Gate) -> None:
    running = one_tool(name="tide_now")

    assert gate.decide(running) is None
    assert gate.decide(running, existing_tools=frozenset({"buoy_get"})) is None
    assert gate.decide(running, existing_tools=frozenset({"buoy_get", "tide_now"})) == "duplicate-tool"


PHRASES: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    (descriptor(capabilities=["bogus"]), ("bogus",)),
    (descriptor(capabilities=[5]), (r"\b5\b",)),
    (descriptor(capabilities=["exec"]), EXEC),
    (descriptor(runsIn="process"), ("runsIn", *EXEC)),
    (descriptor(capabilities=["delete"]), ("delete",)),
    (descriptor(capabilities=["import"]), ("import",)),
    (descriptor(capabilities=["network"]), BOUNDS),
    (network(max_requests="5"), BOUNDS),
    (network(hosts=["*.a.test"]), (r"\*\.a\.test",)),
    (one_tool(name="my-tool"), ("my-tool",)),
    (one_tool(primitive="shell"), ("shell", *PRIMITIVES)),
    ({"tools": [{"name": "a"}]}, PRIMITIVES),
    (one_tool(name="log_read", primitive="read-file"), ("log_read", "read-file", r"\bread\b")),
    (module(abi="nope"), ("nope", "buffer-abi/1", "buffer-abi/diff")),
    (module(input={"addr": "8", "maxBytes": 8}), (r"input\.addr", r"\b8\b")),
    (module(input={"addr": 0, "maxBytes": -3}), (r"input\.maxBytes", r"-3\b")),
    (module(output={"addr": 64}), (r"output\.bytes",)),
    (one_tool(name="task_status"), ("task_status",)),
    ({"tools": [NOW, NOW]}, (r"\$\.tools\[0\]\.name",)),
    (descriptor(runsIn="Process"), (r"\$\.runsIn", "process", "Process")),
]


@pytest.mark.parametrize(("subject", "phrases"), PHRASES)
def test_the_reason_says_what_the_contract_wants_said(
    gate: capgate.Gate, subject: dict[str, Any], phrases: tuple[str, ...]
) -> None:
    verdict = gate.admit(subject)

    assert verdict.why is not None
    assert [phrase for phrase in phrases if not re.search(phrase, verdict.why)] == []


@pytest.mark.parametrize(("subject", "_rule", "_path"), [*ONE_FAULT, *SEVERAL])
def test_every_refusal_says_why_and_what_to_do_in_whole_sentences(
    gate: capgate.Gate, subject: dict[str, Any], _rule: str, _path: str
) -> None:
    for refusal in gate.admit(subject, existing_tools=frozenset({"taken_elsewhere"})).refusals:
        assert len(refusal.reason) > 30
        assert len(refusal.remedy) > 30
        assert refusal.remedy.endswith(".")
        assert not re.search(r"\{[a-z_]+(\.[a-z_]+)*\}|\{\{|\}\}$", refusal.reason + refusal.remedy)
