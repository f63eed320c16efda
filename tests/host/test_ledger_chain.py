"""The ledger's lines: what each binds, and what all of them say."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.admission.ledger import NOTHING, Replay, read_line
from capgate.host.admission.verification import verify
from capgate.policy.documents import canonical
from ledger_samples import POLICY, Lines, chain, digest, entry, kinds, ledger, state

# The format


def test_a_line_is_canonical_json_and_its_hash_is_over_the_rest_of_it() -> None:
    (line,) = chain(entry("tide", source="local", plan=digest("plan"), descriptor={"é": 8.5, "a": [1, None]}))
    data = json.loads(line)
    hash = data.pop("hash")

    assert line == canonical(data | {"hash": hash}) + b"\n"
    assert hash == "sha256:" + hashlib.sha256(canonical(data)).hexdigest()
    assert data == {
        "v": 1,
        "seq": 1,
        "at": "2026-11-30T12:00:00.000Z",
        "id": "tide",
        "decision": "admitted",
        "digest": digest("tide"),
        "policy": POLICY,
        "actor": {"name": "human-at-host", "harness": "cli", "session": "ada"},
        "method": "cli",
        "source": "local",
        "plan": digest("plan"),
        "descriptor": {"é": 8.5, "a": [1, None]},
        "prev": NOTHING,
    }


def test_each_line_names_the_hash_of_the_one_before() -> None:
    data = [json.loads(line) for line in ledger(4)]

    assert [line["prev"] for line in data] == [NOTHING, *(line["hash"] for line in data[:-1])]
    assert [line["seq"] for line in data] == [1, 2, 3, 4]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=4), min_size=1, max_size=4))
def test_every_line_that_is_written_is_read_again_and_verifies(descriptors: list[dict[str, Any]]) -> None:
    lines = chain(*(entry("tide", "reconfigured", descriptor=descriptor) for descriptor in descriptors))
    found = verify(lines)

    assert kinds(found) == []
    assert found.sound
    assert found.state.length == len(descriptors)
    assert found.state.head == json.loads(lines[-1])["hash"]


# Replay

A, B = digest("a"), digest("b")


@pytest.mark.parametrize(
    ("history", "admitted", "denied"),
    [
        ([], {}, {}),
        ([("tide", "admitted", "a")], {"tide": A}, {}),
        ([("tide", "admitted", "a"), ("tide", "reconfigured", "b")], {"tide": B}, {}),
        ([("tide", "admitted", "a"), ("tide", "revoked", "a")], {}, {}),
        ([("tide", "revoked", "a")], {}, {}),
        ([("tide", "admitted", "a"), ("tide", "revoked", "a"), ("tide", "admitted", "b")], {"tide": B}, {}),
        ([("tide", "deny", "a")], {}, {"tide": {A}}),
        ([("tide", "deny", "a"), ("tide", "deny", "b")], {}, {"tide": {A, B}}),
        ([("tide", "deny", "a"), ("tide", "admitted", "a")], {"tide": A}, {}),
        ([("tide", "deny", "a"), ("tide", "admitted", "b")], {"tide": B}, {"tide": {A}}),
        ([("tide", "admitted", "a"), ("tide", "deny", "b")], {"tide": A}, {"tide": {B}}),
        ([("tide", "admitted", "a"), ("tide", "deny", "a")], {}, {"tide": {A}}),
        ([("tide", "admitted", "a"), ("ebb", "admitted", "b")], {"tide": A, "ebb": B}, {}),
    ],
)
def test_what_is_admitted_and_denied_is_what_the_lines_say(
    history: list[tuple[str, str, str]], admitted: dict[str, str], denied: dict[str, set[str]]
) -> None:
    found = state(chain(*(entry(*line) for line in history)))

    assert {id: entry.digest for id, entry in found.admitted.items()} == admitted
    assert found.denied == denied
    assert found.length == len(history)


def test_a_state_never_changes() -> None:
    replay = Replay()
    before = replay.state()
    replay.feed(ledger(1)[0][:-1])

    assert before == state([])
    assert replay.state() == state(ledger(1))
    with pytest.raises(TypeError):
        before.admitted["tide"] = None  # type: ignore[index]


# Lines of another system

OLD: Lines = [
    b'{"id":"tide","at":"2025-01-01T00:00:00Z","decision":"admitted"}\n',
    b'{"id":"ebb","at":"2025-01-01T00:00:00Z","decision":"admitted"}\n',
    b"half a li\n",
    b'{"id":"ebb","at":"2025-01-02T00:00:00Z","decision":"revoked","actor":"x","descriptor":{"v":1,"hash":"x"}}\n',
    b'{"id":"surf","at":"2025-01-02T00:00:00Z","decision":"reconfigured","descriptor":{}}\n',
    b'{"id":"foam","at":"2025-01-02T00:00:00Z","decision":"deny"}\n',
    b"7\n",
    b'{"id":null,"decision":"admitted"}\n',
]


def test_lines_without_a_hash_are_named_and_admit_nothing() -> None:
    found = state(OLD)

    assert found.unconfirmed == ("tide", "surf")
    assert found.admitted == {}
    assert found.fault is None


def test_a_line_of_ours_confirms_what_older_lines_name() -> None:
    found = state(chain(entry("tide"), entry("surf", "deny"), before=OLD))

    assert found.unconfirmed == ()
    assert list(found.admitted) == ["tide"]
    assert found.length == len(OLD) + 2
    assert found.fault is None


@pytest.mark.parametrize("number", range(len(OLD)))
def test_the_first_line_of_ours_binds_the_older_ones(number: int) -> None:
    lines = chain(entry("tide"), before=OLD)
    lines[number] = lines[number].replace(b"i", b"j").replace(b"7", b"8")

    found = verify(lines)

    assert kinds(found) == [("foreign", len(OLD) + 1)]
    assert found.state.fault is not None


@pytest.mark.parametrize("line", [OLD[0], b"7\n"])
def test_a_line_without_a_hash_after_one_of_ours_is_a_fault(line: bytes) -> None:
    lines = ledger(3)
    found = verify([*lines[:2], line, lines[2]])

    assert kinds(found)[0] == ("inserted", 3)
    assert found.state.fault is not None
    assert found.state.fault.line == 3


# Reading


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_reading_a_line_never_raises(text: bytes) -> None:
    assert read_line(text).entry is None
    replay = Replay()
    replay.feed(text)
    assert replay.state().admitted == {}


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b"9" * 5000, b'{"v":1,"seq":1e999}', b'{"v":NaN}', b'{"hash":9007199254740993}']
)
def test_a_line_that_exhausts_a_parser_is_no_line(text: bytes) -> None:
    assert read_line(text).entry is None
