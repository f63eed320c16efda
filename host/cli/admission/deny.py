"""``capgate deny``: denies what is filed."""

from __future__ import annotations

import click

from capgate.host.cli.admission.hosting import METHOD, acting, actor, hosting, show
from capgate.policy.text import escape

__all__ = ["command"]


@click.command(name="deny", short_help="Deny what is filed; what runs is revoked.")
@click.argument("id", metavar="ID")
@acting
def command(id: str, workspace: str | None, extensions: str | None, rules: tuple[str, ...], form: str) -> None:
    """Deny what is filed under ID. It is revoked if it runs.

    The denial sticks to the content: the same content is admitted later only by `admit --override-deny`.
    """
    with hosting(workspace, extensions, rules) as host:
        answer = host.deny(id, actor=actor(), method=METHOD)
    show(answer, form, f"Denied '{answer['id']}': {escape(answer['why'])}.")
