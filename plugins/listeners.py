"""Tells plugins of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from capgate.plugins.calls import Fault
from capgate.plugins.errors import PluginError
from capgate.plugins.hooks import Gathered, invoke

__all__ = ["tell"]


def tell(listening: Sequence[Gathered], to_json: Callable[[], dict[str, Any]]) -> tuple[PluginError, ...]:
    """Calls ``capgate_decided`` of each plugin with data of its own from `to_json`.

    A verdict is made before anyone is told, and nothing here can change it: what goes wrong with a
    plugin is returned, and the others are told all the same.
    """
    problems: list[PluginError] = []
    for one in listening:
        source = one.source
        for function in one.listeners:
            verdict = to_json()
            try:
                source.caller.call(partial(invoke, function, context=source.context(), verdict=verdict))
            except Fault as fault:
                problems.append(PluginError(fault.id, fault.what, origin=source.origin, hook="capgate_decided"))
    return tuple(problems)
