"""The primitive ``list-files``: lists the files under the active root."""

from __future__ import annotations

from capgate.plugins.api import HookContext, Primitive, hookimpl

__all__ = ["LIST_FILES", "capgate_primitives"]

#: Contract section 2.
LIST_FILES = Primitive("list-files", needs=("read",))


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [LIST_FILES]
