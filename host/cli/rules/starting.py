"""``capgate rules test --init``: writes the cases that a rule obviously needs, and shows the examples that it lacks."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from capgate.host.cli.exits import Exit
from capgate.host.cli.output import OutputError
from capgate.host.cli.page import at_start, plural
from capgate.policy.authoring.cases import TESTS
from capgate.policy.authoring.first_examples import lacking_examples, lacks
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.starters import LARGEST, Starter, start, text_of
from capgate.policy.errors import FactUnavailable, Span
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.policy.gate import Gate
    from capgate.policy.rulefile import Rule

__all__ = ["write_cases"]


def write_cases(gate: Gate, rule: Rule, folder: Path) -> Exit:
    """Writes ``tests/ID.yaml`` in `folder`, unless it is there already, and shows the examples that the rule lacks.

    A rule file is written by hand, so nothing is written into it.

    Raises:
        OutputError: output-failed.
        click.UsageError: the file is there, or there is nothing to write.
    """
    file = folder / TESTS / f"{rule.id}.yaml"
    there = os.path.lexists(file)
    if there and not lacks(rule):
        raise _taken(file)
    if not there and not _within(file.parent, folder):
        message = f"leads out of the folder of the rules, to {os.path.realpath(file.parent)!r}"
        raise _unwritable(file.parent, message, "Make it a folder, and no link to another.")
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
    for path, span in starter.fixed:
        click.echo(
            f"capgate: {escape(str(span))}: no case changes '{escape(path)}', which cannot be set; "
            "write cases for it by hand",
            err=True,
        )
    for span in starter.large:
        click.echo(
            f"capgate: {escape(str(span))}: this takes a descriptor of more than {LARGEST} bytes, and no case has one; "
            "write it by hand",
            err=True,
        )
    if not starter.starts:
        raise click.UsageError("there is nothing to begin with, so no file was written.")
    if there:
        click.echo(f"{at_start(escape(str(file)))}: is there already, and left as it is")
    else:
        _write(file, starter, gates)
    _show_examples(starter, gates)
    return Exit.ADMITTED


def _within(inner: Path, outer: Path) -> bool:
    """Whether a path, its links followed, lies in a folder."""
    return Path(os.path.realpath(inner)).is_relative_to(os.path.realpath(outer))


def _write(file: Path, starter: Starter, gates: Gates) -> None:
    _write_new(file, text_of(starter, gates).encode())
    refused = sum(case.refused for case in starter.starts)
    silent = len(starter.starts) - refused
    counts = f"{starter.rule.id} refuses {refused} and is silent on {silent}"
    click.echo(f"{at_start(escape(str(file)))}: {plural(len(starter.starts), 'case')}; {counts}")


def _write_new(file: Path, data: bytes) -> None:
    """Writes a file that was not there: it appears whole or not at all, and never over another."""
    # Hidden, so that a run of the tests beside this one does not take it for a file of cases.
    beside = file.with_name(f".{file.name[:200]}.{os.urandom(6).hex()}.tmp")
    try:
        file.parent.mkdir(exist_ok=True)
        try:
            with open(beside, "xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            _put(beside, file)
        finally:
            with suppress(OSError):
                os.unlink(beside)
    except FileExistsError:
        if not os.path.isdir(file.parent):
            raise _unwritable(file, f"{str(file.parent)!r} is no folder", "Move it away.") from None
        raise _taken(file) from None
    except OSError as fault:
        hint = "Make the folder one that this user may write to, with space left."
        raise _unwritable(file, f"cannot be written: {fault.strerror or fault}", hint) from None


def _put(beside: Path, file: Path) -> None:
    """Gives a file its name; what has the name keeps it, which a renaming alone would replace."""
    try:
        os.link(beside, file)
    except FileExistsError:
        raise
    except OSError:  # there are file systems without links
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            os.replace(beside, file)
        except OSError:
            os.unlink(file)  # only claimed by then: an empty file would be in the way of the next run
            raise


def _taken(file: Path) -> click.UsageError:
    return click.UsageError(f"{str(file)!r} is there already. Move it away to have it written anew.")


def _unwritable(file: Path, message: str, hint: str) -> OutputError:
    return OutputError("output-failed", message, hint=hint, span=Span(str(file)))


def _show_examples(starter: Starter, gates: Gates) -> None:
    kinds = lacks(starter.rule)
    if not kinds:
        return
    name = escape(starter.rule.document.name)
    rows = lacking_examples(starter, gates)
    if rows:
        where = "at its end" if rows.startswith("examples:") else "under 'examples'"
        lacking = " and no ".join(f"'examples.{kind}'" for kind in kinds)
        click.echo(f"\n# {name} has no {lacking}. If what it says now is right, paste this {where}:\n{rows}", nl=False)
    for kind in kinds:
        if f"  {kind}:\n" not in rows:
            click.echo(f"capgate: {name}: nothing was found for 'examples.{kind}'; write one by hand", err=True)
