"""``capgate mcp``: the tools for a client of the Model Context Protocol."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final

import click

from capgate.host.cli.common import report_invalid, rules_option
from capgate.host.cli.exits import Exit
from capgate.policy.errors import CapgateError, PolicyInvalid
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.host.admission.settings import Settings
    from capgate.host.calls.opening import Runtime
    from capgate.host.mcp.server import ToolServer
    from capgate.host.mediation.console import Console
    from capgate.host.mediation.redaction import Redactor

__all__ = ["command"]

_PORT: Final = 8788


@click.command(name="mcp", short_help="Offer the tools to a client of the Model Context Protocol.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP, in place of standard input and output.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="The port with --http; 0 takes any free one.",
)
@click.option("--workspace", metavar="DIR", type=click.Path(file_okay=False), help="The folder of proposals and audit.")
@click.option("--extensions", metavar="DIR", type=click.Path(file_okay=False), help="The host's own folder.")
@rules_option
def command(http: bool, port: int, workspace: str | None, extensions: str | None, rules: tuple[str, ...]) -> int:
    """Offer the tools of the extensions that run to one client over standard input and output.

    With --http they are offered on a loopback address, to clients that send the token in the file .mcp-token of the
    host's own folder.

    Besides the tools of extensions there are list_extensions, call_extension and propose_extension. Nothing that a
    client can do here admits anything: that takes a person, and `capgate admit` or `capgate serve`.

    \b
    The exit code is:
      5  capgate itself failed
      4  the state cannot be read or written
      3  the rules, a plugin or capgate.yaml cannot be used
      2  a setting is wrong, the address is taken, or the package mcp is not installed
      0  the client ended it, or it was stopped
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise click.UsageError("this takes the package mcp: install capgate[host,mcp]") from None
    from capgate.host.admission.errors import AdmissionError
    from capgate.host.admission.settings import Settings, SettingsError
    from capgate.host.mediation.console import Console
    from capgate.host.mediation.redaction import Redactor
    from capgate.host.web.serving import ServeError

    try:
        settings = Settings.from_environment(workspace=workspace, extensions=extensions, rules=rules, port=port)
        if http:
            _serve_http(settings, Console(), Redactor(os.environ))
        else:
            # Standard output is for the protocol alone.
            with redirect_stdout(sys.stderr):
                runtime, server = _open(settings, Console(sys.stderr), Redactor(os.environ), "mcp-stdio")
            _serve_stdio(runtime, server)
    except (ServeError, SettingsError) as error:
        return _ended(error, Exit.USAGE)
    except PolicyInvalid as error:
        report_invalid(error, sys.stderr)
        return Exit.POLICY_INVALID
    except AdmissionError as error:
        return _ended(error, Exit.INPUT_ERROR)
    return Exit.ADMITTED


def _open(settings: Settings, console: Console, redactor: Redactor, harness: str) -> tuple[Runtime, ToolServer]:
    """The host with its registry loaded, and what serves its tools."""
    from capgate.host.admission.store import Actor
    from capgate.host.calls.opening import open_runtime
    from capgate.host.mcp.logs import tell_of_logs
    from capgate.host.mcp.server import ToolServer

    def warn(line: str) -> None:
        console.warn(redactor.text(line))

    def report(defect: Exception, doing: str) -> None:
        warn(f"capgate: internal error: {type(defect).__name__}: {defect} ({doing})")

    tell_of_logs(warn)
    runtime = open_runtime(settings, console=console, redactor=redactor)
    _ = runtime.host.registry
    return runtime, ToolServer(runtime, Actor("model", harness), report)


def _serve_stdio(runtime: Runtime, server: ToolServer) -> None:
    from capgate.host.mcp.stdio import serve_stdio

    try:
        serve_stdio(server)
    finally:
        runtime.host.close()


def _serve_http(settings: Settings, console: Console, redactor: Redactor) -> None:
    from capgate.host.admission.sessions import Sessions
    from capgate.host.mcp.http import PATH, TOKEN, make_app, open_token
    from capgate.host.mediation.clock import SystemClock
    from capgate.host.web.authority import Doorkeeper
    from capgate.host.web.serving import listen, serve

    listening = listen(settings.address, settings.port)
    runtime, server = _open(settings, console, redactor, "mcp-http")
    try:
        token = open_token(settings.extensions)
        if token.repaired:
            console.warn(f"capgate: {token.repaired}")
        if secret := token.value():
            redactor.learn(secret)
        door = Doorkeeper(token.matches, Sessions(SystemClock()), settings.allowed_hosts)
        origin = f"http://{settings.address}:{listening.getsockname()[1]}"
        serve(
            make_app(server, door, token.matches),
            listening,
            lambda: console.say(
                f"capgate: {origin}{PATH}",
                f"capgate: clients send the content of {settings.extensions / TOKEN} as Authorization: Bearer",
            ),
            stopping=server.stop_listening,
        )
    finally:
        runtime.host.close()


def _ended(error: CapgateError, code: Exit) -> Exit:
    click.echo(f"capgate: {escape(str(error))}", err=True)
    return code
