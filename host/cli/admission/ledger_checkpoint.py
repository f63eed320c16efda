"""``capgate ledger checkpoint``: vouches for the ledger as it is now."""

from __future__ import annotations

from pathlib import Path

import click

from capgate.host.cli.admission.ledger_common import reading, settings_of
from capgate.host.cli.common import output_option
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import plural
from capgate.policy.text import escape

__all__ = ["command"]


@click.command(name="checkpoint", short_help="Sign what the ledger is now.")
@click.option(
    "--key",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False),
    help="The Ed25519 key to sign with; made where it is absent.",
)
@output_option
@reading
def command(key: str, output: str | None, extensions: str | None, form: str) -> int:
    """Verify the ledger, and sign its length and its head.

    Keep the checkpoint and the key away from the host: whoever can write the ledger and use the key can
    make any checkpoint.

    \b
    The exit code is the first that applies:
      4  the ledger or the key could not be used
      1  the ledger cannot be trusted; nothing was signed
      0  all is well
    and 2 where the command line is wrong or the checkpoint cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.admission.checkpoint import PUBLIC, Checkpoint, signing_key
    from capgate.host.admission.ledger_lines import ledger_lines
    from capgate.host.admission.verification import verify
    from capgate.host.mediation.clock import SystemClock, iso

    found = verify(ledger_lines(settings_of(extensions)))
    if not found.sound:
        for fault in found.faults:
            click.echo(f"capgate: {escape(f'{fault.kind}: {fault.what}. {fault.next}')}", err=True)
        return Exit.REFUSED
    point = Checkpoint.of(found.links, iso(SystemClock().now()))
    signing, was_made = signing_key(Path(key))
    if was_made:
        said = f"capgate: a new key was made: {key} to sign with, {key}{PUBLIC} to verify with"
        click.echo(escape(said), err=True)
    with open_output(output, encoding="utf-8") as out:
        out.write(point.signed(signing).decode())
    if output is not None and form == "text":
        click.echo(f"Signed {plural(point.length, 'line')}, head {point.head}.")
    return Exit.ADMITTED
