"""The report for people: each verdict, every refusal with its place, reason and remedy, and a summary."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from capgate.host.checking import Finding, Result, Summary
from capgate.host.cli.page import at_start
from capgate.policy.errors import PolicyInvalid, Span
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.policy.gate import Gate

__all__ = ["TextReport"]

_COLOURS: Final = {"admitted": "green", "refused": "red", "error": "magenta", "warning": "yellow"}
_INDENT: Final = "      "


class TextReport:
    """Writes a block of lines for each result. Everything from outside is shown with escapes.

    Args:
        colour: whether to use colours.
        width: where to wrap, in columns; None leaves every reason on one line.
        lines: whether the results are of JSON Lines, whose number belongs to their name.
    """

    def __init__(self, *, colour: bool = False, width: int | None = None, lines: bool = False):
        self._colour = colour
        self._width = width
        self._lines = lines

    def start(self, gate: Gate) -> str:
        """What stands before the results: nothing."""
        return ""

    def result(self, result: Result) -> str:
        """The block of one result."""
        line = f":{result.line}" if self._lines and result.line else ""
        name = self._style(escape(at_start(result.file)) + line, bold=True)
        return "".join(f"{row}\n" for row in [f"{name}: {self._verdict(result)}", *self._details(result)])

    def end(self, summary: Summary) -> str:
        """The line that counts."""
        errors = "1 error" if summary.errors == 1 else f"{summary.errors} errors"
        counts = [
            self._count(summary.admitted, f"{summary.admitted} admitted", "admitted"),
            self._count(summary.refused, f"{summary.refused} refused", "refused"),
            self._count(summary.warned, f"{summary.warned} warned", "warning"),
            self._count(summary.errors, errors, "error"),
        ]
        return "\n" + ", ".join(counts) + "\n"

    def invalid(self, error: PolicyInvalid) -> str:
        """Every problem of a policy, and that nothing was judged with it."""
        rows: list[str] = []
        for problem in error.problems:
            place = f"{problem.span}: " if problem.span else ""
            rows += self._paragraph(f"{place}{problem.id}: {problem.message}", "", "    ")
            rows += self._paragraph(f"fix: {problem.hint}", "    ", "    ") if problem.hint else []
        rows += self._paragraph(f"capgate: {error.id}: {error.message}, so nothing was judged", "", "    ")
        return "".join(f"{row}\n" for row in rows)

    def _verdict(self, result: Result) -> str:
        if result.decision == "error":
            return self._style("not judged", fg=_COLOURS["error"], bold=True) + f": {escape(result.rule or '')}"
        said = self._style(result.decision, fg=_COLOURS[result.decision], bold=True)
        if result.decision == "refused":
            said += f" by {escape(result.rule or '')}"
        elif result.enforced:
            held = (f"{escape(name)} ({escape(mechanism)})" for name, mechanism in result.enforced.items())
            said += f" with {', '.join(held)}"
        if result.warnings:
            count = "1 warning" if result.warnings == 1 else f"{result.warnings} warnings"
            said += f", {self._style(count, fg=_COLOURS['warning'])}"
        return said

    def _details(self, result: Result) -> Iterator[str]:
        if result.decision == "error":
            place = Span(result.file, result.line, result.column)
            yield from self._paragraph(f"{place}: {result.rule}: {result.why}", "  ", _INDENT)
            yield from self._paragraph(f"fix: {result.remedy}", _INDENT, _INDENT + "     ")
        for finding in result.refusals:
            yield from self._finding(result.file, finding)

    def _finding(self, file: str, finding: Finding) -> Iterator[str]:
        place = Span(file, finding.line, finding.column)
        warning = "warning: " if finding.severity == "warn" else ""
        yield from self._paragraph(f"{place}: {warning}{finding.rule}: {finding.reason}", "  ", _INDENT)
        yield f"{_INDENT}at {escape(finding.path)}"
        if finding.remedy:
            yield from self._paragraph(f"fix: {finding.remedy}", _INDENT, _INDENT + "     ")

    def _paragraph(self, text: str, first: str, then: str) -> list[str]:
        shown = escape(at_start(text).strip())
        if self._width is None:
            return [first + shown]
        return textwrap.wrap(
            shown,
            self._width,
            initial_indent=first,
            subsequent_indent=then,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _count(self, number: int, text: str, colour: str) -> str:
        return self._style(text, fg=_COLOURS[colour], bold=True) if number else text

    def _style(self, text: str, *, fg: str | None = None, bold: bool = False) -> str:
        return click.style(text, fg=fg, bold=bold) if self._colour else text
