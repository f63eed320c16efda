"""``capgate rules coverage``: what the tests of rules make each condition answer."""

from __future__ import annotations

import sys
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capgate.host.cli.common import folders, invalid_json, json_document, opened, output_option
from capgate.host.cli.exits import Exit
from capgate.host.cli.junit import Case, Trouble, document, invalid_document
from capgate.host.cli.output import open_output
from capgate.host.cli.page import Page, page_for, plural
from capgate.host.cli.rules.explaining import condition_text, span_json
from capgate.policy.authoring.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capgate.policy.authoring.coverage import Covered
    from capgate.policy.errors import CapgateError

__all__ = ["command"]


@click.command(name="coverage", short_help="Say what tests make each condition answer.")
@folders
@click.option(
    "--fail-under",
    metavar="N",
    type=click.FloatRange(0, 100),
    default=100,
    show_default=True,
    help="Fail where less than N per cent of the answers were seen.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    show_default=True,
    help="How to report.",
)
@output_option
def command(folders: tuple[str, ...], fail_under: float, form: str, output: str | None) -> int:
    """Say which answers the tests of the rules in each DIR, or of the shipped rules, bring about.

    Each operator on a path can be true, false or unknown. Counted is what it can be at all: an answer that
    no descriptor could bring about, since the operator never gives it or the stage shape stops what would, is
    not asked for. Tests are those that "capgate rules test" runs.

    \b
    The exit code is the first that applies:
      5  capgate itself failed
      3  the policy is invalid; nothing was tested
      4  a test could not be read
      1  less than --fail-under was seen
      0  enough was seen
    and 2 where the command line is wrong or the report cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate
    from capgate.policy.authoring.coverage import cover
    from capgate.policy.authoring.given import Gates
    from capgate.policy.authoring.suite import gather

    if isnan(fail_under):
        raise click.BadParameter("'nan' is not a share.", param_hint="'--fail-under'")
    with open_output(output, encoding=None if form == "text" else "utf-8") as out:
        nothing = partial(invalid_json, results=[], errors=[], summary=_summary((), 0))
        invalid = nothing if form == "json" else invalid_document if form == "junit" else None
        gate = opened(lambda: open_gate(rules=folders), out, invalid)
        if gate is None:
            return Exit.POLICY_INVALID
        gates = Gates(gate)
        suite = gather(gates, [Path(folder) for folder in folders])
        covered = cover(suite.rules, suite.trials, gates)
        if form == "json":
            out.write(
                json_document(
                    policy={"fingerprint": gate.fingerprint},
                    results=[_json(part) for part in covered],
                    errors=[problem.to_json() for problem in suite.problems],
                    summary=_summary(covered, len(suite.rules)),
                )
            )
        elif form == "junit":
            out.write(document([*map(_case, covered), *map(_problem_case, suite.problems)]))
        else:
            page = page_for(sys.stdout if output is None else None)
            out.write(_text(page, covered, suite.problems, len(suite.rules), fail_under))
    if suite.problems:
        return Exit.INPUT_ERROR
    return Exit.ADMITTED if _percent(covered) >= fail_under else Exit.REFUSED


def _percent(covered: Sequence[Covered]) -> float:
    """How many of the answers that can be seen were seen; nothing to see is no coverage."""
    possible = sum(len(part.possible) for part in covered)
    return 100 * sum(len(part.seen) for part in covered) / possible if possible else 0.0


def _summary(covered: Sequence[Covered], rules: int) -> dict[str, Any]:
    return {
        "rules": rules,
        "conditions": len(covered),
        "possible": sum(len(part.possible) for part in covered),
        "seen": sum(len(part.seen) for part in covered),
        "percent": round(_percent(covered), 2),
    }


def _text(
    page: Page, covered: Sequence[Covered], problems: Sequence[CapgateError], rules: int, fail_under: float
) -> str:
    rows: list[str] = []
    for problem in problems:
        rows += page.lines(f"{problem.span}: {problem.id}: {problem.message}", 0, 4)
        rows += page.lines(f"fix: {problem.hint}", 4, 4)
    for part in covered:
        if part.missing:
            never = " and ".join(part.missing)
            rows += page.lines(f"{part.span}: {part.rule}: never {never}: {_condition(part)}", 0, 4)
    if rows:
        rows.append("")
    summary = _summary(covered, rules)
    counts = f"{plural(rules, 'rule')}, {plural(len(covered), 'condition')}"
    enough = _percent(covered) >= fail_under
    share = page.word("passed" if enough else "failed", f"{_shown(_percent(covered))} %")
    rows.append(f"{counts}: {summary['seen']} of {summary['possible']} answers seen, {share}")
    if not enough:
        rows.append(f"capgate: that is less than {_shown(fail_under)} %")
    return "".join(f"{row}\n" for row in rows)


def _shown(percent: float) -> str:
    """Rounded down, so that only all of it is shown as 100."""
    return f"{int(percent * 10) / 10:g}"


def _condition(part: Covered) -> str:
    if part.operator == "for_each":
        return f"for_each over {part.path}, where it is no list"
    return condition_text(part.path, part.operator, part.operand)


def _json(part: Covered) -> dict[str, Any]:
    return {
        "rule": part.rule,
        "trigger": part.trigger,
        "at": span_json(part.span),
        "path": part.path,
        "operator": part.operator,
        "operand": part.operand,
        "possible": [truth for truth in Truth if truth in part.possible],
        "seen": [truth for truth in Truth if truth in part.seen],
        "missing": list(part.missing),
    }


def _case(part: Covered) -> Case:
    trouble = None
    if part.missing:
        message = f"never {' and '.join(part.missing)}"
        trouble = Trouble("failure", "uncovered", message, f"{part.span}: {message}: {_condition(part)}")
    place = f"line {part.span.line}, column {part.span.column}"
    return Case(part.span.file, part.rule, f"{_condition(part)} ({place})", trouble)


def _problem_case(problem: CapgateError) -> Case:
    file = problem.span.file if problem.span else "rules"
    return Case(file, "file", str(problem.span or file), Trouble("error", problem.id, problem.message, str(problem)))
