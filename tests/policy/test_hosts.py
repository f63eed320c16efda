"""Hosts: what is one, and the one spelling of each (gate contract 11.12 and 11.32)."""

from __future__ import annotations

import ipaddress
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.policy.hosts import Host, format_host, is_host, normalise_host

LABEL_63 = "a" * 63
NAME_253 = ".".join([LABEL_63, LABEL_63, LABEL_63, "a" * 61])


def encoded(label: str) -> str:
    """`label` in Punycode, whether or not it may be."""
    return f"xn--{label.encode('punycode').decode()}"


#: The hosts that the contract lists, with what each is.
CONTRACT_HOSTS = [
    ("API.test", "api.test", None),
    ("a.test.", "a.test", None),
    ("a.test:8443", "a.test", 8443),
    ("a_b.test", "a_b.test", None),
    ("bücher.test", "xn--bcher-kva.test", None),
    ("xn--bcher-kva.test", "xn--bcher-kva.test", None),
    ("localhost", "localhost", None),
    ("127.0.0.1", "127.0.0.1", None),
    ("2130706433", "127.0.0.1", None),
    ("0x7f.1", "127.0.0.1", None),
    ("::1", "::1", None),
    ("[::1]", "::1", None),
    ("[::1]:8080", "::1", 8080),
    ("１２７.0.0.1", "127.0.0.1", None),
    ("::1:80", "::1:80", None),
]

#: What the contract lists as no host.
CONTRACT_NOT_HOSTS = [
    *("", "*", "*.a.test", "https://a.test", "a.test/x", "u@a.test", "a b.test", "a..test", "-a.test", "999.1.1.1"),
    *("a.test:0", "a.test:99999", "a.test:", "[::1", "fe80::1%eth0", f"{LABEL_63}a.test", f"{NAME_253}a"),
    *("a\0.test", "a\x1f.test", "a\x85.test", "a\u202e.test", "a\u200b.test", "a\u00ad.test", "a\u200d.test"),
    "a.test:８０",
]

FURTHER_HOSTS = [
    # Plain names.
    ("a", "a", None),
    ("LOCALHOST.", "localhost", None),
    ("_dmarc.a_.test", "_dmarc.a_.test", None),
    ("1.a", "1.a", None),
    ("0x.a", "0x.a", None),
    ("a.1b", "a.1b", None),
    ("a.0xg", "a.0xg", None),
    ("a.0b1", "a.0b1", None),
    ("a.1_0", "a.1_0", None),
    ("a--b.test", "a--b.test", None),
    ("r3---sn-a.test", "r3---sn-a.test", None),
    # Ports.
    ("a.test.:80", "a.test", 80),
    ("a.test:080", "a.test", 80),
    ("a.test:" + "0" * 900 + "80", "a.test", 80),
    ("a.test:65535", "a.test", 65535),
    ("127.1:1", "127.0.0.1", 1),
    # Lengths hold for the name in ASCII, without its trailing dot.
    (f"{LABEL_63}.test", f"{LABEL_63}.test", None),
    (f"{LABEL_63.upper()}.test:1", f"{LABEL_63}.test", 1),
    (NAME_253, NAME_253, None),
    (f"{NAME_253}.", NAME_253, None),
    (f"{NAME_253}.:65535", NAME_253, 65535),
    ("a" * 55 + "ü.test", "xn--" + "a" * 55 + "-8yf.test", None),
    ("e\u0301" * 51 + ".test", "xn--9ca" + "a" * 50 + ".test", None),
    # IPv4 addresses in other spellings.
    ("0", "0.0.0.0", None),
    ("0x", "0.0.0.0", None),
    ("256", "0.0.1.0", None),
    ("0377", "0.0.0.255", None),
    ("4294967295", "255.255.255.255", None),
    ("0XFFFFFFFF", "255.255.255.255", None),
    ("1.2.3.4.", "1.2.3.4", None),
    ("1.2.3", "1.2.0.3", None),
    ("1.65535", "1.0.255.255", None),
    ("0x0.0x0.0x0.0x0", "0.0.0.0", None),
    ("0177.0x0.00.01:80", "127.0.0.1", 80),
    ("１２７｡０。０．１", "127.0.0.1", None),
    ("①②⑦.1", "127.0.0.1", None),
    ("0x７F.1", "127.0.0.1", None),
    # IPv6 addresses.
    ("::", "::", None),
    ("0:0:0:0:0:0:0:1", "::1", None),
    ("2001:DB8::A", "2001:db8::a", None),
    ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", None),
    ("1:2:3:4:5:6:0:8", "1:2:3:4:5:6:0:8", None),
    ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0", None),
    ("0001:0000::00ff", "1::ff", None),
    ("[::1]:0443", "::1", 443),
    ("::ffff:1.2.3.4", "1.2.3.4", None),
    ("::ffff:102:304", "1.2.3.4", None),
    ("[::FFFF:1.2.3.4]:443", "1.2.3.4", 443),
    ("0:0:0:0:0:ffff::", "0.0.0.0", None),
    ("::1.2.3.4", "::102:304", None),
    ("64:ff9b::1.2.3.4", "64:ff9b::102:304", None),
    # Names that UTS 46 maps.
    ("BÜCHER.test", "xn--bcher-kva.test", None),
    ("bu\u0308cher.test", "xn--bcher-kva.test", None),
    ("XN--BCHER-KVA.TEST", "xn--bcher-kva.test", None),
    ("xN--bcher-kva.test.:8443", "xn--bcher-kva.test", 8443),
    ("ß.test", "xn--zca.test", None),
    ("ẞ.test", "xn--zca.test", None),
    ("ς.test", "xn--3xa.test", None),
    ("Σ.test", "xn--4xa.test", None),
    ("☕.test", "xn--53h.test", None),
    ("ǅ.test", "xn--d-toa.test", None),
    ("ﬁ.test", "fi.test", None),
    ("K.test", "k.test", None),
    ("ſ.test", "s.test", None),
    ("ａ。ｔｅｓｔ", "a.test", None),
    ("ａ.test:80", "a.test", 80),
    ("ｘｎ－－bcher-kva.test", "xn--bcher-kva.test", None),
    ("℃.test", "xn--c-0ca.test", None),
    ("ü_ä.test", "xn--_-0fa4e.test", None),
    ("例え。テスト", "xn--r8jz45g.xn--zckzah", None),
    ("ab--ü.test", "xn--ab---3ra.test", None),
    # Right-to-left names.
    ("א.test", "xn--4db.test", None),
    ("xn--4db.test", "xn--4db.test", None),
    ("א1.test", "xn--1-zhc.test", None),
]

FURTHER_NOT_HOSTS = [
    # Empty labels and dots.
    *(".", "..", ".a", "a..", "..a", "。", "a。。test", "a.。", "…", "a…", " ", "\u3000"),
    # Ports.
    *(":80", ".:80", "a.test:65536", "a.test:-1", "a.test:+1", "a.test: 1", "a.test:1 ", "a.test:8_0", "a.test:0x50"),
    *("a.test:00", "a.test:80:80", "a.test：80", "a.test:１", "a.test:٨", "a.test:8８", "a.test:" + "9" * 900),
    # What else a URL holds.
    *("//a.test", "a.test?x", "a.test#x", "a\\b.test", "a%2etest", "%61.test", "a.test%00", "[a.test]", "u:p@a.test"),
    # White space at either end.
    *("a.test\n", "\na.test", "a.test\r\n", "\ta.test", "a.test\t", " a.test", "a.test ", "a.test:80\n", "127.0.0.1\n"),
    *("::1\n", "[::1]\n", "\u2028a.test", "a.test\u00a0", "a.te\nst"),
    # Hyphens where a label begins or ends.
    *("a-.test", "-", "--", "a.-", "a.-b", "a.b-", "a-.1", "-ü.test", "ü-.test", "－a.test", "a.﹣b.test"),
    # Numbers that are no IPv4 address.
    *("a.1", "a.0x", "a.0xf", "1.2.3.4.5", "1.2.3.4.0", "1.2.3.08", "4294967296", "0x100000000", "1.2.3.256", "256.1"),
    *("08", "1.256.1", "1.16777216", "1.2.65536", "1..2", "a.09", "1.2.3.4a.5", "1.2.0xg.4", "a.１", "0" * 64 + "1"),
    # Brackets and IPv6 addresses.
    *("::1]", "[]", "[", "]", "[::1]x", "[::1]:", "[::1]:0", "[::1]:65536", "[::1]:８０", "[[::1]]", "[127.0.0.1]"),
    *("[::1].", "[::1%25eth0]", "::1%1", ":::", "1:::2", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::12345"),
    *("1:2:3:4::5:6:7:8", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "::g", "::1.2.3", "::1.2.3.256", "::1.2.3.04", "::0x1"),
    *("::1.2.3.4:5", "::１", "［::1］", "：：1", "::1/128", "a:b:c"),
    # Punycode that no label encodes to.
    *("xn--.test", "xn---.test", "xn--abc-.test", "xn--ABC-.test", "xn---bbk.test", "xn--99999999.test", "xn--ü.test"),
    *("xn--bücher-kva.test", "xn--", "a.xn--a", "a.xn--abc-", "xn--" + "z" * 60 + ".test"),
    # Punycode of what is no label.
    *[f"{encoded(label)}.test" for label in ("Ü", "u\u0308", "ａ", "ﬁ", "a\u00adb", "क\u094d\u200dष", "\u0301a")],
    *[f"{encoded(label)}.test" for label in ("-ü", "ü-", "xn--ü", "a.ü", "a。b", "a ü", "a:ü", "1א", "\ud800", "\x80")],
    # Code points that are dropped, join, control direction, or are disallowed.
    *("a\ufe0f.test", "☕\ufe0f.test", "क\u094d\u200dष.test", "xn--bcher-kva\u00ad.test", "x\u00adn--zca.test"),
    *("a\u200c.test", "\u034fa.test", "a\ufeff.test", "\U000e0061.test", "a\u061c.test", "a\u2066b\u2069.test"),
    *("a\ufffd.test", "\ue000.test", "\U0010ffff.test", "⒈.test", "\ud800.test", "a.\udfff", "\ud83d\ude00.test"),
    # A combining mark begins a label.
    *("\u0301.test", "a.\u0301b"),
    # Symbols that mapping gives.
    *("！.test", "a＊.test", "a\uff05.test", "a／b.test", "a＠b.test", "℀.test", "；.test", "\u037e.test"),
    # The Bidi rule, for the whole name.
    *("1א.test", "אa.test", "א-ب.1a", "0a.א", "a_.א", "ا1١.test", "א.1a.test", "א\u200fa.test"),
    # Too long, in ASCII.
    *("a" * 64, "a." * 127 + "a", f"{NAME_253}a.", f"{NAME_253}..", f"{NAME_253}b:80", "a" * 56 + "ü.test", "ü" * 60),
    *("日" * 1025, "a.test:" + "0" * 1100 + "80"),
]


def spelled(text: object) -> str:
    spelling = ascii(text)
    return spelling if len(spelling) < 60 else f"{spelling[:20]}...{spelling[-12:]}-{len(spelling)}"


@pytest.mark.parametrize(("text", "name", "port"), CONTRACT_HOSTS + FURTHER_HOSTS, ids=spelled)
def test_a_host_has_one_spelling(text: str, name: str, port: int | None) -> None:
    assert normalise_host(text) == Host(name, port)
    assert is_host(text)


@pytest.mark.parametrize("text", CONTRACT_NOT_HOSTS + FURTHER_NOT_HOSTS, ids=spelled)
def test_anything_else_is_no_host(text: str) -> None:
    assert normalise_host(text) is None
    assert not is_host(text)


@pytest.mark.parametrize("value", [None, True, 1, 2130706433, 1.5, b"a.test", ["a.test"], {"a.test": 1}, object()])
def test_what_is_no_string_is_no_host(value: object) -> None:
    assert is_host(value) is False


@pytest.mark.parametrize("text", ["a.test", "a.test:80", "1.2.3.4:80", "::1", "[::1]:80"])
def test_a_normal_host_is_written_as_it_was_read(text: str) -> None:
    host = normalise_host(text)
    assert host is not None
    assert format_host(host) == text


PLACES: list[Callable[[str], str]] = [
    lambda character: f"{character}ab.test",
    lambda character: f"a{character}b.test",
    lambda character: f"ab{character}.test",
    lambda character: f"a.test{character}",
    lambda character: f"á{character}b.test",
    lambda character: f"1.2.3{character}.4",
    lambda character: f"a.test:8{character}0",
]


def test_no_control_and_no_symbol_of_ascii_is_in_a_name() -> None:
    others = [character for character in map(chr, range(0xA0)) if not re.match(r"[A-Za-z0-9_.:-]", character)]
    assert len(others) == 0xA0 - 66
    assert [text for other in others for place in PLACES if is_host(text := place(other))] == []


def test_no_ignorable_code_point_is_in_a_name_written_or_encoded() -> None:
    # Default_Ignorable_Code_Point of the Unicode Character Database, with the bidirectional controls.
    ranges = [
        *[(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)],
        *[(0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)],
        *[(0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)],
    ]
    ignorable = [chr(code) for first, last in ranges for code in range(first, last + 1)]
    encoded = [f"xn--{('a' + character + 'b').encode('punycode').decode()}.test" for character in ignorable]
    written = [place(character) for character in ignorable for place in PLACES]
    assert [text for text in written + encoded if is_host(text)] == []


@pytest.mark.parametrize("code", [0x378, 0x88F, 0x1C8B, 0x33478, 0x3FFFF])
def test_a_code_point_that_this_python_does_not_know_is_in_no_name(code: int) -> None:
    assert not is_host(f"a{chr(code)}.test") or unicodedata.category(chr(code)) != "Cn"


def test_plain_names_load_no_tables() -> None:
    code = """if True:
        import sys
        from capgate.policy.hosts import is_host
        assert all(map(is_host, ["api.example.com", "API.test.:80", "a_b.test", "127.1"])) and not is_host("a b")
        assert not {"idna", "ipaddress", "unicodedata"} & set(sys.modules)
        assert is_host("\\xfc.test") and is_host("::1") and {"idna", "ipaddress"} <= set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", code], check=True)


any_character = st.characters(exclude_categories=[])
PIECES = [
    *["a", "b", "z", "A", "Z", "0", "1", "8", "9", "x", ".", "-", "_", "255", "256", "0x", "0X7f", "08"],
    *["xn--", "XN--", "bcher-kva", "53h", "zca", "e\u0301", "\u0301", "日本", "한", "ü", "Ü", "ß", "ẞ", "İ", "K", "ſ"],
    *["ﬁ", "☕", "℃", "≠", "ａ", "１", "①", "。", "．", "｡", "…"],
]
RIGHT_TO_LEFT_OR_IGNORABLE = ["א", "ب", "١", "\u00ad", "\u200d", "\ufe0f", "\u202e"]
SYNTAX = ["[", "]", ":", "%", " ", "/", "\n", "\0", "\ud800", "::", "ffff:", "[::1]", ":80", ":080"]
near_hosts = st.lists(
    st.sampled_from(PIECES) | st.sampled_from(RIGHT_TO_LEFT_OR_IGNORABLE + SYNTAX) | any_character, max_size=9
).map("".join)
texts = near_hosts | st.text(any_character) | st.text("0123456789abcdefABCDEF:.[]", max_size=45)
many = settings(deadline=None, derandomize=True, max_examples=300)


@many
@given(texts)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    host = normalise_host(text)
    if host is not None:
        assert normalise_host(format_host(host)) == host
        assert normalise_host(host.name) == Host(host.name, None)


@many
@given(texts)
def test_a_name_is_ascii_within_the_limits_of_dns(text: str) -> None:
    host = normalise_host(text)
    assert is_host(text) == (host is not None)
    if host is not None:
        assert re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:]+", host.name)
        assert len(host.name) <= 253
        assert all(0 < len(label) <= 63 for label in host.name.split("."))
        assert host.port is None or 1 <= host.port <= 65535


@many
@given(texts)
def test_the_case_of_ascii_letters_says_nothing(text: str) -> None:
    swapped = "".join(character.swapcase() if character.isascii() else character for character in text)
    assert normalise_host(swapped) == normalise_host(text)


@many
@given(st.ip_addresses(v=4), st.none() | st.integers(1, 65535))
def test_an_ipv4_address_is_one_host_in_every_spelling(address: ipaddress.IPv4Address, port: int | None) -> None:
    number, (a, b, c, d) = int(address), address.packed
    wide = str.maketrans("0123456789", "０１２３４５６７８９")
    spellings = [
        f"{a}.{b}.{c}.{d}",
        f"{a}.{b}.{c}.{d}.",
        f"{a}.{b}.{number & 0xFFFF}",
        f"{a}.{number & 0xFFFFFF}",
        f"{number}",
        f"{number:#x}",
        f"0{number:o}",
        f"0X{a:04X}.{b:#x}.{c:#x}.{d:#x}",
        f"000{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:#x}.0{b:o}.{c}.{d}",
        str(address).translate(wide),
        str(address).replace(".", "。"),
        f"[::ffff:{address}]",
        f"[::FFFF:{number >> 16:X}:{number & 0xFFFF:X}]",
    ]
    suffix = "" if port is None else f":{port}"
    assert {normalise_host(spelling + suffix) for spelling in spellings} == {Host(str(address), port)}


@many
@given(st.ip_addresses(v=6), st.integers(1, 65535))
def test_an_ipv6_address_is_one_host_in_every_spelling(address: ipaddress.IPv6Address, port: int) -> None:
    name = str(address.ipv4_mapped or address)
    for spelling in (address.compressed, address.exploded, address.exploded.upper()):
        assert normalise_host(spelling) == normalise_host(f"[{spelling}]") == Host(name, None)
        assert normalise_host(f"[{spelling}]:{port}") == Host(name, port)


# ada-url is an independent implementation of the WHATWG URL standard. Left out here are characters newer than
# Unicode 3.2, for which its tables and ours may differ, marks, which it does not always put in canonical order, and
# the ASCII that means something in a URL.
old_characters = st.characters(exclude_categories=["Cs", "Co", "Mn", "Mc", "Me"]).filter(
    lambda character: unicodedata.ucd_3_2_0.category(character) != "Cn" and character not in "\t\n\r#%/:?@[\\]"
)


def name_in_url(host: str) -> str | None:
    try:
        return ada_url.URL(f"http://{host}/").hostname.removesuffix(".")
    except ValueError:
        return None


def begins_or_ends_in_hyphen(label: str) -> bool:
    decoded = label[4:].encode().decode("punycode") if label.startswith("xn--") else label
    return decoded.startswith("-") or decoded.endswith("-")


@many
@given(st.lists(st.sampled_from(PIECES + RIGHT_TO_LEFT_OR_IGNORABLE) | old_characters, max_size=7).map("".join))
def test_a_host_is_what_a_url_parser_reads(text: str) -> None:
    host = normalise_host(text)
    assert host is None or host.name == name_in_url(text)


@many
@given(st.lists(st.sampled_from([piece for piece in PIECES if piece.lower() != "xn--"]), max_size=7).map("".join))
def test_what_a_url_parser_reads_is_a_host_unless_we_are_stricter(text: str) -> None:
    name = name_in_url(text)
    if name is not None and any(not label or begins_or_ends_in_hyphen(label) for label in name.split(".")):
        name = None
    host = normalise_host(text)
    assert (host.name if host else None) == name


@many
@given(
    st.lists(st.sampled_from([*"01fF.:", "12345", "::", "1.2.3.4", ".08"]), max_size=18).map("".join)
    | st.lists(st.sampled_from(["0", "ff", "FFFF", "0001", "1.2.3.4", ""]), min_size=6, max_size=9).map(":".join)
)
def test_an_ipv6_address_is_what_a_url_parser_reads(text: str) -> None:
    theirs = name_in_url(f"[{text}]")
    host = normalise_host(f"[{text}]")
    assert (host is None) == (theirs is None)
    if host is not None and theirs is not None:
        assert host.name == str(ipaddress.IPv6Address(text).ipv4_mapped or theirs.strip("[]"))
