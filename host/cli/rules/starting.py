"""``capgate rules test --init``: writes the cases that a rule obviously needs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from capgate.host.cli.exits import Exit
from capgate.host.cli.output import OutputError
from capgate.host.cli.page import plural
from capgate.policy.authoring.cases import TESTS
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.starters import start, text_of
from capgate.policy.errors import FactUnavailable, Span
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.policy.gate import Gate
    from capgate.policy.rulefile import Rule

__all__ = ["write_cases"]


def write_cases(gate: Gate, rule: Rule, folder: Path) -> Exit:
    """Writes ``tests/ID.yaml`` in `folder`, unless it is there already.

    Raises:
        OutputError: output-failed.
        click.UsageError: the file is there, or there is nothing to write.
    """
    file = folder / TESTS / f"{rule.id}.yaml"
    if os.path.lexists(file):
        raise click.UsageError(f"{str(file)!r} is there already. Move it away to have it written anew.")
    gates = Gates(gate)
    try:
        starter = start(rule, gates)
    except FactUnavailable as error:
        click.echo(f"capgate: {escape(str(error))}", err=True)
        return Exit.INPUT_ERROR
    for number, span in starter.open:
        click.echo(
            f"capgate: {escape(str(span))}: no descriptor was found on which trigger {number} refuses; "
            "write a case for it by hand",
            err=True,
        )
    if not starter.starts:
        raise click.UsageError("there is nothing to begin with, so no file was written.")
    text = text_of(starter, gates)
    try:
        file.parent.mkdir(exist_ok=True)
        with open(file, "x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as fault:
        message = f"cannot be written: {fault.strerror or fault}"
        hint = "Make the folder one that this user may write to."
        raise OutputError("output-failed", message, hint=hint, span=Span(str(file))) from None
    refused = sum(case.refused for case in starter.starts)
    silent = len(starter.starts) - refused
    counts = f"{rule.id} refuses {refused} and is silent on {silent}"
    click.echo(f"{escape(str(file))}: {plural(len(starter.starts), 'case')}; {counts}")
    return Exit.ADMITTED
