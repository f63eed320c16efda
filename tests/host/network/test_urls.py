"""URLs: what the URL standard and admission read alike (contract 11.14 and 11.32)."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capgate.host.mediation.urls import LONGEST, BadUrl, read_url
from capgate.policy.hosts import normalise_host

BASE = read_url("https://a.test:8443/x/y?z")


@pytest.mark.parametrize(
    ("text", "host", "port", "target"),
    [
        ("http://a.test", "a.test", 80, "/"),
        ("HTTPS://A.TEST:443/X?Y#z", "a.test", 443, "/X?Y"),
        ("http://a.test:8080/", "a.test", 8080, "/"),
        ("http://a.test:/x", "a.test", 80, "/x"),
        ("http://a.test./", "a.test", 80, "/"),
        ("http://a_b.test/", "a_b.test", 80, "/"),
        ("http://bücher.test/ü?ü", "xn--bcher-kva.test", 80, "/%C3%BC?%C3%BC"),
        ("http://BÜCHER。test/", "xn--bcher-kva.test", 80, "/"),
        ("http://2130706433/", "127.0.0.1", 80, "/"),
        ("http://0x7f.1/", "127.0.0.1", 80, "/"),
        ("http://127.1./", "127.0.0.1", 80, "/"),
        ("http://１２７.0.0.1/", "127.0.0.1", 80, "/"),
        ("http://[::1]:8080/", "::1", 8080, "/"),
        ("http://[0:0::1]/", "::1", 80, "/"),
        ("http://[::ffff:7f00:1]/", "127.0.0.1", 80, "/"),
        ("http:a.test/x", "a.test", 80, "/x"),
        ("http:///a.test", "a.test", 80, "/"),
        ("http:\\\\a.test\\x", "a.test", 80, "/x"),
        (" \t\nhttp://a.test/ \0", "a.test", 80, "/"),
        ("http://a.test/a/../b/%2e%2e/c", "a.test", 80, "/c"),
        ("http://a.test/x@y:z", "a.test", 80, "/x@y:z"),
        ("http://a.test\\@b.test/", "a.test", 80, "/@b.test/"),
        ("http://a.test?q=1", "a.test", 80, "/?q=1"),
        ("http://a.test#f@g", "a.test", 80, "/"),
        ("http://a.test/a b\n|\x7f", "a.test", 80, "/a%20b|%7F"),
    ],
)
def test_a_url_is_read_as_browsers_read_it(text: str, host: str, port: int, target: str) -> None:
    url = read_url(text)

    assert (url.host, url.port, url.target) == (host, port, target)
    assert "#" not in url.href
    assert read_url(url.href) == url


@pytest.mark.parametrize(
    "text",
    [
        "", "/x", "a.test", "//a.test/x", "http://", "http://?x", "http:///", "http://#", "ftp://a.test/",
        "file:///etc/passwd", "javascript:alert(1)", "data:,x", "ws://a.test/", "gopher://a.test/", "httpx://a.test/",
        "blob:http://a.test/x", "http://u@a.test/", "http://u:p@a.test/", "http://:p@a.test/", "http://@a.test/",
        "http://:@a.test/", "http:u@a.test", "http://a.test:80@b.test/",
        "http://a b.test/", "http://a..test/", "http://.a.test/", "http://-a.test/", "http://a-.test/", "http://*.a.test/",
        "http://a.test:0/", "http://a.test:99999/", "http://a.test:-1/", "http://a.test:x/", "http://a.test:８０/",
        "http://999.1.1.1/", "http://1.2.3.4.5/", "http://0x100000000/", "http://[::1/", "http://[::1]x/", "http://::1/",
        "http://[fe80::1%25eth0]/", "http://[v1.x]/", "http://so\u00adft.test/", "http://a\u200d.test/",
        "http://%61.test/", "http://%31%32%37.0.0.1/", "http://a%00.test/", "http://a\t.test/", "http://a\n.test/",
        "h\nttp://a.test/", "http:/\t/a.test/", "http://a\0.test/", "http://a\ud800.test/", "http://a.test/\udfff",
        "http://" + "a" * 64 + ".test/", "http://" + "a." * 126 + "test/", "http://a.test/" + "x" * LONGEST,
        "http://xn--a.test/", "http://\u202ea.test/",
    ],
)  # fmt: skip
def test_what_only_one_of_both_reads_is_no_url(text: str) -> None:
    with pytest.raises(BadUrl) as raised:
        read_url(text)
    assert "a.test" not in str(raised.value)
    assert ":p" not in str(raised.value)


@pytest.mark.parametrize(
    "text", ["http://u:p@a.test/", "http://@a.test/", "http:u@a.test", "\\\\u@a.test", "//@a.test"]
)
def test_a_user_name_is_called_what_it_is(text: str) -> None:
    with pytest.raises(BadUrl, match="user name or a password"):
        read_url(text, None if text.startswith("http") else BASE)


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("", "https://a.test:8443/x/y?z"),
        ("r", "https://a.test:8443/x/r"),
        ("/r", "https://a.test:8443/r"),
        ("?q", "https://a.test:8443/x/y?q"),
        ("#f", "https://a.test:8443/x/y?z"),
        ("../../../r", "https://a.test:8443/r"),
        ("//b.test/r", "https://b.test/r"),
        ("\\\\b.test\\r", "https://b.test/r"),
        ("///b.test", "https://b.test/"),
        ("https:r", "https://a.test:8443/x/r"),
        ("https:/r", "https://a.test:8443/r"),
        ("https://b.test", "https://b.test/"),
        ("http:r", "http://r/"),
        ("http://b.test:81/", "http://b.test:81/"),
        ("/u@b.test/", "https://a.test:8443/u@b.test/"),
        ("r:81", None),
        ("//u@b.test/", None),
        ("//@b.test/", None),
        ("http:@b.test/", None),
        ("/\t/b.test/", None),
        ("/\t/@b.test/", None),
        ("/\t/u@b.test/", None),
        ("/\t/u@a.test:8443/", None),
        ("/\t/a.test:0/", None),
        ("//", None),
        ("//b..test/", None),
        ("mailto:u@b.test", None),
        ("javascript:r", None),
    ],
)
def test_a_relative_url_is_read_against_where_it_stood(text: str, href: str | None) -> None:
    if href is None:
        with pytest.raises(BadUrl):
            read_url(text, BASE)
    else:
        assert read_url(text, BASE).href == href


@pytest.mark.parametrize(
    ("text", "authority"),
    [
        ("http://a.test:80/", "a.test"),
        ("http://a.test:443/", "a.test:443"),
        ("https://a.test:443/", "a.test"),
        ("http://[::1]/", "[::1]"),
        ("http://[::1]:81/", "[::1]:81"),
        ("http://[::ffff:127.0.0.1]:81/", "127.0.0.1:81"),
    ],
)
def test_the_authority_names_the_port_unless_it_is_the_usual_one(text: str, authority: str) -> None:
    assert read_url(text).authority == authority


PARTS = st.sampled_from(
    [
        *"abht:/\\?#@[].%0129 \t\n",
        "http:",
        "https:",
        "//",
        "a.test",
        "127.0.0.1",
        "::1",
        "u:p@",
        ".",
        "%2e",
        "\u00ad",
        "é",
    ]
)


@settings(deadline=None, derandomize=True, max_examples=1000)
@given(st.lists(PARTS, max_size=12).map("".join) | st.text())
@example("http://a.test\\@b.test/")
def test_what_is_read_names_a_host_that_admission_knows(text: str) -> None:
    for base in (None, BASE):
        try:
            url = read_url(text, base)
        except BadUrl:
            continue
        host = normalise_host(url.host)
        assert host is not None
        assert (host.name, host.port) == (url.host, None)
        assert url.scheme in ("http", "https")
        assert 0 < url.port < 65536
        assert url.target.startswith("/")
        assert url.target.isascii()
        assert url.target.isprintable()
        assert " " not in url.target
        assert "@" not in url.href.split("/")[2]
        assert read_url(url.href) == url
