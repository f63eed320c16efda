"""The fetch: hosts, budgets, and what is sent and comes back."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import requests

from capgate.host.mediation.network import Network, NetworkError, NetworkSettings
from capgate.plugins.api import Fetcher, Refused
from network_samples import PUBLIC, Names, Server, Wire, answer, pages, serving, session


@pytest.fixture
def server() -> Iterator[Server]:
    """A server with a page."""
    script = pages(
        page=answer(b"hello", Content_Type="text/plain", X_Twice="a"),
        missing=answer(b"gone", 404),
        broken=answer(b"oh", 500),
        empty=answer(status=204),
        odd=b"HTTP/1.0 200\r\nX-Twice: a\r\nx-twice: b\r\n\r\nuntil the end",
    )
    with serving(script) as made:
        yield made


def test_an_answer_is_handed_over_with_the_way_to_it(server: Server) -> None:
    one = session()
    fetcher: Fetcher = one.fetch
    response = fetcher.request("GET", f"{server.url}/page?x=1#part")

    assert (response.status, response.host, response.body) == (200, "127.0.0.1", b"hello")
    assert response.served_by == f"http://127.0.0.1:{server.port}"
    assert response.via == (f"{server.url}/page?x=1",)
    assert response.used == "1/100"
    assert response.headers["content-type"] == "text/plain"
    assert server.requests[0].startswith("GET /page?x=1 HTTP/1.1\r\n")
    assert server.sent("host") == [f"127.0.0.1:{server.port}"]
    assert server.sent("connection") == ["close"]
    assert server.sent("accept-encoding") == ["gzip, deflate"]


@pytest.mark.parametrize(
    ("page", "status", "body"), [("missing", 404, b"gone"), ("broken", 500, b"oh"), ("empty", 204, b"")]
)
def test_every_status_is_an_answer(server: Server, page: str, status: int, body: bytes) -> None:
    response = session().get(f"{server.url}/{page}")

    assert (response.status, response.body) == (status, body)


def test_an_answer_of_old_servers_is_read_and_repeated_headers_are_joined(server: Server) -> None:
    response = session().get(f"{server.url}/odd")

    assert (response.body, response.headers) == (b"until the end", {"x-twice": "a, b"})


def test_a_body_is_posted(server: Server) -> None:
    response = session().fetch.request(
        "POST", f"{server.url}/page", headers={"Content-Type": "text/x"}, body=b"\x00\xff"
    )

    assert response.status == 200
    assert server.requests[0].startswith("POST /page HTTP/1.1\r\n")
    assert server.requests[0].endswith("\r\n\r\n\x00\xff")
    assert server.sent("content-type") == ["text/x"]
    assert server.sent("content-length") == ["2"]


def test_each_request_is_a_connection_of_its_own_and_none_is_left_open(server: Server) -> None:
    one = session()

    assert [one.get(f"{server.url}/page").status for _ in range(3)] == [200, 200, 200]
    assert len(server.requests) == 3


# Hosts


@pytest.mark.parametrize(
    ("hosts", "url", "allowed"),
    [
        (["a.test"], "http://a.test/", True),
        (["A.Test."], "https://a.test:8443/x", True),
        (["a.test"], "http://A.TEST./", True),
        (["bücher.test"], "http://xn--bcher-kva.test/", True),
        (["xn--bcher-kva.test"], "http://bücher.test/", True),
        (["a.test:8443"], "https://a.test:8443/", True),
        (["a.test:443"], "https://a.test/", True),
        (["b.test", "a.test"], "http://a.test/", True),
        (["a.test"], "http://b.a.test/", False),
        (["b.a.test"], "http://a.test/", False),
        (["a.test"], "http://a.test.evil.test/", False),
        (["a.test"], "http://xa.test/", False),
        (["a.test:8443"], "https://a.test/", False),
        (["a.test:8443"], "https://a.test:8444/", False),
        (["*.test"], "http://a.test/", False),
        (["*"], "http://a.test/", False),
        ([], "http://a.test/", False),
        ([""], "http://a.test/", False),
        (["https://a.test"], "https://a.test/", False),
    ],
)
def test_only_the_hosts_of_the_bounds_are_asked(hosts: list[str], url: str, allowed: bool) -> None:
    wire = Wire()
    names = Names({"a.test": [PUBLIC], "xn--bcher-kva.test": [PUBLIC], "b.a.test": [PUBLIC]})
    one = session(hosts, resolver=names, dialer=wire)
    refusal = one.refusal(url)

    assert refusal == ("fetch-failed" if allowed else "host-not-allowed")
    assert one.budget.used == len(wire.dialled) == len(names.asked) == int(allowed)


@pytest.mark.parametrize("hosts", [None, "a.test", 5, {"a.test": 1}, [None, 5, ["a.test"]]])
def test_bounds_without_a_list_of_hosts_allow_nothing(hosts: object) -> None:
    assert session(bounds={"hosts": hosts}, dialer=Wire()).refusal("http://a.test/") == "host-not-allowed"


def test_the_refusal_says_what_the_bounds_are() -> None:
    refused = session(["127.0.0.1"]).get("http://localhost:1/")

    assert isinstance(refused, Refused)
    assert "bounds.hosts is [127.0.0.1]" in refused.why
    assert "localhost:1" in refused.why


@pytest.mark.parametrize("url", ["", "x", "ftp://127.0.0.1/", "http://u:geheim@127.0.0.1/", "http://127.0.0.1:0/"])
def test_what_is_no_url_costs_nothing_and_is_not_repeated(url: str) -> None:
    wire = Wire()
    one = session(dialer=wire)
    refused = one.get(url)

    assert isinstance(refused, Refused)
    assert refused.id == "bad-url"
    assert "geheim" not in refused.why
    assert (one.budget.used, wire.dialled, one.logged) == (0, [], [])


# Addresses


def test_what_was_checked_is_dialled_though_the_name_changes_with_every_look_up() -> None:
    turns = iter([["127.0.0.1"], [PUBLIC]] * 50)
    names, wire = Names({"a.test": lambda: next(turns)}), Wire()
    one = session(["a.test"], resolver=names, dialer=wire)
    refusals = [one.refusal("http://a.test/") for _ in range(100)]

    assert refusals == ["address-not-allowed", "fetch-failed"] * 50
    assert wire.dialled == [(PUBLIC, 80)] * 50
    assert len(names.asked) == 100


def test_one_bad_address_among_good_ones_refuses_the_name() -> None:
    wire = Wire()
    one = session(["a.test"], resolver=Names({"a.test": [PUBLIC, "8.8.8.8", "10.0.0.1"]}), dialer=wire)
    refused = one.get("http://a.test/")

    assert isinstance(refused, Refused)
    assert refused.id == "address-not-allowed"
    assert "10.0.0.1, which is private (private use)" in refused.why
    assert "chain" not in refused.details
    assert wire.dialled == []
    assert one.budget.used == 1


@pytest.mark.parametrize("found", ["x", "0x7f.1", "", "a.test", "1.2.3"])
def test_an_address_that_cannot_be_read_is_not_dialled(found: str) -> None:
    wire = Wire()
    one = session(["a.test"], resolver=Names({"a.test": [found]}), dialer=wire)

    assert one.refusal("http://a.test/") == "address-not-allowed"
    assert wire.dialled == []


@pytest.mark.parametrize(
    ("hosts", "url", "found", "allowed"),
    [
        (["127.0.0.1"], "http://127.0.0.1/", "", True),
        (["127.0.0.1"], "http://127.0.0.2/", "", None),
        (["127.0.0.1:81"], "http://127.0.0.1:81/", "", True),
        (["[::1]:81"], "http://[::1]:81/", "", True),
        (["::ffff:10.0.0.1"], "http://10.0.0.1/", "", True),
        (["a.test", "10.0.0.1"], "http://a.test/", "10.0.0.1", True),
        (["a.test", "10.0.0.1"], "http://a.test/", "::ffff:10.0.0.1", True),
        (["a.test", "10.0.0.1"], "http://a.test/", "10.0.0.2", False),
        (["a.test", "10.0.0.1:81"], "http://a.test/", "10.0.0.1", False),
        (["a.test", "10.0.0.1:81"], "http://a.test:81/", "10.0.0.1", True),
        (["a.test", "10.0.0.1:81"], "http://10.0.0.1/", "", None),
        (["localhost"], "http://localhost/", "127.0.0.1", True),
        (["localhost"], "http://localhost/", "127.9.9.9", True),
        (["localhost"], "http://localhost/", "::1", True),
        (["localhost"], "http://localhost/", "10.0.0.1", False),
        (["localhost", "a.test"], "http://a.test/", "127.0.0.1", False),
        (["x.localhost", "localhost"], "http://x.localhost/", "127.0.0.1", False),
        (["::127.0.0.1"], "http://[::7f00:1]/", "", True),
        (["169.254.0.7"], "http://169.254.0.7/", "", False),
        (["fe80::1"], "http://[fe80::1]/", "", False),
        (["169.254.169.254"], "http://169.254.169.254/", "", False),
        (["::a9fe:a9fe"], "http://[::a9fe:a9fe]/", "", False),
        (["168.63.129.16"], "http://168.63.129.16/", "", False),
        (["a.test", "169.254.169.254"], "http://a.test/", "169.254.169.254", False),
        (["localhost"], "http://localhost/", "169.254.169.254", False),
    ],
)
def test_a_literal_in_the_bounds_exempts_itself_alone(
    hosts: list[str], url: str, found: str, allowed: bool | None
) -> None:
    wire = Wire()
    names = Names({name: [found] for name in ("a.test", "localhost", "x.localhost")})
    refusal = session(hosts, resolver=names, dialer=wire).refusal(url)

    assert refusal == {True: "fetch-failed", False: "address-not-allowed", None: "host-not-allowed"}[allowed]
    assert len(wire.dialled) == int(allowed is True)


@pytest.mark.parametrize("address", ["169.254.169.254", "169.254.0.7", "fd00:ec2::254", "168.63.129.16", "fe80::1"])
def test_the_operator_opens_a_sealed_address_to_those_who_name_it(address: str) -> None:
    url = f"http://[{address}]/" if ":" in address else f"http://{address}/"
    settings = NetworkSettings(addresses=frozenset({address}))
    named, unnamed = Wire(), Wire()

    assert session([address], settings=settings, dialer=named).refusal(url) == "fetch-failed"
    assert named.dialled == [(address, 80)]
    one = session(["a.test"], settings=settings, resolver=Names({"a.test": [address]}), dialer=unnamed)
    assert one.refusal("http://a.test/") == "address-not-allowed"
    assert unnamed.dialled == []


@pytest.mark.parametrize(
    ("found", "refusal"),
    [
        ("64:ff9b::808:808", "fetch-failed"),
        ("64:ff9b::7f00:1", "address-not-allowed"),
        ("64:ff9b::a9fe:a9fe", "address-not-allowed"),
        ("64:ff9b:1::808:808", "address-not-allowed"),
    ],
)
def test_behind_the_nat64_of_the_operator_public_addresses_are_reached(found: str, refusal: str) -> None:
    wire = Wire()
    settings = NetworkSettings(nat64=("64:ff9b::/96",))
    one = session(["a.test"], settings=settings, resolver=Names({"a.test": [found]}), dialer=wire)

    assert one.refusal("http://a.test/") == refusal
    assert [host for host, _ in wire.dialled] == ([found] if refusal == "fetch-failed" else [])


def test_the_next_address_is_tried_where_one_does_not_answer(server: Server) -> None:
    class Half(Wire):
        def dial(self, address: str, port: int, seconds: float) -> socket.socket:
            if address == "8.8.8.8":
                self.dialled.append((address, port))
                raise OSError(113, "No route to host")
            return super().dial(address, port, seconds)

    wire = Half(server.port)
    one = session(["a.test"], resolver=Names({"a.test": ["8.8.8.8", PUBLIC]}), dialer=wire)

    assert one.get("http://a.test/page").body == b"hello"
    assert wire.dialled == [("8.8.8.8", 80), (PUBLIC, 80)]
    assert server.sent("host") == ["a.test"]


@pytest.mark.parametrize(
    ("names", "why"), [({}, "Name or service not known"), ({"a.test": []}, "the name has no address")]
)
def test_a_name_without_address_fails(names: dict[str, list[str]], why: str) -> None:
    refused = session(["a.test"], resolver=Names(names), dialer=Wire()).get("http://a.test/")

    assert isinstance(refused, Refused)
    assert (refused.id, refused.why) == ("fetch-failed", f"a.test cannot be reached: {why}")


# Budgets


def test_the_budget_is_charged_before_anything_is_looked_up_or_dialled() -> None:
    names, wire = Names({"a.test": [PUBLIC]}), Wire()
    one = session(["a.test"], most=1, resolver=names, dialer=wire)

    assert [one.refusal("http://a.test/") for _ in range(3)] == ["fetch-failed", "budget-exhausted", "budget-exhausted"]
    assert one.get("http://a.test/").why == "1 of 1 requests used"
    assert (names.asked, wire.dialled) == (["a.test"], [(PUBLIC, 80)])
    assert len(one.logged) == 1


# The environment


def test_proxies_and_netrc_of_the_environment_are_ignored(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w", encoding="ascii") as file:
        file.write("machine 127.0.0.1 login somebody password geheim\n")
    monkeypatch.setenv("NETRC", netrc)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)

    assert session().get(f"{server.url}/page").status == 200
    assert server.sent("authorization") == [None]


@pytest.mark.parametrize(
    ("settings", "id"),
    [
        (NetworkSettings(addresses=frozenset({"metadata"})), "bad-address"),
        (NetworkSettings(nat64=("64:ff9b::/97",)), "bad-nat64-prefix"),
        (NetworkSettings(ca_file="/nowhere.pem"), "bad-ca-file"),
        (NetworkSettings(ca_file=__file__), "bad-ca-file"),
        (NetworkSettings(max_bytes=0), "bad-limit"),
        (NetworkSettings(seconds=0), "bad-limit"),
        (NetworkSettings(seconds=float("nan")), "bad-limit"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_at_the_start(settings: NetworkSettings, id: str) -> None:
    with pytest.raises(NetworkError) as raised:
        Network(settings)
    assert raised.value.id == id


def test_the_adapter_sends_nothing_but_what_was_checked() -> None:
    with requests.Session() as common:
        common.mount("http://", Network().adapter)
        with pytest.raises(TypeError, match="hops alone"):
            common.get("http://127.0.0.1:1/")
