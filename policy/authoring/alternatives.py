"""What a mutant puts in place of an operator, a literal or a pattern: near to it, and never the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from capgate.policy.authoring.apart import equivalent
from capgate.policy.authoring.automata import Language
from capgate.policy.patterns import PatternRefused, compile_pattern

__all__ = ["OPPOSITES", "literals", "neighbour", "same_texts"]

#: Each operator that has one, with the operator that says the opposite of a value it is for.
OPPOSITES: Final[Mapping[str, str]] = {
    "in": "not_in",
    "not_in": "in",
    "contains": "lacks",
    "lacks": "contains",
    "min": "max",
    "max": "min",
    "minlength": "maxlength",
    "maxlength": "minlength",
}
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("host", "list"),
    "boolean": ("null",),
    "null": ("boolean",),
    "list": ("object", "string"),
    "object": ("list",),
    "number": ("whole",),
    "whole": ("number",),
    "host": ("string",),
}
#: Facts that are easily taken for one another.
_NEIGHBOURS: Final[Mapping[str, str]] = {
    "catalog.capabilities": "catalog.mediated",
    "catalog.mediated": "catalog.capabilities",
    "catalog.primitives": "catalog.abis",
    "catalog.abis": "catalog.primitives",
    "placement.mechanisms": "catalog.capabilities",
    "host.taken": "catalog.primitives",
}
_CLASS: Final = re.compile(r"\[(\^?)((?:\\.|[^\]\\])+)\]")
_MEMBER: Final = re.compile(r"(?:\\.|[^\\])(?:-(?:\\.|[^\\]))?")
_REPEAT: Final = re.compile(r"(?<!\\)(?:[+*?]|\{(\d+)\})")


def neighbour(fact: str) -> str | None:
    """A fact that could be taken for this one, if there is such."""
    return _NEIGHBOURS.get(fact)


def literals(operator: str, operand: Any) -> Iterator[tuple[str, Any]]:
    """Other operands for an operator, each with what was done, in words.

    Args:
        operator: its name.
        operand: a literal, as the rule file has it.
    """
    if operator == "type":
        yield from ((f"another type: {word}", word) for word in _TYPES[operand])
    elif operator == "matches":
        yield from _patterns(operand)
    elif operator in ("exists", "empty"):
        yield "the opposite", not operand
    elif operator in ("minlength", "maxlength"):
        yield from (step for step in _steps(operand) if step[1] >= 0)
    elif operator in ("in", "not_in", "subset_of") and type(operand) is list:
        for number, item in enumerate(operand):
            yield f"without {item!r}", [*operand[:number], *operand[number + 1 :]]
    else:
        yield from _values(operand)


def same_texts(pattern: str, other: str) -> bool:
    """Whether it is certain that two patterns match the same texts; not where one of them is none."""
    try:
        compile_pattern(other)
    except PatternRefused:
        return False
    return equivalent(Language("pattern", pattern), Language("pattern", other))


def _values(value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) is bool:
        yield "the opposite", not value
    elif type(value) in (int, float):
        yield from _steps(value)
    elif type(value) is str:
        yield "another word", value + "x"
    elif value is None:
        yield "another value", False
    elif type(value) is list:
        for number, item in enumerate(value):
            yield f"without {item!r}", [*value[:number], *value[number + 1 :]]
    else:
        for key in value:
            yield f"without {key!r}", {name: part for name, part in value.items() if name != key}


def _steps(number: float) -> Iterator[tuple[str, Any]]:
    yield "one more", number + 1
    yield "one less", number - 1


def _patterns(text: str) -> Iterator[tuple[str, str]]:
    """Patterns that match a little more, or a little less."""
    made: dict[str, str] = {}
    if "|" not in text:
        made[f".*{text}"] = "loosened at its start"
        made[f"{text}.*"] = "loosened at its end"
    for found in _CLASS.finditer(text):
        members = _MEMBER.findall(found[2])
        for number, member in enumerate(members):
            rest = "".join(members[:number] + members[number + 1 :])
            if rest:
                made[_put(text, found, f"[{found[1]}{rest}]")] = f"without {member!r}"
    outside = _CLASS.sub(lambda found: "x" * len(found[0]), text)
    for found in _REPEAT.finditer(outside):
        for other in _repeats(found[0], found[1]):
            made[_put(text, found, other)] = f"{other or 'once'} for {found[0]}"
    said: Counter[str] = Counter()
    for other, what in made.items():
        said[what] += 1
        # Where the same is done in several places, the first one needs no number.
        yield what if said[what] == 1 else f"{what} ({said[what]})", other


def _repeats(repeat: str, count: str | None) -> tuple[str, ...]:
    if count is None:
        return ("+",) if repeat == "*" else ("*",) if repeat == "+" else ("",)
    number = int(count)
    return (f"{{{number + 1}}}", *([f"{{{number - 1}}}"] if number else []))


def _put(text: str, found: re.Match[str], other: str) -> str:
    return text[: found.start()] + other + text[found.end() :]
