"""The table of operators, asked of the reference evaluator."""

from __future__ import annotations

from typing import Any

import pytest

from reference.conditions import Truth, condition
from reference.facts import Facts
from reference.table import COMBINATIONS, ROWS, VALUE, Row, descriptor_with
from reference.world import CATALOG, PLACEMENTS


def say(when: dict[str, Any], descriptor: dict[str, Any]) -> Truth:
    return condition(when, Facts(descriptor, PLACEMENTS["machine"], set(), CATALOG), {})


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_reference_says_what_the_table_says_of_an_operator(row: Row) -> None:
    assert say({VALUE: row.operators}, descriptor_with(row.value, row.fact)) == row.expected


@pytest.mark.parametrize(("when", "expected"), COMBINATIONS.values(), ids=COMBINATIONS)
def test_the_reference_says_what_the_table_says_of_a_combinator(when: dict[str, Any], expected: Truth) -> None:
    assert say(when, descriptor_with("a")) == expected


def test_the_table_has_each_operator_with_each_of_the_three_values() -> None:
    decided_by_presence = {"exists", "type", "each"}
    said: dict[str, set[Truth]] = {}
    for row in ROWS.values():
        if len(row.operators) == 1:
            said.setdefault(next(iter(row.operators)), set()).add(row.expected)
    assert len(said) == 15
    for name, values in said.items():
        assert values >= ({"true", "false"} if name in decided_by_presence else {"true", "false", "unknown"}), name
