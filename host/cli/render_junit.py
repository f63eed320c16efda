"""The report as JUnit XML: a suite for each file, a case for each document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capgate.host.checking import Finding, Result, Summary
from capgate.host.cli.junit import Case, Trouble, document, invalid_document
from capgate.policy.errors import PolicyInvalid, Span

if TYPE_CHECKING:
    from capgate.policy.gate import Gate

__all__ = ["JunitReport"]


class JunitReport:
    """Gathers results and writes all of them at the end: a suite says first how many of its cases failed.

    Args:
        lines: whether the results are of JSON Lines, whose number belongs to their name.
    """

    def __init__(self, *, lines: bool = False) -> None:
        self._lines = lines
        self._cases: list[Case] = []

    def start(self, gate: Gate) -> str:
        """What stands before the results: nothing."""
        return ""

    def result(self, result: Result) -> str:
        """Keeps one result, and writes nothing yet."""
        name = f"{result.file}:{result.line}" if self._lines and result.line else result.file
        warnings = "\n".join(_told(result.file, finding) for finding in result.refusals if finding.severity == "warn")
        self._cases.append(Case(result.file, "capgate.check", name, _trouble(result), note=warnings))
        return ""

    def end(self, summary: Summary) -> str:
        """The whole document."""
        return document(self._cases)

    def invalid(self, error: PolicyInvalid) -> str:
        """The whole document where nothing could be judged."""
        return invalid_document(error)


def _trouble(result: Result) -> Trouble | None:
    if result.decision == "error":
        place = Span(result.file, result.line, result.column)
        message = f"{place}: {result.rule}: {result.why}"
        return Trouble("error", result.rule or "", message, f"{message}\n  fix: {result.remedy}")
    refusals = [finding for finding in result.refusals if finding.severity == "refuse"]
    if not refusals:
        return None
    first, *rest = refusals
    more = f" (and {len(rest)} more)" if rest else ""
    message = f"{_place(result.file, first)}: {first.rule}: {first.reason}{more}"
    return Trouble("failure", first.rule, message, "\n".join(_told(result.file, refusal) for refusal in refusals))


def _told(file: str, finding: Finding) -> str:
    warning = "warning: " if finding.severity == "warn" else ""
    rows = [f"{_place(file, finding)}: {warning}{finding.rule}: {finding.reason}", f"  at {finding.path}"]
    return "\n".join([*rows, f"  fix: {finding.remedy}"] if finding.remedy else rows)


def _place(file: str, finding: Finding) -> Span:
    return Span(file, finding.line, finding.column)
