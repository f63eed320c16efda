"""What an address is."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.mediation.addresses import classify, read_nat64_prefix


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("8.8.8.8", "public"),
        ("0.0.0.0", "reserved"),
        ("10.255.255.255", "private"),
        ("100.64.0.1", "private"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"),
        ("169.254.1.1", "link-local"),
        ("169.254.169.254", "metadata"),
        ("169.254.170.2", "metadata"),
        ("168.63.129.16", "metadata"),
        ("100.100.100.200", "metadata"),
        ("192.0.0.192", "metadata"),
        ("192.0.0.9", "public"),
        ("192.0.0.8", "reserved"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "reserved"),
        ("::1", "loopback"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("febf:ffff::1", "link-local"),
        ("fec0::1", "private"),
        ("fc00::1", "private"),
        ("fd00::1", "private"),
        ("fd00:ec2::254", "metadata"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "reserved"),
        ("3fff::1", "reserved"),
        ("5f00::1", "reserved"),
        ("4000::1", "reserved"),
        ("1fff::1", "reserved"),
        ("2001:1::1", "public"),
        ("2001:1::4", "reserved"),
        ("2606:4700:4700::1111", "public"),
    ],
)
def test_an_address_is_what_its_longest_block_says(text: str, kind: str) -> None:
    address = classify(text)

    assert address is not None
    assert address.kind == kind
    assert address.sealed == (kind in ("link-local", "metadata"))


@pytest.mark.parametrize("inner", ["127.0.0.1", "10.0.0.1", "8.8.8.8"])
@pytest.mark.parametrize(
    "form",
    [
        "::{0}",
        "::ffff:0:{0}",
        "64:ff9b::{0}",
        "64:ff9b:1::{0}",
        "2002:{1}::",
        "2001:0:{1}::1",
        "2606:4700::5efe:{0}",
        "2606:4700::200:5efe:{0}",
    ],
)
def test_an_ipv4_address_in_ipv6_is_embedded_whatever_it_is(form: str, inner: str) -> None:
    address = classify(form.format(inner, hexadecimal(inner)))

    assert address is not None
    assert address.kind == "embedded"


@pytest.mark.parametrize("inner", ["169.254.169.254", "169.254.0.7", "168.63.129.16", "100.100.100.200"])
@pytest.mark.parametrize(
    "form",
    [
        "::{0}",
        "::ffff:0:{0}",
        "64:ff9b::{0}",
        "64:ff9b:1::{0}",
        "64:ff9b:1:{1}::",
        "2002:{1}::1",
        "2001:0:{1}::1",
        "2001:0:808:808::{2}",
        "2606:4700::5efe:{0}",
    ],
)
def test_metadata_and_link_local_are_sealed_also_inside_ipv6(form: str, inner: str) -> None:
    if form == "64:ff9b:1:{1}::":
        high, low = hexadecimal(inner).split(":")
        # Behind a prefix of 48 bits the address goes around octet 8.
        text = f"64:ff9b:1:{high}:{int(low, 16) >> 8:x}:{(int(low, 16) & 255) << 8:x}::"
    else:
        turned = hexadecimal(str(ipaddress.IPv4Address(int(ipaddress.IPv4Address(inner)) ^ 0xFFFFFFFF)))
        text = form.format(inner, hexadecimal(inner), turned)
    address = classify(text)

    assert address is not None
    assert address.sealed


@pytest.mark.parametrize("inner", ["127.0.0.1", "8.8.8.8", "169.254.169.254"])
def test_a_mapped_address_is_the_ipv4_address(inner: str) -> None:
    assert classify(f"::ffff:{inner}") == classify(f"0:0:0:0:0:FFFF:{hexadecimal(inner)}") == classify(inner)


@pytest.mark.parametrize(
    "text",
    ["", "a.test", "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "127.0.0.1 ", "[::1]", "::1/128", "1.2.3.4:80",
     "１２７.0.0.1", "::ffff:127.1", "127.0.0.1\0", "\ud800", "%eth0", "1.2.3.04"],
)  # fmt: skip
def test_what_no_resolver_says_is_no_address(text: str) -> None:
    assert classify(text) is None


# The network's own NAT64


@pytest.mark.parametrize(
    ("prefix", "text"),
    # The examples of RFC 6052, section 2.4, with another address in them.
    [
        ("2001:db8::/32", "2001:db8:{0:04x}:{1:04x}::"),
        ("2001:db8:100::/40", "2001:db8:1{2:02x}:{3:02x}{4:02x}:{5:x}::"),
        ("2001:db8:122::/48", "2001:db8:122:{0:04x}:{4:x}:{5:x}00::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3{2:02x}:{3:x}:{4:02x}{5:02x}::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:{2:x}:{3:02x}{4:02x}:{5:02x}00:0"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::{0:x}:{1:x}"),
        ("64:ff9b::/96", "64:ff9b::{0:x}:{1:x}"),
    ],
)
@pytest.mark.parametrize(
    ("inner", "kind"),
    [("8.8.4.4", "public"), ("192.168.7.9", "private"), ("169.254.169.254", "metadata"), ("127.0.0.1", "loopback")],
)
def test_behind_a_listed_prefix_an_address_is_what_the_ipv4_address_is(
    prefix: str, text: str, inner: str, kind: str
) -> None:
    packed = ipaddress.IPv4Address(inner).packed
    high, low = int.from_bytes(packed[:2], "big"), int.from_bytes(packed[2:], "big")
    # RFC 6052 writes the octets one after the other, around octet 8.
    address = text.format(high, low, *packed)
    read = read_nat64_prefix(prefix)
    assert read is not None
    found = classify(address, [read])
    plain = classify(address)

    assert found is not None
    assert plain is not None
    assert found.kind == kind
    assert plain.kind != "public"


def test_a_listed_prefix_says_nothing_of_what_is_outside_of_it() -> None:
    prefix = read_nat64_prefix("64:ff9b::/96")
    assert prefix is not None
    kinds = [
        address.kind
        for text in ("64:ff9b:1::8.8.8.8", "::8.8.8.8", "fd00:ec2::254")
        if (address := classify(text, [prefix]))
    ]

    assert kinds == ["embedded", "embedded", "metadata"]


def test_metadata_stays_sealed_inside_a_listed_prefix() -> None:
    prefix = read_nat64_prefix("fd00:ec2::/96")
    assert prefix is not None
    address = classify("fd00:ec2::254", [prefix])

    assert address is not None
    assert address.kind == "metadata"


def test_a_translated_address_has_a_zero_in_octet_8() -> None:
    prefix = read_nat64_prefix("2001:db8:122:344::/64")
    assert prefix is not None
    address = classify("2001:db8:122:344:ff08:808:800:0", [prefix])

    assert address is not None
    assert address.kind == "reserved"


@pytest.mark.parametrize(
    "text",
    ["", "64:ff9b::", "64:ff9b::/95", "64:ff9b::/128", "64:ff9b::1/96", "10.0.0.0/32", "2001:db8:0:0:ff00::/96",
     "64:ff9b::/096", "x/96", "64:ff9b::/96 "],
)  # fmt: skip
def test_what_rfc_6052_does_not_know_is_no_prefix(text: str) -> None:
    assert read_nat64_prefix(text) is None


# Any address


@settings(deadline=None, derandomize=True, max_examples=1000)
@given(st.integers(0, 2**128 - 1) | st.integers(0, 2**32 - 1).map(lambda low: 0xFFFF << 32 | low))
def test_global_unicast_is_never_more_than_what_python_knows_as_global(value: int) -> None:
    text = str(ipaddress.IPv6Address(value))
    address = classify(text)
    assert address is not None
    again = classify(address.text)

    assert address == again
    if address.name == "global unicast":
        assert ipaddress.ip_address(address.text).is_global


@settings(deadline=None, derandomize=True)
@given(st.text())
def test_no_text_breaks_the_classification(text: str) -> None:
    address = classify(text)

    assert address is None or classify(address.text) == address


def hexadecimal(text: str) -> str:
    packed = ipaddress.IPv4Address(text).packed
    return f"{int.from_bytes(packed[:2], 'big'):x}:{int.from_bytes(packed[2:], 'big'):x}"
