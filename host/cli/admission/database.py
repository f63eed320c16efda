"""``capgate database``: for hosts that share their state in PostgreSQL."""

from __future__ import annotations

import click

from capgate.host.cli.admission.hosting import Ended, acting, show
from capgate.host.cli.exits import Exit

__all__ = ["command"]


@click.group(name="database", short_help="For hosts that share their state in a database.")
def command() -> None:
    """For hosts that share their state in a database: the one that CAPGATE_DATABASE_URL names."""


@command.command(name="import", short_help="Copy the state that is kept in files.")
@acting
def import_files(workspace: str | None, extensions: str | None, rules: tuple[str, ...], form: str) -> int:
    """Copy ledger, admitted descriptors and proposals from the folders into the database, which must be empty.

    The files stay as they are. Stop the hosts that work on them first: from then on the database counts.
    """
    from capgate.host.admission.file_store import FileStore
    from capgate.host.admission.moving import move_to_database
    from capgate.host.admission.settings import Settings
    from capgate.host.admission.sql_store import SqlStore
    from capgate.host.mediation.clock import SystemClock
    from capgate.host.mediation.disk import Disk

    settings = Settings.from_environment(workspace=workspace, extensions=extensions, rules=rules)
    if settings.database_url is None:
        click.echo("capgate: CAPGATE_DATABASE_URL names no database", err=True)
        raise Ended(Exit.USAGE)
    disk, clock = Disk(), SystemClock()
    files = FileStore(settings.workspace, settings.extensions, disk=disk, clock=clock)
    database = SqlStore(settings.database_url, settings.extensions, clock=clock, disk=disk)
    try:
        moved = move_to_database(files, database)
    finally:
        database.close()
        files.close()
    lines = [f"Copied {moved.lines} lines, {moved.descriptors} descriptors and {moved.proposals} proposals."]
    lines += [f"{id} is admitted, and its descriptor is missing: restore it or revoke it." for id in moved.left]
    show({"ok": True} | moved._asdict(), form, "\n".join(lines))
    return Exit.ADMITTED
