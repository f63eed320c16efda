"""``capgate new``: writes a rule, a descriptor or a plugin to begin with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from shlex import quote
from typing import Final, ParamSpec

import click

from capgate.host.cli.exits import Exit
from capgate.host.scaffolds.content import descriptor_file, plugin_files, rule_files
from capgate.host.scaffolds.errors import ScaffoldError
from capgate.host.scaffolds.writing import new_file, new_files, new_folder
from capgate.policy.text import escape

__all__ = ["command"]

P = ParamSpec("P")

_EPILOG: Final = "Nothing is ever overwritten. What cannot be written whole is not written, with exit code 2."


@click.group(name="new", short_help="Write a rule, a descriptor or a plugin to begin with.", epilog=_EPILOG)
def command() -> None:
    """Write files to begin with. They pass the checks as they are; change them step by step."""


def _writes(function: Callable[P, None]) -> Callable[P, int]:
    """Turns a `ScaffoldError` into a message and an exit code."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            function(*args, **kwargs)
        except ScaffoldError as error:
            click.echo(f"capgate: {escape(str(error))}", err=True)
            return Exit.USAGE
        return Exit.ADMITTED

    return run


@command.command(name="rule", epilog=_EPILOG)
@click.argument("id", metavar="ID")
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False),
    default="my-rules",
    show_default=True,
    help="The folder of rules to put it into; made if it is not there, with those above it.",
)
@_writes
def rule(id: str, folder: str) -> None:
    """Write the rule ID, with examples of what it refuses and what it does not, and a case in DIR/tests.

    ID is lower-case letters, digits and '-'. The rule is asked with: capgate check --rules DIR
    """
    home = os.path.normpath(folder)
    files, read_me = rule_files(id, home)
    if os.path.lexists(home):
        new_files(home, files)
    else:
        files["README.md"] = read_me
        with _parents(home):
            new_folder(home, files)
    _tell(
        [os.path.join(home, name) for name in files],
        f"capgate rules test {quote(home)}",
        f"capgate check --rules {quote(home)} PATH",
    )


@command.command(name="descriptor", epilog=_EPILOG)
@click.argument("id", metavar="ID")
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False),
    default=".",
    show_default=True,
    help="The folder to put it into.",
)
@_writes
def descriptor(id: str, folder: str) -> None:
    """Write the descriptor ID, which reads a file and is admitted.

    ID is lower-case letters, digits, '_' and '-'.
    """
    path = os.path.normpath(os.path.join(folder, f"{id}.json"))
    new_file(path, descriptor_file(id))
    _tell([path], f"capgate check {quote(path)}")


@command.command(name="plugin", epilog=_EPILOG)
@click.argument("name", metavar="NAME")
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False),
    default=".",
    show_default=True,
    help="The folder to put its folder into.",
)
@_writes
def plugin(name: str, folder: str) -> None:
    """Write the plugin NAME: a package capgate-NAME with a primitive, a capability, a rule and tests.

    NAME is lower-case words and digits joined by '-'.
    """
    distribution, files = plugin_files(name)
    home = os.path.normpath(os.path.join(folder, distribution))
    rule = next(inside for inside in files if inside.endswith("-offline.yaml"))
    new_folder(home, files)
    _tell(
        [os.path.join(home, inside) for inside in files],
        f"cd {quote(home)}",
        "pip install --editable '.[test]'",
        "pytest",
        f"capgate rules test {quote(os.path.dirname(rule))}",
        "capgate check examples",
    )


@contextmanager
def _parents(path: str) -> Iterator[None]:
    """Makes the folders above `path`, and takes those that it made away again where the rest fails."""
    missing = []
    parent = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    try:
        with suppress(OSError, ValueError):  # whoever writes into it says why it is not there
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):
                os.rmdir(folder)
        raise


def _tell(written: Sequence[str], *commands: str) -> None:
    """Says what was written, and what to do next."""
    lines = [*(f"wrote {path}" for path in written), "", "next:", *(f"  {line}" for line in commands)]
    click.echo("".join(f"{escape(line)}\n" for line in lines), nl=False)
