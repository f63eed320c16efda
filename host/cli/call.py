"""``capgate call``: calls a tool that was admitted, as a model would."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from capgate.host.cli.admission.hosting import acting, actor, show
from capgate.host.cli.exits import Exit

if TYPE_CHECKING:
    from capgate.host.calls.caller import Outcome

__all__ = ["command"]


@click.command(name="call", short_help="Call a tool that was admitted.")
@click.argument("tool", metavar="TOOL")
@click.option("--url", metavar="URL", help="The URL to fetch.")
@click.option("--path", metavar="PATH", help="The file, below the root.")
@click.option("--content", metavar="TEXT", help="What to write.")
@click.option("--query", metavar="TEXT", help="What to search for.")
@click.option("--input", "input_", metavar="TEXT", help="The input of a WebAssembly tool.")
@click.option("--a", metavar="TEXT", help="The first text to compare.")
@click.option("--b", metavar="TEXT", help="The second text to compare.")
@click.option("--arg", "more", metavar="NAME=TEXT", multiple=True, help="A parameter of a plugin's tool, each.")
@click.option("--root", metavar="DIR", help="The root of file tools; by default the workspace, where it is named.")
@acting
def command(
    tool: str,
    input_: str | None,
    more: tuple[str, ...],
    root: str | None,
    workspace: str | None,
    extensions: str | None,
    rules: tuple[str, ...],
    form: str,
    **said: str | None,
) -> int:
    """Call TOOL, and show what came of it, what is used of the budget, and where it was audited.

    Everything holds that holds for a model: the bounds, the budget, the audit. What the host says of the
    call meanwhile goes to standard error.

    \b
    The exit code is:
      1  the call was refused
      0  it was done
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.admission.settings import Settings
    from capgate.host.calls.opening import open_runtime
    from capgate.host.mediation.console import Console

    args = {name: text for name, text in (*said.items(), ("input", input_)) if text is not None} | _more(more)
    settings = Settings.from_environment(workspace=workspace, extensions=extensions, rules=rules)
    runtime = open_runtime(settings, console=Console(sys.stderr, sys.stderr))
    try:
        if root is not None:
            runtime.roots.declare({"root": {"kind": "machine", "path": os.path.abspath(root)}})
        outcome = runtime.caller.outcome(tool, args, actor=actor())
    finally:
        runtime.host.close()
    answer = {"result": outcome.result, "budget": outcome.budget, "audited": outcome.audited}
    show(answer, form, _text(outcome))
    return Exit.ADMITTED if outcome.result["ok"] else Exit.REFUSED


def _more(pairs: tuple[str, ...]) -> dict[str, str]:
    made = {}
    for pair in pairs:
        name, found, text = pair.partition("=")
        if not found:
            raise click.BadParameter(f"{pair!r} is not NAME=TEXT.", param_hint="--arg")
        made[name] = text
    return made


def _text(outcome: Outcome) -> str:
    from capgate.host.safe_json import json_text
    from capgate.policy.text import escape

    result = dict(outcome.result)
    call, ok = result.pop("correlationId"), result.pop("ok")
    rows = ["done" if ok else f"refused by {result.pop('refused')}: {escape(str(result.pop('why')))}"]
    for name, value in result.items():
        rows += _part(name, value if isinstance(value, str) else json_text(value))
    rows.append("")
    rows.append(f"budget: {outcome.budget or 'none used'}")
    rows.append(f"audited: {escape(outcome.audited) if outcome.audited else 'it could not be'} ({call})")
    return "\n".join(rows)


def _part(name: str, text: str) -> list[str]:
    """A part of the result, which may have many lines; none of them can steer the terminal."""
    from capgate.policy.text import escape

    lines = [escape(line) for line in text.removesuffix("\n").split("\n")]
    return [f"  {name}: {lines[0]}"] if len(lines) == 1 else [f"  {name}:", *(f"    {line}" for line in lines)]
