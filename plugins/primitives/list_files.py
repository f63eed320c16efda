"""The primitive ``list-files``: lists the files under the active root."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capgate.plugins.api import Call, Given, HookContext, Primitive, hookimpl

__all__ = ["LIST_FILES", "capgate_primitives"]


def _invoke(call: Call, given: Given) -> Mapping[str, Any]:
    return {"action": "list", "files": given.read.names()}


#: Contract sections 2 and 7.
LIST_FILES = Primitive("list-files", needs=("read",), invoke=_invoke)


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [LIST_FILES]
