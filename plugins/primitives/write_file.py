"""The primitive ``write-file``: creates or replaces a text file under the active root."""

from __future__ import annotations

from capgate.plugins.api import HookContext, Param, Primitive, hookimpl

__all__ = ["WRITE_FILE", "capgate_primitives"]

#: Contract section 2.
WRITE_FILE = Primitive("write-file", needs=("write",), params=(Param("path"), Param("content")))


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [WRITE_FILE]
