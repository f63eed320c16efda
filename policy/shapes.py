"""Cerberus schemas compiled to code: is this well-formed, and if not, where and why.

Cerberus itself takes hundreds of microseconds a document; the gate asks for every descriptor. So the
schema is turned into two functions by the same walk: one that stops at the first fault, and one that
collects them all. Only the rules that capgate's schemas use are known; anything else in a schema is
an `AssertionError` when it is compiled. Differences from Cerberus, on purpose: a pattern matches the
whole string, and values of Python types that JSON does not have are refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from capgate.policy.codegen import constant, expression, function, load, name, statements
from capgate.policy.paths import Path
from capgate.policy.quick_shape import holds_function, pattern_name, types_of
from capgate.policy.schema import Schema

__all__ = ["Fault", "Shape", "found_type"]

_TESTS = {
    "string": "type(V) is str",
    "boolean": "type(V) is bool",
    "list": "type(V) is list",
    "dict": "type(V) is dict",
    "number": "type(V) is int or type(V) is float",
    "whole": "type(V) is int or type(V) is float and V.is_integer()",
    "other-than-list": "type(V) is not list and V is not ABSENT",
}
_WORDS = {"dict": "object", "whole": "whole number"}
_NAMES = {
    str: "string",
    bool: "boolean",
    list: "list",
    dict: "object",
    int: "number",
    float: "number",
    type(None): "null",
}
_WRITTEN_OUT = 10**80
_UNITS = {"string": "character", "list": "item", "dict": "key"}


class Fault(NamedTuple):
    """One thing that is wrong with the shape of a document.

    Attributes:
        path: where; for a missing key, where it should be.
        kind: the schema rule that was broken: type, required, unknown, allowed, regex, minlength, maxlength, min.
        expected, found: what should be there and what is, as words for a person.
    """

    path: Path
    kind: str
    expected: str
    found: str


class Shape:
    """One compiled schema.

    Attributes:
        holds: tells whether a document is well-formed; the fast question.
    """

    def __init__(self, schema: Schema, label: str):
        self._schema = schema
        self._label = label
        self.holds: Callable[[Any], bool] = self._compiled("holds", holds_function(schema))

    def faults(self, document: Any) -> list[Fault]:
        """Every fault, in the order in which a person reading the document meets them."""
        orders: dict[int, dict[str, int]] = {}
        return sorted(self._collect(document), key=lambda fault: _reading_order(document, fault.path, orders))

    @cached_property
    def _collect(self) -> Callable[[Any], list[Fault]]:
        return self._compiled("collect", _collecting(self._schema))

    def _compiled(self, name: str, made: ast.stmt) -> Callable[..., Any]:
        known = {"ABSENT": _ABSENT, "Fault": Fault, "found_type": found_type, "number_text": number_text}
        space = known | _patterns(self._schema)
        found: Callable[..., Any] = load([made], space, self._label)[name]
        return found


def found_type(value: Any) -> str:
    """The name of a value's JSON type, for messages."""
    return _NAMES.get(type(value)) or f"the Python type {type(value).__name__}"


def number_text(value: int | float) -> str:
    """A number for messages; Python refuses to write out thousands of digits."""
    return str(value) if abs(value) < _WRITTEN_OUT else "a number of many digits"


class _Absent:
    __slots__ = ()


_ABSENT = _Absent()
_NO_KEYS: dict[str, Any] = {}


def _reading_order(document: Any, path: Path, orders: dict[int, dict[str, int]]) -> tuple[int, ...]:
    """Where a path stands in the document; `orders` keeps the places of the keys of each object met."""
    order = []
    for step in path:
        if isinstance(step, int):
            order.append(step)
            document = document[step]
            continue
        places = orders.get(id(document))
        if places is None:
            places = orders[id(document)] = {key: place for place, key in enumerate(document)}
        order.append(places.get(step, len(places)))
        document = document.get(step, _NO_KEYS)
    return tuple(order)


def _patterns(schema: Any) -> dict[str, Any]:
    """The compiled patterns of a schema, by the names that the code knows them by."""
    found: dict[str, Any] = {}
    if isinstance(schema, Mapping):
        if isinstance(schema.get("regex"), str):
            found[pattern_name(schema["regex"])] = re.compile(schema["regex"]).fullmatch
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            found |= _patterns(part)
    return found


def _collecting(schema: Schema) -> ast.stmt:
    body = _Collecting().value(schema, "document", [])
    return function("collect", ["document"], [*statements("faults = []"), *body, *statements("return faults")])


_PASS: list[ast.stmt] = [ast.Pass()]


class _Collecting:
    """Emits the checks of one schema that report every fault."""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def fail(self, path: list[ast.expr], kind: str, expected: str, found: ast.expr) -> list[ast.stmt]:
        return statements(
            "faults.append(Fault(PATH, KIND, EXPECTED, FOUND))",
            PATH=ast.Tuple(list(path), ast.Load()),
            KIND=constant(kind),
            EXPECTED=constant(expected),
            FOUND=found,
        )

    def value(
        self, schema: Schema, variable: str, path: list[ast.expr], missing: list[ast.stmt] | None = None
    ) -> list[ast.stmt]:
        """Checks the value in `variable`; where it may be absent, `missing` is what to do then."""
        options = schema.get("anyof", [schema])
        types = [word for option in options for word in types_of(option)]
        if not types and not missing:
            return []
        words = [_WORDS.get(word, word) for word in types if word != "other-than-list"]
        if schema.get("nullable"):
            words.append("null")
        chain = self.fail(path, "type", " or ".join(words), expression("found_type(V)", V=variable)) if types else []
        if schema.get("nullable") and chain:
            chain = statements("if V is not None: THEN", V=variable, THEN=chain)
        if missing is not None:
            chain = statements(
                "if V is not ABSENT: THEN\nelse: MISSING", V=variable, THEN=chain or _PASS, MISSING=missing or _PASS
            )
        for option in reversed(options if types else []):
            chain = statements(
                "if TEST: THEN\nelse: OTHERWISE",
                TEST=_any([expression(_TESTS[word], V=variable) for word in types_of(option)]),
                THEN=self.content(option, variable, path) or _PASS,
                OTHERWISE=chain,
            )
        return chain

    def content(self, schema: Schema, variable: str, path: list[ast.expr]) -> list[ast.stmt]:
        """Checks what is left when the type is right."""
        made: list[ast.stmt] = []
        kind = types_of(schema)[0]
        if "allowed" in schema:
            allowed = schema["allowed"]
            made += statements(
                "if V not in ALLOWED: FAIL",
                V=variable,
                ALLOWED=constant(tuple(allowed)),
                FAIL=self.fail(path, "allowed", _one_of(allowed), expression("repr(V)[:80]", V=variable)),
            )
        if "regex" in schema:
            made += statements(
                "if not MATCH(V): FAIL",
                MATCH=pattern_name(schema["regex"]),
                V=variable,
                FAIL=self.fail(
                    path, "regex", f"text of the form {schema['regex']}", expression("repr(V)[:80]", V=variable)
                ),
            )
        for rule, test, words in (("minlength", "len(V) < N", "at least"), ("maxlength", "len(V) > N", "at most")):
            if rule in schema:
                unit = _UNITS[kind] + ("" if schema[rule] == 1 else "s")
                made += statements(
                    f"if {test}: FAIL",
                    V=variable,
                    N=constant(schema[rule]),
                    FAIL=self.fail(path, rule, f"{words} {schema[rule]} {unit}", expression("str(len(V))", V=variable)),
                )
        if "min" in schema:
            made += statements(
                "if V < N: FAIL",
                V=variable,
                N=constant(schema["min"]),
                FAIL=self.fail(path, "min", f"at least {schema['min']}", expression("number_text(V)", V=variable)),
            )
        if kind == "list" and "schema" in schema:
            made += self.items(schema["schema"], variable, path)
        if kind == "dict" and ("schema" in schema or "valuesrules" in schema):
            made += self.keys(schema, variable, path)
        return made

    def items(self, schema: Schema, variable: str, path: list[ast.expr]) -> list[ast.stmt]:
        index, item = self.fresh(), self.fresh()
        body = self.value(schema, item, [*path, name(index)])
        if not body:
            return []
        return statements("for I, E in enumerate(V): BODY", I=index, E=item, V=variable, BODY=body)

    def keys(self, schema: Schema, variable: str, path: list[ast.expr]) -> list[ast.stmt]:
        known = schema.get("schema", {})
        other = schema.get("valuesrules", schema.get("allow_unknown", False))
        made: list[ast.stmt] = []
        for key, member in known.items():
            inner = self.fresh()
            there = [*path, constant(key)]
            missing: list[ast.stmt] = []
            if member.get("required"):
                missing = self.fail(there, "required", _expected(member), constant("nothing"))
            body = self.value(member, inner, there, missing)
            if body:
                made += statements("V = D.get(KEY, ABSENT)", V=inner, D=variable, KEY=constant(key)) + body
        if other is True:
            return made
        key, inner = self.fresh(), self.fresh()
        there = [*path, name(key)]
        if isinstance(other, Mapping):
            body = self.value(other, inner, there)
        else:
            body = self.fail(there, "unknown", _one_of(known), name(key))
        return made + statements(
            "for K, V in D.items():\n    if type(K) is not str: ODD\n    elif K not in KNOWN: BODY",
            ODD=self.fail(path, "type", "strings as keys", expression("found_type(K)", K=key)),
            K=key,
            V=inner,
            D=variable,
            KNOWN=constant(tuple(known)),
            BODY=body or _PASS,
        )


def _any(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)


def _one_of(words: Any) -> str:
    listed = [str(word) for word in words]
    return listed[0] if len(listed) == 1 else "one of " + ", ".join(listed)


def _expected(schema: Schema) -> str:
    return " or ".join(_WORDS.get(word, word) for word in types_of(schema)) or "a value"
