"""``capgate rules``: for those who write rules."""

from __future__ import annotations

from typing import Final

import click

from capgate.host.cli.rules.naming import RulesGroup

__all__ = ["command"]

#: Each command, and the module that defines it.
_COMMANDS: Final = {
    "coverage": "capgate.host.cli.rules.coverage",
    "diff": "capgate.host.cli.rules.diff",
    "explain": "capgate.host.cli.rules.explain",
    "lint": "capgate.host.cli.rules.lint",
    "list": "capgate.host.cli.rules.listing",
    "mutate": "capgate.host.cli.rules.mutate",
    "schema": "capgate.host.cli.rules.schema",
    "show": "capgate.host.cli.rules.show",
    "test": "capgate.host.cli.rules.test",
}


@click.group(cls=RulesGroup, modules=_COMMANDS, name="rules", short_help="Test, explain and look at rules.")
def command() -> None:
    """Tools for those who write rules: tests, coverage, explanations, lists and schemas."""
