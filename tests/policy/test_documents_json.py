"""Strict JSON: what is taken, what is refused, and that both readers agree."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.policy.documents import DocumentError, load_json
from capgate.policy.documents.json_strict import parse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-(2.0**53), 2.0**53) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
LAYOUTS: list[dict[str, Any]] = [
    {"indent": indent, "ensure_ascii": ascii, "separators": separators}
    for indent in (None, 0, 2, "\t")
    for ascii in (True, False)
    for separators in (None, (",", ":"), (" , ", " : "))
]


def same(left: Any, right: Any) -> bool:
    """Equal, types and signs of zero included."""
    return repr(left) == repr(right)


def outcome_of_both(source: bytes) -> tuple[object, object]:
    """What `load_json` and the strict reader alone make of a text: data, or id and place."""

    def outcome(read: Any) -> object:
        try:
            return repr(read())
        except DocumentError as error:
            return error.id, error.span, error.message

    return outcome(lambda: load_json(source, "f").data), outcome(lambda: parse(source.decode(), "f", 1)[0])


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("null", None),
        (" true ", True),
        ("\r\n\tfalse\n", False),
        ("0", 0),
        ("-0", 0),
        ("-0.0", -0.0),
        ("1.0", 1.0),
        ("1e3", 1000.0),
        ("0.1", 0.1),
        ("1E+2", 100.0),
        ("9007199254740992", 2**53),
        ("-9007199254740992", -(2**53)),
        ("9007199254740993.0", 9007199254740992.0),
        ("1e15", 1e15),
        ("9007199254740992.0", 2.0**53),
        ("1e-400", 0.0),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\uD83D\\uDE00\\u00e9"', "😀é"),
        ('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000"', '"\\/\b\f\n\r\t\0'),
        ('"\u2028\x7f"', "\u2028\x7f"),
        ("[]", []),
        ("{}", {}),
        ('{"a": {"a": [1, {}]}, "": []}', {"a": {"a": [1, {}]}, "": []}),
        ('{"a": [["]", "[[["]]}', {"a": [["]", "[[["]]}),
        ("[" * 32 + "]" * 32, json.loads("[" * 32 + "]" * 32)),
        ("[" + "{}," * 40 + "0]", [{}] * 40 + [0]),
    ],
)
def test_sound_text_is_taken_by_both_readers(text: str, data: Any) -> None:
    assert same(load_json(text.encode()).data, data)
    assert same(parse(text, "f", 1)[0], data)


def test_a_document_of_a_mebibyte_is_taken_and_one_byte_more_is_not() -> None:
    source = b'"' + b"x" * (1024 * 1024 - 2) + b'"'
    assert len(load_json(source).data) == len(source) - 2
    with pytest.raises(DocumentError, match="document-too-large") as caught:
        load_json(source + b" ", "big.json")
    assert caught.value.span is not None
    assert str(caught.value.span) == "big.json"


def test_a_duplicate_key_names_both_lines_counted_from_the_first_line() -> None:
    with pytest.raises(DocumentError) as caught:
        load_json(b'{"a": 1,\n\n"a": 2}', "lines.jsonl", first_line=10)
    assert caught.value.to_json() == {
        "id": "duplicate-key",
        "message": "the key 'a' is given twice, on lines 10 and 12",
        "hint": DocumentError.ids["duplicate-key"],
        "file": "lines.jsonl",
        "line": 12,
        "column": 1,
    }


@pytest.mark.parametrize("source", [b"\xef\xbb\xbf1", b"\xff"])
def test_errors_of_encoding_count_from_the_first_line(source: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        load_json(source, first_line=7)
    assert caught.value.span is not None
    assert caught.value.span.line == 7


def test_a_message_repeats_little_of_a_hostile_text() -> None:
    with pytest.raises(DocumentError) as caught:
        load_json(json.dumps({"k" * 5000: 1}).encode()[:-1] + b', "' + b"k" * 5000 + b'": 2}')
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{'a': 1}", "double quotes"),
        ("[abc]", "double quotes"),
        ('{"a": True}', "true, false and null"),
        ("[None]", "true, false and null"),
        ("[1,]", "comma"),
        ("[01]", "leading zero"),
        ('["\t"]', "\\u0009"),
        ("[1] // x", "no comments"),
        ("[1 /* x */]", "no comments"),
        ("[# x\n1]", "no comments"),
    ],
)
def test_a_common_mistake_has_a_hint_of_its_own(text: str, hint: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load_json(text.encode())
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "text", ["9007199254740994.0", "-9007199254740994.0", "1e16", "1e20", "1e308", "1E400", "-1e999"]
)
def test_a_number_that_its_canonical_form_could_not_be_read_back_from_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="number-inexact"):
        load_json(f"[{text}]".encode())


def test_nesting_within_reach_is_read_even_close_to_the_recursion_limit() -> None:
    source = b"[" * 32 + b"]" * 32

    def descend() -> Any:
        try:
            return descend()
        except RecursionError:
            return None

    assert descend() is None
    assert load_json(source).data == json.loads(source)
    with pytest.raises(DocumentError, match="document-too-deep"):
        load_json(b"[" * 100_000)
    with pytest.raises(DocumentError, match="document-too-deep"):
        load_json(b'{"a":' * 100_000)


@given(JSON, st.sampled_from(LAYOUTS))
@settings(deadline=None, derandomize=True)
def test_what_is_dumped_loads_equal_by_both_readers(value: Any, layout: dict[str, Any]) -> None:
    text = json.dumps(value, **layout)
    expected = repr(json.loads(text))
    assert outcome_of_both(text.encode()) == (expected, expected)


FRAGMENTS = ["{", "}", "[", "]", ",", ":", '"', "\\", "\\ud800", "\\u00e9", "'", " ", "\n", "\r", "\t", "\0", "1", "-"]
FRAGMENTS += ["0", ".", "e", "E", "+", "1e999", "9" * 17, "NaN", "-Infinity", "true", "null", "é", "😀", '"a":1', "//"]


@given(JSON, st.sampled_from(LAYOUTS), st.data())
@settings(deadline=None, derandomize=True, max_examples=400)
def test_both_readers_agree_on_mutated_text(value: Any, layout: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value, **layout)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 3)))
        text = text[:start] + data.draw(st.sampled_from(["", *FRAGMENTS])) + text[end:]
    fast, strict = outcome_of_both(text.encode())
    assert fast == strict


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join))
@settings(deadline=None, derandomize=True, max_examples=400)
def test_both_readers_agree_on_text_of_fragments(text: str) -> None:
    fast, strict = outcome_of_both(text.encode())
    assert fast == strict


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda tail: b'{"a": [' + tail))
@settings(deadline=None, derandomize=True, max_examples=300)
def test_random_bytes_raise_nothing_but_document_errors(source: bytes) -> None:
    try:
        json.dumps(load_json(source).data)
    except DocumentError as error:
        assert error.span is not None


@given(JSON)
@settings(deadline=None, derandomize=True)
def test_strict_loading_takes_nothing_that_the_standard_library_refuses(value: Any) -> None:
    text = json.dumps(value)[:-1]
    try:
        data = load_json(text.encode()).data
    except DocumentError:
        return
    assert same(data, json.loads(text))
