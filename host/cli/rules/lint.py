"""``capgate rules lint``: what is probably not meant in rules that load."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from capgate.host.cli.common import folders, invalid_json, json_document, opened, output_option
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import Page, page_for, plural

if TYPE_CHECKING:
    from capgate.policy.authoring.lint.linting import Report

__all__ = ["command"]


@click.command(name="lint", short_help="Say what is probably not meant in rules.")
@folders
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to report.",
)
@output_option
def command(folders: tuple[str, ...], form: str, output: str | None) -> int:
    """Say what is probably not meant in the rules of each DIR, or in all rules.

    Found are triggers that never or always hold or never speak first, conditions that change nothing, misspelt words,
    examples that test nothing, and more: docs/lint/README.md has a page for each check.

    What is meant all the same is ignored by a comment, on the line or above it, or at the top of the file:

    \b
      # capgate: ignore ID because REASON

    \b
    The exit code is the first that applies:
      5  capgate itself failed
      3  the policy is invalid; nothing was looked at
      4  a test could not be read
      1  something was found
      0  nothing was found
    and 2 where the command line is wrong or the report cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate
    from capgate.policy.authoring.given import Gates
    from capgate.policy.authoring.lint.linting import lint

    with open_output(output, encoding=None if form == "text" else "utf-8") as out:
        nothing = partial(invalid_json, results=[], errors=[], ignored=[], undecided=[], summary=_summary(None))
        gate = opened(lambda: open_gate(rules=folders), out, nothing if form == "json" else None)
        if gate is None:
            return Exit.POLICY_INVALID
        report = lint(Gates(gate), [Path(folder) for folder in folders])
        if form == "json":
            out.write(_json(report, gate.fingerprint))
        else:
            out.write(_text(report, page_for(sys.stdout if output is None else None)))
    if report.problems:
        return Exit.INPUT_ERROR
    return Exit.REFUSED if report.findings else Exit.ADMITTED


def _text(report: Report, page: Page) -> str:
    rows: list[str] = []
    for problem in report.problems:
        rows += page.lines(f"{problem.span}: {problem.id}: {problem.message}", 0, 4)
        rows += page.lines(f"fix: {problem.hint}", 4, 4)
    for finding in report.findings:
        rows += page.lines(f"{finding.span}: {finding.check}: {finding.message}", 0, 4)
        rows += page.lines(f"fix: {finding.remedy}", 4, 4)
    for undecided in report.undecided:
        rows += page.lines(f"{undecided.span}: not decided: {', '.join(undecided.checks)}: {undecided.why}", 0, 4)
    if rows:
        rows.append("")
    count = page.word("failed" if report.findings else "passed", plural(len(report.findings), "finding"))
    rest = f", {len(report.ignored)} ignored" if report.ignored else ""
    rest += f", {len(report.undecided)} not decided" if report.undecided else ""
    rest += f", {plural(len(report.problems), 'error')}" if report.problems else ""
    rows.append(f"{plural(report.rules, 'rule')}: {count}{rest}")
    return "".join(f"{row}\n" for row in rows)


def _json(report: Report, fingerprint: str) -> str:
    return json_document(
        policy={"fingerprint": fingerprint},
        results=[finding.to_json() for finding in report.findings],
        errors=[problem.to_json() for problem in report.problems],
        ignored=[{**finding.to_json(), "because": one.reason} for finding, one in report.ignored],
        undecided=[undecided.to_json() for undecided in report.undecided],
        summary=_summary(report),
    )


def _summary(report: Report | None) -> dict[str, int]:
    if report is None:
        return {"rules": 0, "findings": 0, "ignored": 0, "undecided": 0, "errors": 0}
    return {
        "rules": report.rules,
        "findings": len(report.findings),
        "ignored": len(report.ignored),
        "undecided": len(report.undecided),
        "errors": len(report.problems),
    }
