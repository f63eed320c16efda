"""``capgate ledger``: the record of what was admitted, denied and revoked."""

from __future__ import annotations

from typing import Final

import click

from capgate.host.cli.lazy import LazyGroup

__all__ = ["command"]

#: Each command, and the module that defines it.
_COMMANDS: Final = {
    "checkpoint": "capgate.host.cli.admission.ledger_checkpoint",
    "import": "capgate.host.cli.admission.ledger_import",
    "show": "capgate.host.cli.admission.ledger_show",
    "verify": "capgate.host.cli.admission.ledger_verify",
}


@click.group(cls=LazyGroup, modules=_COMMANDS, name="ledger", short_help="Show and verify what was decided.")
def command() -> None:
    """Show, verify, vouch for and take over the record of what was admitted, denied and revoked."""
