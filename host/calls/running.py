"""Runs a primitive's code: capgate's own as it is, a plugin's so that whatever it does stays a result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final, cast

from capgate.host.calls.errors import ToolError
from capgate.plugins.api import Call, Given, Primitive, Refused
from capgate.plugins.calls import Calls, Direct, Fault

__all__ = ["run"]

_ID: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_ID: Final = 60


def run(primitive: Primitive, call: Call, given: Callable[[], Given], calls: Calls) -> dict[str, Any]:
    """The parts of the result, as JSON data of nobody else.

    Args:
        primitive: whose code is run.
        call: what it is told; the code of a plugin gets a copy.
        given: makes what it is handed; a plugin's own mechanisms are code of the plugin, too.
        calls: calls the code of the primitive's plugin.

    Raises:
        Refused: by the primitive, or by what it was handed.
        ToolError: ``not-callable``; ``primitive-failed``: a plugin's code raised, hangs, or returned nonsense.
    """
    if primitive.invoke is None:
        raise ToolError("not-callable", f"there is no code for the primitive {primitive.name!r}")
    if isinstance(calls, Direct):
        return dict(primitive.invoke(call, given()))
    invoke, told = primitive.invoke, deepcopy(call)
    try:
        done = calls.call(lambda: _outcome(invoke, told, given))
    except Fault as fault:
        raise ToolError("primitive-failed", f"the primitive {primitive.name!r} {fault.what}") from None
    if isinstance(done, Refused):
        raise done
    return done


def _outcome(
    invoke: Callable[[Call, Given], Mapping[str, Any]], call: Call, given: Callable[[], Given]
) -> dict[str, Any] | Refused:
    """What a plugin's code gave, or how it refused; runs where the plugin's code runs, as it touches its values."""
    try:
        return _plain(invoke(call, given()), "the result")
    except Refused as refused:
        id, why = refused.id, refused.why
        if type(id) is not str or len(id) > _LONGEST_ID or not _ID.fullmatch(id) or type(why) is not str:
            raise ValueError("it refused without an id of lower-case words, and a sentence") from None
        return Refused(id, why, _plain(refused.details, "the details of a refusal"))


def _plain(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} is no mapping")
    return cast("dict[str, Any]", json.loads(json.dumps(dict(value), allow_nan=False)))
