"""The primitive ``read-file``: hands out the text of a file under the active root."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capgate.plugins.api import Call, Given, HookContext, Param, Primitive, Refused, hookimpl

__all__ = ["READ_FILE", "capgate_primitives", "path_of"]


def path_of(call: Call) -> str:
    """The path that a call is about; empty where neither the caller nor the descriptor says one.

    Raises:
        Refused: ``bad-path``: the descriptor sets what is no text.
    """
    path = call.value("path")
    if path is None:
        return ""
    if type(path) is not str:
        raise Refused("bad-path", "the path that the descriptor sets is no text")
    return path


def _invoke(call: Call, given: Given) -> Mapping[str, Any]:
    path = path_of(call)
    return {"action": path, "content": given.read.text(path)}


#: Contract sections 2 and 7.
READ_FILE = Primitive("read-file", needs=("read",), params=(Param("path"),), invoke=_invoke)


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [READ_FILE]
