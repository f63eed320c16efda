"""``capgate rules show``: one rule, with all that it says of itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from capgate.host.cli.common import (
    invalid_json,
    json_document,
    opened,
    output_option,
    rules_option,
)
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import Page, page_for
from capgate.host.cli.rules.naming import rule_in

if TYPE_CHECKING:
    from capgate.policy.gate import Gate
    from capgate.policy.rulefile import Rule

__all__ = ["command"]


@click.command(name="show", short_help="Show one rule with its triggers and examples.")
@click.argument("id", metavar="ID")
@rules_option
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report."
)
@output_option
def command(id: str, rules: tuple[str, ...], form: str, output: str | None) -> int:
    """Show the rule ID: what it is for, when it refuses and what it says then, and its examples.

    \b
    The exit code is:
      0  shown
      2  the command line is wrong or the report cannot be written
      3  the policy is invalid
      5  capgate itself failed
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import open_gate

    with open_output(output, encoding="utf-8" if form == "json" else None) as out:
        gate = opened(lambda: open_gate(rules=rules), out, invalid_json if form == "json" else None)
        if gate is None:
            return Exit.POLICY_INVALID
        rule = rule_in(gate, id, rules, "capgate rules show ID --rules DIR")
        if form == "json":
            place = {"provider": rule.provider, "file": rule.document.name}
            stages = [{"trigger": number, "walks": walks} for number, walks in enumerate(_walks(rule, gate), start=1)]
            out.write(json_document(**place, rule=rule.document.data, stages=stages))
        else:
            page = page_for(sys.stdout if output is None else None)
            out.write("".join(f"{row}\n" for row in _rows(rule, gate, page)))
    return Exit.ADMITTED


def _walks(rule: Rule, gate: Gate) -> Iterator[dict[str, str]]:
    """What each trigger walks over: the variable and the list, the stage's first."""
    loops = {stage.name: stage.loop for stage in gate.rules.stages}
    for trigger in rule.triggers:
        yield {loop.variable: loop.over.text for loop in (loops[trigger.stage], trigger.loop) if loop}


def _rows(rule: Rule, gate: Gate, page: Page) -> Iterator[str]:
    data: dict[str, Any] = rule.document.data
    yield f"{page.bold(rule.id)}: {page.lines(rule.title)[0]}"
    yield from page.lines(f"{rule.severity}, from {rule.provider}: {rule.document.name}", 2, 4)
    for reference in rule.references:
        yield from page.lines(f"see {reference}", 2, 4)
    if "remedy" in data:
        yield from page.lines(f"remedy: {data['remedy']}", 2, 4)
    for number, (trigger, walks) in enumerate(zip(data["triggers"], _walks(rule, gate), strict=True), start=1):
        span = rule.document.span(("triggers", number - 1))
        over = "".join(f", for each {variable} of {path}" for variable, path in walks.items())
        yield ""
        yield from page.lines(f"trigger {number} (line {span.line}), stage {trigger['stage']}{over}", 2, 4)
        yield from _condition(trigger["when"], page, 4)
        for key in ("reason", "remedy", "at"):
            if key in trigger:
                yield from page.lines(f"{key}: {trigger[key]}", 4, 4)
    for kind, title in (("refused", "refuses"), ("admitted", "is silent on")):
        examples = data.get("examples", {}).get(kind, [])
        if examples:
            yield ""
            yield from page.lines(title, 2)
            for example in examples:
                yield from _example(example, page)


def _condition(condition: Any, page: Page, indent: int) -> Iterator[str]:
    from capgate.policy.authoring.flow import flow

    ((key, inner),) = condition.items()
    if key in ("all", "any", "none", "not"):
        yield " " * indent + key
        for part in [inner] if key == "not" else inner:
            yield from _condition(part, page, indent + 2)
    else:
        yield from page.lines(f"{key}: {flow(inner)}", indent, 4)


def _example(example: Any, page: Page) -> Iterator[str]:
    from capgate.policy.authoring.flow import flow

    given = f", given {flow(example['given'])}" if example.get("given") else ""
    yield from page.lines(f"{flow(example['descriptor'])}{given}", 4, 4)
