"""The primitive ``now``: tells the time of the host."""

from __future__ import annotations

from capgate.plugins.api import HookContext, Primitive, hookimpl

__all__ = ["NOW", "capgate_primitives"]

#: Contract section 2.
NOW = Primitive("now")


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [NOW]
