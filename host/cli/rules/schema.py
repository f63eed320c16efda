"""``capgate rules schema``: the JSON Schema of a kind of file, for editors."""

from __future__ import annotations

import json
from typing import Final

import click

from capgate.host.cli.common import opened, output_option, rules_option
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output

__all__ = ["command"]

#: The kinds of files; the keys of `capgate.policy.authoring.json_schema.KINDS`.
_KINDS: Final = ("rule", "ruleset", "cases", "descriptor", "shipped-ruleset")


@click.command(name="schema", short_help="Print the JSON Schema of rule files, for editors.")
@click.argument("kind", metavar="[KIND]", type=click.Choice(_KINDS), default="rule")
@rules_option
@output_option
def command(kind: str, rules: tuple[str, ...], output: str | None) -> int:
    """Print the JSON Schema (2020-12) of a KIND of file: rule (the default), ruleset, cases, descriptor.

    It is made from what the loader checks with, and names the paths, operators and placements that there are, those
    of plugins among them. "shipped-ruleset" is the ruleset.yaml that capgate itself has.

    \b
    The exit code is:
      0  printed
      2  the command line is wrong or the schema cannot be written
      3  the policy is invalid
      5  capgate itself failed
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate
    from capgate.policy.authoring.json_schema import json_schema

    with open_output(output, encoding="utf-8") as out:
        gate = opened(lambda: open_gate(rules=rules))
        if gate is None:
            return Exit.POLICY_INVALID
        out.write(json.dumps(json_schema(kind, gate.catalog, gate.rules), indent=2) + "\n")
    return Exit.ADMITTED
