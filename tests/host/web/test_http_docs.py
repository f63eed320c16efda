"""docs/http.md says what is so: its routes, who may ask, its errors, its limits."""

from __future__ import annotations

import json

import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.sessions import SESSION_TTL, TICKET_TTL
from capgate.host.web import app, bodies, protocol, serving
from capgate.host.web.answers import HttpError
from capgate.host.web.app import OPERATIONS
from capgate.host.web.authority import Authority
from capgate.host.web.openapi import description
from capgate.policy.errors import PolicyInvalid
from pages import DOCS, blocks, code, prose, table

PAGE = DOCS / "http.md"
ROUTES = {code(row[0])[0]: row for row in table(PAGE, "Routes", "route")}
PATHS = json.loads(description())["paths"]
#: What any route may answer, or any that reads a body.
GENERAL = {"200", "401", "408", "413", "415", "421", "500", "503"}


def test_the_page_has_every_route() -> None:
    assert sorted(ROUTES) == sorted(f"{operation.method} {operation.path}" for operation in OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}")
def test_a_route_is_what_the_page_says(operation: app.Operation) -> None:
    _, who, body, _, statuses = ROUTES[f"{operation.method} {operation.path}"]
    described = PATHS[operation.path][operation.method.lower()]["responses"]

    assert who == {Authority.NONE: "", Authority.HOST: "host", Authority.ROOM: "room"}[operation.authority]
    assert bool(body) == (operation.body is not None or "batch" in operation.path)
    if operation.path != "/api/health":
        assert [one.partition(":")[0] for one in statuses.split(", ") if one] == sorted(set(described) - GENERAL)
    cap = operation.body.cap if operation.body else bodies.MAX_BODY
    assert (f"at most {cap} bytes" in body) is (cap != bodies.MAX_BODY)


def test_the_errors_are_the_real_ones() -> None:
    rows = {code(row[0])[0]: (int(row[1]), row[2]) for row in table(PAGE, "Errors", "id")}
    known = {**AdmissionError.answers, **HttpError.answers}
    known["policy-invalid"] = (PolicyInvalid.status, PolicyInvalid.ids["policy-invalid"])

    assert set(HttpError.answers) <= set(rows)
    assert rows == {id: known[id] for id in rows}
    assert list(rows.values()) == sorted(rows.values(), key=lambda row: row[0])


def test_the_shown_error_has_the_one_shape() -> None:
    (shown,) = [json.loads(block.text) for block in blocks(PAGE) if block.heading == "Errors"]

    assert shown.keys() == HttpError("too-busy", "x").to_body().keys()
    assert shown["hint"] == AdmissionError.ids[shown["refused"]]


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("for at most {} seconds", serving.STOP_SECONDS),
        ("A body has {} seconds to arrive", bodies.SECONDS),
        ("headers {} and 64 KiB", protocol.HEADER_SECONDS),
        ("headers 10 and {} KiB", protocol.HEADER_BYTES / 1024),
        ("At most {} requests", app.MOST_REQUESTS),
        ("lasts {} hours", SESSION_TTL / 3600),
    ],
)
def test_the_limits_are_the_real_ones(sentence: str, value: float) -> None:
    assert sentence.format(f"{value:g}") in " ".join(prose(PAGE).split())
    assert TICKET_TTL == 600  # "ten minutes"
