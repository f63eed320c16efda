"""``capgate check``: judges descriptors and shows the verdicts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Protocol, TextIO

import click

from capgate.host.checking import Result, Summary, judge
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.progress import Bar
from capgate.host.cli.render_json import JsonReport
from capgate.host.cli.render_text import TextReport
from capgate.host.cli.terminal import can_draw, has_colour, width_of
from capgate.host.inputs import STDIN, Found, find, read, total_size
from capgate.policy.errors import PolicyInvalid

__all__ = ["command"]


class Report(Protocol):
    """A way of showing results: what its methods return, in their order, is the report."""

    def start(self, fingerprint: str) -> str:
        """What comes before the results."""

    def result(self, result: Result) -> str:
        """One result."""

    def end(self, summary: Summary) -> str:
        """What comes after the results."""

    def invalid(self, error: PolicyInvalid) -> str:
        """The whole report where nothing could be judged."""


@click.command(name="check", short_help="Judge descriptors and show the verdicts.")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option("--placement", metavar="NAME", default="machine", show_default=True, help="Where extensions are to run.")
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
    help="Write the report to FILE instead of standard output. FILE is replaced as a whole or not at all.",
)
@click.option("--lines", is_flag=True, help="Read JSON Lines instead of JSON.")
def command(
    paths: tuple[str, ...],
    placement: str,
    rules: tuple[str, ...],
    taken: tuple[str, ...],
    form: str,
    output: str | None,
    lines: bool,
) -> int:
    """Judge the descriptors in each PATH and show the verdicts.

    A PATH is a file, a folder, or - for standard input; without one it is the current folder. A
    folder is searched to the bottom for *.json files, by name. Hidden files and folders (a leading
    dot) and linked folders in it are left alone; name them to have them judged.

    With --lines each line is a document: a descriptor, or an object with the key "descriptor" and,
    if need be, "taken" (names that add to --taken) and "placement" (in place of --placement); its
    other keys are ignored. Folders are searched for *.jsonl files then.

    \b
    The exit code is the first that applies:
      5  capgate itself failed
      3  the policy is invalid; nothing was judged
      4  an input could not be read
      1  something was refused
      0  all was admitted
    and 2 where the command line is wrong or the report cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate  # takes longest to import, and --help is to be quick

    if paths.count(STDIN) > 1:
        raise click.BadParameter("standard input can be read only once", param_hint="'-'")
    for_people = output is None and form == "text"
    report: Report = JsonReport() if form == "json" else _text_report(sys.stdout if for_people else None, lines)
    with open_output(output, encoding="utf-8" if form == "json" else None) as out:
        try:
            gate = open_gate(rules=rules)
        except PolicyInvalid as error:
            click.echo(_text_report(sys.stderr).invalid(error), err=True, nl=False)
            if not for_people:
                out.write(report.invalid(error))
            return Exit.POLICY_INVALID
        if placement not in gate.placements:
            known = ", ".join(gate.placements)
            raise click.BadParameter(f"{placement!r} is not one of {known}.", param_hint="'--placement'")

        summary = Summary()
        out.write(report.start(gate.fingerprint))
        found: Iterable[Found] = find(paths or (".",), lines=lines)
        total = None
        if draws := can_draw(sys.stderr):
            found = list(found)
            total = total_size(found)
        with Bar(out, draws=draws, shares=output is None and sys.stdout.isatty(), total=total) as bar:
            for source in read(found, lines=lines, advance=bar.advance):
                result = judge(gate, source, placement=placement, taken=taken, lines=lines)
                summary.add(result)
                bar.write(report.result(result))
        out.write(report.end(summary))
    return _exit_code(summary)


def _text_report(stream: TextIO | None, lines: bool = False) -> TextReport:
    """The report for people, in the form that suits `stream`; plain for None."""
    return TextReport(colour=has_colour(stream), width=width_of(stream), lines=lines)


def _exit_code(summary: Summary) -> Exit:
    if summary.errors:
        return Exit.INPUT_ERROR
    return Exit.REFUSED if summary.refused else Exit.ADMITTED
