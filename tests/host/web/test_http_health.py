"""Health and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import capgate
from capgate.host.admission.errors import AdmissionError
from capgate.host.web import shim as shim_module
from capgate.host.web.metrics import Metrics
from web_server import Server

TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}


def samples(server: Server) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = server.get("/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(server: Server, name: str, **labels: str) -> float | None:
    return samples(server).get((name, tuple(sorted(labels.items()))))


def test_health_is_ready_with_a_policy(server: Server, gate: capgate.Gate) -> None:
    answer = server.get("/api/health")

    assert answer.status_code == 200
    assert answer.json() == {"ok": True, "policy": {"fingerprint": gate.fingerprint}, "version": capgate.__version__}


def test_metrics_are_in_the_text_format(server: Server) -> None:
    assert server.get("/metrics").headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_decisions_are_counted_by_rule_and_door(server: Server) -> None:
    for descriptor in (TIDE, TIDE | {"capabilities": ["exec"]}, TIDE | {"capabilities": ["exec"]}):
        server.post("/v1/decide", {"descriptor": descriptor})
    server.admit(TIDE)
    server.post(
        "/api/extensions/create", TIDE | {"id": "x", "name": "X", "description": "x", "admit": True}, token=True
    )

    assert value(server, "capgate_decisions_total", door="decide", decision="admitted", rule="") == 1
    assert value(server, "capgate_decisions_total", door="decide", decision="refused", rule="exec-absent") == 2
    assert value(server, "capgate_decisions_total", door="admit", decision="admitted", rule="") == 1
    assert value(server, "capgate_errors_total", id="gate-refused") == 1


def test_requests_are_counted_by_the_template_of_their_path(server: Server) -> None:
    for id in ("a", "b"):
        server.get(f"/api/extensions/proposals/{id}/plan")
    server.get("/nowhere/1")
    server.get("/nowhere/2")

    labels = {"method": "GET", "status": "404"}
    route = "/api/extensions/proposals/{id}/plan"
    assert value(server, "capgate_http_requests_total", route=route, **labels) == 2
    assert value(server, "capgate_http_request_seconds_count", route=route) == 2
    assert value(server, "capgate_http_requests_total", route="", **labels) == 2


def test_times_are_counted_by_how_long_they_were() -> None:
    metrics = Metrics(lambda: None)
    for seconds in (0.0001, 0.03, 0.05, 11.0):
        metrics.answered("GET", "/x", 200, seconds)
    text = metrics.text().decode()

    for end, count in {"0.0005": 1, "0.025": 1, "0.05": 3, "10.0": 3, "+Inf": 4}.items():
        assert f'capgate_http_request_seconds_bucket{{le="{end}",route="/x"}} {count}.0\n' in text
    assert 'capgate_http_request_seconds_sum{route="/x"} 11.0801\n' in text


def test_the_state_of_the_host_is_shown(server: Server, gate: capgate.Gate) -> None:
    server.admit(TIDE)
    server.clock.time += 7

    assert value(server, "capgate_ready") == 1
    assert value(server, "capgate_policy_info", fingerprint=gate.fingerprint) == 1
    assert value(server, "capgate_registry_age_seconds") == 7
    assert value(server, "capgate_ledger_length") == 1
    assert value(server, "capgate_ledger_broken") == 0
    assert value(server, "capgate_extensions_running") == 1
    assert value(server, "capgate_extensions_failed") == 0


def test_a_broken_ledger_is_shown(server: Server) -> None:
    server.admit(TIDE)
    ledger = server.settings.extensions / ".ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"tide-clock"', b'"tide-cloak"'))
    server.get("/api/extensions")

    assert value(server, "capgate_ledger_broken") == 1
    assert value(server, "capgate_extensions_running") == 0


# What a running server does by itself


async def started(server: Server) -> tuple[asyncio.Task[None], asyncio.Queue[Any], asyncio.Queue[Any]]:
    """Starts the application as a server does."""
    events: asyncio.Queue[Any] = asyncio.Queue()
    sent: asyncio.Queue[Any] = asyncio.Queue()
    living = asyncio.create_task(server.app({"type": "lifespan"}, events.get, sent.put))
    events.put_nowait({"type": "lifespan.startup"})
    assert (await sent.get())["type"] == "lifespan.startup.complete"
    return living, events, sent


async def ended(living: asyncio.Task[None], events: asyncio.Queue[Any], sent: asyncio.Queue[Any]) -> None:
    events.put_nowait({"type": "lifespan.shutdown"})
    assert (await sent.get())["type"] == "lifespan.shutdown.complete"
    await living


def test_a_running_server_follows_what_somebody_else_admits(
    server: Server, make_server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shim_module, "FOLLOW_SECONDS", 0.0)
    other = make_server()
    assert server.running() == []

    async def talk() -> None:
        handles = await started(server)
        await asyncio.to_thread(other.admit, TIDE)
        while "tide_now" not in server.host.taken():  # Ends, or the whole test does not.
            await asyncio.sleep(0)
        await ended(*handles)

    asyncio.run(asyncio.wait_for(talk(), 30))


def test_a_store_that_cannot_be_read_is_asked_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shim_module, "FOLLOW_SECONDS", 0.0)
    failures = [AdmissionError("store-unavailable", "no disk"), KeyError("a defect")]
    asked: list[int] = []

    def registry(host: Any) -> Any:
        asked.append(1)
        if failures:
            raise failures.pop(0)
        return host.peek()

    monkeypatch.setattr(type(server.host), "registry", property(registry))

    async def talk() -> None:
        handles = await started(server)
        while len(asked) < 4:
            await asyncio.sleep(0)
        await ended(*handles)

    asyncio.run(asyncio.wait_for(talk(), 30))
    assert value(server, "capgate_errors_total", id="store-unavailable") == 1
    assert value(server, "capgate_errors_total", id="internal-error") == 1
    assert "a defect" in server.err.getvalue()
