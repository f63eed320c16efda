"""Changing what runs, over files and over a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.settings import Settings
from host_samples import (
    HUMAN,
    MODEL,
    admitted,
    audit,
    fetch_descriptor,
    refused,
)

OpenAnother = Callable[[], AdmissionHost]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"maxRequests": 3}, {"hosts": ["buoys.test"], "maxRequests": 3}),
        ({"maxRequests": "7"}, {"hosts": ["buoys.test"], "maxRequests": 7}),
        ({"maxRequests": 7.0}, {"hosts": ["buoys.test"], "maxRequests": 7}),
        ({"maxRequests": " 8 "}, {"hosts": ["buoys.test"], "maxRequests": 8}),
        ({"maxRequests": "1e2"}, {"hosts": ["buoys.test"], "maxRequests": 100}),
        ({"maxRequests": "5.0"}, {"hosts": ["buoys.test"], "maxRequests": 5}),
        ({"maxRequests": "+5"}, {"hosts": ["buoys.test"], "maxRequests": 5}),
        ({"maxRequests": "0x10"}, {"hosts": ["buoys.test"], "maxRequests": 16}),
        ({"maxRequests": "0b11"}, {"hosts": ["buoys.test"], "maxRequests": 3}),
        ({"maxBytes": "-0"}, {"hosts": ["buoys.test"], "maxRequests": 12, "maxBytes": 0}),
        ({"hosts": "a.test, b.test ,"}, {"hosts": ["a.test", "b.test"], "maxRequests": 12}),
        ({"hosts": [" a.test", ""]}, {"hosts": ["a.test"], "maxRequests": 12}),
        ({"maxBytes": 0}, {"hosts": ["buoys.test"], "maxRequests": 12, "maxBytes": 0}),
    ],
)
def test_bounds_are_changed_as_asked(host: AdmissionHost, bounds: dict[str, Any], expected: dict[str, Any]) -> None:
    admitted(host, fetch_descriptor())
    shown = host.reconfigure("buoy-feed", {"bounds": bounds}, confirm=False, actor=HUMAN)
    assert shown["current"]["bounds"] == {"hosts": ["buoys.test"], "maxRequests": 12}
    assert shown["proposed"]["bounds"] == expected
    answer = host.reconfigure("buoy-feed", {"bounds": bounds}, confirm=True, actor=HUMAN)
    assert (answer["decision"], answer["bounds"]) == ("reconfigured", expected)
    assert host.registry.extensions["buoy-feed"].descriptor["bounds"] == expected
    assert host.proposal_plan("buoy-feed")["state"] == "admitted"


def test_only_the_change_that_was_read_is_made(host: AdmissionHost) -> None:
    admitted(host, fetch_descriptor())
    change = {"bounds": {"maxRequests": 3}}
    plan = host.reconfigure("buoy-feed", change, confirm=False, actor=HUMAN)["plan"]
    assert plan["gate"]["decision"] == "admitted"
    assert (plan["bounds"], plan["budgets"]["maxRequests"]) == ({"hosts": ["buoys.test"], "maxRequests": 3}, 3)
    host.reconfigure("buoy-feed", {"bounds": {"hosts": ["a.test"]}}, confirm=True, actor=HUMAN)
    error = refused(
        lambda: host.reconfigure("buoy-feed", change, confirm=True, plan_digest=plan["digest"], actor=HUMAN)
    )
    assert (error.id, error.http_status) == ("plan-changed", 409)
    assert host.registry.extensions["buoy-feed"].descriptor["bounds"] == {"hosts": ["a.test"], "maxRequests": 12}
    again = host.reconfigure("buoy-feed", change, confirm=False, actor=HUMAN)["plan"]
    done = host.reconfigure("buoy-feed", change, confirm=True, plan_digest=again["digest"], actor=HUMAN)
    assert done["bounds"] == {"hosts": ["a.test"], "maxRequests": 3}


def test_content_that_was_denied_does_not_run_by_a_change_unless_the_host_overrides(host: AdmissionHost) -> None:
    denied = fetch_descriptor(bounds={"hosts": ["buoys.test"], "maxRequests": 3})
    host.propose(denied, actor=MODEL)
    host.deny("buoy-feed", actor=HUMAN)
    admitted(host, fetch_descriptor())
    change = {"bounds": {"maxRequests": 3}}
    error = refused(lambda: host.reconfigure("buoy-feed", change, confirm=True, actor=HUMAN))
    assert (error.refused, error.http_status, "overrideDeny" in error.message) == ("host-deny", 400, True)
    assert host.registry.extensions["buoy-feed"].descriptor["bounds"]["maxRequests"] == 12
    assert audit(host.settings)[-1]["rule"] == "host-deny"
    done = host.reconfigure("buoy-feed", change, confirm=True, override_deny=True, actor=HUMAN)
    assert done["bounds"]["maxRequests"] == 3


def test_a_change_shows_what_the_gate_would_say(host: AdmissionHost) -> None:
    admitted(host, fetch_descriptor())
    shown = host.reconfigure("buoy-feed", {"bounds": {"maxRequests": 0}}, confirm=False, actor=HUMAN)
    assert shown["plan"]["gate"]["rule"] == "network-unbounded"


@pytest.mark.parametrize(
    ("change", "id"),
    [
        ({"bounds": {"maxRequests": -15}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": True}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": "many"}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": 0.5}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": "0.5"}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": ""}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": "1_0"}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": "1e999"}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": "1e300"}}, "bad-request"),
        ({"bounds": {"maxRequests": "NaN"}}, "bounds-invalid"),
        ({"bounds": {"maxRequests": "\u0665"}}, "bounds-invalid"),
        ({"bounds": {"maxBytes": None}}, "bounds-invalid"),
        ({"bounds": {"hosts": 5}}, "bounds-invalid"),
        ({"bounds": {"hosts": [5]}}, "bounds-invalid"),
        ({"bounds": None}, "bounds-invalid"),
        ({"bounds": []}, "bounds-invalid"),
        ({"params": []}, "params-invalid"),
        ({"params": {"buoy_get": 5}}, "params-invalid"),
        ({"params": {"other": {}}}, "params-unknown-tool"),
        ({"tools": [float("inf")]}, "bad-request"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused_before_it_is_confirmed(
    host: AdmissionHost, change: dict[str, Any], id: str
) -> None:
    admitted(host, fetch_descriptor())
    for confirm in (False, True):
        error = refused(lambda confirm=confirm: host.reconfigure("buoy-feed", change, confirm=confirm, actor=HUMAN))  # type: ignore[misc]
        assert (error.id, error.http_status) == (id, 400)
    if "maxRequests" in str(change) and id == "bounds-invalid":
        assert "maxRequests must be a non-negative integer" in error.message


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"bounds": {"maxRequests": 0}}, "network-unbounded"),
        ({"bounds": {"hosts": []}}, "network-unbounded"),
        ({"bounds": {"hosts": ["*"]}}, "host-invalid"),
        ({"tools": []}, "no-tools"),
        ({"tools": "x"}, "no-tools"),
        (
            {"tools": [{"name": "buoy_get", "primitive": "now", "params": [1]}], "params": {"buoy_get": {}}},
            "malformed-descriptor",
        ),
        (
            {"tools": [{"name": "buoy_get", "primitive": "now", "params": "s"}], "params": {"buoy_get": {}}},
            "malformed-descriptor",
        ),
        (
            {"tools": [{"name": [], "primitive": "now"}, {"name": "b", "primitive": "now"}], "params": {"b": {}}},
            "malformed-descriptor",
        ),
        ({"tools": [{"name": "w", "primitive": "write-file"}]}, "under-declared"),
        ({"tools": [{"name": "list_extensions", "primitive": "now"}]}, "duplicate-tool"),
        ({"params": {"buoy_get": {"url": 5, "x": []}}}, "malformed-descriptor"),
    ],
)
def test_the_gate_judges_a_change(host: AdmissionHost, change: dict[str, Any], rule: str, settings: Settings) -> None:
    admitted(host, fetch_descriptor())
    before = host.inventory()["extensions"]
    error = refused(lambda: host.reconfigure("buoy-feed", change, confirm=True, actor=HUMAN))
    assert error.refused == rule
    assert host.inventory()["extensions"] == before
    assert audit(settings)[-1]["act"]["tool"] == "extensions.reconfigure"


def test_params_are_merged_tool_by_tool(host: AdmissionHost) -> None:
    admitted(host, fetch_descriptor())
    host.reconfigure("buoy-feed", {"params": {"buoy_get": {"url": "https://buoys.test/v2"}}}, confirm=True, actor=HUMAN)
    params = host.registry.tools["buoy_get"].tool["params"]
    assert params == {"url": "https://buoys.test/v2", "headers": {"X-Feed-Key": "$BUOY_KEY"}}
