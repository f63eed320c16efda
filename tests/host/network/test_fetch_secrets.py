"""Headers: which are sent, which hold secrets, and to whom those go (contract 11.9 and 11.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import quote

import pytest

from capgate.host.mediation.network import NetworkSettings
from capgate.plugins.api import Refused
from network_samples import PUBLIC, Names, Server, Session, Wire, answer, pages, serving, session

VALUE = "Sesam+öffne/dich="
ALLOWED = NetworkSettings(variables=frozenset({"BUOY_KEY", "OTHER", "UNSET"}))
ENVIRON = {"BUOY_KEY": VALUE, "OTHER": "kurz", "HIDDEN": "nobody may see this", "EMPTY": ""}


def keyed(
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost"), environ: Mapping[str, str] = ENVIRON, **parts: object
) -> Session:
    return session(hosts, settings=ALLOWED, environ=environ, **parts)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server with a page, and one that redirects to it."""
    with serving(pages(page=answer(b"hello"), hop=answer(status=302, Location="/page"))) as made:
        yield made


def test_a_variable_that_the_operator_allows_fills_a_header(server: Server) -> None:
    one = keyed()
    response = one.get(f"{server.url}/page", secret_headers={"X-Feed-Key": "$BUOY_KEY"})

    assert response.status == 200
    assert server.sent("x-feed-key") == [VALUE]
    assert one.noted == []
    assert one.logged == [f"[extension:network] fetch {server.url}/page (auth: X-Feed-Key)"]


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("$HIDDEN", "the operator does not allow the variable HIDDEN"),
        ("$buoy_key", "the operator does not allow the variable buoy_key"),
        ("$UNSET", "the variable UNSET is not set"),
        ("$", "it names no variable"),
        ("", "it names no variable"),
        ("a literal value", "it names no variable"),
        ("BUOY_KEY", "it names no variable"),
    ],
)
def test_any_other_header_is_left_out_and_that_is_noted(server: Server, reference: str, why: str) -> None:
    one = keyed()

    assert one.get(f"{server.url}/page", secret_headers={"X-Feed-Key": reference}).status == 200
    assert server.sent("x-feed-key") == [None]
    assert len(one.noted) == 1
    assert one.noted[0].startswith("the header X-Feed-Key is left out: ")
    assert why in one.noted[0]
    assert "auth" not in one.logged[0]


@pytest.mark.parametrize("value", ["", "  ", "a\r\nX-Other: b", "a\nb", "a\0b", "\u20ac", "\udcff", "x" * 8193])
def test_a_value_that_no_header_can_have_is_not_sent_nor_shown(server: Server, value: str) -> None:
    one = keyed(environ={"BUOY_KEY": value})

    assert one.get(f"{server.url}/page", secret_headers={"X-Feed-Key": "$BUOY_KEY"}).status == 200
    assert server.sent("x-feed-key") == server.sent("x-other") == [None]
    assert len(one.noted) == 1
    assert not value.strip() or value not in one.noted[0]


def test_blanks_around_a_value_are_not_part_of_it(server: Server) -> None:
    keyed(environ={"BUOY_KEY": "  secret\n"}).get(f"{server.url}/page", secret_headers={"X-Feed-Key": "$BUOY_KEY"})

    assert server.sent("x-feed-key") == ["secret"]


@pytest.mark.parametrize(
    "header",
    ["Host", "host", "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding", "Proxy-Authorization",
     "Expect", "Upgrade", "TE", "", "X Y", "X:Y", "X\r\nY", "Ü"],
)  # fmt: skip
def test_a_header_that_the_host_sets_itself_cannot_be_filled_nor_given(server: Server, header: str) -> None:
    one = keyed()
    refused = one.get(f"{server.url}/page", headers={header: "x"})

    assert isinstance(refused, Refused)
    assert refused.id == "bad-request"
    assert one.budget.used == 0
    assert one.get(f"{server.url}/page", secret_headers={header: "$BUOY_KEY"}).status == 200
    assert len(one.noted) == 1
    assert server.sent("host") == [f"127.0.0.1:{server.port}"]
    assert VALUE not in server.requests[0]


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\0", "\u20ac"])
def test_a_header_of_a_primitive_is_one_line(server: Server, value: str) -> None:
    assert keyed().refusal(f"{server.url}/page", headers={"X-Own": value}) == "bad-request"


@pytest.mark.parametrize("method", ["get", "PUT", "DELETE", "CONNECT", "GET / HTTP/1.1\r\nX: y\r\n\r\nGET", ""])
def test_only_get_and_post_are_methods(server: Server, method: str) -> None:
    one = keyed()
    with pytest.raises(Refused) as raised:
        one.fetch.request(method, f"{server.url}/page")

    assert raised.value.id == "bad-request"
    assert one.budget.used == 0


# Redirects


def test_on_the_same_host_a_secret_is_sent_on(server: Server) -> None:
    one = keyed()
    one.get(f"{server.url}/hop", secret_headers={"X-Feed-Key": "$BUOY_KEY"}, headers={"X-Own": "mine"})

    assert server.sent("x-feed-key") == [VALUE, VALUE]
    assert server.sent("x-own") == ["mine", "mine"]
    assert one.logged[1].endswith("(auth: X-Feed-Key)")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_to_another_host_no_secret_is_sent_also_not_after_the_way_back(status: int) -> None:
    def script(path: str, connection: object) -> None:
        where = {"/a": "http://b.test/b", "/b": "http://a.test/c"}.get(path)
        connection.sendall(answer(status=status, Location=where) if where else answer(b"there"))  # type: ignore[attr-defined]

    with serving(script) as server:
        names = Names({"a.test": [PUBLIC], "b.test": [PUBLIC]})
        one = keyed(("a.test", "b.test"), resolver=names, dialer=Wire(server.port))
        own = {"Authorization": "mine", "Cookie": "mine", "X-Own": "mine", "Accept": "text/x", "User-Agent": "me"}
        response = one.get("http://a.test/a", headers=own, secret_headers={"X-Feed-Key": "$BUOY_KEY"})

    assert response.body == b"there"
    assert server.sent("x-feed-key") == [VALUE, None, None]
    for name in ("authorization", "cookie", "x-own"):
        assert server.sent(name) == ["mine", None, None]
    assert server.sent("accept") == ["text/x"] * 3
    assert server.sent("user-agent") == ["me"] * 3
    assert [line.endswith("(auth: X-Feed-Key)") for line in one.logged] == [True, False, False]


def test_another_port_is_another_host(server: Server) -> None:
    with serving(pages(hop=answer(status=307, Location=f"{server.url}/page"))) as first:
        one = keyed()

        assert one.get(f"{first.url}/hop", secret_headers={"X-Feed-Key": "$BUOY_KEY"}).status == 200
    assert first.sent("x-feed-key") == [VALUE]
    assert server.sent("x-feed-key") == [None]


# Nothing leaks


def test_a_server_that_sends_a_secret_back_hands_it_to_nobody() -> None:
    spelt = [VALUE, quote(VALUE), quote(VALUE, safe="")]
    body = " ".join(spelt).encode() + b" " + VALUE.encode("latin-1")
    script = pages(
        old=answer(status=302, Location=f"/new?x={quote(VALUE, safe='')}"), new=answer(body, X_Back=quote(VALUE))
    )
    with serving(script) as server:
        response = keyed().get(f"{server.url}/old", secret_headers={"X-Feed-Key": "$BUOY_KEY"})

    assert response.body == b"[redacted] [redacted] [redacted] [redacted]"
    assert response.headers["x-back"] == "[redacted]"
    assert response.via[1] == f"{server.url}/new?x=[redacted]"
    assert VALUE in server.sent("x-feed-key")


def test_a_value_too_short_to_be_told_apart_leaves_bodies_alone() -> None:
    with serving(pages(page=answer(b"kurz"))) as server:
        response = keyed().get(f"{server.url}/page", secret_headers={"X-Feed-Key": "$OTHER"})

    assert response.body == b"kurz"


def test_what_is_logged_has_no_secrets_and_keeps_the_rest() -> None:
    script = pages(old=answer(status=302, Location="/new?token=geheim-1&q=weather"), new=answer(b"there"))
    with serving(script) as server:
        one = keyed()
        one.get(f"{server.url}/old?key=geheim-2&q=wind", secret_headers={"X-Feed-Key": "$BUOY_KEY"})

    assert one.logged == [
        f"[extension:network] fetch {server.url}/old?key=[redacted]&q=wind (auth: X-Feed-Key)",
        (
            f"[extension:network] redirect (302) {server.url}/old?key=[redacted]&q=wind -> "
            f"{server.url}/new?token=[redacted]&q=weather (auth: X-Feed-Key)"
        ),
    ]


def test_the_redactor_knows_a_value_once_it_was_sent(server: Server) -> None:
    one = keyed(environ={"BUOY_KEY": "unlikely words"})
    one.get(f"{server.url}/page", secret_headers={"X-Feed-Key": "$BUOY_KEY"})
    one.get(f"{server.url}/page?said=unlikely%20words")

    assert one.logged[1] == f"[extension:network] fetch {server.url}/page?said=[redacted]"


def test_the_libraries_below_log_nothing(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    with serving(pages(bad=b"HTTP/1.1 200 OK\r\nno colon geheim\r\n\r\n")) as odd:
        keyed().get(f"{odd.url}/bad?token=geheim")
    keyed().get(f"{server.url}/hop?token=geheim", secret_headers={"X-Feed-Key": "$BUOY_KEY"})

    assert caplog.records == []
