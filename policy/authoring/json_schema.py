"""The schemas of our files as JSON Schema (2020-12), for editors.

They are translated from what the loader itself runs: the schemas of `capgate.policy.schema`, the
operators, and the vocabulary. An editor then shows most mistakes while they are typed; what JSON Schema
cannot express (a stage that does not exist, a file that is not called as its rule) the loader still finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from capgate.policy import schema
from capgate.policy.authoring.grammar import FOR_EACH, PATH_OR_PLACEHOLDER, TEMPLATE, condition_definitions
from capgate.policy.catalog import Catalog
from capgate.policy.ruleset import RuleSet
from capgate.policy.schema import Schema

__all__ = ["KINDS", "json_schema"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final = {"list": "array", "dict": "object", "whole": "integer"}
#: In words of JSON Schema: what limits the length of a text, a list and an object.
_LENGTHS: Final = {"string": "Length", "list": "Items", "dict": "Properties"}

Place = tuple[str, ...]
#: What is known of a place beyond its schema, by the keys that lead there; ``*`` is any item of a list.
_Extra = Mapping[Place, Mapping[str, Any]]


def json_schema(kind: str, catalog: Catalog, rules: RuleSet) -> dict[str, Any]:
    """The JSON Schema of one kind of file; `kind` is a key of `KINDS`.

    Args:
        kind: which one.
        catalog: what exists, so that paths, operators and placements can be named.
        rules: the rule set, for its stages and ids.
    """
    title, make = KINDS[kind]
    return {"$schema": _DIALECT, "title": title, **make(catalog, rules)}


def _rule(catalog: Catalog, rules: RuleSet) -> dict[str, Any]:
    trigger = ("triggers", "*")
    stages = [stage.name for stage in rules.stages]
    extra: dict[Place, Mapping[str, Any]] = {
        ("id",): {"description": "The id that refusals carry; the file is called by it."},
        ("title",): {"description": "One line: what holds when the rule is silent."},
        ("severity",): {"description": "warn reports, and decides nothing.", "default": "refuse"},
        ("remedy",): {"description": "What to do, for triggers without a remedy of their own.", **TEMPLATE},
        ("references",): {"description": "Where more is said."},
        ("triggers",): {"description": "When the rule refuses."},
        ("examples",): {"description": "Descriptors that the rule has to refuse, and some on which it is silent."},
        (*trigger, "stage"): {"description": "The stage in which it is asked.", "examples": stages},
        (*trigger, "for_each"): {"description": "One more loop: a variable, and the list it walks over.", **FOR_EACH},
        (*trigger, "when"): {"$ref": "#/$defs/condition", "description": "Refuses where this is true or unknown."},
        (*trigger, "reason"): {"description": "What is wrong; {some.path} puts in a value.", **TEMPLATE},
        (*trigger, "remedy"): {"description": "What to do; {some.path} puts in a value.", **TEMPLATE},
        (*trigger, "at"): {"description": "The place that the refusal points at.", **PATH_OR_PLACEHOLDER},
        **_given(("examples", "refused", "*"), catalog),
        **_given(("examples", "admitted", "*"), catalog),
    }
    return {**_translated(schema.RULE, extra), "$defs": condition_definitions(catalog, rules)}


def _overlay(catalog: Catalog, rules: RuleSet) -> dict[str, Any]:
    stages = [stage.name for stage in rules.stages]
    extra: dict[Place, Mapping[str, Any]] = {
        ("stages",): {"description": "Stages to add."},
        ("stages", "*", "after"): {"description": "The stage that it follows.", "examples": stages},
        ("stages", "*", "for_each"): {"description": "What the stage walks over.", **FOR_EACH},
    }
    return _translated(schema.OVERLAY, extra)


def _shipped(catalog: Catalog, rules: RuleSet) -> dict[str, Any]:
    extra: dict[Place, Mapping[str, Any]] = {
        ("stages", "*", "for_each"): FOR_EACH,
        ("stages", "*", "rules"): {"uniqueItems": True},
    }
    return _translated(schema.RULESET, extra)


def _cases(catalog: Catalog, rules: RuleSet) -> dict[str, Any]:
    case = ("cases", "*")
    ids = {"examples": list(rules.rules)}
    expected: list[Any] = [{"required": [key]} for key in ("refused", "absent", "exactly", "places", "decision")]
    extra: dict[Place, Mapping[str, Any]] = {
        case: {
            "oneOf": [{"required": ["descriptor"]}, {"required": ["path"]}],
            "anyOf": expected,
            "dependentSchemas": {
                "exactly": {"not": {"anyOf": [{"required": ["refused"]}, {"required": ["absent"]}]}},
            },
        },
        (*case, "path"): {"description": "A file with the descriptor, relative to this one."},
        (*case, "refused", "*"): ids,
        (*case, "absent", "*"): ids,
        (*case, "exactly", "*"): ids,
        (*case, "refused"): {"description": "Rules that have to be among the refusals."},
        (*case, "absent"): {"description": "Rules that must not be among them."},
        (*case, "exactly"): {"description": "All refusals in their order; none is []."},
        (*case, "places"): {"description": "The JSON paths that all refusals point at, in their order."},
        (*case, "decision"): {"description": "What is decided; a warning decides nothing."},
        **_given(case, catalog),
    }
    return _translated(schema.CASES, extra)


def _descriptor(catalog: Catalog, rules: RuleSet) -> dict[str, Any]:
    extra: dict[Place, Mapping[str, Any]] = {
        ("capabilities",): {"description": "What the tools need.", "examples": [list(catalog.capabilities)]},
        ("tools", "*", "primitive"): {"examples": list(catalog.primitives)},
    }
    return _translated(schema.DESCRIPTOR, extra)


#: Every kind of file: its title, and what makes its schema.
KINDS: Final[Mapping[str, tuple[str, Callable[[Catalog, RuleSet], dict[str, Any]]]]] = {
    "rule": ("A capgate rule", _rule),
    "ruleset": ("The ruleset.yaml of an overlay", _overlay),
    "cases": ("Cases for capgate rules", _cases),
    "descriptor": ("A capgate descriptor", _descriptor),
    "shipped-ruleset": ("The ruleset.yaml of the shipped rules", _shipped),
}


def _given(place: Place, catalog: Catalog) -> dict[Place, Mapping[str, Any]]:
    """What is judged against."""
    return {
        (*place, "given", "placement"): {"enum": list(catalog.placements)},
        (*place, "given", "mechanisms", "*"): {"enum": list(catalog.capabilities)},
    }


def _translated(part: Schema, extra: _Extra, place: Place = ()) -> dict[str, Any]:
    """One of our schemas in the words of JSON Schema."""
    if "anyof" in part:
        options = [_translated(option, extra, place) for option in part["anyof"]]
        return {"anyOf": [*options, {"type": "null"}] if part.get("nullable") else options}
    made = {**_types(part), **_limits(part)}
    if "schema" in part and part["type"] == "list":
        made["items"] = _translated(part["schema"], extra, (*place, "*"))
    elif part.get("type") == "dict":
        made |= _members(part, extra, place)
    return {**made, **extra.get(place, {})}


def _types(part: Schema) -> dict[str, Any]:
    found = part.get("type")
    if found is None:
        return {}
    if found == "other-than-list":
        return {"not": {"type": "array"}}
    words = [_TYPES.get(word, word) for word in ([found] if isinstance(found, str) else found)]
    if part.get("nullable"):
        words.append("null")
    return {"type": words[0] if len(words) == 1 else words}


def _limits(part: Schema) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "allowed" in part:
        made["enum"] = list(part["allowed"])
    if "regex" in part:
        # The whole text: a bare $ also matches before a last line feed where Python reads the pattern.
        made["pattern"] = f"^(?:{part['regex']})$(?![\\s\\S])"
    for rule, word in (("minlength", "min"), ("maxlength", "max")):
        if rule in part:
            made[word + _LENGTHS[part["type"]]] = part[rule]
    if "min" in part:
        made["minimum"] = part["min"]
    return made


def _members(part: Schema, extra: _Extra, place: Place) -> dict[str, Any]:
    known: Mapping[str, Schema] = part.get("schema", {})
    made: dict[str, Any] = {}
    if known:
        made["properties"] = {key: _translated(member, extra, (*place, key)) for key, member in known.items()}
    required = [key for key, member in known.items() if member.get("required")]
    if required:
        made["required"] = required
    other = part.get("valuesrules", part.get("allow_unknown", "schema" not in part))
    if other is not True:
        made["additionalProperties"] = _translated(other, extra, (*place, "?")) if other else False
    return made
