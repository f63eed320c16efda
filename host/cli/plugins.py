"""``capgate plugins``: what is loaded, what it adds, and what was found but is not allowed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.render_text import TextReport
from capgate.host.cli.terminal import has_colour, width_of
from capgate.host.safe_json import json_text
from capgate.policy.errors import PolicyInvalid
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.host.inventory import Digest, Found, Given, Loaded

__all__ = ["command"]

_NOT_ALLOWED: Final = "Installed, and not loaded, as no config names them:"


@click.command(name="plugins", short_help="Show which plugins are loaded, and what each adds.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report."
)
def command(form: str) -> int:
    """Show which plugins are loaded, from where, what each adds, and what each primitive may be handed.

    Below them stand the plugins that are installed and that no config names. Nothing of them is
    loaded: this is only a list to choose from. It is the one command that looks for them.

    \b
    The exit code is the first that applies:
      5  capgate itself failed
      3  the policy is invalid; nothing is loaded
      4  what is installed could not be looked through
      0  all is well
    and 2 where the command line is wrong or the report cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    # These take longest to import, and --help is to be quick.
    from capgate.host.assembly import assemble
    from capgate.host.inventory import given, loaded, not_allowed
    from capgate.plugins.errors import PluginError

    invalid = False
    policy: dict[str, Any] = {}
    entries: list[Loaded] = []
    primitives: dict[str, list[Given]] = {}
    found: list[Found] | None = None
    with open_output(None, encoding="utf-8" if form == "json" else None) as out:
        try:
            assembled = assemble()
            policy["fingerprint"] = assembled.gate.fingerprint
            entries = loaded(assembled)
            primitives = dict(given(assembled.gate.catalog))
        except PolicyInvalid as error:
            invalid = True
            report = TextReport(colour=has_colour(sys.stderr), width=width_of(sys.stderr))
            click.echo(report.invalid(error), err=True, nl=False)
            policy = {"fingerprint": None, "problems": [problem.to_json() for problem in error.problems]}
        try:
            found = not_allowed()
        except PluginError as error:
            click.echo(f"capgate: {escape(str(error))}", err=True)
        if form == "json":
            out.write(_json(policy, entries, primitives, found))
        else:
            out.write("".join(f"{escape(line)}\n" for line in _text(entries, primitives, found)))
    if invalid:
        return Exit.POLICY_INVALID
    return Exit.INPUT_ERROR if found is None else Exit.ADMITTED


def _json(policy: Any, entries: Iterable[Loaded], primitives: dict[str, list[Given]], found: list[Found] | None) -> str:
    listed = [{"name": name, "given": [one._asdict() for one in handed]} for name, handed in primitives.items()]
    parts = {
        "policy": policy,
        "plugins": [entry.to_json() for entry in entries],
        "primitives": listed,
        "notAllowed": None if found is None else [one.to_json() for one in found],
    }
    return "{" + ",\n ".join(f'"{key}": {json_text(part)}' for key, part in parts.items()) + "}\n"


def _text(entries: Iterable[Loaded], primitives: dict[str, list[Given]], found: list[Found] | None) -> Iterator[str]:
    for entry in entries:
        origin = entry.listing.origin
        yield _title(origin.name, origin.version, origin.distribution if origin.kind == "configured" else origin.kind)
        if entry.listing.location:
            yield f"  file: {entry.listing.location}"
        for kind, names in {**entry.listing.adds, "rules": entry.rules}.items():
            if names:
                yield f"  {kind}: {', '.join(names)}"
        if "capgate_decided" in entry.listing.hooks:
            yield "  is told of each verdict"
        if entry.digest:
            yield _pin(entry.digest)
    if primitives:
        yield ""
        yield "What a primitive may be handed:"
    for name, handed in primitives.items():
        yield f"  {name}" + ("" if handed else ": nothing")
        for one in handed:
            what = f"{one.gives} ({one.mechanism})" if one.mechanism else "nothing"
            why = f": {one.gives}" if one.gives and not one.mechanism else ""
            yield f"    {one.capability} on {one.placement}: {what}{why}"
    if found:
        yield from (["", _NOT_ALLOWED] if primitives else [_NOT_ALLOWED])
    for other in found or ():
        yield f"  {_title(other.origin.name, other.origin.version, other.origin.distribution)}"
        yield f"  {_pin(other.digest)}"


def _title(name: str, version: str, origin: str) -> str:
    return " ".join(part for part in (name, version, f"({origin})") if part)


def _pin(digest: Digest) -> str:
    return f"  digest: {digest.value}" if digest.value else f"  no digest: {digest.why}"
