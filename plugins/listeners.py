"""Tells plugins of verdicts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import pluggy

from capgate.plugins.calls import Fault
from capgate.plugins.data import plain
from capgate.plugins.errors import PluginError
from capgate.plugins.hooks import Gathered, Source, invoke

__all__ = ["tell"]

_log: Final = logging.getLogger("capgate.plugins")


def tell(listening: Sequence[Gathered], descriptor: Any, verdict: dict[str, Any]) -> None:
    """Calls ``capgate_decided`` of each plugin with copies of `descriptor` and of the verdict.

    A verdict is made before anyone is told, and nothing here can change it: what goes wrong with a
    plugin is logged as an error, and the others are told all the same.
    """
    for one in listening:
        for function in one.listeners:
            _tell(one.source, function, descriptor, verdict)


def _tell(source: Source, function: pluggy.HookImpl, descriptor: Any, verdict: dict[str, Any]) -> None:
    def call() -> None:
        invoke(function, context=source.context(), descriptor=plain(descriptor), verdict=plain(verdict))

    try:
        source.caller.call(call)
    except Fault as fault:
        _log.error("%s", PluginError(fault.id, fault.what, origin=source.origin, hook="capgate_decided"))
