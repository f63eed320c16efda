"""What the commands that read the ledger share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from capgate.host.cli.exits import Exit
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.host.admission.settings import Settings

__all__ = ["reading", "settings_of"]

_F = TypeVar("_F", bound=Callable[..., Any])


def reading(command: _F) -> _F:
    """Gives a command its options for the folder and the format, and ends it with one error and one exit code."""

    @functools.wraps(command)
    def run(*arguments: Any, **values: Any) -> Any:
        from capgate.host.admission.checkpoint import CheckpointError
        from capgate.host.admission.errors import AdmissionError
        from capgate.host.admission.settings import SettingsError

        try:
            return command(*arguments, **values)
        except SettingsError as error:
            raise click.UsageError(str(error)) from None
        except (AdmissionError, CheckpointError) as error:
            click.echo(f"capgate: {escape(str(error))}", err=True)
            return Exit.INPUT_ERROR

    options = (
        click.option("--extensions", metavar="DIR", type=click.Path(file_okay=False), help="The host's own folder."),
        click.option(
            "--format",
            "form",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="How to report.",
        ),
    )
    decorated: Any = run
    for option in reversed(options):
        decorated = option(decorated)
    result: _F = decorated
    return result


def settings_of(extensions: str | None) -> Settings:
    """The settings that the environment and the command line give.

    Raises:
        SettingsError: something in them cannot be used.
    """
    from capgate.host.admission.settings import Settings

    return Settings.from_environment(extensions=extensions)
