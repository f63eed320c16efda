"""The report as workflow commands of GitHub Actions: an annotation for each refusal, at its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from capgate.host.checking import Result, Summary
from capgate.host.inputs import STDIN_NAME
from capgate.policy.errors import PolicyInvalid, Span
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.policy.gate import Gate

__all__ = ["GithubReport"]

_COMMANDS: Final = {"refuse": "error", "warn": "warning"}
#: What ends a command or one of its properties, and how it is written. The sign that begins the others comes first.
_DATA: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY: Final = _DATA | {":": "%3A", ",": "%2C"}


class GithubReport:
    """Writes a line for each refusal, warning and error, and one that counts."""

    def start(self, gate: Gate) -> str:
        """What stands before the results: nothing."""
        return ""

    def result(self, result: Result) -> str:
        """The annotations of one input."""
        text = ""
        if result.decision == "error":
            span = Span(result.file, result.line, result.column)
            text = _annotation("error", span, result.rule, result.why, result.remedy)
        for finding in result.refusals:
            span = Span(result.file, finding.line, finding.column)
            text += _annotation(_COMMANDS[finding.severity], span, finding.rule, finding.reason, finding.remedy)
        return text

    def end(self, summary: Summary) -> str:
        """The line that counts."""
        counts = summary.to_json().items()
        return "capgate: " + ", ".join(f"{number} {name}" for name, number in counts) + "\n"

    def invalid(self, error: PolicyInvalid) -> str:
        """An annotation for every mistake of the policy."""
        return "".join(
            _annotation("error", problem.span, problem.id, problem.message, problem.hint) for problem in error.problems
        )


def _annotation(command: str, span: Span | None, id: str | None, reason: str | None, remedy: str | None) -> str:
    properties: dict[str, str | int] = {}
    if span and span.file not in ("", STDIN_NAME):
        properties["file"] = span.file
        if span.line is not None:
            properties |= {"line": span.line, "endLine": span.line}
        if span.column is not None:
            properties["col"] = span.column
    properties["title"] = id or ""
    head = ",".join(f"{name}={_written(str(value), _PROPERTY)}" for name, value in properties.items())
    said = "\n".join(part.strip() for part in (reason, f"Fix: {remedy}" if remedy else "") if part and part.strip())
    return f"::{command} {head}::{_written(said, _DATA)}\n"


def _written(text: str, escapes: dict[str, str]) -> str:
    """`text` as the runner reads it back, with escapes for what a reader could not see."""
    shown = "\n".join(escape(line) for line in text.split("\n"))
    for character, written in escapes.items():
        shown = shown.replace(character, written)
    return shown
