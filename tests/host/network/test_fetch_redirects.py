"""Redirects: each hop is checked and charged like a first request (contract 7 and 11.15)."""

from __future__ import annotations

import socket

import pytest

from capgate.plugins.api import Refused
from network_samples import PUBLIC, Names, Wire, answer, pages, serving, session

STATUSES = [301, 302, 303, 307, 308]


def moving(path: str, connection: socket.socket) -> None:
    """``/n`` redirects to ``/n-1``, and ``/0`` answers."""
    left = int(path[1:])
    connection.sendall(answer(status=302, Location=f"/{left - 1}") if left else answer(b"there"))


def refused(outcome: object) -> Refused:
    assert isinstance(outcome, Refused), outcome
    return outcome


@pytest.mark.parametrize("status", STATUSES)
def test_a_redirect_is_followed_and_charged(status: int) -> None:
    with serving(pages(old=answer(b"moved", status, Location="new?x"), new=answer(b"there"))) as server:
        response = session(most=4).get(f"{server.url}/old")

    assert (response.status, response.body, response.used) == (200, b"there", "2/4")
    assert response.via == (f"{server.url}/old", f"{server.url}/new?x")


@pytest.mark.parametrize("status", [300, 304, 305, 306, 399])
def test_no_other_status_is_a_redirect(status: int) -> None:
    with serving(pages(old=answer(b"" if status == 304 else b"chosen", status, Location="/new"))) as server:
        response = session().get(f"{server.url}/old")

    assert response.status == status
    assert len(server.requests) == 1


def test_five_redirects_are_followed_and_the_sixth_is_refused() -> None:
    with serving(moving) as server:
        followed, stopped = session(), session()
        response = followed.get(f"{server.url}/5")
        refusal = refused(stopped.get(f"{server.url}/6"))

    assert (response.body, response.used, len(response.via)) == (b"there", "6/100", 6)
    assert refusal.id == "too-many-redirects"
    assert refusal.details["chain"] == [f"{server.url}/{left}" for left in (6, 5, 4, 3, 2, 1, 0)]
    assert stopped.budget.used == 6


def test_a_loop_ends_like_any_long_way() -> None:
    with serving(pages(round=answer(status=307, Location="/round"))) as server:
        one = session()

        assert one.refusal(f"{server.url}/round") == "too-many-redirects"
    assert one.budget.used == len(server.requests) == 6


def test_the_budget_may_end_on_the_way() -> None:
    with serving(moving) as server:
        one = session(most=3)
        refusal = refused(one.get(f"{server.url}/5"))

    assert (refusal.id, refusal.why) == ("budget-exhausted", "3 of 3 requests used")
    assert len(server.requests) == 3


def test_a_host_that_the_bounds_do_not_name_is_not_asked_and_the_chain_is_told() -> None:
    with serving(
        pages(a=answer(status=302, Location="/b"), b=answer(status=302, Location="http://localhost:1/c"))
    ) as server:
        one = session(most=4)
        refusal = refused(one.get(f"{server.url}/a"))

    chain = [f"{server.url}/a", f"{server.url}/b", "http://localhost:1/c"]
    assert refusal.id == "redirect-host-not-allowed"
    assert refusal.details == {"chain": chain}
    assert "localhost" in refusal.why
    assert "not in bounds.hosts [127.0.0.1]" in refusal.why
    assert f"chain: {' → '.join(chain)}" in refusal.why
    assert one.budget.used == 2


def test_a_refused_redirect_costs_one_and_a_followed_one_two() -> None:
    script = pages(
        out=answer(status=302, Location="http://b.test/"), hop=answer(status=302, Location="/page"), page=answer()
    )
    with serving(script) as server:
        one = session(most=4)
        seen = [one.get(f"{server.url}/{path}") for path in ("out", "hop", "page", "page")]

    assert [one.used if not isinstance(one, Refused) else one.id for one in seen] == [
        "redirect-host-not-allowed", "3/4", "4/4", "budget-exhausted",
    ]  # fmt: skip
    assert len(seen[1].via) == 2


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(
    ("headers", "id"),
    [
        ({}, "redirect-without-location"),
        ({"Location": "ftp://127.0.0.1/"}, "bad-redirect"),
        ({"Location": "file:///etc/passwd"}, "bad-redirect"),
        ({"Location": "javascript:alert(1)"}, "bad-redirect"),
        ({"Location": "http://u:geheim@127.0.0.1/"}, "bad-redirect"),
        ({"Location": "//@127.0.0.1/"}, "bad-redirect"),
        ({"Location": "http://"}, "bad-redirect"),
        ({"Location": "http://a..test/"}, "bad-redirect"),
        ({"Location": "http://a b/"}, "bad-redirect"),
        ({"Location": "/" + "x" * 20_000}, "bad-redirect"),
        ({"Location": "/a\r\nLocation: /b"}, "bad-redirect"),
        ({"Location": "http://2130706434/"}, "redirect-host-not-allowed"),
        ({"Location": "http://127.0.0.1.evil.test/"}, "redirect-host-not-allowed"),
        ({"Location": "//b.test"}, "redirect-host-not-allowed"),
        ({"Location": "\\\\b.test"}, "redirect-host-not-allowed"),
    ],
)
def test_a_redirect_to_nowhere_is_refused_with_its_chain(status: int, headers: dict[str, str], id: str) -> None:
    with serving(pages(old=answer(b"moved", status, **headers))) as server:
        one = session()
        refusal = refused(one.get(f"{server.url}/old"))

    assert refusal.id == id
    assert refusal.details["chain"][0] == f"{server.url}/old"
    assert len(refusal.details["chain"]) == (2 if id == "redirect-host-not-allowed" else 1)
    assert "geheim" not in str(refusal)
    assert one.budget.used == 1


def test_a_location_may_be_in_utf_8_but_not_in_any_bytes() -> None:
    latin = b"HTTP/1.1 302 Found\r\nLocation: /\xfc\r\nContent-Length: 0\r\n\r\n"
    with serving(pages(utf=answer(status=302, Location="/ü"), latin=latin, **{"%C3%BC": answer(b"there")})) as server:
        one = session()

        assert one.get(f"{server.url}/utf").via[1] == f"{server.url}/%C3%BC"
        assert one.refusal(f"{server.url}/latin") == "bad-redirect"


def test_the_same_location_twice_is_one() -> None:
    with serving(pages(old=answer(status=302, Location="/new\r\nLocation: /new"), new=answer(b"there"))) as server:
        assert session().get(f"{server.url}/old").body == b"there"


def test_an_address_that_may_not_be_reached_is_refused_on_the_way_too() -> None:
    with serving(pages(old=answer(status=302, Location="http://b.test/"))) as server:
        wire = Wire(server.port)
        names = Names({"a.test": [PUBLIC], "b.test": ["10.0.0.1"]})
        one = session(["a.test", "b.test"], resolver=names, dialer=wire)
        refusal = refused(one.get("http://a.test/old"))

    assert refusal.id == "address-not-allowed"
    assert refusal.details == {"chain": ["http://a.test/old", "http://b.test/"]}
    assert wire.dialled == [(PUBLIC, 80)]


def test_the_body_of_a_redirect_is_not_read() -> None:
    endless = b"HTTP/1.1 302 Found\r\nLocation: /new\r\nContent-Length: 999999999999\r\nContent-Encoding: br\r\n\r\nx"
    with serving(pages(old=endless, new=answer(b"there"))) as server:
        assert session().get(f"{server.url}/old").body == b"there"


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_what_is_posted_is_posted_again_only_where_the_status_says_so(status: int, method: str) -> None:
    with serving(pages(old=answer(status=status, Location="/new"), new=answer(b"there"))) as server:
        response = session().fetch.request(
            "POST", f"{server.url}/old", headers={"content-type": "text/x"}, body=b"data"
        )

    assert response.body == b"there"
    assert server.requests[1].startswith(f"{method} /new ")
    assert server.requests[1].endswith("data") == (method == "POST")
    assert server.sent("content-type")[1] == ("text/x" if method == "POST" else None)
