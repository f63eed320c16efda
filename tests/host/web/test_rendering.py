"""Verdicts as bytes are what `Verdict.to_json` gives, remembered or not."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.host.web import rendering
from capgate.host.web.rendering import VerdictTexts

WARNING = """\
id: writes-files
title: Writing is worth a look
applies_to: descriptor
severity: warn
remedy: Look at what it writes.
triggers:
  - stage: bounds
    at: subject.capabilities
    when: {subject.capabilities: {contains: write}}
    reason: "this extension writes files, says {descriptor.id}"
"""
WASM = {
    "name": "sum",
    "primitive": "wasm",
    "wasm": {
        "path": "sum.wasm",
        "digest": "0" * 64,
        "abi": "buffer-abi/1",
        "input": {"addr": 0, "maxBytes": 1},
        "output": {"addr": 8, "bytes": 1},
        "call": {"export": "run"},
    },
}


def descriptors() -> list[Any]:
    tools = [{"name": "a", "primitive": "now"}]
    made: list[Any] = [None, {}, {"tools": [WASM]}, {"tools": [*tools, WASM], "capabilities": ["read"]}]
    for id, capabilities in product("xy", ([], ["read"], ["write"], ["read", "write"], ["write", "read"], ["exec"])):
        made.append({"id": id, "tools": tools, "capabilities": capabilities})
    return made


@pytest.mark.parametrize("remembered", [1024, 1, 0])
def test_the_text_is_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembered: int) -> None:
    monkeypatch.setattr(rendering, "_REMEMBERED", remembered)
    (tmp_path / "writes-files.yaml").write_text(WARNING)
    gate = capgate.open_gate([tmp_path])
    texts = VerdictTexts()
    warned = 0
    for descriptor, placement, _ in product(descriptors(), gate.placements, range(2)):
        verdict = gate.admit(descriptor, placement)
        warned += verdict.admitted and bool(verdict.refusals)
        assert json.loads(texts.text(verdict)) == verdict.to_json()
    assert warned
