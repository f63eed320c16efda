"""``capgate reconfigure``: changes what runs."""

from __future__ import annotations

from typing import Any, Final

import click

from capgate.host.cli.admission.hosting import (
    METHOD,
    acting,
    actor,
    confirmed,
    hosting,
    plan_shown,
    read_descriptor,
    show,
)
from capgate.host.cli.exits import Exit

__all__ = ["command"]

_PARTS: Final = ("bounds", "tools", "params")


@click.command(name="reconfigure", short_help="Change the bounds, tools or params of what runs.")
@click.argument("id", metavar="ID")
@click.option("--hosts", metavar="A,B", help="The hosts that it may ask, in place of those that it has.")
@click.option("--max-requests", metavar="NUMBER", type=click.IntRange(min=0), help="How often it may ask in a window.")
@click.option("--max-bytes", metavar="NUMBER", type=click.IntRange(min=0), help="The most bytes in one write.")
@click.option("--window", metavar="NAME", help="When the budget renews: process, hour, day or admission.")
@click.option(
    "--change",
    "path",
    metavar="PATH",
    type=click.Path(),
    help="A JSON file, or -, with bounds to merge, tools to put in place, or params to merge by tool.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--override-deny", is_flag=True, help="Let content run that the host denied before.")
@acting
def command(
    id: str,
    hosts: str | None,
    max_requests: int | None,
    max_bytes: int | None,
    window: str | None,
    path: str | None,
    yes: bool,
    override_deny: bool,
    workspace: str | None,
    extensions: str | None,
    rules: tuple[str, ...],
    form: str,
) -> int:
    """Show the plan of the extension ID with the change in it, and change it once that is confirmed.

    What is not named stays as it is. The gate judges the result; what it refuses changes nothing.
    """
    given = {"hosts": hosts, "maxRequests": max_requests, "maxBytes": max_bytes, "window": window}
    bounds = {key: value for key, value in given.items() if value is not None}
    if path is not None and bounds:
        raise click.UsageError("name either a --change or single bounds")
    if path is None and not bounds:
        raise click.UsageError("name what is to change: --hosts, --max-requests, --max-bytes, --window or --change")
    change = {"bounds": bounds} if path is None else _change(read_descriptor(path))
    with hosting(workspace, extensions, rules) as host:
        before = host.reconfigure(id, change, confirm=False, actor=actor())
        plan = before["plan"]
        if form == "text":
            show({}, form, plan_shown(plan) + "\n")
        if plan["gate"]["decision"] == "admitted":
            confirmed(plan, form, "Change it?", yes=yes)
        answer = host.reconfigure(
            id,
            change,
            confirm=True,
            plan_digest=plan["digest"],
            override_deny=override_deny,
            actor=actor(),
            method=METHOD,
        )
    show(answer, form, f"Changed '{answer['id']}'. {answer['note']}")
    return Exit.ADMITTED


def _change(data: Any) -> dict[str, Any]:
    """What a file asks for; a key that would not be looked at is an error here, where a person wrote it."""
    from capgate.host.admission.errors import AdmissionError

    if type(data) is not dict or not data or not data.keys() <= set(_PARTS):
        raise AdmissionError("bad-request", f"a change is an object with one or more of {', '.join(_PARTS)} alone")
    return data
