"""``capgate revoke``: takes away what runs."""

from __future__ import annotations

import click

from capgate.host.cli.admission.hosting import METHOD, acting, actor, confirmed, hosting, show
from capgate.policy.text import escape

__all__ = ["command"]


@click.command(name="revoke", short_help="Take an extension away.")
@click.argument("id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@acting
def command(
    id: str, yes: bool, workspace: str | None, extensions: str | None, rules: tuple[str, ...], form: str
) -> None:
    """Take the extension ID out of what runs, once that is confirmed. The ledger keeps what it was."""
    with hosting(workspace, extensions, rules) as host:
        before = host.revoke(id, confirm=False, actor=actor())
        if form == "text":
            lines = ["These tools stop being callable immediately:"]
            lines += [f"  {escape(name)}" for name in before["whatStopsWorking"]["tools"]]
            show({}, form, "\n".join(lines))
        confirmed(before["plan"], form, "Revoke it?", yes=yes)
        answer = host.revoke(id, confirm=True, actor=actor(), method=METHOD)
    show(answer, form, f"Revoked '{answer['id']}'. {answer['note']}")
