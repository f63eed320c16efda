"""``capgate approval-code``: shows the open approval codes to whoever can read the host's own folder (contract 5)."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

import click

from capgate.host.cli.exits import Exit
from capgate.policy.text import escape

if TYPE_CHECKING:
    from pathlib import Path

    from capgate.host.admission.pending import Shown
    from capgate.host.mediation.disk import Disk

__all__ = ["command"]

_NONE: Final = "No pending extension approval requests"


@click.command(name="approval-code", short_help="Show the codes that approve what somebody asked for.")
@click.option("--extensions", metavar="DIR", type=click.Path(file_okay=False), help="The host's own folder.")
def command(extensions: str | None) -> int:
    """Show each open request for approval: its plan, and the code that approves exactly that plan.

    Read the plan, and enter the code in the page only if you want what it says. A code works once, and
    ends two minutes after it was asked for. Codes that have ended are removed.

    \b
    The exit code is 0, also where nothing is open; 1 where the file of codes cannot be read.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.admission.errors import AdmissionError
    from capgate.host.admission.pending import MAX_BYTES, NAME, read_pending
    from capgate.host.admission.settings import Settings, SettingsError
    from capgate.host.mediation.clock import SystemClock, iso
    from capgate.host.mediation.disk import Disk

    try:
        path = Settings.from_environment(extensions=extensions).extensions / NAME
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    disk = Disk()
    try:
        found = disk.stat(path)
        shown = read_pending(disk.read(path, MAX_BYTES), str(path))
    except FileNotFoundError:
        click.echo(_NONE)
        return Exit.ADMITTED
    except OSError as error:
        return _unreadable(f"{path}: {error.strerror or error}")
    except AdmissionError as error:
        return _unreadable(error.message)
    if found.st_mode & 0o077:
        click.echo(f"capgate: {escape(str(path))} can be reached by others; do not use its codes", err=True)
    now = SystemClock().now()
    ended = [one for one in shown if now >= one.expires]
    for one in ended:
        click.echo(f"The request for {_name(one)} expired at {iso(one.expires)}.")
    if len(ended) == len(shown):
        _remove(path, found, disk)
    for one in shown:
        if one not in ended:
            click.echo(_block(one, iso(one.expires)))
    return Exit.ADMITTED


def _remove(path: Path, found: os.stat_result, disk: Disk) -> None:
    """Removes the file that was read, and not one that a server has put there since."""
    try:
        now = disk.stat(path)
        if os.path.samestat(found, now) and found.st_mtime_ns == now.st_mtime_ns:
            disk.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        click.echo(f"capgate: {escape(str(path))} cannot be removed: {error.strerror or error}", err=True)


def _unreadable(why: str) -> int:
    click.echo(f"capgate: {escape(why)}", err=True)
    return Exit.REFUSED


def _name(one: Shown) -> str:
    name = one.plan.get("name") or one.plan.get("id")
    return escape(name) if isinstance(name, str) else "an extension without a name"


def _block(one: Shown, ends: str) -> str:
    plan = json.dumps(one.plan, ensure_ascii=False, indent=2).splitlines()
    lines = [
        "EXTENSION APPROVAL REQUEST",
        f"  Extension: {_name(one)}",
        f"  Request: {one.request}",
        "  Plan:",
        *(f"    {line}" for line in plan),
        f"  Approval code: {one.code}",
        f"  Enter this 8-digit code in the room UI before {ends}, if you want exactly this.",
        "",
    ]
    return "\n".join(map(escape, lines))
