"""Two faults at once: which is *the* refusal, and in which order all of them are told (gate contract 3 and 11.10)."""

from __future__ import annotations

from typing import Any

import pytest

import capgate

NOW: dict[str, Any] = {"name": "a", "primitive": "now"}
DIGEST = "5f" * 32

FIRST: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "a malformed last part before an unknown first capability",
        {"capabilities": ["bogus"], "tools": [{**NOW, "description": 5}]},
        "malformed-descriptor",
        "$.tools[0].description",
    ),
    ("malformed before no-tools", {"tools": {}, "runsIn": 7}, "malformed-descriptor", "$.runsIn"),
    (
        "malformed before exec",
        {"capabilities": ["exec"], "bounds": [], "tools": [NOW]},
        "malformed-descriptor",
        "$.bounds",
    ),
    (
        "an earlier capability first: eval",
        {"capabilities": ["eval", "bogus"], "tools": [NOW]},
        "eval-not-a-tool-path",
        "$.capabilities[0]",
    ),
    (
        "an earlier capability first: bogus",
        {"capabilities": ["bogus", "eval"], "tools": [NOW]},
        "unknown-capability",
        "$.capabilities[0]",
    ),
    (
        "an earlier capability first: exec",
        {"capabilities": ["exec", "delete"], "tools": [NOW]},
        "exec-absent",
        "$.capabilities[0]",
    ),
    (
        "an earlier capability first: delete",
        {"capabilities": ["delete", "exec"], "tools": [NOW]},
        "capability-unmediated",
        "$.capabilities[0]",
    ),
    (
        "capabilities before launch",
        {"capabilities": ["import"], "runsIn": "process", "tools": [NOW]},
        "capability-unmediated",
        "$.capabilities[0]",
    ),
    (
        "launch before bounds",
        {"capabilities": ["network"], "runsIn": "process", "tools": [NOW]},
        "exec-absent",
        "$.runsIn",
    ),
    ("launch before no-tools", {"runsIn": "process", "tools": []}, "exec-absent", "$.runsIn"),
    (
        "launch before unknown-primitive",
        {"runsIn": "process", "tools": [{"name": "a", "primitive": "process"}]},
        "exec-absent",
        "$.runsIn",
    ),
    (
        "bounds before hosts",
        {"capabilities": ["network"], "bounds": {"hosts": ["*"], "maxRequests": 0}, "tools": [NOW]},
        "network-unbounded",
        "$.bounds",
    ),
    (
        "bounds before no-tools",
        {"capabilities": ["network"], "bounds": {}, "tools": []},
        "network-unbounded",
        "$.bounds",
    ),
    (
        "hosts before no-tools",
        {"capabilities": ["network"], "bounds": {"hosts": ["a.test", "*"], "maxRequests": 1}, "tools": []},
        "host-invalid",
        "$.bounds.hosts[1]",
    ),
    ("name before primitive", {"tools": [{"name": "a-b", "primitive": "shell"}]}, "bad-tool-name", "$.tools[0].name"),
    (
        "name before under-declared",
        {"tools": [{"name": "a-b", "primitive": "read-file"}]},
        "bad-tool-name",
        "$.tools[0].name",
    ),
    (
        "primitive before duplicate",
        {"tools": [NOW, {"name": "a", "primitive": "shell"}]},
        "unknown-primitive",
        "$.tools[1].primitive",
    ),
    (
        "under-declared before duplicate",
        {"tools": [NOW, {"name": "a", "primitive": "read-file"}]},
        "under-declared",
        "$.tools[1].primitive",
    ),
    (
        "the first tool's last rule before the second tool's first",
        {"tools": [{"name": "task_status", "primitive": "now"}, {"name": "a-b", "primitive": "now"}]},
        "duplicate-tool",
        "$.tools[0].name",
    ),
    (
        "wasm path before digest",
        {"tools": [{"name": "w", "primitive": "wasm", "wasm": {"path": "", "digest": 5}}]},
        "under-declared",
        "$.tools[0].wasm.path",
    ),
    (
        "wasm digest before abi",
        {"tools": [{"name": "w", "primitive": "wasm", "wasm": {"path": "m", "digest": 5, "abi": "nope"}}]},
        "under-declared",
        "$.tools[0].wasm.digest",
    ),
    (
        "wasm abi before fields and export",
        {"tools": [{"name": "w", "primitive": "wasm", "wasm": {"path": "m", "digest": DIGEST, "abi": "nope"}}]},
        "unsupported-abi",
        "$.tools[0].wasm.abi",
    ),
    (
        "wasm abi before duplicate",
        {
            "tools": [
                {"name": "w", "primitive": "now"},
                {"name": "w", "primitive": "wasm", "wasm": {"path": "m", "digest": DIGEST, "abi": "x"}},
            ]
        },
        "unsupported-abi",
        "$.tools[1].wasm.abi",
    ),
    (
        "wasm fields before duplicate",
        {
            "tools": [
                {"name": "w", "primitive": "now"},
                {"name": "w", "primitive": "wasm", "wasm": {"path": "m", "digest": DIGEST, "abi": "buffer-abi/1"}},
            ]
        },
        "under-declared",
        "$.tools[1].wasm",
    ),
]

EVERYTHING: dict[str, Any] = {
    "capabilities": ["bogus", "eval", "exec", "import", "delete", "network"],
    "runsIn": "process",
    "bounds": {"hosts": ["*", "a.test", "b/c"], "maxRequests": 0},
    "tools": [
        {"name": "a-b", "primitive": "shell"},
        {"name": "g", "primitive": "read-file"},
        {
            "name": "g",
            "primitive": "wasm",
            "wasm": {
                "path": "",
                "digest": "",
                "abi": "buffer-abi/1",
                "input": {"addr": 0, "maxBytes": "8"},
                "output": {"addr": 1},
            },
        },
        {"name": "task_status", "primitive": "wasm", "wasm": {"path": "m", "digest": DIGEST, "abi": "nope"}},
    ],
}


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


@pytest.mark.parametrize(("subject", "rule", "path"), [pytest.param(*row[1:], id=row[0]) for row in FIRST])
def test_of_two_faults_the_one_met_first_is_the_refusal(
    gate: capgate.Gate, subject: dict[str, Any], rule: str, path: str
) -> None:
    verdict = gate.admit(subject)

    assert (verdict.rule, verdict.refusals[0].path) == (rule, path)
    assert verdict.why == verdict.refusals[0].reason
    assert len(verdict.refusals) > 1 or rule in ("malformed-descriptor", "unsupported-abi")
    assert gate.decide(subject) == rule


def test_all_refusals_are_told_in_the_order_of_reading(gate: capgate.Gate) -> None:
    assert [(refusal.rule, refusal.path) for refusal in gate.admit(EVERYTHING).refusals] == [
        ("unknown-capability", "$.capabilities[0]"),
        ("eval-not-a-tool-path", "$.capabilities[1]"),
        ("exec-absent", "$.capabilities[2]"),
        ("capability-unmediated", "$.capabilities[3]"),
        ("capability-unmediated", "$.capabilities[4]"),
        ("exec-absent", "$.runsIn"),
        ("network-unbounded", "$.bounds"),
        ("host-invalid", "$.bounds.hosts[0]"),
        ("host-invalid", "$.bounds.hosts[2]"),
        ("bad-tool-name", "$.tools[0].name"),
        ("unknown-primitive", "$.tools[0].primitive"),
        ("under-declared", "$.tools[1].primitive"),
        ("under-declared", "$.tools[2].wasm.path"),
        ("under-declared", "$.tools[2].wasm.digest"),
        ("under-declared", "$.tools[2].wasm.input.maxBytes"),
        ("under-declared", "$.tools[2].wasm.output"),
        ("under-declared", "$.tools[2].wasm"),  # call.export
        ("duplicate-tool", "$.tools[2].name"),
        ("unsupported-abi", "$.tools[3].wasm.abi"),
        ("duplicate-tool", "$.tools[3].name"),
    ]


def test_fields_of_a_module_are_told_one_by_one_in_the_order_of_its_abi(gate: capgate.Gate) -> None:
    reasons = [refusal.reason for refusal in gate.admit({"tools": [EVERYTHING["tools"][2]]}).refusals]
    fields = ["path", "digest", "input.maxBytes", "output.bytes", "call.export"]

    assert [f"wasm.{field}" in reason for field, reason in zip(fields, reasons, strict=True)] == [True] * len(fields)


def test_where_the_shape_is_wrong_every_fault_is_told_and_nothing_else(gate: capgate.Gate) -> None:
    subject = {
        **EVERYTHING,
        "runsIn": "Process",
        "id": 7,
        "tools": [*EVERYTHING["tools"], None, {"name": 5, "params": {"headers": {"X-Key": 1}}}],
    }

    refusals = gate.admit(subject).refusals

    assert {refusal.rule for refusal in refusals} == {"malformed-descriptor"}
    assert sorted(refusal.path for refusal in refusals) == [
        "$.id",
        "$.runsIn",
        "$.tools[4]",
        "$.tools[5].name",
        "$.tools[5].params.headers['X-Key']",
    ]
