"""The command line: finds the command, and turns whatever ends it into an exit code."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from typing import Final

import click

from capgate import __version__
from capgate.host.cli.exits import Exit
from capgate.host.cli.lazy import LazyGroup
from capgate.host.cli.output import OutputClosed, OutputError

__all__ = ["cli", "main"]

#: Each command, and the module that defines it.
_COMMANDS: Final = {
    "admit": "capgate.host.cli.admission.admit",
    "approval-code": "capgate.host.cli.admission.approval_code",
    "audit": "capgate.host.cli.audit",
    "call": "capgate.host.cli.call",
    "check": "capgate.host.cli.check",
    "create-extension": "capgate.host.cli.admission.create_extension",
    "database": "capgate.host.cli.admission.database",
    "deny": "capgate.host.cli.admission.deny",
    "inventory": "capgate.host.cli.admission.inventory",
    "ledger": "capgate.host.cli.admission.ledger",
    "mcp": "capgate.host.cli.mcp",
    "new": "capgate.host.cli.new",
    "plan": "capgate.host.cli.plan",
    "plugins": "capgate.host.cli.plugins",
    "propose": "capgate.host.cli.admission.propose",
    "reconfigure": "capgate.host.cli.admission.reconfigure",
    "revoke": "capgate.host.cli.admission.revoke",
    "rules": "capgate.host.cli.rules.group",
    "serve": "capgate.host.cli.serve",
    "sideload": "capgate.host.cli.admission.sideload",
}
#: How much of a defect's message is shown, in code points.
_LONGEST: Final = 500


@click.group(cls=LazyGroup, modules=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="capgate", message="%(prog)s %(version)s")
def cli() -> None:
    """Decides whether an extension may run, and says exactly why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; see `Exit`.

    Args:
        arguments: what follows the program's name; None takes those of the process.
    """
    # A start makes many objects and hardly any garbage; looking for it would take a tenth of the time.
    gc.set_threshold(100_000, 20, 100)
    try:
        code = cli.main(arguments, prog_name="capgate", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except OutputError as error:
        _say(str(error))
        return Exit.USAGE
    except OutputClosed:
        return Exit.OUTPUT_CLOSED
    except Exception as error:  # noqa: BLE001  # a defect must never look like a verdict: Python itself would exit with 1
        if os.environ.get("CAPGATE_DEBUG") == "1":
            import traceback

            click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
        what = f"{type(error).__name__}: {error}"[:_LONGEST]
        _say(f"internal error: {what} (please report this; CAPGATE_DEBUG=1 shows the traceback)")
        return Exit.INTERNAL
    return int(code or 0)


def _say(message: str) -> None:
    from capgate.policy.text import escape

    click.echo(f"capgate: {escape(message)}", err=True)
