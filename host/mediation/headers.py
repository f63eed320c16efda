"""Headers of requests: which may be set, and which of them hold secrets (contract 11.9)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from capgate.plugins.api import Refused

__all__ = ["checked", "for_elsewhere", "secret_values"]

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,8192}")
#: The host sets these itself: they say to whom the request goes, and where it ends.
_OWN: Final = frozenset(
    "accept-encoding connection content-length expect host keep-alive te trailer transfer-encoding upgrade".split()
)
#: What says nothing of who asks, and may follow a redirect to anywhere.
_COMMON: Final = frozenset("accept accept-language content-type user-agent".split())


def checked(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that a primitive sets, names in lower case.

    Raises:
        Refused: ``bad-request``, for one that is malformed or that the host sets itself.
    """
    made = {}
    for name, value in headers.items():
        fault = _fault(name, value)
        if fault:
            raise Refused("bad-request", f"a header of the request {fault}")
        made[name.lower()] = value.strip()
    return made


def secret_values(
    wanted: Mapping[str, str], allowed: frozenset[str], environ: Mapping[str, str], drop: Callable[[str, str], None]
) -> dict[str, str]:
    """The headers that are filled from the environment, names as they were given.

    Args:
        wanted: header to ``$VARIABLE``.
        allowed: the variables that the operator allows.
        environ: where their values are.
        drop: told of each header that is left out, and why. The reason has no value in it.
    """
    made = {}
    for header, reference in wanted.items():
        variable = reference[1:] if reference.startswith("$") else ""
        value = environ.get(variable, "").strip() if variable in allowed else ""
        if not variable:
            drop(header, "it names no variable; values that stand in a descriptor are never sent")
        elif variable not in allowed:
            drop(header, f"the operator does not allow the variable {variable}")
        elif not value:
            drop(header, f"the variable {variable} is not set")
        elif fault := _fault(header, value):
            drop(header, f"a header so named, or with the value of {variable}, {fault}")
        else:
            made[header] = value
    return made


def for_elsewhere(headers: Mapping[str, str]) -> dict[str, str]:
    """What of `headers`, whose names are in lower case, may be sent to another host than it was meant for."""
    return {name: value for name, value in headers.items() if name in _COMMON}


def _fault(name: str, value: str) -> str | None:
    if not _NAME.fullmatch(name):
        return "has a name that no header has"
    if name.lower() in _OWN or name.lower().startswith("proxy-"):
        return "is one that the host sets itself"
    if not _VALUE.fullmatch(value):
        return "has a value that no header has"
    return None
