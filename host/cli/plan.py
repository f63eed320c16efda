"""``capgate plan``: what the admission of a descriptor would mean."""

from __future__ import annotations

import sys

import click

from capgate.host.checking import disclose
from capgate.host.cli.exits import Exit, exit_of
from capgate.host.cli.output import open_output
from capgate.host.cli.reports import text_report
from capgate.host.inputs import one, read
from capgate.policy.errors import PolicyInvalid

__all__ = ["command"]


@click.command(name="plan", short_help="Show what the admission of a descriptor would mean.")
@click.argument("path", metavar="PATH", type=click.Path())
@click.option("--placement", metavar="NAME", default="machine", show_default=True, help="Where it is to run.")
@click.option(
    "--rules",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="A folder of rules to add; they can only add refusals. May be repeated.",
)
@click.option("--taken", metavar="NAME", multiple=True, help="A tool name that is already taken. May be repeated.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report."
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Write the plan to FILE instead of standard output. FILE is replaced as a whole or not at all.",
)
def command(
    path: str, placement: str, rules: tuple[str, ...], taken: tuple[str, ...], form: str, output: str | None
) -> int:
    """Show what the admission of the descriptor in PATH would mean.

    PATH is a file, or - for standard input. The plan says what is declared, what enforces it, what the host
    hands over and what it never does, where requests may go, how much may be used, and which variables of
    the environment are sent. It reads no variable, and nothing is admitted by it.

    \b
    The exit code is the first that applies:
      5  capgate itself failed
      3  the policy is invalid; nothing was judged
      4  the descriptor could not be read
      1  it would be refused
      0  it would be admitted
    and 2 where the command line is wrong or the plan cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate
    from capgate.host.cli.common import invalid_json, report_invalid
    from capgate.host.cli.page import page_for
    from capgate.host.cli.render_plan import error_json, plan_json, plan_text

    shown = sys.stdout if output is None else None
    with open_output(output, encoding="utf-8" if form == "json" else None) as out:
        try:
            gate = open_gate(rules=rules)
        except PolicyInvalid as error:
            report_invalid(error, sys.stderr)
            if form == "json":
                out.write(invalid_json(error))
            elif output is not None:
                out.write(text_report(None).invalid(error))
            return Exit.POLICY_INVALID
        if placement not in gate.placements:
            known = ", ".join(gate.placements)
            raise click.BadParameter(f"{placement!r} is not one of {known}.", param_hint="'--placement'")

        (source,) = read([one(path)])
        result, plan = disclose(gate, source, placement=placement, taken=taken)
        if form == "json":
            out.write(plan_json(plan) if plan else error_json(result))
        elif plan:
            out.write(plan_text(result, plan, text_report(shown), page_for(shown)))
        else:
            out.write(text_report(shown).result(result))
    return exit_of(refused=result.decision == "refused", errors=result.decision == "error")
