"""``capgate admit``: admits what is filed."""

from __future__ import annotations

import click

from capgate.host.cli.admission.hosting import METHOD, acting, actor, confirmed, hosting, plan_shown, show
from capgate.host.cli.exits import Exit
from capgate.policy.text import escape

__all__ = ["command"]


@click.command(name="admit", short_help="Admit what is filed, after reading its plan.")
@click.argument("id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--plan-digest", metavar="DIGEST", help="Admit only if this is still its plan.")
@click.option("--override-deny", is_flag=True, help="Admit content that the host denied before.")
@acting
def command(
    id: str,
    yes: bool,
    plan_digest: str | None,
    override_deny: bool,
    workspace: str | None,
    extensions: str | None,
    rules: tuple[str, ...],
    form: str,
) -> int:
    """Show the plan of what is filed under ID, and admit exactly that once it is confirmed.

    The gate judges it again. A server that runs on the same folders calls it from then on.
    """
    with hosting(workspace, extensions, rules) as host:
        plan = host.admit(id, confirm=False, actor=actor())["plan"]
        if form == "text":
            show({}, form, plan_shown(plan) + "\n")
        confirmed(plan, form, "Admit it?", yes=yes)
        answer = host.admit(
            id,
            confirm=True,
            plan_digest=plan_digest or plan["digest"],
            override_deny=override_deny,
            actor=actor(),
            method=METHOD,
        )
    if answer["decision"] == "refused":
        show(answer, form, f"Refused by {answer['rule']}: {escape(answer['why'])}")
        return Exit.REFUSED
    gets = "".join(f"\n  {escape(what)}" for what in answer["gets"])
    show(answer, form, f"Admitted '{answer['id']}'." + (f" It gets:{gets}" if gets else ""))
    return Exit.ADMITTED
