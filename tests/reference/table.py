"""The operators, row by row: what each says of true, false, absent and odd values and operands.

The value of a row stands at `VALUE`, the value of its fact operand at `FACT`; both are places that
take any JSON value in a well-formed descriptor. Any evaluator of the language can be held to the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from reference.conditions import Truth
from reference.values import ABSENT

__all__ = ["ATOMS", "COMBINATIONS", "FACT", "ROWS", "VALUE", "Row", "descriptor_with"]

VALUE = "descriptor.bounds.hosts"
FACT = "descriptor.bounds.maxRequests"

T: Truth = "true"
F: Truth = "false"
U: Truth = "unknown"


class Row(NamedTuple):
    """One line of the table: under `value` (and `fact`), `operators` on `VALUE` say `expected`."""

    operators: dict[str, Any]
    value: Any
    expected: Truth
    fact: Any = ABSENT


def descriptor_with(value: Any, fact: Any = ABSENT) -> dict[str, Any]:
    """A well-formed descriptor with `value` at `VALUE` and `fact` at `FACT`; ABSENT leaves one out."""
    bounds = {"hosts": value, "maxRequests": fact}
    return {
        "bounds": {name: given for name, given in bounds.items() if given is not ABSENT},
        "tools": [{"name": "a", "primitive": "now"}],
    }


IS_FACT = {"fact": FACT}
BIG = 10**400
SEVERAL_TYPES = [None, True, 5, "a", [1], {"a": 1}]


def _on(operators: dict[str, Any], expected: Truth, *values: Any) -> list[Row]:
    return [Row(operators, value, expected) for value in values]


def _against(operator: str, value: Any, expected: Truth, *facts: Any) -> list[Row]:
    return [Row({operator: IS_FACT}, value, expected, fact) for fact in facts]


EQUALITY = [
    *_on({"equals": "a"}, T, "a"),
    *_on({"equals": "a"}, F, "A", "", "a ", "ａ", None, 0, False, [], ["a"], {"a": "a"}, ABSENT),
    *_on({"equals": 1}, T, 1, 1.0),
    *_on({"equals": 1}, F, True, "1", 2, 1.5, [1], None),
    *_on({"equals": 1.0}, T, 1, 1.0),
    *_on({"equals": True}, T, True),
    *_on({"equals": True}, F, 1, 1.0, "true", False),
    *_on({"equals": False}, T, False),
    *_on({"equals": False}, F, 0, 0.0, "", None, [], ABSENT),
    *_on({"equals": 0}, T, 0, 0.0, -0.0),
    *_on({"equals": 0}, F, False, None, "", ABSENT),
    *_on({"equals": None}, T, None),
    *_on({"equals": None}, F, 0, False, "", [], {}, ABSENT),
    *_on({"equals": [1]}, T, [1], [1.0]),
    *_on({"equals": [1]}, F, [True], [1, 1], [], 1, [[1]]),
    *_on({"equals": [1, "a"]}, F, ["a", 1]),
    *_on({"equals": []}, T, []),
    *_on({"equals": []}, F, {}, "", None),
    *_on({"equals": {"a": 1, "b": [2]}}, T, {"b": [2.0], "a": 1}),
    *_on({"equals": {"a": 1, "b": [2]}}, F, {"a": 1}, {"a": True, "b": [2]}, {"a": 1, "b": [2], "c": 0}),
    *_on({"equals": {"a": None}}, F, {}, {"b": None}),
    *_on({"equals": 2**53}, T, 2**53, float(2**53)),
    *_on({"equals": 2**53}, F, 2**53 + 1),
    *_against("equals", "a", T, "a"),
    *_against("equals", "a", F, "b", 1, None, [], True),
    *_against("equals", "a", U, ABSENT),
    *_against("equals", ABSENT, U, ABSENT),
    *_against("equals", ABSENT, F, "a", None),
    *_against("equals", [1], T, [1.0]),
    *_against("equals", [1], F, [True]),
    *_against("equals", None, T, None),
    *_against("equals", BIG, F, 1e308),
    # A map with the key `fact` as a value is a value.
    *_against("equals", {"fact": "x"}, T, {"fact": "x"}),
]

MEMBERSHIP = [
    *_on({"in": ["a", 1, [2], None]}, T, "a", 1, 1.0, [2], [2.0], None),
    *_on({"in": ["a", 1, [2], None]}, F, "b", True, [True], [], {}, False, ABSENT),
    *_on({"in": []}, F, "a", None, [], ABSENT),
    *_on({"in": [True]}, F, 1),
    *_on({"in": [{"a": [1]}]}, T, {"a": [1]}),
    *_on({"not_in": ["a", 1, [2], None]}, F, "a", 1.0, [2], None),
    *_on({"not_in": ["a", 1, [2], None]}, T, "b", True, [], {}, ABSENT),
    *_on({"not_in": []}, T, "a", None, ABSENT),
    *_against("in", "a", T, ["a"], ["b", "a"]),
    *_against("in", "a", F, ["b"], [], ABSENT),
    *_against("in", "a", U, None, "a", {"a": 1}, 5, True),
    *_against("in", ABSENT, F, ["a"], ABSENT),
    *_against("in", ABSENT, U, "a", None, 5),
    *_against("in", 1, F, [True], [[1]]),
    *_against("in", [1], T, [[1.0]]),
    *_against("not_in", "a", F, ["a"]),
    *_against("not_in", "a", T, ["b"], [], ABSENT),
    *_against("not_in", "a", U, None, "b", {}, 5, False),
    *_against("not_in", ABSENT, T, ["a"], ABSENT),
    *_against("not_in", ABSENT, U, "a", None),
]

LISTS = [
    *_on({"contains": "a"}, T, ["a"], ["b", "a", "a"]),
    *_on({"contains": "a"}, F, [], ["b"], [["a"]], [{"a": 1}], ABSENT),
    *_on({"contains": "a"}, U, "a", "banana", {"a": 1}, None, 1, True),
    *_on({"contains": 1}, T, [1.0]),
    *_on({"contains": 1}, F, [True], ["1"]),
    *_on({"contains": True}, F, [1, 1.0]),
    *_on({"contains": None}, T, [None]),
    *_on({"contains": None}, F, [], [0]),
    *_on({"contains": {"a": [1]}}, T, [0, {"a": [1.0]}]),
    *_on({"lacks": "a"}, F, ["a"]),
    *_on({"lacks": "a"}, T, [], ["b"], [["a"]], ABSENT),
    *_on({"lacks": "a"}, U, "b", {}, None, 0, False),
    *_on({"lacks": 1}, T, [True]),
    *_on({"lacks": [1]}, F, [[1.0]]),
    *_on({"subset_of": ["a", 1]}, T, [], ["a"], ["a", "a"], [1.0, "a"]),
    *_on({"subset_of": ["a", 1]}, F, ["b"], ["a", "b"], [True], [None], ABSENT),
    *_on({"subset_of": ["a", 1]}, U, "a", {"a": 1}, None, 1, True),
    *_on({"subset_of": []}, T, []),
    *_on({"subset_of": []}, F, ["a"], ABSENT),
    *_on({"subset_of": [[1], {"a": 1}]}, T, [{"a": 1.0}, [1]]),
    *_against("contains", ["a"], T, "a"),
    *_against("contains", ["a"], F, "b", None, ["a"]),
    *_against("contains", ["a"], U, ABSENT),
    *_against("contains", ABSENT, F, "a"),
    *_against("contains", ABSENT, U, ABSENT),
    *_against("contains", "a", U, "a", ABSENT),
    *_against("lacks", ["a"], F, "a"),
    *_against("lacks", ["a"], T, "b", None),
    *_against("lacks", ["a"], U, ABSENT),
    *_against("lacks", ABSENT, T, "a"),
    *_against("lacks", ABSENT, U, ABSENT),
    *_against("lacks", "b", U, "a"),
    *_against("subset_of", ["a"], T, ["a", "b"]),
    *_against("subset_of", ["a"], F, ["b"], [], ABSENT),
    *_against("subset_of", ["a"], U, "a", None, {"a": 1}, 5),
    *_against("subset_of", [], T, ABSENT, []),
    *_against("subset_of", [], U, "a", None),
    *_against("subset_of", ABSENT, F, ["a"], ABSENT),
    *_against("subset_of", ABSENT, U, "a"),
    *_against("subset_of", "a", U, ["a"], ABSENT),
]

NUMBERS = [
    *_on({"min": 1}, T, 1, 1.0, 1.5, 2, BIG, float("inf")),
    *_on({"min": 1}, F, 0, 0.999, -1, -BIG, float("-inf"), ABSENT),
    *_on({"min": 1}, U, True, False, "1", "", None, [], [1], {}, float("nan")),
    *_on({"min": 0.5}, T, 1),
    *_on({"min": 0.5}, F, 0),
    *_on({"max": 1}, T, 1, 1.0, 0, -1, -BIG, float("-inf")),
    *_on({"max": 1}, F, 1.5, 2, BIG, float("inf"), ABSENT),
    *_on({"max": 1}, U, True, False, "1", None, [], {}, float("nan")),
    *_against("min", 5, T, 5, 4.5, -1),
    *_against("min", 5, F, 6, 5.5, BIG),
    *_against("min", 5, U, ABSENT, "5", True, None, [5], {}, float("nan")),
    *_against("min", ABSENT, F, 5),
    *_against("min", ABSENT, U, ABSENT, "5", True),
    *_against("min", "5", U, 5),
    *_against("max", 5, T, 5, 6),
    *_against("max", 5, F, 4, 4.5),
    *_against("max", 5, U, ABSENT, "5", False, None, [], float("nan")),
    *_against("max", ABSENT, F, 5),
    *_against("max", ABSENT, U, ABSENT, None),
]

LENGTHS = [
    *_on({"minlength": 2}, T, "ab", "abc", [1, 2], {"a": 1, "b": 2}, "\U0001f600\U0001f600"),
    *_on({"minlength": 2}, F, "a", "", [], [1], {}, {"a": 1}, "\U0001f600", "é", ABSENT),
    *_on({"minlength": 2}, U, 2, 22, None, True, 2.0),
    *_on({"minlength": 0}, T, "", [], {}),
    *_on({"minlength": 0}, F, ABSENT),
    *_on({"minlength": 0}, U, 0, None),
    *_on({"maxlength": 2}, T, "", "ab", [], [1, 2], {}, {"a": 1, "b": 2}, "\U0001f600\U0001f600"),
    *_on({"maxlength": 2}, F, "abc", [1, 2, 3], {"a": 1, "b": 2, "c": 3}, ABSENT),
    *_on({"maxlength": 2}, U, 1, None, False),
    *_on({"maxlength": 0}, T, "", [], {}),
    *_on({"empty": True}, T, "", [], {}, ABSENT),
    *_on({"empty": True}, F, " ", [None], {"": 0}),
    *_on({"empty": True}, U, 0, 0.0, None, False, True),
    *_on({"empty": False}, F, "", [], {}, ABSENT),
    *_on({"empty": False}, T, " ", [None], {"": 0}),
    *_on({"empty": False}, U, 0, 5, None, False, True),
    *_against("minlength", "ab", T, 2, 2.0, 0),
    *_against("minlength", "ab", F, 3, BIG),
    *_against("minlength", "ab", U, ABSENT, -1, 1.5, "2", True, None, [], float("nan"), float("inf")),
    *_against("minlength", ABSENT, F, 0),
    *_against("minlength", ABSENT, U, ABSENT, "0", -1),
    *_against("minlength", 5, U, 0),
    *_against("maxlength", "ab", T, 2, 2.0, BIG),
    *_against("maxlength", "ab", F, 1, 0),
    *_against("maxlength", "ab", U, ABSENT, -1, 2.5, "2", False, None),
    *_against("maxlength", ABSENT, F, 5),
    *_against("maxlength", ABSENT, U, ABSENT, -1),
]

PATTERNS = [
    *_on({"matches": "[a-z]+"}, T, "a", "abc"),
    *_on({"matches": "[a-z]+"}, F, "", "A", "abc1", "1abc", "abc\n", "\nabc", " abc", "é", ABSENT),
    *_on({"matches": "[a-z]+"}, U, None, 5, True, [], ["a"], {"a": 1}),
    *_on({"matches": "a|ab"}, T, "a", "ab"),
    *_on({"matches": "a|ab"}, F, "abc", "b"),
    *_on({"matches": ".*"}, T, "", "abc", "é\U0001f600"),
    *_on({"matches": ".*"}, F, "a\nb", "a\n"),
    *_on({"matches": ".*"}, U, None, []),
    *_on({"matches": r"\d+"}, T, "12"),
    *_on({"matches": r"\d+"}, F, "１２", "٣", "1\n"),
    *_on({"matches": r"\w+"}, T, "aZ_9"),
    *_on({"matches": r"\w+"}, F, "é", "a-b"),
    *_on({"matches": r"a\sb"}, T, "a b", "a\tb"),
    *_on({"matches": r"a\sb"}, F, "a\u00a0b", "a\u2003b"),
    *_on({"matches": "^a$"}, T, "a"),
    *_on({"matches": "^a$"}, F, "a\n"),
    *_on({"matches": ""}, T, ""),
    *_on({"matches": ""}, F, "a"),
    *_on({"matches": "(?:a+)+b"}, T, "aaab"),
    *_on({"matches": "(?:a+)+b"}, F, "a" * 5),
]

TYPES = [
    *[
        Row({"type": name}, value, T if name in fits else F)
        for value, fits in [
            ("a", ("string", "host")),
            ("", ("string",)),
            ("a b", ("string",)),
            ("*.a.test", ("string",)),
            ("bücher.test", ("string", "host")),
            ("[::1]:8080", ("string", "host")),
            (True, ("boolean",)),
            (None, ("null",)),
            ([], ("list",)),
            ({}, ("object",)),
            (0, ("number", "whole")),
            (8.0, ("number", "whole")),
            (8.5, ("number",)),
            (BIG, ("number", "whole")),
            (float("inf"), ("number",)),
            (ABSENT, ()),
        ]
        for name in ("string", "boolean", "null", "list", "object", "number", "whole", "host")
    ],
]

EACH = [
    *_on({"each": {"type": "string"}}, T, [], ["a"], ["a", ""]),
    *_on({"each": {"type": "string"}}, F, [1], ["a", None], [["a"]], ABSENT),
    *_on({"each": {"type": "string"}}, U, "a", {}, {"a": "a"}, None, 5, True),
    *_on({"each": {"min": 1}}, T, [1, 2.5]),
    *_on({"each": {"min": 1}}, F, [0], ["a", 0], [0, "a"]),
    *_on({"each": {"min": 1}}, U, ["a"], [1, "a"], [True], [None, 5]),
    *_on({"each": {"type": "whole", "min": 1}}, F, ["a"], [0.5], [2, "a"]),
    *_on({"each": {"exists": True}}, T, [], [None]),
    *_on({"each": {"exists": False}}, F, [None]),
    *_on({"each": {"exists": False}}, T, []),
    *_on({"each": {"each": {"equals": 1}}}, T, [], [[]], [[1], [1.0, 1]]),
    *_on({"each": {"each": {"equals": 1}}}, F, [[2]], [[1], [True]], [5, [2]]),
    *_on({"each": {"each": {"equals": 1}}}, U, [1], [[1], 1], "a"),
    *_on({"each": {"empty": False}}, U, [5], ["a", 0]),
    *_on({"each": {"matches": "a*"}}, F, ["a", "b"], [1, "b"]),
    *_on({"each": {"contains": 1}}, T, [[1], [2, 1]]),
    *[Row({"each": {"equals": IS_FACT}}, ["a", "a"], expected, fact) for fact, expected in [("a", T), ("b", F)]],
    *[Row({"each": {"equals": IS_FACT}}, value, expected) for value, expected in [(["a"], U), ([], T), (ABSENT, F)]],
    *[Row({"each": {"in": IS_FACT}}, ["a"], expected, fact) for fact, expected in [(["a"], T), ([], F), ("a", U)]],
    Row({"each": {"in": IS_FACT}}, ["a"], F),
    Row({"each": {"not_in": IS_FACT}}, ["a"], T),
    Row({"each": {"min": IS_FACT}}, [5], U, "5"),
    Row({"each": {"min": IS_FACT}}, [], T, "5"),
]

EXISTENCE = [
    *_on({"exists": True}, T, *SEVERAL_TYPES, "", [], {}, 0, False),
    *_on({"exists": True}, F, ABSENT),
    *_on({"exists": False}, F, *SEVERAL_TYPES, "", [], {}, 0, False),
    *_on({"exists": False}, T, ABSENT),
]

SEVERAL = [
    *_on({"type": "whole", "min": 1}, T, 1, 5.0),
    *_on({"type": "whole", "min": 1}, F, 0, 0.5, "5", True, None, {}, ABSENT),
    *_on({"minlength": 1, "contains": "a"}, U, "banana", {"a": 1}),
    *_on({"minlength": 1, "contains": "a"}, F, "", [], {}, ["b"]),
    *_on({"min": 1, "matches": "a"}, U, None, []),
    *_on({"min": 1, "matches": "b"}, F, 0, "a"),
    *_on({"exists": False, "min": 1}, F, 5, "a", ABSENT),
    *_on({"exists": False, "lacks": 1, "not_in": [1], "empty": True}, T, ABSENT),
    Row({"exists": True, "equals": IS_FACT}, ABSENT, F),
    Row({"exists": False, "equals": IS_FACT}, ABSENT, U),
]

#: Every row, a name for each.
ROWS: dict[str, Row] = {
    f"{family}-{at}": row
    for family, rows in {
        "equality": EQUALITY,
        "membership": MEMBERSHIP,
        "lists": LISTS,
        "numbers": NUMBERS,
        "lengths": LENGTHS,
        "patterns": PATTERNS,
        "types": TYPES,
        "each": EACH,
        "existence": EXISTENCE,
        "several": SEVERAL,
    }.items()
    for at, row in enumerate(rows)
}

#: A condition for each of the three values under `descriptor_with("a")`.
ATOMS: dict[Truth, dict[str, Any]] = {T: {VALUE: {"equals": "a"}}, F: {VALUE: {"equals": "b"}}, U: {VALUE: {"min": 1}}}


def _kleene_all(parts: list[Truth]) -> Truth:
    return F if F in parts else U if U in parts else T


def _kleene_not(part: Truth) -> Truth:
    return {T: F, F: T, U: U}[part]


def _combinations() -> dict[str, tuple[dict[str, Any], Truth]]:
    made: dict[str, tuple[dict[str, Any], Truth]] = {}
    lists: list[list[Truth]] = [[a] for a in ATOMS]
    lists += [[a, b] for a in ATOMS for b in ATOMS]
    lists += [[a, b, c] for a in ATOMS for b in ATOMS for c in ATOMS]
    for parts in lists:
        name = "-".join(parts)
        conditions = [ATOMS[part] for part in parts]
        some = _kleene_not(_kleene_all([_kleene_not(part) for part in parts]))
        every = _kleene_all(parts)
        made[f"all-{name}"] = {"all": conditions}, every
        made[f"any-{name}"] = {"any": conditions}, some
        made[f"none-{name}"] = {"none": conditions}, _kleene_not(some)
        made[f"not-all-{name}"] = {"not": {"all": conditions}}, _kleene_not(every)
        made[f"any-of-not-all-{name}"] = {"any": [{"not": {"all": conditions}}, ATOMS[F]]}, _kleene_not(every)
        made[f"none-of-not-any-{name}"] = {"none": [{"not": {"any": conditions}}]}, some
    for part in ATOMS:
        made[f"not-{part}"] = {"not": ATOMS[part]}, _kleene_not(part)
        made[f"not-not-{part}"] = {"not": {"not": ATOMS[part]}}, part
    return made


#: Every combinator over one to three parts: name to the condition and what it says under `descriptor_with("a")`.
COMBINATIONS = _combinations()
