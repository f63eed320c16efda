"""What an operator can answer at all: without trying every combination, and without values of unbounded length."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capgate
from capgate.policy.authoring import possible as possible_module
from capgate.policy.authoring.coverage import cover
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.possible import edges, every_of, judged, tried_values
from capgate.policy.authoring.truth import Truth, every
from capgate.policy.conditions import Check, Each, Fact
from capgate.policy.vocabulary import Vocabulary
from overlays import overlay, rule

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN
HOSTS = "descriptor.bounds.hosts"


def possible(tmp_path: Path, when: dict[str, Any]) -> list[frozenset[Truth]]:
    gates = Gates(capgate.open_gate(rules=[overlay(tmp_path / "mine", mine=rule("mine", when))]))
    return [part.possible for part in cover([gates.rules.rules["mine"]], [], gates)]


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(st.sets(st.sampled_from(list(Truth))), max_size=6))
def test_joined_one_by_one_the_parts_say_what_every_choice_of_them_says(parts: list[set[Truth]]) -> None:
    assert every_of(parts) == {every(truths) for truths in product(*parts)}


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.sets(st.sampled_from(list(Truth)), min_size=1), st.integers(1, 5))
def test_a_part_that_is_there_again_changes_nothing(part: set[Truth], times: int) -> None:
    assert every_of([part] * times) == every_of([part])


def test_many_parts_are_not_tried_in_every_combination() -> None:
    assert every_of([{T, F, U}] * 60) == {T, F, U}


@pytest.mark.parametrize(
    "inner",
    [
        {"minlength": 24, "each": {"equals": {"fact": "descriptor.id"}}},
        {"maxlength": 200, "each": {"matches": "[a-z]+"}},
        {"minlength": 500000},
        {"maxlength": 300000, "each": {"each": {"in": {"fact": "host.taken"}}}},
    ],
)
def test_long_lists_of_what_can_answer_in_several_ways_come_to_an_end(tmp_path: Path, inner: dict[str, Any]) -> None:
    assert possible(tmp_path, {HOSTS: {"each": inner}}) == [{T, F, U}]


def test_a_length_that_only_a_large_descriptor_has_is_possible(tmp_path: Path) -> None:
    lengths = [{HOSTS: {"minlength": 400000}}, {"descriptor.bounds": {"minlength": 100000}}]
    assert possible(tmp_path, {"all": lengths}) == [{T, F, U}, {T, F, U}]


@pytest.mark.parametrize("operator", "equals in not_in contains lacks subset_of min max minlength maxlength".split())
@pytest.mark.parametrize("ask", [edges, tried_values])
def test_an_operand_that_is_read_from_a_fact_is_no_value(
    gates: Gates, operator: str, ask: Callable[[Check, Any], Any]
) -> None:
    check = Check(operator, Fact(Vocabulary(gates.catalog).resolve("descriptor.id", {})), ())
    below = Check("each", Each((check, check)), ())
    for made in (check, below):
        assert [value for value in ask(made, made.operand) if "Fact" in repr(value)] == []


def test_what_is_long_is_tried_last_and_no_list_or_object_without_bounds() -> None:
    tried = list(tried_values(Check("maxlength", 10000, ()), 10000))
    sizes = [len(value) if type(value) in (str, list, dict) else 0 for value in tried]
    first = next(place for place, size in enumerate(sizes) if size > 1000)
    assert all(size > 1000 for size in sizes[first:])
    assert {type(value) for value in tried[first:]} == {str, list, dict}
    longest = tried_values(Check("maxlength", 100000, ()), 100000)
    assert {type(value) for value in longest if type(value) in (str, list, dict) and len(value) > 1000} == {str}


def test_an_item_that_is_there_many_times_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Check("each", Each((Check("type", "string", ()), Check("minlength", 1, ()))), ())
    asked = []

    def counted(*arguments: Any) -> Truth:
        asked.append(arguments)
        return judged(*arguments)

    monkeypatch.setattr(possible_module, "judged", counted)
    assert judged(check, check.operand, ["a"] * 500000) is T
    assert len(asked) == 2
    assert judged(check, check.operand, ["a"] * 5000 + [5]) is F
    assert judged(check, check.operand, ["a", "a", "b", ""]) is F
