"""What the commands that act on a host's state share: the host itself, who acts, and how answers are shown."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from capgate.host.cli.common import json_document, report_invalid, rules_option
from capgate.host.cli.exits import Exit
from capgate.policy.errors import CapgateError, PolicyInvalid

if TYPE_CHECKING:
    from capgate.host.admission.host import AdmissionHost
    from capgate.host.admission.store import Actor

__all__ = ["METHOD", "Ended", "acting", "actor", "confirmed", "hosting", "plan_shown", "read_descriptor", "show"]

#: By what authority a command acts: whoever can write the host's own folder is the host.
METHOD = "cli"

_F = TypeVar("_F", bound=Callable[..., Any])


class Ended(Exception):
    """A command is over, with this exit code; everything was said."""

    def __init__(self, code: Exit):
        self.code = code


def acting(command: _F) -> _F:
    """Gives a command its options for the folders and the format, and ends it with one error and one exit code."""
    folder = click.Path(file_okay=False)
    options = (
        click.option("--workspace", metavar="DIR", type=folder, help="The folder of proposals and of the audit."),
        click.option("--extensions", metavar="DIR", type=folder, help="The host's own folder."),
        rules_option,
        click.option(
            "--format",
            "form",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="How to answer.",
        ),
    )

    @functools.wraps(command)
    def run(*arguments: Any, **values: Any) -> Any:
        from capgate.host.admission.errors import AdmissionError
        from capgate.host.admission.settings import SettingsError

        form = values["form"]
        try:
            return command(*arguments, **values)
        except Ended as ended:
            return ended.code
        except SettingsError as error:
            raise click.UsageError(str(error)) from None
        except PolicyInvalid as error:
            report_invalid(error, sys.stderr)
            return Exit.POLICY_INVALID
        except AdmissionError as error:
            if form == "json":
                show(error.to_body(), form, "")
            else:
                _complain(f"{error.refused}: {error.message} ({error.hint})")
            return _code(error)

    decorated: Any = run
    for option in reversed(options):
        decorated = option(decorated)
    result: _F = decorated
    return result


@contextmanager
def hosting(workspace: str | None, extensions: str | None, rules: tuple[str, ...]) -> Iterator[AdmissionHost]:
    """The host that these folders, or else the environment, name."""
    from capgate.host.admission.opening import open_host
    from capgate.host.admission.settings import Settings
    from capgate.host.assembly import open_gate

    settings = Settings.from_environment(workspace=workspace, extensions=extensions, rules=rules)
    host = open_host(open_gate(rules=settings.rules), settings)
    try:
        yield host
    finally:
        host.close()


def actor() -> Actor:
    """Who types the command."""
    import pwd

    from capgate.host.admission.store import Actor

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    return Actor("human-at-host", "cli", name)


def show(answer: Mapping[str, Any], form: str, text: str) -> None:
    """Writes an answer to standard output: as JSON, or as the text for people, which is safe to show."""
    click.echo(json_document(**answer) if form == "json" else text, nl=form != "json")


def confirmed(plan: Mapping[str, Any], form: str, question: str, *, yes: bool) -> None:
    """Shows a plan and asks whether to go on.

    With --yes nothing is asked; without a terminal to ask at, the command ends here.

    Raises:
        Ended: the answer was no, or nobody could be asked.
    """
    if yes:
        return
    if form == "json" or not (sys.stdin and sys.stdin.isatty()):
        if form == "json":
            show({"confirmFirst": True, "plan": plan}, form, "")
        click.echo("capgate: nothing was done; --yes does it.", err=True)
        raise Ended(Exit.REFUSED)
    if not click.confirm(question, default=False):
        click.echo("Nothing was done.")
        raise Ended(Exit.REFUSED)


def plan_shown(plan: Mapping[str, Any]) -> str:
    """A plan for people: the verdict, then every part of the disclosure."""
    from capgate.host.cli.page import page_for
    from capgate.host.cli.render_plan import sections_text

    page, gate = page_for(sys.stdout), plan["gate"]
    rows = [page.bold(f"{plan.get('id', '')}: would be {gate['decision']}")]
    if plan.get("state") == "refused" and plan["refusal"]["rule"] == "host-deny":
        rows += page.lines("The host denied this content before.", 2, 2)
    for refusal in gate["refusals"]:
        rows += page.lines(f"{refusal['rule']} at {refusal['path']}: {refusal['reason']}", 2, 4)
        rows += page.lines(refusal["remedy"], 4, 4)
    return "\n".join(rows) + "\n" + sections_text(plan, page).rstrip("\n")


def read_descriptor(path: str) -> Any:
    """The descriptor in a file, or on standard input.

    Raises:
        Ended: it could not be read; what is wrong was said.
    """
    from capgate.host.inputs import Source, find, read
    from capgate.policy.documents import load_json

    (source,) = read(find([path]))
    try:
        if not isinstance(source, Source):
            raise source
        return load_json(source.data, source.file).data
    except CapgateError as error:
        _complain(str(error))
    raise Ended(Exit.INPUT_ERROR)


def _complain(what: str) -> None:
    from capgate.policy.text import escape

    click.echo(f"capgate: {escape(what)}", err=True)


def _code(error: Any) -> Exit:
    """Refused where somebody said no; an input error where what was named is not there or not well formed."""
    from capgate.host.admission.errors import GateRefused

    if isinstance(error, GateRefused) or error.id in ("plan-changed", "already-admitted"):
        return Exit.REFUSED
    if error.http_status >= 500:
        return Exit.INTERNAL
    return Exit.REFUSED if error.http_status in (400, 403) else Exit.INPUT_ERROR
