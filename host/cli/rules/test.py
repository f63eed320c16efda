"""``capgate rules test``: runs the examples of rules and the cases of their folders."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from capgate.host.cli.common import folders, opened, output_option
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import page_for

if TYPE_CHECKING:
    from capgate.host.cli.rules.test_reports import TestReport
    from capgate.policy.gate import Gate

__all__ = ["command"]


@click.command(name="test", short_help="Run the examples and the cases of rules.")
@folders
@click.option("--init", "init", metavar="ID", help="Write the cases that the rule ID obviously needs, and run nothing.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    show_default=True,
    help="How to report.",
)
@output_option
def command(folders: tuple[str, ...], init: str | None, form: str, output: str | None) -> int:
    """Run the tests of the rules in each DIR, or of the shipped rules.

    Every example of a rule is run, and every case in the files tests/*.yaml of its folder. A rule without an
    example of both kinds fails, and so does a run without a test.

    With --init the cases that the rule ID obviously needs are written to tests/ID.yaml, in the folder of the rule
    or else in the first DIR: where it refuses and where it does not, each value absent, of another type, and at
    every boundary. What they expect is what the rule does now: read them, and correct the rule where it is wrong.
    Of the kinds of example that the rule lacks some are shown, to be pasted into its file.

    \b
    The exit code is the first that applies:
      5  capgate itself failed
      3  the policy is invalid; nothing was tested
      4  a test could not be read
      1  a test failed, or something is not tested
      0  all passed
    and 2 where the command line is wrong or the report cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate
    from capgate.host.cli.rules.test_reports import report_for

    if init is not None:
        return _init(init, folders)
    report = report_for(form, page_for(sys.stdout if output is None else None))
    with open_output(output, encoding=None if form == "text" else "utf-8") as out:
        is_read = output is not None or form != "text"
        gate = opened(lambda: open_gate(rules=folders), out, report.invalid if is_read else None)
        if gate is None:
            return Exit.POLICY_INVALID
        text, code = _run(gate, [Path(folder) for folder in folders], report)
        out.write(text)
    return code


def _run(gate: Gate, chosen: list[Path], report: TestReport) -> tuple[str, Exit]:
    from capgate.policy.authoring.given import Gates
    from capgate.policy.authoring.suite import gather, run

    gates = Gates(gate)
    suite = gather(gates, chosen)
    outcomes = [run(trial, gates) for trial in suite.trials]
    text = report.whole(gate.fingerprint, suite, outcomes)
    if suite.problems:
        return text, Exit.INPUT_ERROR
    failed = bool(suite.lacks) or any(outcome.messages for outcome in outcomes)
    return text, Exit.REFUSED if failed else Exit.ADMITTED


def _init(id: str, folders: tuple[str, ...]) -> int:
    from capgate.host.assembly import open_gate
    from capgate.host.cli.rules.naming import rule_in
    from capgate.host.cli.rules.starting import write_cases

    gate = opened(lambda: open_gate(rules=folders))
    if gate is None:
        return Exit.POLICY_INVALID
    rule = rule_in(gate, id, folders, "capgate rules test --init ID DIR", param_hint="'--init'")
    home = Path(rule.document.name).parent
    chosen = [Path(folder) for folder in folders]
    return write_cases(gate, rule, home if home in chosen or not chosen else chosen[0])
