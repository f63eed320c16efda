"""Adds the placement ``container``, the primitive ``run-program``, the operator ``in_network``, and a rule."""

from __future__ import annotations

from pathlib import Path

from capgate.plugins.api import HookContext, Mechanism, Operator, Param, Placement, Primitive, hookimpl
from capgate_container.networks import accepts, holds

#: The versions of capgate that this plugin is written for.
requires_capgate = ">=0.1,<0.2"


@hookimpl
def capgate_placements(context: HookContext) -> list[Placement]:
    """A container bounds what a program can do, so here there is a mechanism for `exec`."""
    return [
        Placement(
            "container",
            mechanisms={
                "read": Mechanism("bind-mount", "the active root, mounted read-only at /data"),
                "write": Mechanism("bind-mount", "the active root, mounted at /data"),
                "network": Mechanism("egress-proxy", "a proxy that reaches the hosts in bounds.hosts alone"),
                "exec": Mechanism("container", "programs of the image, as a user without rights, with no way out"),
            },
            absent={
                "eval": "text turned into code escapes what was admitted, and the container does not tell them apart",
                "import": "code loaded later was never looked at, and the container does not see where it comes from",
            },
        )
    ]


@hookimpl
def capgate_primitives(context: HookContext) -> list[Primitive]:
    """Runs one program. The descriptor names it; whoever calls the tool gives its input, and nothing else."""
    params = (Param("program", from_caller=False), Param("input"))
    return [Primitive("run-program", needs=("exec",), params=params)]


@hookimpl
def capgate_operators(context: HookContext) -> list[Operator]:
    """The operator; a host that is not there is in no network."""
    return [Operator("in_network", accepts, holds)]


@hookimpl
def capgate_rules(context: HookContext) -> list[str]:
    """The rule that keeps containers out of the networks that they stand in."""
    return [str(Path(__file__).with_name("rules"))]
