"""Checks of what one hook returned: every field has the type and the form that the contract asks for.

Nothing here runs code of a plugin: only exact types are looked into, and values of other types are
named by their type, not by their ``repr``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from capgate.plugins.api import TAKES, Fact, Mechanism, Operator, Param, Placement, Primitive

__all__ = ["FACT_TYPES", "HOOKS", "NAME", "faults", "shown"]

#: Names of plugins and facts: one segment of a path in a rule.
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
#: The types of the condition language.
FACT_TYPES: Final = ("string", "boolean", "null", "list", "object", "number", "whole", "host")

_WORD: Final = re.compile(r"[a-z][a-z0-9-]*")
_OPERATOR: Final = re.compile(r"[a-z][a-z0-9_]*")
_PARAM: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ABI: Final = re.compile(r"[a-z][a-z0-9-]*(/[a-z0-9-]+)*")
_DOTTED: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)*")
_PARAM_TYPES: Final = ("string", "number", "boolean", "headers")


class _Field(NamedTuple):
    """What a field must be: in words, and as a test."""

    expected: str
    fits: Callable[[Any], bool]


def _text(pattern: re.Pattern[str], expected: str) -> _Field:
    return _Field(expected, lambda value: type(value) is str and pattern.fullmatch(value) is not None)


def _line(expected: str, *, empty: bool = False) -> _Field:
    def fits(value: Any) -> bool:
        return type(value) is str and value.isprintable() and (empty or bool(value.strip()))

    return _Field(expected, fits)


def _one_of(words: tuple[str, ...]) -> _Field:
    return _Field(f"one of {', '.join(words)}", lambda value: type(value) is str and value in words)


def _instance(kind: type) -> _Field:
    return _Field(kind.__name__, lambda value: type(value) is kind)


def _list(item: _Field, expected: str) -> _Field:
    def fits(value: Any) -> bool:
        if type(value) not in (list, tuple):
            return False
        return all(item.fits(part) for part in value)

    return _Field(f"a list or tuple of {expected}", fits)


def _unique(items: _Field) -> _Field:
    def fits(value: Any) -> bool:
        return items.fits(value) and len(set(value)) == len(value)

    return _Field(f"{items.expected}, each once", fits)


def _map(key: _Field, value: _Field, expected: str) -> _Field:
    def fits(found: Any) -> bool:
        if type(found) not in (dict, MappingProxyType):
            return False
        return all(key.fits(name) and value.fits(part) for name, part in found.items())

    return _Field(f"a dict of {expected}", fits)


_CALLABLE: Final = _Field("a function", callable)
_FUNCTION: Final = _Field("a function, or None", lambda value: value is None or callable(value))
_BOOLEAN: Final = _instance(bool)
_CAPABILITY: Final = _text(_WORD, "a name of lower-case letters, digits and '-'")
_PHRASE: Final = _line("one line of text")
_MAYBE: Final = _line("one line of text, or an empty one", empty=True)

#: Value type to its fields, in the order in which faults are reported.
_FIELDS: Final[dict[type, dict[str, _Field]]] = {
    Param: {
        "name": _text(_PARAM, "a name of letters, digits and '_'"),
        "type": _one_of(_PARAM_TYPES),
        "from_caller": _BOOLEAN,
    },
    Primitive: {
        "name": _CAPABILITY,
        "needs": _unique(_list(_CAPABILITY, "capability names")),
        "params": _list(_instance(Param), "Param"),
        "abis": _map(
            _text(_ABI, ""),
            _unique(_list(_text(_DOTTED, ""), "dotted paths")),
            "ABI names to lists of dotted paths",
        ),
        "discloses": _MAYBE,
        "invoke": _FUNCTION,
        "takes": _unique(_list(_one_of(TAKES), f"of {', '.join(TAKES)}")),
    },
    Mechanism: {"name": _CAPABILITY, "gives": _PHRASE, "provide": _FUNCTION},
    Placement: {
        "name": _CAPABILITY,
        "mechanisms": _map(_CAPABILITY, _instance(Mechanism), "capability names to Mechanism"),
        "absent": _map(_CAPABILITY, _PHRASE, "capability names to reasons of one line"),
        "extends": _BOOLEAN,
    },
    Operator: {
        "name": _text(_OPERATOR, "a name of lower-case letters, digits and '_'"),
        "accepts": _CALLABLE,
        "holds": _CALLABLE,
        "absent": _BOOLEAN,
    },
    Fact: {
        "name": _text(NAME, "a name of letters, digits, '_' and '-'"),
        "type": _one_of(FACT_TYPES),
        "meaning": _PHRASE,
        "read": _CALLABLE,
    },
}

#: Hook to what it returns.
HOOKS: Final[dict[str, _Field]] = {
    "capgate_capabilities": _map(_CAPABILITY, _PHRASE, "capability names to meanings of one line"),
    "capgate_primitives": _list(_instance(Primitive), "Primitive"),
    "capgate_placements": _list(_instance(Placement), "Placement"),
    "capgate_operators": _list(_instance(Operator), "Operator"),
    "capgate_facts": _list(_instance(Fact), "Fact"),
    "capgate_rules": _list(_instance(str), "paths"),
}


def faults(hook: str, result: Any) -> Iterator[tuple[str, str]]:
    """Yields (error id, what is wrong) for each fault in what `hook` returned; nothing for a sound result."""
    expected = HOOKS[hook]
    if not expected.fits(result):
        yield "plugin-type", f"returned {shown(result)}, expected {expected.expected}"
        return
    for item in result:
        yield from _value_faults(item)


def _value_faults(value: Any) -> Iterator[tuple[str, str]]:
    fields = _FIELDS.get(type(value), {})
    wrong = [(name, expected) for name, expected in fields.items() if not expected.fits(getattr(value, name))]
    for name, expected in wrong:
        found = shown(getattr(value, name))
        yield "plugin-value", f"{_title(value)}: {name} is {found}, expected {expected.expected}"
    if wrong:
        return
    if type(value) is Primitive:
        for param in value.params:
            yield from _value_faults(param)
        names = [shown(param.name) for param in value.params]
        if len(set(names)) < len(names):
            yield "plugin-value", f"{_title(value)}: two params have one name"
    if type(value) is Placement:
        for mechanism in value.mechanisms.values():
            yield from _value_faults(mechanism)
        for capability in sorted(value.mechanisms.keys() & value.absent.keys()):
            yield "plugin-value", f"{_title(value)}: '{capability}' has a mechanism and is absent; it can only be one"


def _title(value: Any) -> str:
    return f"{type(value).__name__} {shown(value.name)}"


def shown(value: Any, *, parts: bool = True) -> str:
    """`value` in a message: plain values as they are, cut short; all others by the name of their type."""
    kind = type(value)
    if kind is str:
        return repr(value if len(value) <= 60 else value[:60] + "…")
    if value is None or kind is bool or kind is float or (kind is int and abs(value) < 10**18):
        return repr(value)
    if parts and kind in (list, tuple, dict, MappingProxyType):
        most = [shown(part, parts=False) for part in list(value)[:5]]
        more = ", …" if len(value) > 5 else ""
        return f"{_kind(kind)} ({', '.join(most)}{more})" if most else f"an empty {kind.__name__}"
    return _kind(kind)


def _kind(kind: type) -> str:
    name = kind.__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
