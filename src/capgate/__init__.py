"""Decides whether an extension may run, says exactly why, and runs it with nothing more than what was admitted.

The public names are imported when they are first used, so that ``import capgate`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capgate.host.assembly import open_gate
    from capgate.policy.errors import CapgateError, PolicyInvalid
    from capgate.policy.gate import Gate
    from capgate.policy.verdict import Plan, Refusal, Verdict

__all__ = ["CapgateError", "Gate", "Plan", "PolicyInvalid", "Refusal", "Verdict", "open_gate"]
__version__ = "0.1.0"

#: Where each public name is defined.
_HOMES = {
    "CapgateError": "capgate.policy.errors",
    "Gate": "capgate.policy.gate",
    "Plan": "capgate.policy.verdict",
    "PolicyInvalid": "capgate.policy.errors",
    "Refusal": "capgate.policy.verdict",
    "Verdict": "capgate.policy.verdict",
    "open_gate": "capgate.host.assembly",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'capgate' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
