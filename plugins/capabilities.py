"""The built-in capabilities: the vocabulary of seven (contract section 2)."""

from __future__ import annotations

from capgate.plugins.api import HookContext, hookimpl

__all__ = ["capgate_capabilities"]

_CAPABILITIES = {
    "read": "read files under a root that the person chose",
    "write": "create and replace files under that root",
    "delete": "remove files under that root",
    "network": "send requests to the hosts that the descriptor names, within its budget",
    "exec": "start other programs",
    "eval": "turn text into running code",
    "import": "load code that was not part of what was admitted",
}


@hookimpl
def capgate_capabilities(context: HookContext) -> dict[str, str]:
    """The capabilities, in the order in which people read them."""
    return _CAPABILITIES
