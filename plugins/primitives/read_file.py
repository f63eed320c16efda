"""The primitive ``read-file``: hands out the text of a file under the active root."""

from __future__ import annotations

from capgate.plugins.api import HookContext, Param, Primitive, hookimpl

__all__ = ["READ_FILE", "capgate_primitives"]

#: Contract section 2.
READ_FILE = Primitive("read-file", needs=("read",), params=(Param("path"),))


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [READ_FILE]
