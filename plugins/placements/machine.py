"""The placement ``machine``: the host's own process, behind the mediated interfaces."""

from __future__ import annotations

from capgate.plugins.api import HookContext, Mechanism, Placement, hookimpl

__all__ = ["MACHINE", "capgate_placements"]

_SCOPE = "host-primitive-scope"

#: Contract section 2; `absent` is in the order of ``cannotHave``.
MACHINE = Placement(
    name="machine",
    mechanisms={
        "read": Mechanism(_SCOPE, "a root-scoped read function: text files under the active root, and none outside"),
        "write": Mechanism(_SCOPE, "a root-scoped write function: text files under the active root, up to maxBytes"),
        "delete": Mechanism(_SCOPE, "a root-scoped delete function: files under the active root"),
        "network": Mechanism(
            "mediated-fetch",
            "a fetch function that reaches the hosts in bounds.hosts alone, at most maxRequests times a window",
        ),
    },
    absent={
        "exec": "no mechanism bounds what a program does: --allow-run bounds which binary, never what it can do",
        "eval": "text turned into code escapes what was admitted, and no mechanism here bounds it",
        "import": "code loaded later was never looked at, and no mechanism here bounds where it comes from",
    },
)


@hookimpl
def capgate_placements(context: HookContext) -> list[Placement]:
    """The placement that the server uses."""
    return [MACHINE]
