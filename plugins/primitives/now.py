"""The primitive ``now``: tells the time of the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capgate.plugins.api import Call, Given, HookContext, Primitive, hookimpl

__all__ = ["NOW", "capgate_primitives"]


def _invoke(call: Call, given: Given) -> Mapping[str, Any]:
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(given.clock.now(), UTC)
    return {"action": "now", "content": moment.strftime("%A, %d %B %Y, %H:%M:%S UTC")}


#: Contract sections 2 and 7.
NOW = Primitive("now", invoke=_invoke, takes=("clock",))


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive of this module."""
    return [NOW]
