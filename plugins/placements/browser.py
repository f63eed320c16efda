"""The placement ``browser``: a page with a folder handle and a content security policy.

Capgate decides for it; the page itself is the executor.
"""

from __future__ import annotations

from capgate.plugins.api import HookContext, Mechanism, Placement, hookimpl

__all__ = ["BROWSER", "capgate_placements"]

_SCOPE = "handle-scope"

#: Contract section 2. ``import`` has a mechanism here, though no primitive uses it.
BROWSER = Placement(
    name="browser",
    mechanisms={
        "read": Mechanism(_SCOPE, "a root-scoped read function over the folder handle that the person granted"),
        "write": Mechanism(_SCOPE, "a root-scoped write function over the folder handle that the person granted"),
        "delete": Mechanism(_SCOPE, "a root-scoped delete function over the folder handle that the person granted"),
        "network": Mechanism("csp-connect-src", "fetch, which the page's connect-src holds to the hosts declared"),
        "import": Mechanism("csp-script-src", "module loading, which the page's script-src holds to sources listed"),
    },
    absent={
        "exec": "a page can start no program, and no mechanism would bound what a program does",
        "eval": "text turned into code escapes what was admitted, and the page's policy forbids it",
    },
)


@hookimpl
def capgate_placements(context: HookContext) -> list[Placement]:
    """The placement of pages."""
    return [BROWSER]
