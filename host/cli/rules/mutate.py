"""``capgate rules mutate``: which changes of the rules no test notices."""

from __future__ import annotations

import sys
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from capgate.host.cli.common import folders, invalid_json, opened, output_option
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import page_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capgate.host.cli.rules.mutate_reports import Tried
    from capgate.policy.authoring.mutation import Mutation
    from capgate.policy.gate import Gate

__all__ = ["command"]


@click.command(name="mutate", short_help="Say which changes of rules no test notices.")
@folders
@click.option("--rule", "ids", metavar="ID", multiple=True, help="Change this rule only. May be repeated.")
@click.option(
    "--fail-under",
    metavar="N",
    type=click.FloatRange(0, 100),
    default=95,
    show_default=True,
    help="Fail where less than N per cent of the changes are noticed.",
)
@click.option(
    "--jobs", metavar="N", type=click.IntRange(1, 64), default=1, show_default=True, help="Use N processes at once."
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report."
)
@output_option
def command(
    folders: tuple[str, ...], ids: tuple[str, ...], fail_under: float, jobs: int, form: str, output: str | None
) -> int:
    """Change one thing at a time in the rules of each DIR, or in the shipped rules, and say what no test notices.

    Changed are operators, literals, patterns, paths, combinators, conditions, triggers, loops, severities, stages,
    and the order of triggers, rules and stages. A change is noticed when a test that "capgate rules test" runs
    would fail with it. Each that is not is shown, with the test that would notice it, if one is found.

    \b
    The exit code is the first that applies:
      5  capgate itself failed
      3  the policy is invalid; nothing was tried
      4  a test could not be read
      1  less than --fail-under was noticed, or a test fails on the rules as they are
      0  enough was noticed
    and 2 where the command line is wrong or the report cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate
    from capgate.host.cli.rules.mutate_reports import json_report, percent, summary, text_report
    from capgate.policy.authoring.given import Gates
    from capgate.policy.authoring.mutation import Mutation, passes

    if isnan(fail_under):
        raise click.BadParameter("'nan' is not a share.", param_hint="'--fail-under'")
    with open_output(output, encoding=None if form == "text" else "utf-8") as out:
        nothing = partial(invalid_json, results=[], errors=[], failing=[], summary=summary([]))
        gate = opened(lambda: open_gate(rules=folders), out, nothing if form == "json" else None)
        if gate is None:
            return Exit.POLICY_INVALID
        _known(ids, folders, gate)
        mutation = Mutation(Gates(gate), [Path(folder) for folder in folders], ids)
        suite, whole = mutation.suite, mutation.whole
        failing = [trial for trial in suite.trials if not passes(trial, whole.refusals(trial.descriptor, trial.given))]
        tried = [] if failing or suite.problems else _tried(mutation, jobs)
        if form == "json":
            out.write(json_report(gate.fingerprint, mutation, tried, failing))
        else:
            page = page_for(sys.stdout if output is None else None)
            out.write(text_report(page, mutation, tried, failing, fail_under))
    if suite.problems:
        return Exit.INPUT_ERROR
    return Exit.REFUSED if failing or percent(tried) < fail_under else Exit.ADMITTED


def _known(ids: Sequence[str], folders: Sequence[str], gate: Gate) -> None:
    """Raises `click.BadParameter` where an id is that of no rule, or of none in the folders that were named."""
    from capgate.host.cli.rules.naming import rule_in

    homes = [Path(folder) for folder in folders]
    here = [id for id, rule in gate.rules.rules.items() if Path(rule.document.name).parent in homes]
    for id in ids:
        rule_in(gate, id, folders, "capgate rules mutate --rule ID DIR", "'--rule'")
        if folders and id not in here:
            text = f"{id!r} is not a rule of {', '.join(folders)}. Its rules are {', '.join(here)}."
            raise click.BadParameter(text, param_hint="'--rule'")


def _tried(mutation: Mutation, jobs: int) -> list[Tried]:
    from capgate.host.cli.rules.mutate_reports import attempt

    numbers = range(len(mutation.mutants))
    if jobs == 1 or len(numbers) < jobs:
        return [attempt(mutation, number) for number in numbers]
    import multiprocessing

    # A forked process has the rules as they are here; they could not be handed to another one.
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, _inherit, (mutation,)) as pool:
        return pool.map(_attempt, numbers, chunksize=4)


_inherited: list[Mutation] = []


def _inherit(mutation: Mutation) -> None:
    _inherited.append(mutation)


def _attempt(number: int) -> Tried:
    from capgate.host.cli.rules.mutate_reports import attempt

    return attempt(_inherited[0], number)
