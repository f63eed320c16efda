"""Plugins that are told of verdicts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from capgate.plugins.api import HookContext, hookimpl
from capgate.plugins.config import Config
from capgate.plugins.manager import load

DESCRIPTOR = {"id": "harbour", "tools": [{"name": "a"}]}
VERDICT: dict[str, Any] = {"decision": "refused", "refusals": [{"rule": "no-tools"}]}


class Verdict:
    """A verdict, as far as listeners are concerned."""

    def to_json(self) -> dict[str, Any]:
        return VERDICT


class Listener:
    def __init__(self, name: str, listen: Callable[[Any, Any], None]):
        self.name = name
        self._listen = listen

    @hookimpl
    def capgate_decided(self, context: HookContext, descriptor: Any, verdict: dict[str, Any]) -> None:
        self._listen(descriptor, verdict)


def decide(*plugins: object, descriptor: Any = DESCRIPTOR) -> None:
    decided = load(plugins, config=Config(), deadline=0.05).decided
    assert decided is not None
    decided(descriptor, Verdict())


def log() -> tuple[Listener, list[Any]]:
    lines: list[Any] = []
    return Listener("log", lambda descriptor, verdict: lines.append((descriptor, verdict))), lines


def test_listeners_are_told_of_each_verdict() -> None:
    listener, lines = log()
    decide(listener)
    assert lines == [(DESCRIPTOR, VERDICT)]


def test_a_listener_may_leave_out_what_it_does_not_need() -> None:
    heard: list[Any] = []

    class Brief:
        @hookimpl
        def capgate_decided(self, verdict: dict[str, Any]) -> None:
            heard.append(verdict["decision"])

    decide(Brief())
    assert heard == ["refused"]


def exits(descriptor: Any, verdict: Any) -> None:
    raise SystemExit("enough")


def meddles(descriptor: Any, verdict: Any) -> None:
    descriptor["tools"].clear()
    verdict["refusals"].clear()


def test_a_listener_that_fails_or_meddles_harms_no_other(
    never: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    listener, lines = log()
    hangs = Listener("hangs", lambda descriptor, verdict: [never.wait()].clear())
    decide(Listener("exits", exits), hangs, Listener("meddles", meddles), listener)
    assert lines == [({"id": "harbour", "tools": [{"name": "a"}]}, VERDICT)]
    assert VERDICT["refusals"] == [{"rule": "no-tools"}]
    assert [record.getMessage().split(": ")[:2] for record in caplog.records] == [
        ["plugin-raised", "plugin 'exits' (without a version), capgate_decided"],
        ["plugin-hung", "plugin 'hangs' (without a version), capgate_decided"],
    ]
    assert {(record.name, record.levelname) for record in caplog.records} == {("capgate.plugins", "ERROR")}


def test_what_is_no_json_data_is_not_handed_on(caplog: pytest.LogCaptureFixture) -> None:
    listener, lines = log()
    decide(listener, descriptor={"tools": {1, 2}})
    assert lines == []
    assert "set is no JSON data" in caplog.text
