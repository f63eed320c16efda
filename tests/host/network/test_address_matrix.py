"""Every special block, at its edges, in ten spellings, by all ways in; and public addresses by the same ways.

What is expected is worked out here from a list of its own, by the standard library, and not from the table
of the code.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest

from capgate.plugins.api import Refused
from network_samples import PUBLIC, Names, Wire, answer, serving, session

pytestmark = pytest.mark.long

AnyAddress = IPv4Address | IPv6Address

#: Nothing is sent to these ...
SPECIAL = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
    "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
    "169.254.169.254/32 169.254.170.2/32 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32 ::/128 ::1/128 ::/96 "
    "::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:2::/48 2001:10::/28 "
    "2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8 fd00:ec2::254/128 ::/3 "
    "4000::/2 8000::/1"
).split()
#: ... but for these.
GLOBAL = (
    "192.0.0.9/32 192.0.0.10/32 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:3::/32 2001:4:112::/48 2001:20::/28 "
    "2001:30::/28"
).split()
#: Only the operator opens these.
SEALED = "169.254.0.0/16 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32 fe80::/10 fd00:ec2::254/128".split()

#: Root servers, public resolvers, and well-known sites.
KNOWN = (
    "198.41.0.4 170.247.170.2 192.33.4.12 199.7.91.13 192.203.230.10 192.5.5.241 192.112.36.4 198.97.190.53 "
    "192.36.148.17 192.58.128.30 193.0.14.129 199.7.83.42 202.12.27.33 2001:503:ba3e::2:30 2801:1b8:10::b "
    "2001:500:2::c 2001:500:2d::d 2001:500:a8::e 2001:500:2f::f 2001:500:12::d0d 2001:500:1::53 2001:7fe::53 "
    "2001:503:c27::2:30 2001:7fd::1 2001:500:9f::42 2001:dc3::35 8.8.8.8 8.8.4.4 1.1.1.1 1.0.0.1 9.9.9.9 "
    "149.112.112.112 208.67.222.222 208.67.220.220 64.6.64.6 64.6.65.6 77.88.8.8 94.140.14.14 185.228.168.9 76.76.2.0 "
    "84.200.69.80 80.80.80.80 4.2.2.1 195.46.39.39 114.114.114.114 223.5.5.5 119.29.29.29 156.154.70.1 "
    "2001:4860:4860::8888 2001:4860:4860::8844 2606:4700:4700::1111 2606:4700:4700::1001 2620:fe::fe 2620:119:35::35 "
    "2a0d:2a00:1::2 2400:3200::1 2a02:6b8::feed:ff 2620:74:1b::1:1 93.184.216.34 2606:2800:220:1:248:1893:25c8:1946 "
    "140.82.121.3 151.101.1.140 185.199.108.153 104.16.132.229 172.217.16.142 142.250.185.78 13.107.42.14 "
    "20.112.52.29 17.253.144.10 31.13.71.36 52.94.236.248 54.239.28.85 99.84.238.120 23.185.0.2 198.35.26.96 "
    "91.198.174.192 2620:0:862:ed1a::1 2a03:2880:f12f:83:face:b00c:0:25de 2a00:1450:4001:82a::200e 130.89.148.77 "
    "128.31.0.62 149.20.4.15 2001:67c:2564:a119::77 194.109.6.66 82.195.75.100 195.20.242.89 209.132.183.105 "
    "131.107.255.255 129.6.15.28 132.163.97.1 216.239.35.0 162.159.200.1 17.32.208.206 193.110.137.132 46.4.96.137 "
    "5.9.158.75 136.243.18.20 2a01:4f8:c0c:1234::1 2600:1f18::1 2c0f:fb50:4003::1 2800:3f0:4001::1 100.128.0.1 "
    "100.63.255.254 172.15.255.254 172.32.0.1 192.31.196.1 192.52.193.1 192.175.48.1 223.255.255.254 3ffe:ffff::1 "
    "2620:4f:8000::1"
).split()


def expected_public(address: AnyAddress) -> bool:
    return within(address, GLOBAL) or not within(address, SPECIAL)


def within(address: AnyAddress, blocks: list[str]) -> bool:
    return any(address in ip_network(block) for block in blocks)


def edges(block: str) -> Iterator[AnyAddress]:
    """The first, last and middle address of a block, and those just outside of it."""
    network = ip_network(block)
    first, last = int(network[0]), int(network[-1])
    kind = type(network[0])
    for value in dict.fromkeys((first, last, (first + last) // 2, first - 1, last + 1)):
        if 0 <= value < 2**network.max_prefixlen:
            yield kind(value)


def in_urls(address: AnyAddress) -> list[str]:
    """Ten ways to write an address as the host of a URL."""
    value = int(address)
    if isinstance(address, IPv4Address):
        a, b, c, d = address.packed
        return [
            str(address),
            str(value),
            hex(value),
            f"0X{value:08X}",
            f"0{value:o}" if value else "00",
            f"{a:#x}.{b:#o}.{c}.{d}".replace("0o", "0"),
            f"{a}.{b}.{c * 256 + d}",
            f"{a}.{value % 2**24}.",
            str(address).translate(str.maketrans("0123456789.", "０１２３４５６７８９。")),
            f"[::FFFF:{address}]",
        ]
    return [f"[{text}]" for text in as_ipv6(address)]


def as_answers(address: AnyAddress) -> list[str]:
    """Ways to write an address as a resolver may; ten for IPv6."""
    if isinstance(address, IPv4Address):
        high, low = divmod(int(address), 65536)
        mapped = [f"::ffff:{high:x}:{low:x}", f"::FFFF:{high:04X}:{low:04X}", f"0:0:0:0:0:ffff:{address}"]
        return [str(address), f"::ffff:{address}", f"0::ffff:{address}", f"::ffff:{address}%eth0", *mapped]
    return as_ipv6(address)


def as_ipv6(address: IPv6Address) -> list[str]:
    groups = [int(group, 16) for group in address.exploded.split(":")]
    tail = str(IPv4Address(address.packed[12:]))
    plain = [f"{group:x}" for group in groups]
    return [
        str(address),
        str(address).upper(),
        address.exploded,
        address.exploded.upper(),
        ":".join(plain),
        ":".join(plain).upper(),
        ":".join([*plain[:6], tail]),
        ":".join([*(f"{group:04x}" for group in groups[:6]), tail]),
        ":".join([*(f"{group:03X}" for group in groups[:-1]), plain[-1]]),
        ":".join([*plain[:-1], f"{groups[-1]:04X}"]),
    ]


VECTORS = [(block, address) for block in SPECIAL for address in edges(block)]
NAMES = [f"{block}-{address}" for block, address in VECTORS]


def test_the_matrix_is_as_large_as_it_says() -> None:
    refused = {address for _, address in VECTORS if not expected_public(address)}
    allowed = {ip_address(text) for text in KNOWN} | {address for _, address in VECTORS if expected_public(address)}

    assert sum(len(in_urls(address)) for address in refused) >= 500
    assert sum(len(as_answers(address)) for address in refused) >= 500
    assert len({ip_address(text) for text in KNOWN}) >= 100
    assert all(map(expected_public, allowed))


@pytest.mark.parametrize(("block", "address"), VECTORS, ids=NAMES)
def test_an_answer_of_a_name_is_dialled_if_it_is_public_and_only_then(block: str, address: AnyAddress) -> None:
    wrong = []
    for spelt in as_answers(address):
        wire = Wire()
        one = session(["api.test"], resolver=Names({"api.test": [PUBLIC, spelt]}), dialer=wire)
        refusal = one.refusal("http://api.test/")
        dialled = [ip_address(host) for host, _ in wire.dialled]
        if expected_public(address):
            right = refusal == "fetch-failed" and dialled == [ip_address(PUBLIC), address]
        else:
            right = refusal == "address-not-allowed" and dialled == []
        if not right:
            wrong.append((spelt, refusal, wire.dialled))
    assert wrong == []


@pytest.mark.parametrize(("block", "address"), VECTORS, ids=NAMES)
def test_a_literal_is_dialled_only_where_the_bounds_name_it(block: str, address: AnyAddress) -> None:
    wrong = []
    sealed = within(address, SEALED) or is_sealed_inside(address)
    for spelt in in_urls(address):
        unnamed, named = Wire(), Wire()
        elsewhere = session(["api.test", "127.0.0.2", "::3"], resolver=Names(), dialer=unnamed)
        refusals = [elsewhere.refusal(f"http://{spelt}:8080/x")]
        named_refusal = session([str(address)], resolver=Names(), dialer=named).refusal(f"http://{spelt}:8080/x")
        refusals.append(named_refusal)
        if sealed:
            right = refusals == ["host-not-allowed", "address-not-allowed"] and named.dialled == []
        else:
            right = refusals == ["host-not-allowed", "fetch-failed"] and [
                (ip_address(host), port) for host, port in named.dialled
            ] == [(address, 8080)]
        if not right or unnamed.dialled or elsewhere.budget.used:
            wrong.append((spelt, refusals, named.dialled, unnamed.dialled))
    assert wrong == []


@pytest.fixture(scope="module")
def redirecting() -> Iterator[int]:
    """A server that redirects to what its path says, if it says anything."""

    def script(path: str, connection: socket.socket) -> None:
        where = bytes.fromhex(path.removeprefix("/")).decode()
        connection.sendall(answer(status=302, Location=where) if where else answer())

    with serving(script) as server:
        yield server.port


@pytest.mark.parametrize(("block", "address"), VECTORS, ids=NAMES)
def test_a_redirect_reaches_nothing_that_a_first_request_does_not(
    block: str, address: AnyAddress, redirecting: int
) -> None:
    wrong = []
    ways = [(f"http://{spelt}/", []) for spelt in in_urls(address)]
    ways += [("http://b.test/", [spelt]) for spelt in as_answers(address)]
    for where, answers in ways:
        wire = Wire(redirecting)
        names = Names({"a.test": [PUBLIC], "b.test": answers})
        one = session(["a.test", "b.test"], resolver=names, dialer=wire, most=2)
        outcome = one.get(f"http://a.test/{where.encode().hex()}")
        refusal = outcome.id if isinstance(outcome, Refused) else ""
        beyond = [ip_address(host) for host, _ in wire.dialled[1:]]
        if not answers:
            right = refusal == "redirect-host-not-allowed" and beyond == []
        elif expected_public(address):
            right = beyond == [address]
        else:
            right = refusal == "address-not-allowed" and beyond == [] and one.budget.used == 2
        if not right:
            wrong.append((where, answers, refusal, beyond))
    assert wrong == []


@pytest.mark.parametrize("text", KNOWN)
def test_a_public_address_is_reached_in_every_spelling(text: str) -> None:
    address = ip_address(text)
    for spelt in as_answers(address):
        wire = Wire()
        one = session(["api.test"], resolver=Names({"api.test": [spelt]}), dialer=wire)
        assert one.refusal("https://api.test/") == "fetch-failed"
        assert [(ip_address(host), port) for host, port in wire.dialled] == [(address, 443)]
    for spelt in in_urls(address):
        wire = Wire()
        assert session([text], resolver=Names(), dialer=wire).refusal(f"http://{spelt}/") == "fetch-failed"
        assert [(ip_address(host), port) for host, port in wire.dialled] == [(address, 80)]


@pytest.mark.parametrize("text", KNOWN[::7])
def test_a_public_address_is_reached_by_a_redirect(text: str, redirecting: int) -> None:
    wire = Wire(redirecting)
    names = Names({"a.test": [PUBLIC], "b.test": [text]})
    url = f"http://a.test/{b'http://b.test/'.hex()}"
    outcome = session(["a.test", "b.test"], resolver=names, dialer=wire).get(url)

    assert (outcome.status, outcome.served_by, outcome.via) == (200, "http://b.test", (url, "http://b.test/"))
    assert [ip_address(host) for host, _ in wire.dialled] == [ip_address(PUBLIC), ip_address(text)]


def is_sealed_inside(address: AnyAddress) -> bool:
    """Whether an IPv4 address that is sealed is in an IPv6 address, by the standard library."""
    if isinstance(address, IPv4Address):
        return False
    inner = [address.sixtofour] if address.sixtofour else []
    inner += address.teredo or ()
    if within(address, ["::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48"]):
        inner.append(IPv4Address(address.packed[12:]))
    return any(within(one, SEALED) for one in inner)


def test_the_oracle_knows_a_sealed_address_when_it_sees_one() -> None:
    assert is_sealed_inside(ipaddress.IPv6Address("2002:a9fe:a9fe::"))
    assert not is_sealed_inside(ipaddress.IPv6Address("2002:7f00:1::"))
