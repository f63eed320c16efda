"""``capgate check``: judges descriptors and shows the verdicts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from capgate.host.checking import Summary, judge
from capgate.host.cli.exits import Exit, exit_of
from capgate.host.cli.progress import Bar
from capgate.host.cli.reports import FORMATS, open_reports, read_targets
from capgate.host.cli.terminal import can_draw
from capgate.host.inputs import STDIN, Found, find, read, total_size
from capgate.policy.errors import PolicyInvalid

__all__ = ["command"]


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
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="How to report.")
@click.option(
    "--output",
    "outputs",
    metavar="[FORMAT:]FILE",
    multiple=True,
    type=click.Path(),
    help="Write the report to FILE instead of standard output; with FORMAT: write one more report, in that format. "
    "FILE is replaced as a whole or not at all. May be repeated.",
)
@click.option("--lines", is_flag=True, help="Read JSON Lines instead of JSON.")
def command(
    paths: tuple[str, ...],
    placement: str,
    rules: tuple[str, ...],
    taken: tuple[str, ...],
    form: str,
    outputs: tuple[str, ...],
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
    files = [path for path in paths if not os.path.isdir(path)]
    with open_reports(read_targets(form, outputs, [*files, *rules]), lines=lines) as reports:
        try:
            gate = open_gate(rules=rules)
        except PolicyInvalid as error:
            reports.invalid(error)
            return Exit.POLICY_INVALID
        if placement not in gate.placements:
            known = ", ".join(gate.placements)
            raise click.BadParameter(f"{placement!r} is not one of {known}.", param_hint="'--placement'")

        summary = Summary()
        reports.start(gate)
        found: Iterable[Found] = find(paths or (".",), lines=lines)
        total = None
        if draws := can_draw(sys.stderr):
            found = list(found)
            total = total_size(found)
        with Bar(reports.main, draws=draws, shares=reports.shown and sys.stdout.isatty(), total=total) as bar:
            for source in read(found, lines=lines, advance=bar.advance):
                result = judge(gate, source, placement=placement, taken=taken, lines=lines)
                summary.add(result)
                bar.write(reports.result(result))
        reports.end(summary)
    return exit_of(refused=summary.refused, errors=summary.errors)
