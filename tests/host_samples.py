"""What the tests of the host share: descriptors, a clock, a screen, actors."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.settings import Settings
from capgate.host.admission.store import Actor

HUMAN = Actor("human-at-host", "cli", "somebody")
ANYONE = Actor("anyone", "http")
MODEL = Actor("model", "turn")


def clock_descriptor(id: str = "tide-clock", tool: str = "tide_now", **parts: Any) -> dict[str, Any]:
    """A descriptor that every gate admits."""
    return {
        "id": id,
        "name": id.title(),
        "description": "Says what time the host thinks it is",
        "capabilities": [],
        "bounds": {},
        "tools": [{"name": tool, "primitive": "now", "params": {}}],
    } | parts


def fetch_descriptor(id: str = "buoy-feed", tool: str = "buoy_get", **parts: Any) -> dict[str, Any]:
    """A descriptor that may reach one host."""
    return {
        "id": id,
        "name": "Buoy feed",
        "description": "Reads one buoy",
        "runsIn": "remote",
        "capabilities": ["network"],
        "bounds": {"hosts": ["buoys.test"], "maxRequests": 12},
        "tools": [
            {
                "name": tool,
                "primitive": "http-get",
                "params": {"url": "https://buoys.test/v1/latest?token=hidden", "headers": {"X-Feed-Key": "$BUOY_KEY"}},
            }
        ],
    } | parts


def exec_descriptor(id: str = "runner", tool: str = "run_it") -> dict[str, Any]:
    """A descriptor that no gate admits."""
    return clock_descriptor(id, tool, runsIn="process", capabilities=["exec"])


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class Screen(io.StringIO):
    """A console that can be read back."""

    @property
    def text(self) -> str:
        return self.getvalue()


def refused(act: Callable[[], object]) -> AdmissionError:
    with pytest.raises(AdmissionError) as error:
        act()
    return error.value


def audit(settings: Settings) -> list[dict[str, Any]]:
    text = (settings.workspace / "audit.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def admitted(host: AdmissionHost, descriptor: dict[str, Any]) -> dict[str, Any]:
    host.propose(descriptor, actor=MODEL)
    return host.admit(descriptor["id"], confirm=True, actor=HUMAN)


def running(host: AdmissionHost) -> list[str]:
    return [entry["id"] for entry in host.inventory()["extensions"]]
