"""``capgate audit``: what was done, by whom, under which rule, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from capgate.host.cli.exits import Exit

__all__ = ["command"]

_F = TypeVar("_F", bound=Callable[..., Any])
#: How many lines are shown unless it is said.
_LINES: Final = 20


@click.group(name="audit", short_help="Show what was done, and by whom.")
def command() -> None:
    """Show the audit: what was done, by whom, under which rule, and what came of it."""


def _reading(function: _F) -> _F:
    folder = click.Path(file_okay=False)
    options = (
        click.option("--workspace", metavar="DIR", type=folder, help="The workspace whose audit to read."),
        click.option(
            "--root", metavar="DIR", type=folder, help="A root whose own audit to read: what was done to its files."
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="A line of text for each, or the lines as they are.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


@command.command(name="tail", short_help="The newest lines.")
@click.option("--lines", "-n", metavar="N", type=click.IntRange(1), default=_LINES, show_default=True, help="How many.")
@_reading
def tail(lines: int, workspace: str | None, root: str | None, form: str) -> int:
    """Show the newest lines, the newest last."""
    found: list[bytes] = []

    def read(files: Iterator[list[bytes]]) -> None:
        for file in files:
            found[:0] = file[-(lines - len(found)) :]
            if len(found) >= lines:
                return

    code = _read(_audit_of(workspace, root), read)
    _show(found, form)
    return code


@command.command(name="grep", short_help="The lines in which something stands.")
@click.argument("pattern", metavar="PATTERN")
@_reading
def grep(pattern: str, workspace: str | None, root: str | None, form: str) -> int:
    """Show the lines in which PATTERN, a regular expression, matches somewhere in the JSON text.

    Patterns are those of rules: no lookaround, no back-references, and never slow.

    \b
    The exit code is:
      1  nothing was found
      0  something was
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.policy.patterns import PatternRefused, compile_pattern

    try:
        compile_pattern(pattern)
        matches = compile_pattern(f".*(?:{pattern}).*").matches
    except PatternRefused as refused:
        raise click.BadParameter(f"{pattern!r} {refused}.", param_hint="PATTERN") from None
    found: list[list[bytes]] = []

    def read(files: Iterator[list[bytes]]) -> None:
        found.extend([line for line in file if matches(line.decode(errors="replace"))] for file in files)

    code = _read(_audit_of(workspace, root), read)
    lines = [line for file in reversed(found) for line in file]
    _show(lines, form)
    return code or (Exit.ADMITTED if lines else Exit.REFUSED)


def _audit_of(workspace: str | None, root: str | None) -> Path:
    from capgate.host.admission.settings import Settings, SettingsError
    from capgate.host.calls.recording import ROOT_AUDIT

    if root is not None:
        return Path(root).absolute() / ROOT_AUDIT
    try:
        return Settings.from_environment(workspace=workspace).workspace / "audit.jsonl"
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def _read(path: Path, read: Callable[[Iterator[list[bytes]]], None]) -> int:
    """Has the files of an audit read, the newest first; says where they cannot be."""
    from capgate.host.mediation.audit_files import read_back
    from capgate.host.mediation.disk import Disk
    from capgate.policy.text import escape

    try:
        read(read_back(path, Disk()))
    except OSError as error:
        click.echo(f"capgate: {escape(str(path))} cannot be read: {error.strerror}", err=True)
        return Exit.INPUT_ERROR
    return Exit.ADMITTED


def _show(lines: list[bytes], form: str) -> None:
    from capgate.policy.text import escape

    if form == "json":
        # The host writes nothing that steers a terminal; somebody else may have.
        click.echo("".join(f"{escape(line.decode(errors='replace'))}\n" for line in lines), nl=False)
        return
    from capgate.host.cli.page import page_for

    page = page_for(sys.stdout)
    for line in lines:
        click.echo("\n".join(page.lines(_text(line), 0, 4)))


def _text(line: bytes) -> str:
    """A line for people: when, what, to what, by whom, and what came of it."""
    import json

    try:
        entry = json.loads(line)
        act, actor = entry["act"], entry.get("actor") or {}
        who = "/".join(str(actor[key]) for key in ("name", "harness", "session") if actor.get(key)) or "somebody"
        what = f"{act['tool']}: {act['kind']} {act['target']}"
        told = f"{entry['at']} #{entry['seq']} {what}: {_outcome(entry)}; by {who}"
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return f"(no line of this host) {line.decode(errors='replace')}"
    call = entry.get("correlationId")
    return f"{told} ({call})" if call else told


def _outcome(entry: Mapping[str, Any]) -> str:
    why = f": {entry['why']}" if entry.get("why") else ""
    if entry["result"] == "error":
        return f"failed{why}"
    if entry["decision"] == "refuse":
        return f"refused by {entry['rule']}{why}"
    observed = entry.get("observed")
    import json

    return f"{entry['decision']} ({entry['rule']})" + (f" {json.dumps(observed)}" if observed else "")
