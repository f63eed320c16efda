"""``capgate rules diff``: what a change of rules means."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from capgate.host.cli.common import invalid_json, opened, output_option
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import page_for
from capgate.policy.errors import CapgateError, PolicyInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from capgate.host.assembly import Assembled
    from capgate.host.cli.rules.diff_reports import Judged
    from capgate.policy.authoring.difference import Sides
    from capgate.policy.authoring.given import Gates, Given

__all__ = ["command"]

#: In place of a folder: the shipped rules alone.
_NONE: Final = "-"


class _Side(click.Path):
    """A folder, or `-`, which click takes for files only."""

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == _NONE else super().convert(value, param, ctx)


@click.command(name="diff", short_help="Say what a change of rules means.")
@click.argument("old", type=_Side())
@click.argument("new", type=_Side())
@click.option(
    "--against",
    metavar="PATH",
    multiple=True,
    type=click.Path(),
    help="Judge the descriptors in this file or folder by both. May be repeated.",
)
@click.option("--placement", metavar="NAME", default="machine", show_default=True, help="Where extensions are to run.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report."
)
@output_option
def command(old: str, new: str, against: tuple[str, ...], placement: str, form: str, output: str | None) -> int:
    """Say what changes where the rules in NEW take the place of those in OLD.

    Each is a folder of rules to add to the shipped ones, or with a ruleset.yaml that lists rules a whole set in
    their place; - stands for the shipped rules alone. A small descriptor is looked for that OLD refuses and NEW
    admits, and one the other way round. Where there is none, the report says what was tried.

    \b
    The exit code is the first that applies:
      5  capgate itself failed
      3  the rules of one side are invalid; nothing was judged
      4  an input could not be read
      1  something is refused by OLD and admitted by NEW
      0  nothing that was tried is
    and 2 where the command line is wrong or the report cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.cli.rules.diff_reports import json_report, loosens, summary, text_report
    from capgate.policy.authoring.difference import compare
    from capgate.policy.authoring.given import Given
    from capgate.policy.authoring.settle import Subject

    with open_output(output, encoding=None if form == "text" else "utf-8") as out:
        unknown: dict[str, Any] = {"loosened": None, "tightened": None, "bounds": None}
        nothing = partial(invalid_json, **unknown, results=[], errors=[], summary=summary([], []))
        sides = opened(lambda: _sides(old, new), out, nothing if form == "json" else None)
        if sides is None:
            return Exit.POLICY_INVALID
        if placement not in sides.old.catalog.placements:
            known = ", ".join(sides.old.catalog.placements)
            raise click.BadParameter(f"{placement!r} is not one of {known}.", param_hint="'--placement'")
        given = Given(placement)
        found = list(_judged(sides, against, given))
        judged = [one for one in found if not isinstance(one, CapgateError)]
        errors = [one for one in found if isinstance(one, CapgateError)]
        difference = compare(sides, [Subject(one.descriptor, given) for one in judged], given)
        if form == "json":
            out.write(json_report(sides, difference, judged, errors))
        else:
            out.write(text_report(page_for(sys.stdout if output is None else None), difference, judged, errors))
    if errors:
        return Exit.INPUT_ERROR
    return Exit.REFUSED if difference.loosened or any(map(loosens, judged)) else Exit.ADMITTED


def _sides(old: str, new: str) -> Sides:
    from capgate.host.assembly import assemble
    from capgate.policy.authoring.difference import Sides

    assembled = assemble()
    problems: list[CapgateError] = []
    made: list[Gates] = []
    for path in (old, new):
        try:
            made.append(_side(path, assembled))
        except PolicyInvalid as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise PolicyInvalid(problems)
    return Sides(*made)


def _side(path: str, assembled: Assembled) -> Gates:
    """The rules of one side, with those that plugins bring on both."""
    from capgate.policy.authoring.given import Gates
    from capgate.policy.gate import Gate
    from capgate.policy.ruleset import RuleFolder, load_ruleset

    catalog = assembled.plugins.catalog
    shipped = next(rule for rule in assembled.gate.rules.rules.values() if rule.provider == "capgate")
    base = RuleFolder(Path(shipped.document.name).parent, "capgate")
    overlays = [RuleFolder(folder, name) for name, folder in assembled.plugins.rule_folders]
    if path != _NONE:
        folder = RuleFolder(Path(path), path)
        if _is_whole(path):
            base = folder
        elif os.path.realpath(path) not in [os.path.realpath(other.path) for other in overlays]:
            overlays.append(folder)
    return Gates(Gate(catalog, load_ruleset(catalog, base, overlays)))


def _is_whole(path: str) -> bool:
    """Whether a folder is a whole set of rules: its ``ruleset.yaml`` lists the rules of some stage."""
    from capgate.policy.documents import DocumentError, load_yaml
    from capgate.policy.folders import RULESET, rule_files
    from capgate.policy.rule_errors import Problems

    source = (rule_files(Path(path), Problems()) or {}).get(RULESET)
    try:
        data = load_yaml(source).data if source is not None else None
    except DocumentError:
        return False  # the loader says what is wrong with it
    stages = data.get("stages") if isinstance(data, dict) else None
    return isinstance(stages, list) and any(isinstance(stage, dict) and "rules" in stage for stage in stages)


def _judged(sides: Sides, paths: Sequence[str], given: Given) -> Iterator[Judged | CapgateError]:
    from capgate.host.cli.rules.diff_reports import Judged
    from capgate.host.inputs import find, read
    from capgate.policy.authoring.judging import Judge
    from capgate.policy.documents import DocumentError, load_json

    old, new = Judge(sides.old.rules, sides.old), Judge(sides.new.rules, sides.new)
    for source in read(find(paths)):
        if isinstance(source, CapgateError):
            yield source
            continue
        try:
            descriptor = load_json(source.data, source.file).data
        except DocumentError as error:
            yield error
            continue
        before, after = old.refusals(descriptor, given), new.refusals(descriptor, given)
        yield Judged(source.file, descriptor, tuple(before), tuple(after))
