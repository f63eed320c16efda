"""The reports of a run: in which formats, and where each goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TextIO

import click

from capgate.host.checking import Result, Summary
from capgate.host.cli.output import Output, open_output
from capgate.host.cli.render_text import TextReport
from capgate.host.cli.terminal import has_colour, width_of
from capgate.policy.errors import PolicyInvalid

if TYPE_CHECKING:
    from capgate.policy.gate import Gate

__all__ = ["FORMATS", "Report", "Reports", "Target", "open_reports", "read_targets", "text_report"]

#: The formats by name.
FORMATS: Final = ("text", "json", "sarif", "junit", "github")


class Report(Protocol):
    """A way of showing results: what its methods return, in their order, is the report."""

    def start(self, gate: Gate) -> str:
        """What comes before the results."""

    def result(self, result: Result) -> str:
        """One result."""

    def end(self, summary: Summary) -> str:
        """What comes after the results."""

    def invalid(self, error: PolicyInvalid) -> str:
        """The whole report where nothing could be judged."""


class Target(NamedTuple):
    """A report that is asked for.

    Attributes:
        form: one of `FORMATS`.
        path: the file it goes to, or None for standard output.
    """

    form: str
    path: str | None


def read_targets(form: str, outputs: Iterable[str], used: Iterable[str] = ()) -> list[Target]:
    """Reads the values of ``--format`` and ``--output``. The first target is the main one.

    ``FORMAT:FILE`` adds a report; a plain ``FILE`` takes the main one from standard output.

    Args:
        form: the format of the main report.
        outputs: the values of ``--output``.
        used: files that are read, and folders whose files are: no report may replace one of them.

    Raises:
        click.BadParameter: an unknown format, two plain files, a file that two reports would go to, or one
            that is read.
    """
    main = Target(form, None)
    more = []
    for output in outputs:
        name, colon, path = output.partition(":")
        if colon and name in FORMATS:
            more.append(Target(name, path))
        elif colon and name.isalpha():
            # A misspelt format must not end as a file of that name, with nobody the wiser.
            wrong = f"{name!r} is none of the formats {', '.join(FORMATS)}. For a file of that name write './{output}'."
            raise click.BadParameter(wrong, param_hint="'--output'")
        elif main.path is None:
            main = Target(form, output)
        else:
            wrong = f"{main.path!r} and {output!r} are both without a format. Write FORMAT:FILE for all but one."
            raise click.BadParameter(wrong, param_hint="'--output'")
    targets = [main, *more]
    read = {os.path.realpath(path) for path in used}
    files = [os.path.realpath(target.path) for target in targets if target.path]
    for target in targets:
        file = os.path.realpath(target.path) if target.path else ""
        if file and (file in read or (os.path.dirname(file) in read and os.path.isfile(file))):
            raise click.BadParameter(
                f"the report would replace {target.path!r}, which is read.", param_hint="'--output'"
            )
    for target in targets:
        if target.path and files.count(os.path.realpath(target.path)) > 1:
            raise click.BadParameter(f"two reports would go to {target.path!r}.", param_hint="'--output'")
    return targets


class Reports:
    """Several reports of one run.

    Attributes:
        main: where the main report goes.
    """

    def __init__(self, parts: list[tuple[Target, Report, Output]]):
        (self._target, self._report, self.main), *self._more = parts

    @property
    def shown(self) -> bool:
        """Whether the main report goes to standard output."""
        return self._target.path is None

    def start(self, gate: Gate) -> None:
        """Begins each."""
        self.main.write(self._report.start(gate))
        for _, report, output in self._more:
            output.write(report.start(gate))

    def result(self, result: Result) -> str:
        """Adds a result to each, but for the main one: what that says of it is returned."""
        for _, report, output in self._more:
            output.write(report.result(result))
        return self._report.result(result)

    def end(self, summary: Summary) -> None:
        """Ends each."""
        self.main.write(self._report.end(summary))
        for _, report, output in self._more:
            output.write(report.end(summary))

    def invalid(self, error: PolicyInvalid) -> None:
        """Writes each for a policy that cannot be used, and says so on standard error."""
        click.echo(text_report(sys.stderr).invalid(error), err=True, nl=False)
        # A person at a terminal would read the same twice.
        if self._target != Target("text", None):
            self.main.write(self._report.invalid(error))
        for _, report, output in self._more:
            output.write(report.invalid(error))


@contextmanager
def open_reports(targets: Iterable[Target], *, lines: bool) -> Iterator[Reports]:
    """Opens every target. A file appears when the block ends well, and stays as it was when it raises.

    Args:
        targets: from `read_targets`.
        lines: whether the results are of JSON Lines.

    Raises:
        OutputError: output-failed.
        OutputClosed: nobody reads standard output any more.
    """
    with ExitStack() as stack:
        parts = []
        for target in targets:
            report = _report(target, lines)
            encoding = None if target.form == "text" else "utf-8"
            parts.append((target, report, stack.enter_context(open_output(target.path, encoding=encoding))))
        yield Reports(parts)


def text_report(stream: TextIO | None, lines: bool = False) -> TextReport:
    """The report for people, in the form that suits `stream`; plain for None."""
    return TextReport(colour=has_colour(stream), width=width_of(stream), lines=lines)


def _report(target: Target, lines: bool) -> Report:
    # Each format is imported when it is asked for, so that no run pays for the others.
    if target.form == "json":
        from capgate.host.cli.render_json import JsonReport

        return JsonReport()
    if target.form == "sarif":
        from capgate.host.cli.render_sarif import SarifReport

        return SarifReport()
    if target.form == "junit":
        from capgate.host.cli.render_junit import JunitReport

        return JunitReport(lines=lines)
    if target.form == "github":
        from capgate.host.cli.render_github import GithubReport

        return GithubReport()
    return text_report(sys.stdout if target.path is None else None, lines)
