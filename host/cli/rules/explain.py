"""``capgate rules explain``: why a rule refuses a descriptor, or does not."""

from __future__ import annotations

import sys

import click

from capgate.host.cli.common import (
    invalid_json,
    json_document,
    opened,
    output_option,
    rules_option,
)
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import page_for
from capgate.host.cli.rules.naming import rule_in
from capgate.policy.errors import CapgateError

__all__ = ["command"]


@click.command(name="explain", short_help="Say why a rule refuses a descriptor, or does not.")
@click.argument("id", metavar="ID")
@click.argument("path", metavar="PATH", type=click.Path())
@click.option("--placement", metavar="NAME", default="machine", show_default=True, help="Where it is to run.")
@click.option("--taken", metavar="NAME", multiple=True, help="A tool name that is already taken. May be repeated.")
@rules_option
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report."
)
@output_option
def command(
    id: str, path: str, placement: str, taken: tuple[str, ...], rules: tuple[str, ...], form: str, output: str | None
) -> int:
    """Say why the rule ID refuses the descriptor in PATH, or why it does not.

    PATH is a file, or - for standard input. Every condition is shown with what it said (true, false or
    unknown), the value that was found, and where that stands. The answers are those of the code that decides.

    \b
    The exit code is:
      0  explained, whatever the rule said
      2  the command line is wrong or the report cannot be written
      3  the policy is invalid; nothing was judged
      4  the descriptor, or a plugin's fact about it, could not be had
      5  capgate itself failed
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate
    from capgate.host.cli.rules.explaining import explanation_json, explanation_lines
    from capgate.host.inputs import one, read
    from capgate.policy.authoring.explanation import explain
    from capgate.policy.authoring.given import Gates, Given
    from capgate.policy.documents import load_json
    from capgate.policy.text import escape

    with open_output(output, encoding="utf-8" if form == "json" else None) as out:
        gate = opened(lambda: open_gate(rules=rules), out, invalid_json if form == "json" else None)
        if gate is None:
            return Exit.POLICY_INVALID
        rule = rule_in(gate, id, rules, "capgate rules explain ID PATH --rules DIR")
        if placement not in gate.placements:
            known = ", ".join(gate.placements)
            raise click.BadParameter(f"{placement!r} is not one of {known}.", param_hint="'--placement'")
        (source,) = read([one(path)])
        try:
            if isinstance(source, CapgateError):
                raise source
            document = load_json(source.data, source.file, first_line=source.line)
            given = Given(placement, taken)
            explanation = explain(Gates(gate), rule, document.data, given, document.span)
        except CapgateError as error:
            click.echo(f"capgate: {escape(str(error))}", err=True)
            return Exit.INPUT_ERROR
        if form == "json":
            data = explanation_json(explanation)
            out.write(json_document(policy={"fingerprint": gate.fingerprint}, file=source.file, **data))
            return Exit.ADMITTED
        page = page_for(sys.stdout if output is None else None)
        verdict = explanation.verdict
        said = f"refused by {verdict.rule}" if verdict.rule else "admitted"
        rows = [
            f"{page.place(source.file)}: {said}",
            f"{page.bold(rule.id)} ({escape(rule.document.name)}): {escape(rule.title)}",
            *explanation_lines(explanation, page, 2),
        ]
        out.write("".join(f"{row}\n" for row in rows))
    return Exit.ADMITTED
