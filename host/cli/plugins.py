"""``capgate plugins``: what is loaded, what it adds, and what was found but is not allowed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.render_text import TextReport
from capgate.host.cli.terminal import has_colour, width_of
from capgate.host.inventory import Digest, Found, Given, Loaded, given, loaded, not_allowed
from capgate.host.safe_json import json_text
from capgate.plugins.errors import PluginError
from capgate.policy.errors import PolicyInvalid
from capgate.policy.text import escape

__all__ = ["command"]


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
      0  all is well
    and 2 where the command line is wrong or the report cannot be written.
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.assembly import assemble  # takes longest to import, and --help is to be quick

    invalid: PolicyInvalid | None = None
    policy: dict[str, Any] = {}
    entries: list[Loaded] = []
    primitives: dict[str, list[Given]] = {}
    found: list[Found] = []
    with open_output(None, encoding="utf-8" if form == "json" else None) as out:
        try:
            assembled = assemble()
            policy["fingerprint"] = assembled.gate.fingerprint
            entries = loaded(assembled)
            primitives = dict(given(assembled.gate.catalog))
        except PolicyInvalid as error:
            invalid = error
        try:
            found = not_allowed()
        except PluginError as error:
            invalid = PolicyInvalid([*(invalid.problems if invalid else ()), error])
        if invalid:
            report = TextReport(colour=has_colour(sys.stderr), width=width_of(sys.stderr))
            click.echo(report.invalid(invalid), err=True, nl=False)
            policy = {"fingerprint": None, "problems": [problem.to_json() for problem in invalid.problems]}
        if form == "json":
            out.write(_json(policy, entries, primitives, found))
        else:
            out.write("".join(f"{escape(line)}\n" for line in _text(entries, primitives, found)))
    return Exit.POLICY_INVALID if invalid else Exit.ADMITTED


def _json(policy: Any, entries: Iterable[Loaded], primitives: dict[str, list[Given]], found: Iterable[Found]) -> str:
    listed = [{"name": name, "given": [one._asdict() for one in handed]} for name, handed in primitives.items()]
    parts = {
        "policy": policy,
        "plugins": [entry.to_json() for entry in entries],
        "primitives": listed,
        "notAllowed": [one.to_json() for one in found],
    }
    return "{" + ",\n ".join(f'"{key}": {json_text(part)}' for key, part in parts.items()) + "}\n"


def _text(entries: Iterable[Loaded], primitives: dict[str, list[Given]], found: Iterable[Found]) -> Iterator[str]:
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
    first = True
    for other in found:
        if first:
            yield ""
            yield "Installed, and not loaded, as no capgate.yaml names them:"
        first = False
        yield f"  {_title(other.origin.name, other.origin.version, other.origin.distribution)}"
        yield f"  {_pin(other.digest)}"


def _title(name: str, version: str, origin: str) -> str:
    return " ".join(part for part in (name, version, f"({origin})") if part)


def _pin(digest: Digest) -> str:
    return f"  digest: {digest.value}" if digest.value else f"  no digest: {digest.why}"
