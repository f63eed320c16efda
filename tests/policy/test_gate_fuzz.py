"""Whatever a descriptor holds, also values that JSON does not have, the gate answers, and alike at every entry."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capgate
from capgate.policy.errors import CapgateError
from capgate.policy.gate import Gate

IN_CI = settings(deadline=None, derandomize=True)


class Text(str):
    """A string that is not of JSON's own type."""

    __slots__ = ()


class Map(dict[Any, Any]):
    """The same of an object."""


class Items(list[Any]):
    """The same of a list."""


def judge(gate: Gate, subject: Any, taken: frozenset[str] = frozenset()) -> None:
    """Asks all that can be asked of a descriptor."""
    verdict = gate.admit(subject, "machine", taken)
    assert gate.decide(subject, "machine", taken) == verdict.rule
    assert (verdict.decision == "admitted") is (verdict.rule is None)
    assert json.dumps(verdict.to_json())
    try:
        plan = gate.plan(subject, "machine", taken)
    except CapgateError as error:
        assert error.id == "not-canonical"
    else:
        assert plan.verdict.rule == verdict.rule
        assert plan.to_json()["digest"] == plan.digest
    if verdict.admitted:
        assert may_be_admitted(subject)


def may_be_admitted(subject: Any) -> bool:
    """What every admitted descriptor is, whatever else it holds: plain JSON types where the contract looks."""

    def whole(value: Any, least: int) -> bool:
        return (type(value) is int or (type(value) is float and value.is_integer())) and value >= least

    def laid_out(wasm: Any) -> bool:
        fields = {
            "buffer-abi/1": ("input.addr", "input.maxBytes", "output.addr", "output.bytes"),
            "buffer-abi/diff": (
                "inputA.addr",
                "inputA.maxBytes",
                "inputB.addr",
                "inputB.maxBytes",
                "output.addr",
                "output.maxBytes",
            ),
        }
        names = [name.split(".") for name in fields[str(wasm["abi"])]]
        return all(whole(wasm[holder][field], 0) for holder, field in names)

    needs = {
        "now": None,
        "read-file": "read",
        "list-files": "read",
        "write-file": "write",
        "http-get": "network",
        "wasm": None,
    }
    capabilities = subject.get("capabilities")
    bounds = subject.get("bounds")
    names = [tool["name"] for tool in subject["tools"]]
    return (
        type(subject) is dict
        and (capabilities is None or type(capabilities) is list)
        and all(type(name) is str and name in ("read", "write", "network") for name in capabilities or ())
        and ("network" not in (capabilities or ()) or (len(bounds["hosts"]) > 0 and whole(bounds["maxRequests"], 1)))
        and ("network" not in (capabilities or ()) or all(type(host) is str for host in bounds["hosts"]))
        and subject.get("runsIn") in (None, "host", "remote")
        and type(subject["tools"]) is list
        and all(type(name) is str and re.fullmatch("[a-z0-9_]+", name) for name in names)
        and len(set(names)) == len(names) > 0
        and all(needs[tool["primitive"]] in (None, *(capabilities or ())) for tool in subject["tools"])
        and all(tool["primitive"] != "wasm" or laid_out(tool["wasm"]) for tool in subject["tools"])
    )


FEED: dict[str, Any] = {
    "id": "feed",
    "runsIn": "remote",
    "capabilities": ["network", "read"],
    "bounds": {"hosts": ["buoys.test"], "maxRequests": 12, "maxBytes": 4096, "window": "day"},
    "tools": [
        {
            "name": "get",
            "primitive": "http-get",
            "params": {"url": "https://buoys.test/", "headers": {"X-Key": "$KEY"}},
        },
        {"name": "read", "primitive": "read-file", "params": {"path": "a"}},
        {
            "name": "hash",
            "primitive": "wasm",
            "wasm": {
                "path": "hash.wasm",
                "digest": "0" * 64,
                "abi": "buffer-abi/1",
                "call": {"export": "run"},
                "input": {"addr": 0, "maxBytes": 8},
                "output": {"addr": 8, "bytes": 8},
            },
        },
    ],
}


def deep(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def cyclic_object() -> Any:
    value: dict[str, Any] = {"name": "a", "primitive": "now"}
    value |= {"a": value, "tools": [value], "capabilities": [value], "bounds": value}
    return value


def cyclic_list() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


ODD: dict[str, Any] = {
    "a tuple": ("read",),
    "an empty tuple": (),
    "a set": {"read"},
    "bytes": b"read",
    "a text of another class": Text("read"),
    "an object of another class": Map(FEED),
    "a list of another class": Items(["read"]),
    "not a number": math.nan,
    "infinity": math.inf,
    "a huge number": 10**5000,
    "a huge negative number": -(10**5000),
    "a decimal": Decimal(1),
    "a complex number": 1j,
    "a bare object": object(),
    "a type": dict,
    "a function": len,
    "half a character": "\ud800",
    "deep lists": deep(5000, lambda value: [value]),
    "deep objects": deep(5000, lambda value: {"a": value}),
    "deep tuples": deep(5000, lambda value: (value,)),
    "deep tools": deep(5000, lambda value: {"tools": [value], "bounds": value, "params": value, "wasm": value}),
    "a list in itself": cyclic_list(),
    "an object in itself": cyclic_object(),
    "odd keys": {None: [], 5: (), True: {}, b"a": 1, ("a", 1): 2, math.nan: 3, Text("name"): 4, "\ud800": []},
    "texts of another class": {key: Text(key) for key in ("name", "primitive", "abi", "path", "digest", "hosts")},
}
PLACES: tuple[tuple[Any, ...], ...] = (
    (),
    ("id",),
    ("runsIn",),
    ("capabilities",),
    ("capabilities", 0),
    ("capabilities", 1),
    ("bounds",),
    ("bounds", "hosts"),
    ("bounds", "hosts", 0),
    ("bounds", "maxRequests"),
    ("bounds", "maxBytes"),
    ("bounds", "window"),
    ("bounds", "other"),
    ("tools",),
    ("tools", 0),
    ("tools", 0, "name"),
    ("tools", 0, "primitive"),
    ("tools", 0, "params"),
    ("tools", 0, "params", "x"),
    ("tools", 0, "params", "headers"),
    ("tools", 0, "params", "headers", "X-Key"),
    ("tools", 2, "wasm"),
    ("tools", 2, "wasm", "path"),
    ("tools", 2, "wasm", "digest"),
    ("tools", 2, "wasm", "abi"),
    ("tools", 2, "wasm", "call"),
    ("tools", 2, "wasm", "call", "export"),
    ("tools", 2, "wasm", "input"),
    ("tools", 2, "wasm", "input", "addr"),
    ("other",),
)


def put(place: tuple[Any, ...], value: Any) -> Any:
    """The sound descriptor with something else at one place."""
    if not place:
        return value
    subject = copy.deepcopy(FEED)
    holder: Any = subject
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    return subject


@pytest.fixture(scope="module")
def gate() -> Gate:
    return capgate.open_gate()


def test_the_sound_descriptor_is_admitted(gate: Gate) -> None:
    assert gate.decide(FEED) is None


@pytest.mark.parametrize("odd", ODD)
def test_a_value_of_no_json_type_is_judged_wherever_it_stands(gate: Gate, odd: str) -> None:
    for place in PLACES:
        judge(gate, put(place, ODD[odd]))


@pytest.mark.parametrize("cut", [("tools", 2, "wasm", "input"), ("tools", 2, "wasm", "output")])
@pytest.mark.parametrize(
    "text",
    [("tools", 2, "wasm", "abi"), ("tools", 2, "primitive"), ("tools", 2, "wasm", "digest"), ("capabilities", 0)],
)
def test_a_text_of_another_class_hides_nothing(gate: Gate, text: tuple[Any, ...], cut: tuple[Any, ...]) -> None:
    subject = put(cut, {})
    holder = subject
    for step in text[:-1]:
        holder = holder[step]
    holder[text[-1]] = Text(holder[text[-1]])
    assert gate.decide(subject) is not None


@pytest.mark.parametrize("text", PLACES[1:])
def test_what_is_refused_of_a_text_is_refused_of_a_text_of_another_class(gate: Gate, text: tuple[Any, ...]) -> None:
    for value in ("process", "exec", "eval", "delete", "bogus", "", "buffer-abi/2", "A", "a b"):
        if gate.decide(put(text, value)) is not None:
            assert gate.decide(put(text, Text(value))) is not None


ODD_KEYS = st.none() | st.booleans() | st.integers(-1, 1) | st.binary(max_size=2) | st.tuples(st.text(max_size=1))
KNOWN_KEYS = st.sampled_from(
    "id name runsIn source capabilities bounds tools primitive params headers wasm path digest abi call export input "
    "addr maxBytes output bytes hosts maxRequests window".split()
)
WORDS = st.sampled_from(
    [
        *(
            "read",
            "write",
            "network",
            "exec",
            "eval",
            "delete",
            "now",
            "read-file",
            "http-get",
            "wasm",
            "process",
            "host",
        ),
        *(
            "day",
            "a",
            "a_b",
            "A",
            "",
            "a.test",
            "*.test",
            "buffer-abi/1",
            "0" * 64,
            "\ud800",
            "$KEY",
            "list_extensions",
        ),
    ]
)
LEAVES = st.one_of(
    WORDS,
    WORDS.map(Text),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(max_size=2),
    st.sampled_from([1, -1]).map(lambda sign: sign * 10**5000),
    st.sampled_from([1j, Decimal(2), object()]),
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maps = st.dictionaries(KNOWN_KEYS | ODD_KEYS | WORDS, inner, max_size=5)
    lists = st.lists(inner, max_size=3)
    return maps | lists | lists.map(tuple) | maps.map(Map) | lists.map(Items)


ANYTHING = st.recursive(LEAVES, nested, max_leaves=12)
NEARLY = st.fixed_dictionaries(
    {"tools": st.lists(st.fixed_dictionaries({"name": WORDS | ANYTHING, "primitive": WORDS | ANYTHING}), max_size=3)},
    optional={"capabilities": st.lists(WORDS, max_size=3) | ANYTHING, "bounds": ANYTHING, "runsIn": WORDS | ANYTHING},
)


@pytest.mark.long
@settings(parent=IN_CI, max_examples=500)
@given(subject=ANYTHING | NEARLY, taken=st.frozensets(st.sampled_from(["a", "a_b", "get"])))
def test_any_value_is_judged(gate: Gate, subject: Any, taken: frozenset[str]) -> None:
    judge(gate, subject, taken)


@pytest.mark.long
@settings(parent=IN_CI, max_examples=300)
@given(place=st.sampled_from(PLACES), value=ANYTHING)
def test_any_value_in_a_sound_descriptor_is_judged(gate: Gate, place: tuple[Any, ...], value: Any) -> None:
    judge(gate, put(place, value))


@pytest.mark.parametrize(
    "taken", [5, None, "a", b"b", {1}, [None], frozenset({1}), frozenset({"a", None}), object(), [[]]]
)
def test_tool_names_that_are_no_set_of_texts_are_an_error(gate: Gate, taken: Any) -> None:
    for ask in (gate.decide, gate.admit, gate.plan):
        with pytest.raises(CapgateError) as caught:
            ask(FEED, "machine", taken)
        assert caught.value.id == "bad-tool-names"


@pytest.mark.parametrize("placement", [5, None, "", "mars", ["machine"], b"machine", "\ud800", {}])
def test_a_placement_that_does_not_exist_is_an_error(gate: Gate, placement: Any) -> None:
    for ask in (gate.decide, gate.admit, gate.plan):
        with pytest.raises(CapgateError) as caught:
            ask(FEED, placement)
        assert caught.value.id == "unknown-placement"
