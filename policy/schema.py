"""The Cerberus schemas: the one source of what a descriptor and a rule file look like.

The gate does not run Cerberus on the deciding path; `shapes` compiles these schemas to code, and a
test holds the code against Cerberus itself. ``meta.members`` names what lies below a place that the
shape check leaves to the rules, so that rules may still speak of it by a known path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["CASES", "DESCRIPTOR", "ONE_LINE", "OVERLAY", "RULE", "RULESET", "WINDOWS", "Schema", "members"]

Schema: TypeAlias = "Mapping[str, Any]"

#: When a request budget renews (contract 11.16).
WINDOWS = ("process", "hour", "day", "admission")

#: Text without line breaks and other control characters.
ONE_LINE = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*"

_TEXT: Schema = {"type": "string"}
_PARAMS: Schema = {
    "type": "dict",
    "schema": {"headers": {"type": "dict", "valuesrules": _TEXT}},
    "allow_unknown": {"type": ["string", "number", "boolean"]},
}
_BUFFER: Schema = {"meta": {"members": {"addr": {}, "maxBytes": {}, "bytes": {}}}}
_WASM: Schema = {
    "nullable": True,
    "meta": {
        "members": {
            "path": {},
            "digest": {},
            "abi": {},
            "call": {"meta": {"members": {"export": {}}}},
            "input": _BUFFER,
            "inputA": _BUFFER,
            "inputB": _BUFFER,
            "output": _BUFFER,
        }
    },
}
_TOOL: Schema = {
    "type": "dict",
    "schema": {
        "name": _TEXT,
        "description": _TEXT,
        "promptSnippet": _TEXT,
        "primitive": _TEXT,
        "params": _PARAMS,
        "wasm": _WASM,
    },
    "allow_unknown": True,
}

#: A descriptor: contract section 1 with 11.10.
DESCRIPTOR: Schema = {
    "type": "dict",
    "schema": {
        "id": {"type": "string", "maxlength": 100},
        "name": _TEXT,
        "description": _TEXT,
        "source": _TEXT,
        "runsIn": {"type": "string", "allowed": ["host", "process", "remote"]},
        "capabilities": {"type": "list", "nullable": True},
        "bounds": {
            "type": "dict",
            "nullable": True,
            "schema": {
                "hosts": {"nullable": True},
                "maxRequests": {"nullable": True},
                "maxBytes": {"type": "whole", "min": 0},
                "window": {"type": "string", "allowed": list(WINDOWS)},
            },
            "allow_unknown": True,
        },
        # What is no array is for the rule no-tools, not a malformed document.
        "tools": {
            "nullable": True,
            "anyof": [{"type": "other-than-list"}, {"type": "list", "maxlength": 256, "schema": _TOOL}],
        },
    },
    "allow_unknown": True,
}

_LOOP: Schema = {"type": "dict", "minlength": 1, "maxlength": 1, "valuesrules": {"type": "string", "minlength": 1}}
_ID: Schema = {"type": "string", "required": True, "regex": "[a-z][a-z0-9-]*"}
_SENTENCE: Schema = {"type": "string", "minlength": 1}
_NAMES: Schema = {"type": "list", "schema": {"type": "string", "minlength": 1}}
_GIVEN: Schema = {
    "type": "dict",
    "schema": {"placement": _SENTENCE, "taken": _NAMES, "mechanisms": _NAMES},
}
_EXAMPLES: Schema = {
    "type": "list",
    "schema": {
        "type": "dict",
        "schema": {"descriptor": {"nullable": True, "required": True}, "given": _GIVEN},
    },
}

#: A rule file.
RULE: Schema = {
    "type": "dict",
    "schema": {
        "id": _ID,
        "title": {**_SENTENCE, "required": True, "regex": ONE_LINE},
        "applies_to": {"type": "string", "required": True, "allowed": ["descriptor"]},
        "severity": {"type": "string", "allowed": ["refuse", "warn"]},
        "remedy": _SENTENCE,
        "references": {"type": "list", "schema": _SENTENCE},
        "triggers": {
            "type": "list",
            "required": True,
            "minlength": 1,
            "schema": {
                "type": "dict",
                "schema": {
                    "stage": {**_SENTENCE, "required": True},
                    "for_each": _LOOP,
                    "at": _SENTENCE,
                    "when": {"type": "dict", "required": True, "minlength": 1},
                    "reason": {**_SENTENCE, "required": True},
                    "remedy": _SENTENCE,
                },
            },
        },
        "examples": {"type": "dict", "schema": {"refused": _EXAMPLES, "admitted": _EXAMPLES}},
    },
}

_LANGUAGE: Schema = {"type": "whole", "required": True, "allowed": [1]}
_STAGE_NAME: Schema = {"type": "string", "required": True, "regex": "[a-z][a-z0-9-]*"}

#: The shipped ruleset.yaml.
RULESET: Schema = {
    "type": "dict",
    "schema": {
        "language": _LANGUAGE,
        "stages": {
            "type": "list",
            "required": True,
            "minlength": 1,
            "schema": {
                "type": "dict",
                "schema": {
                    "name": _STAGE_NAME,
                    "for_each": _LOOP,
                    "rules": {"type": "list", "required": True, "minlength": 1, "schema": _ID},
                },
            },
        },
    },
}

#: The ruleset.yaml of an overlay: it can add stages, nothing else.
OVERLAY: Schema = {
    "type": "dict",
    "schema": {
        "language": _LANGUAGE,
        "stages": {
            "type": "list",
            "required": True,
            "minlength": 1,
            "schema": {
                "type": "dict",
                "schema": {
                    "name": _STAGE_NAME,
                    "after": {**_SENTENCE, "required": True},
                    "for_each": _LOOP,
                },
            },
        },
    },
}

_IDS: Schema = {"type": "list", "schema": _SENTENCE}

#: A file of cases in the ``tests`` folder of an overlay.
CASES: Schema = {
    "type": "dict",
    "schema": {
        "cases": {
            "type": "list",
            "required": True,
            "minlength": 1,
            "schema": {
                "type": "dict",
                "schema": {
                    "name": {**_SENTENCE, "required": True},
                    "descriptor": {"nullable": True},
                    "path": _SENTENCE,
                    "given": _GIVEN,
                    "refused": {**_IDS, "minlength": 1},
                    "absent": {**_IDS, "minlength": 1},
                    "exactly": _IDS,
                    "places": _IDS,
                    "decision": {"type": "string", "allowed": ["admitted", "refused"]},
                },
            },
        },
    },
}


def members(schema: Schema) -> tuple[Mapping[str, Schema], bool]:
    """The known members below a place, and whether any other key may stand there too."""
    if "valuesrules" in schema:
        return {}, True
    known = schema.get("schema", {}) if schema.get("type") == "dict" else schema.get("meta", {}).get("members", {})
    return known, isinstance(schema.get("allow_unknown"), Mapping)
