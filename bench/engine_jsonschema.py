"""The rules as one JSON Schema, for jsonschema-rs: it tells well-formed and permitted from all else, and names no rule.

JSON Schema knows no comparison of two names, so that two tools have one name is for Python to find.
"""

from __future__ import annotations

from typing import Any, Final

from bench.engines import Engine, has_bad_host, has_duplicate_tool, imported, more_capabilities
from bench.handwritten import ABIS, MEDIATED, NEEDS, RESERVED, WINDOWS

__all__ = ["JsonSchema"]

_TEXT: Final = {"type": "string"}
_SIZE: Final = {"type": "integer", "minimum": 0}
_FULL: Final = {"type": "string", "minLength": 1}
_PARAMS: Final = {
    "type": "object",
    "properties": {"headers": {"type": "object", "additionalProperties": _TEXT}},
    "additionalProperties": {"type": ["string", "number", "boolean"]},
}


def _layout(fields: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    groups: dict[str, list[str]] = {}
    for group, field in fields:
        groups.setdefault(group, []).append(field)
    properties = {
        group: {"type": "object", "required": keys, "properties": dict.fromkeys(keys, _SIZE)}
        for group, keys in groups.items()
    }
    return {"required": list(groups), "properties": properties}


_MODULE: Final = {
    "type": "object",
    "required": ["path", "digest", "abi", "call"],
    "properties": {
        "path": _FULL,
        "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "abi": {"enum": list(ABIS)},
        "call": {"type": "object", "required": ["export"], "properties": {"export": _FULL}},
    },
    "allOf": [{"if": {"properties": {"abi": {"const": abi}}}, "then": _layout(fields)} for abi, fields in ABIS.items()],
}
_TOOL: Final = {
    "type": "object",
    "required": ["name", "primitive"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9_]+$", "not": {"enum": sorted(RESERVED)}},
        "description": _TEXT,
        "promptSnippet": _TEXT,
        "primitive": {"enum": list(NEEDS)},
        "params": _PARAMS,
    },
    "if": {"properties": {"primitive": {"const": "wasm"}}},
    "then": {"required": ["wasm"], "properties": {"wasm": _MODULE}},
}


def _declares(capability: str) -> dict[str, Any]:
    return {
        "required": ["capabilities"],
        "properties": {"capabilities": {"type": "array", "contains": {"const": capability}}},
    }


def _uses(capability: str) -> dict[str, Any]:
    primitives = [primitive for primitive, need in NEEDS.items() if need == capability]
    used = {"required": ["primitive"], "properties": {"primitive": {"enum": primitives}}}
    return {"properties": {"tools": {"contains": used}}}


_BOUNDED: Final = {
    "required": ["bounds"],
    "properties": {
        "bounds": {
            "type": "object",
            "required": ["hosts", "maxRequests"],
            "properties": {
                "hosts": {"type": "array", "minItems": 1, "items": _TEXT},
                "maxRequests": {"type": "integer", "minimum": 1},
            },
        }
    },
}
_DESCRIPTOR: Final = {
    "type": "object",
    "required": ["tools"],
    "properties": {
        "id": {"type": "string", "maxLength": 100},
        "name": _TEXT,
        "description": _TEXT,
        "source": _TEXT,
        "runsIn": {"enum": ["host", "remote"]},
        "capabilities": {"type": ["array", "null"], "items": {"enum": sorted(MEDIATED)}},
        "bounds": {
            "type": ["object", "null"],
            "properties": {"maxBytes": _SIZE, "window": {"enum": list(WINDOWS)}},
        },
        "tools": {"type": "array", "minItems": 1, "maxItems": 256, "items": _TOOL},
    },
}


class JsonSchema(Engine):
    """jsonschema-rs, compiled once."""

    name = "jsonschema-rs"
    names_rules = False
    helped = "hosts, duplicate names"

    def __init__(self, more: int = 0):
        super().__init__(more)
        jsonschema_rs = imported("jsonschema_rs")
        rules: list[dict[str, Any]] = [{"if": _declares("network"), "then": _BOUNDED}]
        rules += [{"if": _uses(capability), "then": _declares(capability)} for capability in sorted(MEDIATED)]
        rules += [{"not": _declares(capability)} for capability in more_capabilities(more)]
        self._is_valid = jsonschema_rs.validator_for(_DESCRIPTOR | {"allOf": rules}).is_valid

    def decide(self, descriptor: Any) -> str | None:
        """Asks whether the schema holds, and Python for the rest."""
        if not self._is_valid(descriptor) or has_bad_host(descriptor) or has_duplicate_tool(descriptor):
            return "refused"
        return None
