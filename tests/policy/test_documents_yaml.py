"""Strict YAML: the core schema, anchors, and hostile text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.policy.documents import DocumentError, load_json, load_yaml


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs each test with both parsers."""
    if request.param == "python":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml here")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, None) for text in ("null", "Null", "NULL", "~")),
        *((text, True) for text in ("true", "True", "TRUE")),
        *((text, False) for text in ("false", "False", "FALSE")),
        *((text, text) for text in ("no", "yes", "on", "off", "Yes", "NO", "y", "n", "tRUE", "nULL", "None")),
        *(
            (text, text)
            for text in ("12:30:45", "2024-01-01", "1_000", "0b11", "1.2.3", "-0o17", "+0x1F", "0o8", "0xG")
        ),
        *((text, text) for text in (".", "+", "-.", "1e", "e3", "<<", ".infinity", "=", "v1", "+.e1")),
        ("017", 17),
        ("0", 0),
        ("-0", 0),
        ("+1", 1),
        ("-12", -12),
        ("0o17", 15),
        ("0x1F", 31),
        ("9007199254740992", 2**53),
        ("-9007199254740992", -(2**53)),
        ("0x20000000000000", 2**53),
        ("000000000000000000000000000000012", 12),
        ("-00000000000000000000000000000000", 0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1.5E-2", 0.015),
        ("-0.0", -0.0),
        ("1e-400", 0.0),
        ("'1'", "1"),
        ('"null"', "null"),
        ('"\\x41\\u00e9\\U0001f600\\0"', "Aé😀\0"),
        ("'\\ud800'", "\\ud800"),
        ("|\n  1\n", "1\n"),
        (">-\n  a\n  b\n", "a b"),
    ],
)
def test_a_scalar_means_what_the_core_schema_says(text: str, value: Any) -> None:
    assert repr(load_yaml(f"k: {text}".encode()).data["k"]) == repr(value)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("no: on\nyes: off\n", {"no": "on", "yes": "off"}),
        ("a:\nb:\n", {"a": None, "b": None}),
        ("- a\n-\n- - b\n", ["a", None, ["b"]]),
        ("'<<': 1\n\"1\": 2\n", {"<<": 1, "1": 2}),
        ("--- ~\n", None),
        ("---\na: 1\n...\n", {"a": 1}),
        ("# c\n---\na: '%x'\n", {"a": "%x"}),
        ("a: &x {b: [1]}\nc: *x\n", {"a": {"b": [1]}, "c": {"b": [1]}}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("&k a: *k\n", {"a": "a"}),
        ("&x [&x 1, *x]\n", [1, 1]),
        ('{"a": [1, 2.0, "x"], "b": {}}', {"a": [1, 2.0, "x"], "b": {}}),
        ("? a\n: b\n", {"a": "b"}),
        ("[" * 64 + "]" * 64, json.loads("[" * 64 + "]" * 64)),
    ],
)
def test_sound_text_is_taken(text: str, data: Any) -> None:
    assert load_yaml(text.encode()).data == data


def test_an_empty_key_is_no_string() -> None:
    with pytest.raises(DocumentError, match="yaml-key-not-string: an empty key"):
        load_yaml(b"?\n: x\n")


def test_a_key_that_is_a_number_has_the_hint_to_quote_it() -> None:
    with pytest.raises(DocumentError, match="quotes") as caught:
        load_yaml(b"a: 1\n1: 2\n")
    assert caught.value.message == "the plain key '1' is no string"


def test_a_duplicate_key_names_both_lines() -> None:
    with pytest.raises(DocumentError, match="on lines 1 and 4"):
        load_yaml(b"a: 1\nb: 2\n\na: 3\n")


def test_a_tab_as_indent_has_a_hint_of_its_own() -> None:
    with pytest.raises(DocumentError, match="spaces, not with tabs"):
        load_yaml(b"a:\n\tb: 1\n")


def test_aliases_may_stand_for_ten_thousand_values_and_not_one_more() -> None:
    # Each alias stands for a list and its 99 items.
    text = "a: &a [" + ",".join("x" * 99) + "]\nb: [" + ",".join(["*a"] * 100) + "]\n"
    assert load_yaml(text.encode()).data["b"][99] == ["x"] * 99
    with pytest.raises(DocumentError, match="yaml-alias-bomb"):
        load_yaml(text.encode() + b"c: &c 1\nd: *c\n")


def test_a_document_over_a_mebibyte_is_refused() -> None:
    with pytest.raises(DocumentError, match="document-too-large"):
        load_yaml(b"a" * (1024 * 1024 + 1))


@pytest.mark.long
@pytest.mark.parametrize("unit", ["[", "{", "[\n", "- ", "-\n", "? ", "{a: ", "[[", '["a", ', "- [", "&a [", "[ # x\n"])
def test_a_hundred_thousand_levels_end_in_an_error(unit: str) -> None:
    limit = 1024 * 1024 // len(unit)
    with pytest.raises(DocumentError) as caught:
        load_yaml((unit * min(100_000, limit) + "x: [\n").encode())
    assert caught.value.id in {"document-too-deep", "yaml-key-not-string", "yaml-syntax"}


PIECES = ["a", "b: ", "- ", "\n", "  ", "\t", ": ", "? ", "[", "]", "{", "}", ", ", "'", '"', "&x ", "*x", "!t ", "! "]
PIECES += [
    "|",
    ">",
    "# c",
    "---",
    "...",
    "%YAML 1.2",
    "<<",
    "~",
    "1",
    ".inf",
    "\\",
    "\\ud800",
    "\\U00110000",
    "é",
    "😀",
]
PIECES += ["\r", "\u2028", "\ufeff", "\0", "no", "null", "0x", "@", "`", "\n- ", "\nk: ", "k: "]


@pytest.mark.long
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.binary(max_size=40).map(bytes))
@settings(deadline=None, derandomize=True, max_examples=1000)
def test_yaml_like_text_raises_nothing_but_document_errors(source: str | bytes) -> None:
    for libyaml in {yaml.__with_libyaml__, False}:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(yaml, "__with_libyaml__", libyaml)
            try:
                json.dumps(load_yaml(source.encode() if isinstance(source, str) else source).data)
            except DocumentError as error:
                assert error.span is not None
                assert error.span.column


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="\u2028\u2029\ufeff"))
PLAIN_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)


@given(PLAIN_DATA, st.sampled_from([None, 2]))
@settings(deadline=None, derandomize=True)
def test_json_is_yaml(value: Any, indent: int | None) -> None:
    source = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    if re.search(rb'[^\n]{1000}"\s*:', source):
        return  # a simple key in YAML has 1,024 characters at most
    assert repr(load_yaml(source).data) == repr(load_json(source).data)
