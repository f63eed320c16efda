"""The fast question about a schema: does the document keep to it, yes or no?

A key that may be left out is read with a default that its schema allows, so that most members cost one test, and the
tests of one object are one expression. Where and why a document does not keep to its schema is for `shapes` to say,
which reports every fault; a test holds the two against each other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from capgate.policy.codegen import bound, constant, expression, function, joined, name, statements
from capgate.policy.schema import Schema

__all__ = ["holds_function", "pattern_name", "types_of"]

#: Type words to the test that a value is of no such type.
_OTHER_TYPE: Final = {
    "string": "type(V) is not str",
    "boolean": "type(V) is not bool",
    "list": "type(V) is not list",
    "dict": "type(V) is not dict",
    "number": "type(V) is not int and type(V) is not float",
    "whole": "type(V) is not int and (type(V) is not float or not V.is_integer())",
    "other-than-list": "type(V) is list or V is ABSENT",
}
#: A value of each plain type, as good as any where a schema says no more.
_PLAIN: Final[Mapping[str, Any]] = {"string": "", "boolean": False, "number": 0, "whole": 0}
_KNOWN: Final = frozenset(
    "type nullable required allowed regex minlength maxlength min schema valuesrules allow_unknown anyof meta".split()
)
_BOUNDS: Final = {"minlength": "len(V) < N", "maxlength": "len(V) > N", "min": "V < N"}


def holds_function(schema: Schema) -> ast.stmt:
    """The code of ``holds(document)``, which gives a bool; it needs `ABSENT`, and the patterns by their names."""
    block = _Block(f"v{number}" for number in count(1))
    block.value(schema, name("document"), None)
    return function("holds", ["document"], [*block.done(), *statements("return True")])


def types_of(schema: Schema) -> list[str]:
    """The type words of a schema."""
    found = schema.get("type", [])
    return [found] if isinstance(found, str) else list(found)


def pattern_name(pattern: str) -> str:
    """The name by which the code knows a compiled pattern."""
    return "pattern_" + pattern.encode().hex()


class _Block:
    """Code that returns False where something is wrong; tests in a row become one."""

    def __init__(self, names: Iterator[str]):
        self._names = names
        self._made: list[ast.stmt] = []
        self._tests: list[ast.expr] = []

    def done(self) -> list[ast.stmt]:
        """The statements."""
        if self._tests:
            self._made += statements("if TEST: return False", TEST=joined(self._tests, every=False))
            self._tests = []
        return self._made

    def value(self, schema: Schema, read: ast.expr, spared: ast.expr | None) -> None:
        """Checks the value that `read` gives; the value called `spared` is right, whatever the schema says."""
        options = _options(schema)
        if not options:
            return
        if schema.get("nullable"):
            spared = constant(None)
        local = read.id if isinstance(read, ast.Name) else next(self._names)
        if len(options) == 1 and not _has_parts(options[0]):
            self._tests.append(_wrong(options[0], local, read, spared))
            return
        if not isinstance(read, ast.Name):
            self._add(statements("V = READ", V=local, READ=read))
        if len(options) == 1 and spared is None:
            self._tests.append(_wrong(options[0], local, name(local), None))
            self._parts(options[0], local)
            return
        otherwise = statements("return False")
        if spared is not None:
            otherwise = statements("if V is not SPARED: return False", V=local, SPARED=spared)
        for option in reversed(options):
            inner = _Block(self._names)
            inner._tests += _content(option, local)
            inner._parts(option, local)
            otherwise = statements(
                "if OTHER_TYPE: OTHERWISE\nelse: THEN",
                OTHER_TYPE=_other_type(option, local),
                OTHERWISE=otherwise,
                THEN=inner.done() or [ast.Pass()],
            )
        self._add(otherwise)

    def _parts(self, schema: Schema, holder: str) -> None:
        """Checks what is in a list or an object."""
        if not _has_parts(schema):
            return
        if "list" in types_of(schema):
            item = next(self._names)
            inner = _Block(self._names)
            inner.value(schema["schema"], name(item), None)
            self._add(statements("for E in V: BODY", E=item, V=holder, BODY=inner.done() or [ast.Pass()]))
            return
        for key, member in schema.get("schema", {}).items():
            self._member(key, member, holder)
        self._others(schema, holder)

    def _member(self, key: str, schema: Schema, holder: str) -> None:
        """Checks one key of an object."""
        required = schema.get("required", False)
        options = _options(schema)
        if not options:
            self._tests += [expression("KEY not in D", KEY=constant(key), D=holder)] * required
            return
        plain = None if schema.get("nullable") or required or len(options) > 1 else _plain(options[0])
        default: ast.expr = name("ABSENT")
        spared: ast.expr | None = None if required else default
        if plain is not None:
            default, spared = constant(plain), None
        elif schema.get("nullable") and not required:
            default = constant(None)
        read = expression("D.get(KEY, DEFAULT)", D=holder, KEY=constant(key), DEFAULT=default)
        self.value(schema, read, spared)

    def _others(self, schema: Schema, holder: str) -> None:
        """Checks the keys of an object that its schema does not name."""
        other = schema.get("valuesrules", schema.get("allow_unknown", False))
        if other is True:
            return
        key, value = next(self._names), next(self._names)
        inner = _Block(self._names)
        if isinstance(other, Mapping):
            inner.value(other, name(value), None)
        else:
            inner._tests.append(constant(True))
        known = tuple(schema.get("schema", {}))
        test = expression("K not in KNOWN", K=key, KNOWN=constant(known)) if known else constant(True)
        if len(known) == 1:
            test = expression("K != KNOWN", K=key, KNOWN=constant(*known))
        self._add(
            statements(
                "for K, V in D.items():\n    if type(K) is not str: return False\n    if TEST: BODY",
                K=key,
                V=value,
                D=holder,
                TEST=test,
                BODY=inner.done() or [ast.Pass()],
            )
        )

    def _add(self, made: list[ast.stmt]) -> None:
        self._made = [*self.done(), *made]


def _options(schema: Schema) -> list[Schema]:
    """What a value may be, of which anything is said."""
    options = schema.get("anyof", [schema])
    for option in (schema, *options):
        assert option.keys() <= _KNOWN, f"schema rules that are not compiled: {option.keys() - _KNOWN}"
    return [option for option in options if types_of(option)]


def _has_parts(schema: Schema) -> bool:
    return "schema" in schema or "valuesrules" in schema


def _plain(schema: Schema) -> Any:
    """A value that the schema allows; None where none is at hand."""
    if "allowed" in schema:
        return schema["allowed"][0]
    if "regex" in schema or "minlength" in schema:
        return None
    return schema.get("min", _PLAIN.get(types_of(schema)[0]))


def _wrong(schema: Schema, local: str, read: ast.expr, spared: ast.expr | None) -> ast.expr:
    """The test that a value is of another type, or not as it should be."""
    test = joined([_other_type(schema, local), *_content(schema, local)], every=False)
    if spared is not None:
        test = expression("V is not SPARED and TEST", V=local, SPARED=spared, TEST=test)
    return test if isinstance(read, ast.Name) else bound(test, local, read)


def _other_type(schema: Schema, local: str) -> ast.expr:
    return joined([expression(_OTHER_TYPE[word], V=local) for word in types_of(schema)], every=True)


def _content(schema: Schema, local: str) -> list[ast.expr]:
    """The tests that a value of the right type is not as it should be."""
    made = []
    if "allowed" in schema:
        made.append(expression("V not in ALLOWED", V=local, ALLOWED=constant(tuple(schema["allowed"]))))
    if "regex" in schema:
        made.append(expression("not MATCH(V)", MATCH=pattern_name(schema["regex"]), V=local))
    return made + [
        expression(test, V=local, N=constant(schema[rule])) for rule, test in _BOUNDS.items() if rule in schema
    ]
