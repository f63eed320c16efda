"""``capgate serve``: the admission host over HTTP, on this machine alone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from capgate.host.cli.common import report_invalid, rules_option
from capgate.host.cli.exits import Exit
from capgate.policy.errors import CapgateError, PolicyInvalid
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.host.admission.settings import Settings
    from capgate.host.calls.opening import Runtime
    from capgate.host.mediation.console import Console
    from capgate.host.mediation.redaction import Redactor

__all__ = ["command"]


@click.command(name="serve", short_help="Answer the admission API over HTTP, on this machine.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="The port; 0 takes any free one. By default PORT, or 8787.",
)
@click.option("--workspace", metavar="DIR", type=click.Path(file_okay=False), help="The folder of proposals and audit.")
@click.option("--extensions", metavar="DIR", type=click.Path(file_okay=False), help="The host's own folder.")
@rules_option
def command(port: int | None, workspace: str | None, extensions: str | None, rules: tuple[str, ...]) -> int:
    """Answer the admission API over HTTP, on a loopback address, until SIGTERM or Ctrl-C.

    The address appears on standard output once requests are answered, and below it a one-time address
    to sign in with. Approval codes appear there too.

    With a policy that is invalid the host decides nothing: it says so, and /api/health answers 503.

    \b
    The exit code is:
      5  capgate itself failed
      4  the state cannot be read or written
      2  a setting is wrong, or the address is taken
      0  it was stopped
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.admission.errors import AdmissionError
    from capgate.host.admission.settings import Settings, SettingsError
    from capgate.host.mediation.console import Console
    from capgate.host.mediation.redaction import Redactor
    from capgate.host.web.serving import ServeError

    try:
        settings = Settings.from_environment(workspace=workspace, extensions=extensions, rules=rules, port=port)
        _serve(settings, Console(), Redactor(os.environ))
    except (ServeError, SettingsError) as error:
        return _ended(error, Exit.USAGE)
    except AdmissionError as error:
        return _ended(error, Exit.INPUT_ERROR)
    return Exit.ADMITTED


def _serve(settings: Settings, console: Console, redactor: Redactor) -> None:
    from capgate.host.admission.sessions import Sessions
    from capgate.host.admission.token import HostToken
    from capgate.host.calls.roots import Roots
    from capgate.host.mediation.clock import SystemClock
    from capgate.host.web.app import make_app
    from capgate.host.web.authority import Doorkeeper
    from capgate.host.web.serving import listen, serve
    from capgate.host.web.shim import Shim
    from capgate.host.web.sign_in import SIGN_IN

    clock = SystemClock()
    # First, so that two servers never share a folder by mistake of a port.
    listening = listen(settings.address, settings.port)
    runtime = _runtime(settings, console, redactor)
    token = HostToken(settings.extensions / ".host-token")
    if token.repaired:
        console.warn(f"capgate: {token.repaired}")
    secret = token.value()
    if secret:
        redactor.learn(secret)
    sessions = Sessions(clock)
    door = Doorkeeper(token.matches, sessions, settings.allowed_hosts, settings.loopback_auth)
    shim = Shim(
        runtime if isinstance(runtime, PolicyInvalid) else runtime.host,
        door=door,
        clock=clock,
        console=console,
        roots=Roots(settings) if isinstance(runtime, PolicyInvalid) else runtime.roots,
        redact=redactor.text,
        tools=None if isinstance(runtime, PolicyInvalid) else runtime.tools,
    )
    origin = f"http://{settings.address}:{listening.getsockname()[1]}"
    try:
        serve(
            make_app(shim),
            listening,
            lambda: console.say(
                f"capgate: {origin}", f"capgate: sign in once at {origin}{SIGN_IN}?ticket={sessions.ticket()}"
            ),
        )
    finally:
        if not isinstance(runtime, PolicyInvalid):
            runtime.host.close()


def _runtime(settings: Settings, console: Console, redactor: Redactor) -> Runtime | PolicyInvalid:
    """The host and what calls its tools, with its registry loaded; or what is wrong with the policy."""
    from capgate.host.calls.opening import open_runtime

    try:
        runtime = open_runtime(settings, console=console, redactor=redactor)
    except PolicyInvalid as error:
        report_invalid(error, sys.stderr)
        return error
    _ = runtime.host.registry
    # Requests do not outlive the process that took them, so what shows them must not either.
    runtime.host.forget_codes()
    return runtime


def _ended(error: CapgateError, code: Exit) -> Exit:
    click.echo(f"capgate: {escape(str(error))}", err=True)
    return code
