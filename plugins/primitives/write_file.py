"""The primitive ``write-file``: creates or replaces a text file under the active root."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capgate.plugins.api import Call, Given, HookContext, Param, Primitive, Refused, hookimpl
from capgate.plugins.primitives.read_file import path_of

__all__ = ["WRITE_FILE", "capgate_primitives"]


def _invoke(call: Call, given: Given) -> Mapping[str, Any]:
    path = path_of(call)
    content = call.value("content")
    if content is None:
        content = ""
    elif type(content) is not str:
        raise Refused("not-text", "the content that the descriptor sets is no text")
    size = given.write.text(path, content)
    return {"action": f"wrote {path} ({size} bytes)"}


#: Contract sections 2 and 7.
WRITE_FILE = Primitive("write-file", needs=("write",), params=(Param("path"), Param("content")), invoke=_invoke)


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [WRITE_FILE]
