"""``capgate sideload``: files an entry of the catalogue for review."""

from __future__ import annotations

import click

from capgate.host.cli.admission.hosting import acting, actor, confirmed, hosting, plan_shown, show

__all__ = ["command"]


@click.command(name="sideload", short_help="File an entry of the catalogue for review.")
@click.argument("id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@acting
def command(
    id: str, yes: bool, workspace: str | None, extensions: str | None, rules: tuple[str, ...], form: str
) -> None:
    """Show the plan of the catalogue entry ID, and file the entry for review once that is confirmed.

    Nothing of it is loaded, and nothing of it runs, until it is admitted.
    """
    with hosting(workspace, extensions, rules) as host:
        plan = host.sideload(id, confirm=False, actor=actor())["plan"]
        if form == "text":
            show({}, form, plan_shown(plan) + "\n")
        confirmed(plan, form, "File it for review?", yes=yes)
        answer = host.sideload(id, confirm=True, actor=actor())
    show(answer, form, f"Filed '{answer['id']}' from the catalogue: {answer['state']}.\n{answer['note']}")
