"""What commands share: their options, the rules themselves, and what ends them early."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from capgate.host.cli.render_text import TextReport
from capgate.host.cli.terminal import has_colour, width_of
from capgate.host.safe_json import json_text
from capgate.policy.errors import PolicyInvalid
from capgate.policy.rule_errors import did_you_mean

if TYPE_CHECKING:
    from capgate.host.cli.output import Output
    from capgate.policy.gate import Gate
    from capgate.policy.rulefile import Rule

__all__ = [
    "folders",
    "invalid_json",
    "json_document",
    "opened",
    "output_option",
    "report_invalid",
    "rule_of",
    "rules_option",
]

_T = TypeVar("_T")
_Folder = click.Path(exists=True, file_okay=False)

folders = click.argument("folders", metavar="[DIR]...", nargs=-1, type=_Folder)
rules_option = click.option(
    "--rules", metavar="DIR", multiple=True, type=_Folder, help="A folder of rules to add. May be repeated."
)
output_option = click.option(
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Write the report to FILE instead of standard output. FILE is replaced as a whole or not at all.",
)


def rule_of(gate: Gate, id: str, param_hint: str = "ID") -> Rule:
    """The rule with this id.

    Raises:
        click.BadParameter: there is none.
    """
    rule = gate.rule(id)
    if rule is None:
        hint = did_you_mean(id, gate.rules.rules)
        raise click.BadParameter(f"no rule is called {id!r}." + (f" {hint}" if hint else ""), param_hint=param_hint)
    return rule


def opened(
    load: Callable[[], _T], out: Output | None = None, invalid: Callable[[PolicyInvalid], str] | None = None
) -> _T | None:
    """What `load` gives: a gate, mostly. None where the policy is invalid, which has been reported then.

    Args:
        load: raises `PolicyInvalid`.
        out: where the report goes.
        invalid: gives the report on an invalid policy, besides what standard error says; None writes none.
    """
    try:
        return load()
    except PolicyInvalid as error:
        report_invalid(error, sys.stderr)
        if out is not None and invalid is not None:
            out.write(invalid(error))
        return None


def report_invalid(error: PolicyInvalid, stream: TextIO) -> None:
    """Says on `stream` what is wrong with a policy."""
    click.echo(TextReport(colour=has_colour(stream), width=width_of(stream)).invalid(error), file=stream, nl=False)


def invalid_json(error: PolicyInvalid, **parts: Any) -> str:
    """The whole report where nothing could be judged, as JSON; `parts` are what else it has to have."""
    problems = [problem.to_json() for problem in error.problems]
    return json_document(policy={"fingerprint": None, "problems": problems}, **parts)


def json_document(**parts: Any) -> str:
    """A JSON object, with a line for each of its parts and for each item of a list in it."""
    made = []
    for key, part in parts.items():
        if isinstance(part, list) and part:
            items = ",\n  ".join(json_text(item) for item in part)
            made.append(f"{json_text(key)}: [\n  {items}\n ]")
        else:
            made.append(f"{json_text(key)}: {json_text(part)}")
    return "{" + ",\n ".join(made) + "}\n"
