"""The plan: what is disclosed before an admission, and what never is."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import capgate
from capgate.policy.documents import digest
from capgate.policy.schema import WINDOWS
from capgate.policy.verdict import DEFAULT_MAX_BYTES, REDACTED


@pytest.fixture(scope="module")
def gate() -> capgate.Gate:
    return capgate.open_gate()


def feed(**change: Any) -> dict[str, Any]:
    """A descriptor that is admitted, with network and write."""
    tool = {"name": "feed_get", "primitive": "http-get", "params": {"url": "https://feeds.test/latest"}}
    bounds = {"hosts": ["feeds.test"], "maxRequests": 12}
    return {"id": "feed", "capabilities": ["network", "write"], "bounds": bounds, "tools": [tool], **change}


def with_headers(headers: Any) -> dict[str, Any]:
    descriptor = feed()
    descriptor["tools"][0]["params"]["headers"] = headers
    return descriptor


@pytest.mark.parametrize(
    ("bounds", "budgets"),
    [
        (
            {"maxRequests": 12},
            {"maxRequests": 12, "maxBytes": DEFAULT_MAX_BYTES, "window": "process", "defaults": ["maxBytes", "window"]},
        ),
        (
            {"maxRequests": 5.0, "maxBytes": 0},
            {"maxRequests": 5, "maxBytes": 0, "window": "process", "defaults": ["window"]},
        ),
        *(
            (
                {"maxRequests": 1, "maxBytes": 8, "window": window},
                {"maxRequests": 1, "maxBytes": 8, "window": window, "defaults": []},
            )
            for window in WINDOWS
        ),
    ],
)
def test_budgets_are_said_with_what_counts_where_nothing_was(
    bounds: dict[str, Any], budgets: dict[str, Any], gate: capgate.Gate
) -> None:
    plan = gate.plan(feed(bounds={"hosts": ["feeds.test"], **bounds}))
    assert plan.verdict.admitted
    assert plan.to_json()["budgets"] == budgets


@pytest.mark.parametrize(
    ("change", "requests", "size", "window"),
    [
        ({"capabilities": ["network"]}, 12, None, "process"),
        ({"capabilities": ["write"]}, None, DEFAULT_MAX_BYTES, "process"),
        ({"capabilities": []}, None, None, "process"),
        ({"capabilities": "network"}, None, None, "process"),
        ({"bounds": None}, None, DEFAULT_MAX_BYTES, "process"),
        ({"bounds": 5}, None, DEFAULT_MAX_BYTES, "process"),
        ({"bounds": {"maxRequests": True, "maxBytes": "8", "window": []}}, None, None, None),
        ({"bounds": {"maxRequests": 0.5, "maxBytes": 1.5, "window": "week"}}, None, None, None),
    ],
)
def test_a_budget_that_is_not_needed_or_not_bounded_is_none(
    change: dict[str, Any], requests: int | None, size: int | None, window: str | None, gate: capgate.Gate
) -> None:
    budgets = gate.plan(feed(**change)).budgets
    assert (budgets.max_requests, budgets.max_bytes, budgets.window) == (requests, size, window)


@pytest.mark.parametrize(
    ("headers", "shown", "secrets"),
    [
        ({"X-Key": "$FEED_KEY"}, {"X-Key": "$FEED_KEY"}, [("X-Key", "FEED_KEY")]),
        ({"X-Key": "$A", "Y": "$B"}, {"X-Key": "$A", "Y": "$B"}, [("X-Key", "A"), ("Y", "B")]),
        ({"Authorization": "Bearer s3cret"}, {"Authorization": REDACTED}, []),
        ({"Authorization": "Bearer $KEY"}, {"Authorization": REDACTED}, []),
        ({"X-Key": "$"}, {"X-Key": REDACTED}, []),
        ({"X-Key": ["s3cret"]}, {"X-Key": REDACTED}, []),
        ("Authorization: s3cret", REDACTED, []),
        (["s3cret"], REDACTED, []),
        ({}, {}, []),
    ],
)
def test_only_a_header_that_names_a_variable_is_shown_and_listed(
    headers: Any, shown: Any, secrets: list[tuple[str, str]], gate: capgate.Gate
) -> None:
    descriptor = with_headers(headers)
    before = copy.deepcopy(descriptor)
    plan = gate.plan(descriptor)
    assert descriptor == before
    assert plan.to_json()["tools"][0]["params"]["headers"] == shown
    assert [(secret.header, secret.variable) for secret in plan.secrets] == secrets
    assert {secret.hosts for secret in plan.secrets} <= {("feeds.test",)}
    assert "s3cret" not in json.dumps(plan.to_json()) + repr(plan)


def test_the_value_of_a_variable_is_in_no_plan(gate: capgate.Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEED_KEY", "s3cret-value")
    plan = gate.plan(with_headers({"X-Key": "$FEED_KEY"}))
    assert "s3cret-value" not in json.dumps(plan.to_json()) + repr(plan)


def test_a_plan_says_for_which_placement_it_is(gate: capgate.Gate) -> None:
    assert [gate.plan(feed(), placement).to_json()["placement"] for placement in gate.placements] == list(
        gate.placements
    )


def test_the_digest_is_over_the_canonical_form_of_all_the_rest(gate: capgate.Gate) -> None:
    data = gate.plan(feed()).to_json()
    stated = data.pop("digest")
    assert stated == digest(data)


def test_the_digest_changes_with_a_budget_that_is_left_to_the_host(gate: capgate.Gate) -> None:
    said = feed(bounds={"hosts": ["feeds.test"], "maxRequests": 12, "window": "process"})
    assert gate.plan(feed()).digest != gate.plan(said).digest


def test_the_digest_binds_what_the_plan_does_not_show(gate: capgate.Gate) -> None:
    plans = [gate.plan(with_headers({"Accept": value})) for value in ("text/plain", "text/html")]
    assert plans[0].subject == plans[1].subject
    assert plans[0].digest != plans[1].digest
    assert gate.plan(feed(note=1)).digest != gate.plan(feed(note=2)).digest


def test_what_a_host_writes_into_a_stored_descriptor_changes_no_plan(gate: capgate.Gate) -> None:
    stored = feed(state="pending", proposedAt="2026-11-30T10:00:00Z", refusal={"rule": "x", "why": "y"})
    assert gate.plan(stored) == gate.plan(feed())
