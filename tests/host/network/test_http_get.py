"""The primitive ``http-get``: what it asks for, and what it makes of the answer (contract 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.mediation.network import NetworkSettings
from capgate.plugins.api import Call, Given, Refused, Response
from capgate.plugins.primitives.http_get import HTTP_GET
from network_samples import answer, pages, serving, session

KEYS = ["Answer", "Heading", "AbstractText", "RelatedTopics", "Text", "web", "results", "url"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
)


class Fetcher:
    """Answers every request alike, and writes them down."""

    def __init__(self, body: bytes = b"", content_type: str = "text/plain"):
        self.asked: list[tuple[Any, ...]] = []
        self._response = Response(200, "a.test", "http://b.test", ("http://a.test/", "http://b.test/"), "2/9", {}, body)
        self._response = self._response._replace(headers={"content-type": content_type} if content_type else {})

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        secret_headers: Mapping[str, str] | None = None,
    ) -> Response:
        self.asked.append((method, url, headers, body, dict(secret_headers or {})))
        return self._response


def invoke(fetcher: Any, arguments: Mapping[str, str] | None = None, params: Mapping[str, Any] | None = None) -> Any:
    assert HTTP_GET.invoke is not None
    return HTTP_GET.invoke(Call("buoy_get", arguments or {}, params or {}), Given({"network": fetcher}))


def asked(arguments: Mapping[str, str], params: Mapping[str, Any]) -> Any:
    fetcher = Fetcher()
    invoke(fetcher, arguments, params)
    return fetcher.asked


def said(body: bytes, content_type: str = "application/json") -> Any:
    return invoke(Fetcher(body, content_type), {"url": "http://a.test/"})


def test_the_result_has_the_fields_of_the_contract() -> None:
    assert invoke(Fetcher(b"hello"), {"url": "http://a.test/"}) == {
        "status": 200,
        "host": "a.test",
        "servedBy": "http://b.test",
        "via": ["http://a.test/", "http://b.test/"],
        "request": "2/9",
        "body": "hello",
    }


@pytest.mark.parametrize(
    ("arguments", "params", "url"),
    [
        ({"url": "http://a.test/x"}, {"url": "http://a.test/y"}, "http://a.test/x"),
        ({}, {"url": "http://a.test/y"}, "http://a.test/y"),
        ({}, {}, ""),
        ({}, {"url": 5}, ""),
        ({"query": "two words"}, {"url": "http://a.test/"}, "http://a.test/?q=two+words"),
        ({"q": "é&=#?"}, {"url": "http://a.test/"}, "http://a.test/?q=%C3%A9%26%3D%23%3F"),
        ({"query": "*-._~'()"}, {"url": "http://a.test/"}, "http://a.test/?q=*-._%7E%27%28%29"),
        ({"query": "one", "q": "other"}, {"url": "http://a.test/"}, "http://a.test/?q=one"),
        ({"query": "", "q": "other"}, {"url": "http://a.test/"}, "http://a.test/?q=other"),
        ({"query": ""}, {"url": "http://a.test/?"}, "http://a.test/?"),
        ({"query": "one"}, {"url": "http://a.test/?"}, "http://a.test/?q=one"),
        ({"query": "one"}, {"url": "http://a.test/?format=json"}, "http://a.test/?format=json&q=one"),
        ({"query": "one"}, {"url": "http://a.test/?format=json#part"}, "http://a.test/?format=json&q=one#part"),
        ({"query": "one"}, {"url": "http://a.test/#a?q=2"}, "http://a.test/?q=one#a?q=2"),
        ({"query": "one"}, {"url": "http://a.test/?q=mine"}, "http://a.test/?q=mine"),
        ({"query": "one"}, {"url": "http://a.test/?q="}, "http://a.test/?q="),
        ({"query": "one"}, {"url": "http://a.test/?q"}, "http://a.test/?q"),
        ({"query": "one"}, {"url": "http://a.test/?%71=mine"}, "http://a.test/?%71=mine"),
        ({"query": "one"}, {"url": "http://a.test/?qq=mine"}, "http://a.test/?qq=mine&q=one"),
        ({"query": "one"}, {"url": " http://a.test/x \n"}, "http://a.test/x?q=one"),
        ({"query": "\ud800"}, {"url": "http://a.test/"}, "http://a.test/?q=%3F"),
        ({"query": "one"}, {}, "?q=one"),
    ],
)
def test_the_query_goes_into_a_url_that_has_none(arguments: dict[str, str], params: dict[str, Any], url: str) -> None:
    assert asked(arguments, params) == [("GET", url, None, None, {})]


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"X-Key": "$KEY"}, {"X-Key": "$KEY"}),
        ({"X-Key": "$KEY", "X-Plain": "value", "X-Late": " $KEY", "X-Odd": 5}, {"X-Key": "$KEY"}),
        ({}, {}),
        (None, {}),
        ("$KEY", {}),
    ],
)
def test_only_headers_that_name_a_variable_are_sent(headers: object, sent: dict[str, str]) -> None:
    assert asked({"url": "http://a.test/"}, {"headers": headers})[0][4] == sent


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"x" * 2000, "x" * 2000),
        (b"x" * 2001, "x" * 2000),
        ("\U0001f30a".encode() * 1001, "\U0001f30a" * 1000),
        (b"x" + "\U0001f30a".encode() * 1000, "x" + "\U0001f30a" * 999),
        (b"\xef\xbb\xbfx", "x"),
        (b"\xff\xfe\x00", "\ufffd\ufffd\0"),
        (b"", ""),
    ],
)
def test_the_body_is_cut_at_2000_units_of_utf_16(body: bytes, shown: str) -> None:
    found = said(body)["body"]

    assert found == shown
    found.encode()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ({"Answer": "42", "AbstractText": "x", "Heading": "y"}, "42"),
        ({"Answer": "", "AbstractText": "A buoy floats.", "Heading": "Buoy"}, "Buoy: A buoy floats."),
        ({"Answer": {"from": "calculator"}, "AbstractText": "A buoy floats."}, "A buoy floats."),
        ({"Heading": "Buoy", "AbstractText": ""}, None),
        (
            {"RelatedTopics": [{"Name": "x", "Topics": []}, {"Text": ""}, {"Text": "first"}, {"Text": "second"}]},
            "first",
        ),
        ({"RelatedTopics": [5, None, "x"]}, None),
        ({"RelatedTopics": {"Text": "x"}}, None),
        (
            {
                "web": {
                    "results": [
                        {"title": "A", "description": "b", "url": "http://c"},
                        {"title": "D", "url": "http://e"},
                    ]
                }
            },
            "A: b\nhttp://c\n\nD\nhttp://e",
        ),
        ({"web": {"results": [5, {}]}}, None),
        ({"web": {"results": "x"}}, None),
        ({"web": 5}, None),
        ({}, None),
        ([{"Answer": "42"}], None),
        ("Answer", None),
        (None, None),
    ],
)
def test_an_answer_is_found_in_json(data: object, found: str | None) -> None:
    assert said(json.dumps(data).encode()).get("answer") == found


@pytest.mark.parametrize(
    ("content_type", "body", "found"),
    [
        ("application/json", b' {"Answer": "42"}', True),
        ("application/ld+JSON; charset=utf-8", b'\n{"Answer": "42"}', True),
        ("text/html", b'{"Answer": "42"}', True),
        ("", b'{"Answer": "42"}', True),
        ("text/html", b' {"Answer": "42"}', False),
        ("application/json", b'{"Answer": "42"', False),
        ("application/json", b"", False),
        ("application/json", b'{"Answer": "42", "n": ' + b"9" * 5000 + b"}", False),
        ("application/json", b'{"a": ' * 50_000, False),
        ("application/json", b"[" * 100_000, False),
        ("application/json", b'{"Answer": "\xff"}', True),
    ],
)
def test_json_is_known_by_its_type_or_its_first_letter(content_type: str, body: bytes, found: bool) -> None:
    assert ("answer" in said(body, content_type)) == found


def test_half_a_character_in_an_answer_is_shown_as_such() -> None:
    assert said(b'{"Answer": "\\ud83c"}')["answer"] == "\ufffd"


@settings(deadline=None, derandomize=True)
@given(st.binary(max_size=200) | JSON.map(lambda data: json.dumps(data).encode()))
def test_no_body_breaks_it(body: bytes) -> None:
    json.dumps(said(body), ensure_ascii=False).encode()


def test_it_works_over_the_real_fetch() -> None:
    with serving(pages(search=answer(b'{"Answer": "42"}', Content_Type="application/json"))) as server:
        one = session(settings=NetworkSettings(variables=frozenset({"KEY"})), environ={"KEY": "sesame-seed"}, most=1)
        call = (
            {"query": "wave height"},
            {"url": f"{server.url}/search", "headers": {"X-Key": "$KEY", "X-Plain": "no"}},
        )
        result = invoke(one.fetch, *call)
        with pytest.raises(Refused) as raised:
            invoke(one.fetch, *call)

    assert result["request"] == "1/1"
    assert result["answer"] == "42"
    assert result["servedBy"] == f"http://127.0.0.1:{server.port}"
    assert server.requests[0].startswith("GET /search?q=wave+height HTTP/1.1\r\n")
    assert server.sent("x-key") == ["sesame-seed"]
    assert server.sent("x-plain") == [None]
    assert raised.value.id == "budget-exhausted"
