"""What is asked of a descriptor at the door, before it is staged (contract 3).

The gate judges what an extension may do. Here only that is asked which it must have to be filed at all,
under ids of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import Any, Final

from capgate.host.admission.errors import AdmissionError
from capgate.policy.documents import DocumentError, canonical, load_json
from capgate.policy.text import show

__all__ = ["LONGEST_ID", "at_local_door", "at_proposal_door", "is_id", "stem"]

#: The longest id, in characters: a file is named after it (contract 11.10).
LONGEST_ID: Final = 100
_ID: Final = re.compile(r"[a-z0-9_-]+")
_TOOL: Final = re.compile(r"[a-z0-9_]+")


def is_id(id: object) -> bool:
    """Whether this is the id of an extension, and so the stem of its file."""
    return type(id) is str and len(id) <= LONGEST_ID and _ID.fullmatch(id) is not None


def stem(id: object) -> str:
    """The last part of an id that a request names, as a file is named after it; never a path.

    Raises:
        AdmissionError: ``bad-request``: it is no text, or an empty one.
    """
    if type(id) is not str or not id:
        raise AdmissionError("bad-request", "the id is missing")
    return os.path.basename(id)


def at_proposal_door(descriptor: object) -> dict[str, Any]:
    """The descriptor, if it may be filed as a proposal; tools, primitives and capabilities are not looked at.

    Raises:
        AdmissionError: ``bad-descriptor``, ``invalid-id``, or ``no-tools`` where the tools are no list.
    """
    data = _object(descriptor)
    if type(data.get("tools")) is not list:
        raise AdmissionError("no-tools", f"tools is {show(data.get('tools'))}, not a list")
    return data


def at_local_door(descriptor: object, primitives: Collection[str]) -> dict[str, Any]:
    """The descriptor, if a person may file it: it must say what it is called and what it is.

    Args:
        descriptor: what was sent.
        primitives: the primitives that there are.

    Raises:
        AdmissionError: ``bad-descriptor``, ``invalid-id``, ``missing-name``, ``missing-description``,
            ``no-tools``, ``bad-tool-name`` or ``unknown-primitive``; the first that applies.
    """
    data = _object(descriptor)
    for key in ("name", "description"):
        text = data.get(key)
        if type(text) is not str or not text.strip():
            raise AdmissionError(f"missing-{key}", f"{key} is {show(text)}, not a text")
    tools = data.get("tools")
    if type(tools) is not list or not tools:
        raise AdmissionError("no-tools", f"tools is {show(tools)}, not a list of at least one tool")
    for index, tool in enumerate(tools):
        name = tool.get("name") if type(tool) is dict else None
        if type(name) is not str or _TOOL.fullmatch(name) is None:
            raise AdmissionError("bad-tool-name", f"the name of tools[{index}] is {show(name)}")
    for index, tool in enumerate(tools):
        primitive = tool.get("primitive")
        if type(primitive) is not str or primitive not in primitives:
            known = ", ".join(sorted(primitives))
            raise AdmissionError(
                "unknown-primitive", f"the primitive of tools[{index}] is {show(primitive)}, not one of {known}"
            )
    return data


def _object(descriptor: object) -> dict[str, Any]:
    if type(descriptor) is not dict:
        raise AdmissionError("bad-descriptor", f"the descriptor is {show(descriptor)}, not an object")
    try:
        # It is filed as text, and must be readable from there.
        load_json(canonical(descriptor))
    except DocumentError as error:
        raise AdmissionError("bad-descriptor", f"the descriptor cannot be kept: {error.message}") from None
    if not is_id(descriptor.get("id")):
        raise AdmissionError(
            "invalid-id",
            f"the id is {show(descriptor.get('id'))}, not a text of 1 to {LONGEST_ID} characters a-z, 0-9, _ and -",
        )
    return descriptor
