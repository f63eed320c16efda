"""Small changes to the text of a YAML file."""

from __future__ import annotations

from typing import Any

import pytest

from capgate.policy.authoring.edits import Text, edited
from capgate.policy.documents import load_yaml

BLOCK = """\
# a comment
first: 1
list:
  - one
  # about two
  - name: two
    more: [a, b, c]
  - >-
    three
    lines

last: {a: 1, b: 2}
"""
FLOW = '{list: [one, {name: two, more: [a, b, c]}, "three"], last: {a: 1, b: 2}, first: 1}\n'


def data(text: str) -> Any:
    return load_yaml(text.encode()).data


@pytest.mark.parametrize("text", [BLOCK, FLOW], ids=["block", "flow"])
@pytest.mark.parametrize(
    "at",
    [
        ("first",), ("list",), ("last",), ("list", 0), ("list", 1), ("list", 2), ("list", 1, "name"),
        ("list", 1, "more"), ("list", 1, "more", 0), ("list", 1, "more", 1), ("list", 1, "more", 2), ("last", "a"),
        ("last", "b"),
    ],
)  # fmt: skip
def test_a_part_is_dropped_and_nothing_else_changes(text: str, at: tuple[Any, ...]) -> None:
    expected = data(text)
    holder = expected
    for step in at[:-1]:
        holder = holder[step]
    del holder[at[-1]]
    assert data(edited(text, Text(text).drop(at))) == expected


@pytest.mark.parametrize("text", [BLOCK, FLOW], ids=["block", "flow"])
@pytest.mark.parametrize("at", [("first",), ("list",), ("list", 1), ("list", 2), ("list", 1, "more", 1), ("last", "b")])
def test_a_part_is_replaced_and_nothing_else_changes(text: str, at: tuple[Any, ...]) -> None:
    expected = data(text)
    holder = expected
    for step in at[:-1]:
        holder = holder[step]
    holder[at[-1]] = {"new": [5]}
    assert data(edited(text, Text(text).replace(at, "{new: [5]}"))) == expected


@pytest.mark.parametrize("text", [BLOCK, FLOW], ids=["block", "flow"])
def test_parts_change_places(text: str) -> None:
    one, two, three = data(text)["list"]
    file = Text(text)
    assert data(edited(text, file.swap(("list", 0), ("list", 1))))["list"] == [two, one, three]
    assert data(edited(text, file.swap(("list", 1, "more", 0), ("list", 1, "more", 2))))["list"][1]["more"] == list(
        "cba"
    )


@pytest.mark.parametrize("text", [BLOCK, FLOW], ids=["block", "flow"])
def test_keys_are_renamed_and_pairs_inserted(text: str) -> None:
    file = Text(text)
    assert list(data(edited(text, file.rename(("list", 1, "name"), "title")))["list"][1]) == ["title", "more"]
    assert list(data(edited(text, file.insert(("list", 1, "more"), "some: 5")))["list"][1]) == ["name", "some", "more"]


def test_comments_stay_but_for_those_between_what_is_dropped_and_what_follows() -> None:
    text = edited(BLOCK, Text(BLOCK).drop(("list", 1)))
    assert text == BLOCK.replace("  - name: two\n    more: [a, b, c]\n", "")


def test_edits_do_not_disturb_each_other() -> None:
    file = Text(BLOCK)
    text = edited(
        BLOCK, [*file.replace(("first",), "100000"), *file.drop(("last", "a")), *file.replace(("list", 0), "x")]
    )
    assert data(text)["first"] == 100000
    assert data(text)["list"][0] == "x"
    assert data(text)["last"] == {"b": 2}


@pytest.mark.parametrize(
    ("text", "at", "has"),
    [
        (BLOCK, ("list", 1, "more", 2), True),
        ("a: &x [1]\nb: *x\n", ("b",), False),
        ("a: &x [1]\nb: *x\n", ("a", 0), False),
        ("a: {c: &x [1], d: 5}\nb: {e: *x}\n", ("a", "c", 0), True),
        ("a: {c: &x [1], d: 5}\nb: {e: *x}\n", ("b", "e"), False),
        ("- &x a\n- [*x, *x]\n", (1, 0), False),
    ],
)
def test_what_stands_beside_an_alias_has_no_text_of_its_own(text: str, at: tuple[Any, ...], has: bool) -> None:
    assert Text(text).has(at) is has


def test_offsets_count_characters() -> None:
    text = 'a: "é\U0001f600"\nb: [1, 2]\n'
    assert edited(text, Text(text).drop(("b", 0))) == 'a: "é\U0001f600"\nb: [2]\n'
