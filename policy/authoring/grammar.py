r"""The grammar of conditions, paths and templates as JSON Schema.

``patternErrorMessage`` is what editors show in place of a pattern; others pass it over. Patterns are
written for any regular-expression engine that an editor may have: no named groups, and
``$(?![\s\S])`` for the end of the text, since a bare ``$`` may also match before a last line feed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from capgate.policy.catalog import Catalog
from capgate.policy.operators import BUILT_IN, TYPES
from capgate.policy.ruleset import RuleSet
from capgate.policy.vocabulary import FACTS, ROOTS, Term, UnknownPath, Vocabulary

__all__ = ["FOR_EACH", "PATH_OR_PLACEHOLDER", "TEMPLATE", "condition_definitions"]

_END: Final = r"$(?![\s\S])"
_SEGMENT: Final = "[A-Za-z_][A-Za-z0-9_-]*"
_PATH: Final = rf"{_SEGMENT}(?:\.{_SEGMENT})*"
#: What no loop variable can be called; `host` is the one root that can.
_WORDS: Final = "|".join((*(root for root in ROOTS if root != "host"), "fact", "all", "any", "none", "not"))
_VARIABLE: Final = rf"(?!(?:{_WORDS}){_END})[a-z][a-z0-9_]*"
#: The same where more may follow after a dot.
_VARIABLE_START: Final = rf"(?!(?:{_WORDS})(?:\.|{_END}))[a-z][a-z0-9_]*"

#: ``for_each``: one variable, and the path of the list that it walks over.
FOR_EACH: Final = {
    "propertyNames": {"pattern": f"^{_VARIABLE}{_END}"},
    "additionalProperties": {"type": "string", "pattern": f"^{_PATH}{_END}"},
}
#: ``at``: a path, or one path in braces.
PATH_OR_PLACEHOLDER: Final = {
    "pattern": rf"^(?:{_PATH}|\{{{_PATH}\}}){_END}",
    "patternErrorMessage": "Give a path, or one path in braces and nothing around it.",
}
#: Text with paths in braces, and doubled braces for plain ones.
TEMPLATE: Final = {
    "pattern": rf"^(?:[^{{}}]|\{{\{{|\}}\}}|\{{{_PATH}\}})*{_END}",
    "patternErrorMessage": "Write {some.path} for a value, {{ and }} for braces.",
}

#: What a literal operand has to be, by the words in which an operator says so.
_OPERANDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "a value": {},
    "a list": {"type": "array"},
    "a number": {"type": "number"},
    "a whole number of at least 0": {"type": "integer", "minimum": 0},
    "a pattern, as text": {"type": "string"},
    "true or false": {"type": "boolean"},
    "one of " + ", ".join(TYPES): {"enum": list(TYPES)},
    "a map of operators": {"$ref": "#/$defs/operators"},
}
_MEANINGS: Final = {
    "equals": "Is the value, compared deeply.",
    "in": "Is one of a list.",
    "not_in": "Is none of a list; true of an absent value.",
    "matches": "Is text that the pattern matches from its first to its last character.",
    "contains": "Is a list with the operand among its elements.",
    "lacks": "Is a list without the operand among its elements; true of an absent value.",
    "subset_of": "Is a list, and every element is one of the operand's.",
    "empty": "true: has no characters, items or keys, or is absent; false: has some.",
    "min": "Is a number of at least the operand.",
    "max": "Is a number of at most the operand.",
    "minlength": "Has at least so many characters, items or keys.",
    "maxlength": "Has at most so many characters, items or keys.",
    "type": "Is of the type.",
    "each": "Is a list, and every element meets the operators given.",
    "exists": "true: there is a value, be it null; false: there is none.",
}


def condition_definitions(catalog: Catalog, rules: RuleSet) -> dict[str, Any]:
    """The definitions ``condition``, ``operators`` and ``fact``, to stand under ``$defs``."""
    known = dict(_known_paths(catalog, rules))
    reference = {"$ref": "#/$defs/operators"}
    conditions = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/condition"}}
    return {
        "condition": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {
                "all": {**conditions, "description": "Every one holds."},
                "any": {**conditions, "description": "Some one holds."},
                "none": {**conditions, "description": "No one holds."},
                "not": {"$ref": "#/$defs/condition", "description": "It does not hold."},
                **{path: {**reference, "description": meaning} for path, meaning in known.items()},
            },
            # A loop variable of any name, and what lies below it.
            "patternProperties": {rf"^{_VARIABLE_START}(?:\.{_SEGMENT})*{_END}": reference},
            "additionalProperties": False,
        },
        "operators": {
            "type": "object",
            "minProperties": 1,
            "properties": {name: _operator(name) for name in BUILT_IN} | {name: {} for name in catalog.operators},
            "additionalProperties": False,
        },
        "fact": {
            "type": "object",
            "properties": {"fact": {"type": "string", "pattern": f"^{_PATH}{_END}", "examples": list(known)}},
            "required": ["fact"],
            "additionalProperties": False,
        },
    }


def _operator(name: str) -> dict[str, Any]:
    operator = BUILT_IN[name]
    literal = dict(_OPERANDS[operator.takes])
    said = {"description": _MEANINGS[name]}
    if not operator.takes_facts:
        return literal | said
    if literal:
        return {"anyOf": [literal, {"$ref": "#/$defs/fact"}], **said}
    # Any value; but what has the key `fact` is a fact and nothing else.
    looks_like = {"type": "object", "required": ["fact"]}
    return {"if": looks_like, "then": {"$ref": "#/$defs/fact"}, **said}


def _known_paths(catalog: Catalog, rules: RuleSet) -> Iterator[tuple[str, str]]:
    """Every path with a value, with what it is: below the roots, and below the variables of the stages."""
    vocabulary = Vocabulary(catalog)
    meanings = {path: meaning.replace("`", "") for path, _, meaning in FACTS}
    loops = {stage.loop.variable: stage.loop for stage in rules.stages if stage.loop}
    elements = {variable: loop.element for variable, loop in loops.items()}
    for root in ROOTS:
        for path in _paths(root, vocabulary, {}):
            fact = catalog.facts.get(path)
            yield path, fact.meaning if fact else meanings.get(path, "as submitted")
    for variable, loop in loops.items():
        for path in _paths(variable, vocabulary, elements):
            usual = f"one of {loop.over.text}" if path == variable else "as submitted"
            yield path, meanings.get(f"T.{path.partition('.')[2]}", usual)


def _paths(path: str, vocabulary: Vocabulary, elements: Mapping[str, Term]) -> Iterator[str]:
    """A path and those below it that have a value."""
    names: Iterable[str]
    try:
        names = vocabulary.resolve(path, elements).term.members
        yield path
    except UnknownPath as unknown:
        names = () if unknown.word else unknown.known  # without a word it is a prefix of others
    for name in names:
        yield from _paths(f"{path}.{name}", vocabulary, elements)
