"""Adds ``clipboard-read``, the capability it needs, what enforces that on each placement, and a rule."""

from __future__ import annotations

from pathlib import Path

from capgate.plugins.api import HookContext, Mechanism, Placement, Primitive, hookimpl

#: The versions of capgate that this plugin is written for.
requires_capgate = ">=0.1,<0.2"

_PROMPT = Mechanism("clipboard-prompt", "the text on the clipboard, once for each time that the person says yes")
_PERMISSION = Mechanism("clipboard-permission", "navigator.clipboard.readText, for which the browser asks the person")


@hookimpl
def capgate_capabilities(context: HookContext) -> dict[str, str]:
    """The capability."""
    return {"clipboard": "read the text on the clipboard, with the person's consent each time"}


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """The primitive; it takes nothing from whoever calls it."""
    warning = "the clipboard may hold anything that was copied last, a password or somebody's letter among it"
    return [Primitive("clipboard-read", needs=("clipboard",), discloses=warning)]


@hookimpl
def capgate_placements(context: HookContext) -> list[Placement]:
    """What enforces the capability, on both placements that capgate has."""
    return [
        Placement("machine", mechanisms={"clipboard": _PROMPT}, extends=True),
        Placement("browser", mechanisms={"clipboard": _PERMISSION}, extends=True),
    ]


@hookimpl
def capgate_rules(context: HookContext) -> list[str]:
    """The rule that keeps the clipboard away from the network."""
    return [str(Path(__file__).with_name("rules"))]
