"""The primitive ``http-get``: fetches a URL of a declared host."""

from __future__ import annotations

from capgate.plugins.api import HookContext, Param, Primitive, hookimpl

__all__ = ["HTTP_GET", "capgate_primitives"]

#: Contract section 2.
HTTP_GET = Primitive(
    "http-get",
    needs=("network",),
    params=(Param("url"), Param("headers", "headers", from_caller=False)),
)


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [HTTP_GET]
