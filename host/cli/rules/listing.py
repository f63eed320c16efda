"""``capgate rules list``: every rule, with its stages and where it comes from."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from capgate.host.cli.common import invalid_json, json_document, opened, output_option, rules_option
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import page_for

if TYPE_CHECKING:
    from capgate.policy.rulefile import Rule

__all__ = ["command"]


@click.command(name="list", short_help="List the rules that judge.")
@rules_option
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report."
)
@output_option
def command(rules: tuple[str, ...], form: str, output: str | None) -> int:
    """List every rule that judges, in the order of its first trigger.

    \b
    The exit code is:
      0  listed
      2  the command line is wrong or the report cannot be written
      3  the policy is invalid
      5  capgate itself failed
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate

    with open_output(output, encoding="utf-8" if form == "json" else None) as out:
        nothing = partial(invalid_json, rules=[])
        gate = opened(lambda: open_gate(rules=rules), out, nothing if form == "json" else None)
        if gate is None:
            return Exit.POLICY_INVALID
        asked = dict.fromkeys(rule.id for stage in gate.rules.stages for rule, _ in stage.triggers)
        found = [gate.rules.rules[id] for id in asked]
        if form == "json":
            out.write(json_document(policy={"fingerprint": gate.fingerprint}, rules=[_json(rule) for rule in found]))
            return Exit.ADMITTED
        page = page_for(sys.stdout if output is None else None)
        for rule in found:
            kind = "" if rule.severity == "refuse" else f" ({rule.severity})"
            rows = [f"{page.bold(rule.id)}{kind}: {page.lines(rule.title)[0]}"]
            rows += page.lines(f"from {rule.provider}, in {_stages(rule)}", 4, 4)
            out.write("".join(f"{row}\n" for row in rows))
    return Exit.ADMITTED


def _stages(rule: Rule) -> str:
    return ", ".join(dict.fromkeys(trigger.stage for trigger in rule.triggers))


def _json(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity,
        "stages": list(dict.fromkeys(trigger.stage for trigger in rule.triggers)),
        "triggers": len(rule.triggers),
        "examples": {
            "refused": sum(example.refused for example in rule.examples),
            "admitted": sum(not example.refused for example in rule.examples),
        },
        "references": list(rule.references),
        "provider": rule.provider,
        "file": rule.document.name,
    }
