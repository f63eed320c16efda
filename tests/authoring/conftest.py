"""Running ``capgate rules`` inside a test, on rules that the test writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.authoring.given import Gates
from commands import Done, runner

#: A rule that wants few requests.
RULE = """\
id: few-requests
title: No more than 15 requests
applies_to: descriptor
remedy: Set bounds.maxRequests to 15 or less.
triggers:
  - stage: bounds
    at: descriptor.bounds.maxRequests
    when:
      all:
        - subject.capabilities: {contains: network}
        - not: {descriptor.bounds.maxRequests: {max: 15}}
    reason: up to {descriptor.bounds.maxRequests} requests, and 15 are allowed
"""
BOUNDS = "{hosts: [a.test], maxRequests: %s}"
FETCHER = "{capabilities: [network], bounds: " + BOUNDS + ", tools: [{name: a, primitive: now}]}"
EXAMPLES = f"""\
examples:
  refused:
    - {{descriptor: {FETCHER % 16}}}
    - {{descriptor: {FETCHER % '"5"'}}}
  admitted:
    - {{descriptor: {FETCHER % 15}}}
    - {{descriptor: {{tools: [{{name: a, primitive: now}}]}}}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the test: empty, and of no influence from outside."""
    for name in ("CAPGATE_CONFIG", "CAPGATE_DEBUG", "COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def rules(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs ``capgate rules …`` in this process."""
    return runner(capsysbinary, monkeypatch, "rules")


@pytest.fixture
def write(folder: Path) -> Callable[..., Path]:
    """Writes a file under the current folder: text, or a value as JSON."""

    def write(name: str, content: Any) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.fixture
def overlay(write: Callable[..., Path]) -> Callable[..., Path]:
    """Writes the rule, with examples and cases, into the folder ``mine``; a part of it can be replaced."""

    def overlay(examples: str = EXAMPLES, cases: str | None = None, old: str = "", new: str = "") -> Path:
        write("mine/few-requests.yaml", RULE.replace(old, new) + examples)
        if cases is not None:
            write("mine/tests/cases.yaml", cases)
        return Path("mine")

    return overlay


@pytest.fixture(scope="session")
def gates() -> Gates:
    """The shipped rules, on any placement."""
    return Gates(capgate.open_gate())
