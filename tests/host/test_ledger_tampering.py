"""Tampering with a ledger: what it is called, and that none goes unseen."""

from __future__ import annotations

import hashlib
import io
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.admission.ledger import read_line
from capgate.host.admission.verification import KINDS, verify
from capgate.policy.documents import canonical
from ledger_samples import Lines, chain, digest, entry, kinds, ledger


def rehashed(line: bytes, **changes: Any) -> bytes:
    """A line with other content and the hash of that."""
    data = json.loads(line) | changes
    del data["hash"]
    return canonical(data | {"hash": "sha256:" + hashlib.sha256(canonical(data)).hexdigest()}) + b"\n"


def edit(number: int, /, **changes: Any) -> Callable[[Lines], Lines]:
    """Changes a line and leaves its hash."""

    def tamper(lines: Lines) -> Lines:
        return [*lines[: number - 1], canonical(json.loads(lines[number - 1]) | changes) + b"\n", *lines[number:]]

    return tamper


def put(at: int, line: bytes) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[: at - 1], line, *lines[at - 1 :]]


def cut(first: int, last: int) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[: first - 1], *lines[last:]]


def order(*numbers: int) -> Callable[[Lines], Lines]:
    return lambda lines: [lines[number - 1] for number in numbers]


THEIRS = ledger(8, "theirs")

TAMPERED: list[tuple[str, Callable[[Lines], Lines], str, int]] = [
    ("the id of a line", edit(3, id="other"), "edited", 3),
    ("a decision", edit(3, decision="revoked"), "edited", 3),
    ("a digest", edit(1, digest=digest("other")), "edited", 1),
    ("the time of the last line", edit(6, at="2027-01-01T00:00:00.000Z"), "edited", 6),
    ("an actor", edit(3, actor={"name": "eve", "harness": "cli", "session": None}), "edited", 3),
    ("a policy", edit(3, policy=digest("other")), "edited", 3),
    ("a hash", edit(3, hash=digest("other")), "edited", 3),
    ("the hash of the last line", edit(6, hash=digest("other")), "edited", 6),
    ("a number", edit(3, seq=4), "edited", 3),
    ("a link", edit(3, prev=digest("other")), "edited", 3),
    ("the version", edit(3, v=2), "edited", 3),
    ("a member that nobody knows", edit(3, more=1), "edited", 3),
    ("a type", edit(3, method=None), "edited", 3),
    ("the type of what may be absent", edit(3, source=5), "edited", 3),
    ("half an actor", edit(3, actor={"name": "ada"}), "edited", 3),
    ("a digest that is none", edit(3, digest="sha256:x"), "edited", 3),
    ("a decision that there is none of", edit(3, decision="maybe"), "edited", 3),
    ("white space", lambda lines: [*lines[:2], lines[2].replace(b":", b": "), *lines[3:]], "edited", 3),
    ("no JSON in the middle", lambda lines: [*lines[:2], b"rubbish\n", *lines[3:]], "edited", 3),
    ("an empty line", put(3, b"\n"), "edited", 3),
    (
        "a key twice",
        lambda lines: [*lines[:2], lines[2].replace(b'{"actor"', b'{"id":"x","actor"'), *lines[3:]],
        "edited",
        3,
    ),
    ("a line hashed anew", lambda lines: [*lines[:2], rehashed(lines[2], id="x"), *lines[3:]], "foreign", 4),
    ("the number of the last line, hashed anew", lambda lines: [*lines[:5], rehashed(lines[5], seq=9)], "edited", 6),
    ("the first line away", cut(1, 1), "deleted", 1),
    ("the first three lines away", cut(1, 3), "deleted", 1),
    ("a line in the middle away", cut(3, 3), "deleted", 3),
    ("two lines in the middle away", cut(3, 4), "deleted", 3),
    ("a copy of the line before", lambda lines: put(4, lines[2])(lines), "inserted", 4),
    ("a copy of a line at the end", lambda lines: [*lines, lines[2]], "inserted", 7),
    ("a line of another ledger", put(3, THEIRS[2]), "inserted", 3),
    ("the first line of another ledger in the middle", put(3, THEIRS[0]), "inserted", 3),
    ("two lines of another ledger", lambda lines: [*lines[:2], *THEIRS[2:4], *lines[2:]], "inserted", 3),
    (
        "a forged line that fits the one before it",
        lambda lines: put(4, rehashed(lines[3], id="forged"))(lines),
        "inserted",
        4,
    ),
    ("two neighbours changed over", order(1, 3, 2, 4, 5, 6), "reordered", 2),
    ("the first two changed over", order(2, 1, 3, 4, 5, 6), "reordered", 1),
    ("the last two changed over", order(1, 2, 3, 4, 6, 5), "reordered", 5),
    ("a line moved back", order(1, 5, 2, 3, 4, 6), "reordered", 2),
    ("a line moved on", order(1, 3, 4, 5, 2, 6), "reordered", 2),
    ("all from the end", order(6, 5, 4, 3, 2, 1), "reordered", 1),
    ("a first line that follows another", lambda lines: [rehashed(lines[0], prev=digest("x"))], "foreign", 1),
    ("the rest of another ledger", lambda lines: [*lines[:3], *THEIRS[3:]], "foreign", 4),
    ("another ledger behind it", lambda lines: [*lines, *THEIRS], "foreign", 7),
    ("another ledger before it", lambda lines: [*THEIRS, *lines], "foreign", 9),
    ("one line changed for another ledger's", lambda lines: [*lines[:2], THEIRS[2], *lines[3:]], "foreign", 3),
    ("half a line at the end", lambda lines: [*lines, lines[5][:100]], "torn", 7),
    ("a last line without its newline", lambda lines: [*lines[:5], lines[5][:-1]], "torn", 6),
    ("no JSON at the end", lambda lines: [*lines, b"\0\0\0\n"], "torn", 7),
]


@pytest.mark.parametrize(
    ("tamper", "kind", "line"), [case[1:] for case in TAMPERED], ids=[case[0] for case in TAMPERED]
)
def test_what_was_done_to_a_ledger_is_named(tamper: Callable[[Lines], Lines], kind: str, line: int) -> None:
    found = verify(tamper(ledger()))

    assert kinds(found)[0] == (kind, line), found.faults
    assert found.sound == (kind == "torn")
    assert found.faults[0].next == KINDS[found.faults[0].kind]
    if kind == "torn":
        assert found.state.fault is None
    else:
        assert found.state.fault is not None
        assert (found.state.fault.line or 0) >= min(line, 6) - 1


@pytest.mark.parametrize(
    "spell",
    [
        lambda text: text.replace(b'"id"', b' "id"'),
        lambda text: text.replace(b'"x"', b'"\\u0078"'),
        lambda text: text.replace(b"8.5", b"8.50"),
        lambda text: text.replace(b"8.5", b"1e300"),
        lambda text: text.replace(b'"v":1', b'"v":1.0'),
        lambda text: text.replace(b'{"actor"', b'{"id":"y","actor"'),
    ],
    ids=["white space", "an escape", "a digit more", "a large number", "a point", "a key twice"],
)
def test_a_line_in_another_spelling_is_none_whatever_its_hash_says(spell: Callable[[bytes], bytes]) -> None:
    (line,) = chain(entry("x", descriptor={"a": 8.5}))
    own = b'"hash":"%s",' % json.loads(line)["hash"].encode()
    spelled = spell(line[:-1].replace(own, b""))
    forged = spelled.replace(b'"id":"', b'"hash":"sha256:%s","id":"' % hashlib.sha256(spelled).hexdigest().encode())

    assert spelled != line[:-1].replace(own, b"")
    assert read_line(forged).entry is None


def test_a_hash_that_stands_in_a_line_twice_is_of_all_the_rest_of_it() -> None:
    """Taking out both would let a line carry a hash that nobody else finds right."""
    (line,) = chain(entry("x", descriptor={}))
    data = json.loads(line)
    del data["hash"]
    forged = "sha256:" + hashlib.sha256(canonical(data | {"descriptor": {"z": 0}})).hexdigest()
    twice = canonical(data | {"descriptor": {"hash": forged, "z": 0}, "hash": forged})

    assert twice.count(b'"hash":"%s",' % forged.encode()) == 2
    assert read_line(twice).entry is None


#: What is two faults at once: the line itself, and the one that followed the old one; what is put first, and last.
TWICE = {"one line changed for another ledger's"}


@pytest.mark.parametrize(
    "tamper",
    [case[1] for case in TAMPERED if case[0] not in TWICE],
    ids=[case[0] for case in TAMPERED if case[0] not in TWICE],
)
def test_one_fault_is_named_once(tamper: Callable[[Lines], Lines]) -> None:
    assert len(verify(tamper(ledger())).faults) == 1


def test_two_faults_are_both_named() -> None:
    lines = edit(2, id="x")(cut(5, 5)(ledger(7)))

    assert kinds(verify(lines)) == [("edited", 2), ("deleted", 5)]


@pytest.mark.parametrize("length", range(6))
def test_a_cut_tail_does_not_show_in_the_chain(length: int) -> None:
    assert kinds(verify(ledger(6)[:length])) == []


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.data())
def test_no_changed_byte_goes_unseen(data: st.DataObject) -> None:
    text = b"".join(ledger(3))
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.binary(max_size=3).filter(lambda new: new != text[at : at + 1]))
    changed = text[:at] + new + text[at + 1 :]

    found = verify(io.BytesIO(changed))

    assert found.faults or found.state.length != 3


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=9))
def test_no_other_choice_of_lines_verifies_but_a_beginning(numbers: list[int]) -> None:
    lines = ledger(7)
    found = verify([lines[number] for number in numbers])

    assert (kinds(found) == []) == (numbers == list(range(len(numbers))))
    assert found.sound == (found.state.fault is None)


def test_the_order_of_a_large_ledger_is_found_quickly() -> None:
    lines = ledger(300)
    random.Random(5).shuffle(lines)

    assert kinds(verify(lines))[0][0] == "reordered"
