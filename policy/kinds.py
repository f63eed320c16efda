"""Which types a place of a well-formed descriptor can have, for code that runs behind the stage `shape`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from capgate.policy.schema import DESCRIPTOR, Schema

__all__ = ["ANY", "Kinds", "of_document", "of_tool"]

#: The types that a value can have, `ABSENT` among them as if it were one.
Kinds: TypeAlias = frozenset[str]

ANY: Final[Kinds] = frozenset(["str", "bool", "int", "float", "list", "dict", "None", "ABSENT", "another"])
_OF_WORDS: Final[Mapping[str, Kinds]] = {
    "string": frozenset(["str"]),
    "boolean": frozenset(["bool"]),
    "number": frozenset(["int", "float"]),
    "whole": frozenset(["int", "float"]),
    "list": frozenset(["list"]),
    "dict": frozenset(["dict"]),
    "other-than-list": ANY - {"list"},
}


def of_document(member: str) -> Kinds:
    """What a key of the descriptor can hold."""
    return _of(DESCRIPTOR["schema"].get(member, {}))


def of_tool(member: str | None) -> Kinds:
    """What a key of a tool can hold; with None what a tool can be."""
    tools = DESCRIPTOR["schema"]["tools"]["anyof"]
    tool = next(option["schema"] for option in tools if option["type"] == "list")
    return _of(tool["schema"].get(member, {})) if member is not None else _of(tool) - {"ABSENT"}


def _of(schema: Schema) -> Kinds:
    options = schema.get("anyof", [schema])
    types = [option.get("type", []) for option in options]
    words = [word for found in types for word in ([found] if isinstance(found, str) else found)]
    if not words:
        return ANY
    kinds = frozenset().union(*(_OF_WORDS[word] for word in words))
    return kinds | ({"None"} if schema.get("nullable") else set()) | {"ABSENT"}
