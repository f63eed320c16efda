"""Canonical JSON and digests."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.policy.documents import DocumentError, canonical, digest, load_json

LOOP: list[Any] = []
LOOP.append({"again": LOOP})


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (5.0, "5"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (5e-324, "5e-324"),
        (2**53, "9007199254740992"),
        (-(2**53), "-9007199254740992"),
        (2**53 - 1, "9007199254740991"),
        ("é\n\x1f\x7f/", '"é\\n\\u001f\x7f/"'),
        ({"b": 1, "a": [1, {}]}, '{"a":[1,{}],"b":1}'),
        # Keys go by UTF-16 units, where the surrogates of U+1F600 come before U+FB01.
        ({"\ufb01": 2, "\U0001f600": 1}, '{"\U0001f600":1,"\ufb01":2}'),
    ],
)
def test_a_value_has_one_spelling(value: Any, text: str) -> None:
    assert canonical(value).decode() == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "$ is a number that is not finite"),
        ([float("-inf")], "$[0] is a number that is not finite"),
        ({"n": 2**53 + 1}, "$.n is an integer beyond 9007199254740992"),
        (-(2**53) - 1, "$ is an integer beyond 9007199254740992"),
        ({"a": {1: 2}}, "$.a is an object with a key of type int"),
        ({None: 2}, "$ is an object with a key of type NoneType"),
        ("\ud800", "$ is a string with half a surrogate pair"),
        ({"\ud800": 1}, "$ is an object with half a surrogate pair in a key"),
        ((1, 2), "$ is a value of type tuple"),
        ({1}, "$ is a value of type set"),
        (b"x", "$ is a value of type bytes"),
        ([object()], "$[0] is a value of type object"),
        (type("Text", (str,), {})("x"), "$ is a value of type Text"),
        (LOOP, "the value nests deeper than 128 levels, or holds itself"),
        (nested(129), "the value nests deeper than 128 levels, or holds itself"),
        (nested(100_000), "the value nests deeper than 128 levels, or holds itself"),
    ],
)
def test_what_cannot_be_written_is_refused(value: Any, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        canonical(value)
    assert (caught.value.id, caught.value.message) == ("not-canonical", message)


def test_a_hundred_and_twenty_eight_levels_are_written() -> None:
    assert canonical(nested(128)) == b"[" * 128 + b"0" + b"]" * 128


def test_too_little_stack_left_is_a_document_error() -> None:
    value = nested(128)

    def descend(levels: int) -> bytes:
        return canonical(value) if levels == 0 else descend(levels - 1)

    canonical(0)  # so that nothing is imported down there
    frame: Any = sys._getframe()
    used = 0
    while frame:
        used, frame = used + 1, frame.f_back
    with pytest.raises(DocumentError, match="nests too deep to be written from here"):
        descend(sys.getrecursionlimit() - used - 100)


def test_a_digest_names_its_algorithm() -> None:
    assert digest({"b": 1.0, "a": 2}) == "sha256:" + hashlib.sha256(b'{"a":2,"b":1}').hexdigest()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    # From 2^53 to 10^21 floats are written without exponent, which `load_json` refuses as integers.
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(JSON)
@settings(deadline=None, derandomize=True)
def test_canonical_text_loads_equal_and_is_stable(value: Any) -> None:
    text = canonical(value)
    data = load_json(text).data
    assert data == value
    assert canonical(data) == text
    assert json.loads(text) == value


_ASCII = st.text(st.characters(max_codepoint=0x7F), max_size=5)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=5) | st.floats(-1e15, 1e15),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_ASCII, inner, max_size=5),
    max_leaves=20,
)


@given(PLAIN)
@settings(deadline=None, derandomize=True)
def test_a_value_is_written_as_the_library_of_the_standard_writes_it(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("members", [10_000, 49_998, 50_000, 60_000])
def test_a_large_value_is_written_as_the_library_of_the_standard_writes_it(members: int) -> None:
    value = {f"key {members - index}": [f"{index} …\u2028\x7f\x00😀"] for index in range(members)}
    assert canonical(value) == rfc8785.dumps(value)


@given(st.dictionaries(st.text(), st.integers(0, 9), min_size=2))
@settings(deadline=None, derandomize=True)
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))


def test_a_value_that_holds_another_many_times_over_is_refused_in_time() -> None:
    value: Any = "x"
    for _ in range(100):
        value = [value, value]
    looped: dict[str, Any] = {}
    looped["a"] = looped["b"] = looped
    for odd in (value, looped):
        with pytest.raises(DocumentError, match="not-canonical"):
            canonical(odd)


@pytest.mark.parametrize("number", [2.0**53 + 2, 1e20, 1e300, -1e300, 2**53 + 1])
def test_a_number_that_could_not_be_read_back_is_not_written(number: float) -> None:
    with pytest.raises(DocumentError, match="not-canonical"):
        canonical([number])
