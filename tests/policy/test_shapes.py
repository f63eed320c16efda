"""The compiled shape checks against Cerberus, which reads the same schemas."""

from __future__ import annotations

import re
from typing import Any

import cerberus
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.policy import schema
from capgate.policy.shapes import Fault, Shape

SCHEMAS = ("DESCRIPTOR", "RULE", "RULESET", "OVERLAY")
SHAPES = {name: Shape(getattr(schema, name), name) for name in SCHEMAS}


class Validator(cerberus.Validator):
    """Cerberus with our types, and patterns that match the whole text."""

    types_mapping = cerberus.Validator.types_mapping.copy()
    types_mapping["whole"] = cerberus.TypeDefinition("whole", (int, float), (bool,))
    types_mapping["other-than-list"] = cerberus.TypeDefinition("other-than-list", (object,), (list,))

    def _validate_type(self, data_type: Any, field: Any, value: Any) -> None:
        """{'type': ['string', 'list']}"""
        if data_type == "whole" and isinstance(value, float) and not value.is_integer():
            self._error(field, cerberus.errors.BAD_TYPE)
            self._drop_remaining_rules()
        else:
            super()._validate_type(data_type, field, value)

    def _validate_regex(self, pattern: str, field: Any, value: Any) -> None:
        """{'type': 'string'}"""
        if isinstance(value, str) and not re.fullmatch(pattern, value):
            self._error(field, cerberus.errors.REGEX_MISMATCH)


VALIDATORS = {name: Validator({"it": {**getattr(schema, name), "required": True}}) for name in SCHEMAS}

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 5, 1.0, 0.5, 2**60, 1e300]),
    st.sampled_from(
        [
            "",
            "a",
            "host",
            "process",
            "Process",
            "refuse",
            "descriptor",
            "day",
            "x" * 101,
            "ok-id",
            "Bad_ID\n",
            "a\u2028b",
        ]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=6,
)


def shaped_like(part: Any) -> st.SearchStrategy[Any]:
    """Values near what a schema asks for: mostly right, odd in places."""
    for option in part.get("anyof", ()):
        if option["type"] == "list":
            part = option
    kind = part.get("type")
    if kind == "dict" and "schema" in part:
        members = {key: shaped_like(member) for key, member in part["schema"].items()}
        right = st.fixed_dictionaries({}, optional={**members, "other": VALUES})
    elif kind == "dict":
        right = st.dictionaries(
            st.sampled_from(["x", "y"]), shaped_like(part.get("valuesrules", {})) | VALUES, max_size=2
        )
    elif kind == "list":
        right = st.lists(shaped_like(part.get("schema", {})) | VALUES, max_size=3)
    elif "allowed" in part:
        right = st.sampled_from(part["allowed"])
    else:
        right = SCALARS
    return st.one_of(*[right] * 8, VALUES)


@pytest.mark.long
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_code_and_cerberus_take_the_same_documents(name: str) -> None:
    taken = refused = 0

    @settings(max_examples=300, deadline=None, derandomize=True)
    @given(shaped_like(getattr(schema, name)))
    def compare(document: Any) -> None:
        nonlocal taken, refused
        expected = VALIDATORS[name].validate({"it": document})
        assert SHAPES[name].holds(document) is expected, VALIDATORS[name].errors
        assert (SHAPES[name].faults(document) == []) is expected
        taken, refused = taken + expected, refused + (not expected)

    compare()
    assert refused > 30
    if name == "DESCRIPTOR":
        assert taken > 30


FAULTS: list[tuple[str, Any, list[tuple[Any, ...]]]] = [
    ("not an object", [], [((), "type", "object", "list")]),
    ("null", None, [((), "type", "object", "null")]),
    ("a wrong scalar", {"id": 7}, [(("id",), "type", "string", "number")]),
    ("too long", {"id": "x" * 101}, [(("id",), "maxlength", "at most 100 characters", "101")]),
    ("another word", {"runsIn": "Process"}, [(("runsIn",), "allowed", "one of host, process, remote", "'Process'")]),
    ("a wrong container", {"capabilities": "read"}, [(("capabilities",), "type", "list or null", "string")]),
    ("a negative number", {"bounds": {"maxBytes": -1}}, [(("bounds", "maxBytes"), "min", "at least 0", "-1")]),
    ("a fraction", {"bounds": {"maxBytes": 0.5}}, [(("bounds", "maxBytes"), "type", "whole number", "number")]),
    (
        "a boolean for a number",
        {"bounds": {"maxBytes": True}},
        [(("bounds", "maxBytes"), "type", "whole number", "boolean")],
    ),
    ("a null in a list", {"tools": [None]}, [(("tools", 0), "type", "object", "null")]),
    ("too many tools", {"tools": [{}] * 257}, [(("tools",), "maxlength", "at most 256 items", "257")]),
    (
        "an odd parameter",
        {"tools": [{"params": {"a": []}}]},
        [(("tools", 0, "params", "a"), "type", "string or number or boolean", "list")],
    ),
    (
        "a header that is no text",
        {"tools": [{"params": {"headers": {"X-A": 1}}}]},
        [(("tools", 0, "params", "headers", "X-A"), "type", "string", "number")],
    ),
    ("a Python value", {"tools": ({},)}, []),
    ("a tuple", {"capabilities": ()}, [(("capabilities",), "type", "list or null", "the Python type tuple")]),
]


@pytest.mark.parametrize(("what", "document", "expected"), FAULTS, ids=[row[0] for row in FAULTS])
def test_a_fault_says_where_what_was_expected_and_what_was_found(what: str, document: Any, expected: Any) -> None:
    assert SHAPES["DESCRIPTOR"].faults(document) == [Fault(*row) for row in expected]


def test_faults_come_in_the_order_of_the_document() -> None:
    document = {"tools": [{"primitive": 1, "name": 2}, 5], "runsIn": 3, "id": 4}
    assert [fault.path for fault in SHAPES["DESCRIPTOR"].faults(document)] == [
        ("tools", 0, "primitive"),
        ("tools", 0, "name"),
        ("tools", 1),
        ("runsIn",),
        ("id",),
    ]


def test_unknown_and_missing_keys_are_named() -> None:
    faults = SHAPES["RULE"].faults({"id": "a", "tittle": "x", "applies_to": "descriptor", "triggers": [{}]})
    assert [(fault.path, fault.kind) for fault in faults] == [
        (("tittle",), "unknown"),
        (("triggers", 0, "stage"), "required"),
        (("triggers", 0, "when"), "required"),
        (("triggers", 0, "reason"), "required"),
        (("title",), "required"),
    ]


def test_a_schema_rule_that_is_not_compiled_is_never_skipped() -> None:
    with pytest.raises(AssertionError, match="excludes"):
        Shape({"type": "dict", "schema": {"a": {"type": "string", "excludes": "b"}}}, "odd")


def test_a_list_whose_items_may_be_anything_is_only_a_list() -> None:
    shape = Shape({"type": "list", "schema": {}}, "open list")
    assert shape.holds([1, None, {}])
    assert not shape.holds({})
    assert shape.faults([1, None, {}]) == []
    assert [fault.expected for fault in shape.faults({})] == ["list"]


ODD_SCHEMAS: dict[str, dict[str, Any]] = {
    "one of two types": {"required": True, "anyof": [{"type": "string"}, {"type": "list", "maxlength": 1}]},
    "one of two types, or nothing": {"anyof": [{"type": "dict", "schema": {"b": {"type": "whole"}}}, {"type": "list"}]},
    "nothing is said": {"meta": {}},
    "required, of any type": {"required": True, "nullable": True},
    "required, or null": {"required": True, "nullable": True, "type": "string"},
    "a list that has to be there": {"required": True, "type": "list", "schema": {"type": "string", "minlength": 1}},
    "an object of numbers": {"type": "dict", "valuesrules": {"type": "number", "min": 2}},
    "an object of anything": {"type": "dict", "valuesrules": {}},
    "an object of objects": {"type": "dict", "valuesrules": {"type": "dict", "schema": {"b": {"type": "boolean"}}}},
    "null, or text of a form": {"nullable": True, "type": "string", "regex": "[ab]+"},
    "text of a form": {"type": "string", "regex": "[ab]+"},
    "a number of at least three": {"type": ["whole", "string"]},
    "yes or no": {"type": "boolean"},
}
ODD_VALUES = (
    None, True, 0, 2, 2.0, 2.5, "", "a", "abc", [], [1], ["a"], ["a", ""], {}, {"b": 1}, {"b": True},
    {"b": {"b": True}}, {"b": {"b": 1}}, {"b": {"c": 1}}, {"c": 3}, {1: 2},
)  # fmt: skip


@pytest.mark.parametrize("name", ODD_SCHEMAS)
def test_a_document_holds_where_it_has_no_fault(name: str) -> None:
    shape = Shape({"type": "dict", "schema": {"a": ODD_SCHEMAS[name]}}, name)
    alone = Shape(ODD_SCHEMAS[name], name)
    documents: list[Any] = [{}, {"other": 1}, {1: 1}, 5, *({"a": value} for value in ODD_VALUES)]
    assert [shape.holds(document) for document in documents] == [not shape.faults(document) for document in documents]
    assert [alone.holds(value) for value in ODD_VALUES] == [not alone.faults(value) for value in ODD_VALUES]
