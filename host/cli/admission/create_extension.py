"""``capgate create-extension``: makes a descriptor from options or a file, and files or admits it."""

from __future__ import annotations

from typing import Any

import click

from capgate.host.cli.admission.hosting import METHOD, acting, actor, hosting, read_descriptor, show
from capgate.host.cli.exits import Exit
from capgate.policy.text import escape

__all__ = ["command"]


@click.command(name="create-extension", short_help="Make an extension of your own, and file or admit it.")
@click.argument("path", metavar="[PATH]", type=click.Path(), required=False)
@click.option("--id", "id", metavar="ID", help="Its id.")
@click.option("--name", metavar="TEXT", help="What it is called; needed.")
@click.option("--desc", metavar="TEXT", help="What it is for; needed.")
@click.option(
    "--primitive", metavar="NAME", help="What its tool does: now, read-file, write-file, list-files, http-get."
)
@click.option("--tool", metavar="NAME", help="The name of its tool; the id by default, with _ for -.")
@click.option("--tooldesc", metavar="TEXT", help="What its tool is for.")
@click.option("--hosts", metavar="A,B", help="The hosts that it may ask; 127.0.0.1 by default.")
@click.option("--max-requests", metavar="NUMBER", type=click.IntRange(min=1), default=50, show_default=True)
@click.option("--admit/--stage", "admit", default=False, help="Admit it at once, or only file it (the default).")
@acting
def command(
    path: str | None,
    id: str | None,
    admit: bool,
    workspace: str | None,
    extensions: str | None,
    rules: tuple[str, ...],
    form: str,
    **parts: Any,
) -> int:
    """Make an extension with one tool from the options, or take the descriptor in PATH; then file it or admit it.

    Whoever can write the host's own folder is the host, so --admit asks for no token.
    """
    if (path is None) == (id is None):
        raise click.UsageError("name either a file with a descriptor, or an --id and what belongs to it")
    with hosting(workspace, extensions, rules) as host:
        if path is not None:
            descriptor = read_descriptor(path)
        else:
            if not parts["primitive"]:
                raise click.UsageError("name the --primitive of its tool")
            terms = host.gate.catalog.primitives.get(parts["primitive"])
            descriptor = _descriptor(str(id), parts, terms.needs if terms else ())
        if not admit:
            answer = host.stage_local(descriptor, actor=actor())
            gate = answer["plan"]["gate"]
            would = (
                f"\nThe gate would refuse it: {gate['rule']}: {gate['why']}" if gate["decision"] == "refused" else ""
            )
            said = f"Staged local extension proposal '{answer['id']}'\n{answer['note']}{escape(would)}"
            show(answer, form, said)
            return Exit.ADMITTED
        answer = host.create(descriptor, actor=actor(), method=METHOD)
    show(answer, form, f"Created and admitted local extension '{answer['id']}'")
    return Exit.ADMITTED


def _descriptor(id: str, parts: dict[str, Any], needs: tuple[str, ...]) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    if "network" in needs:
        hosts = [host.strip() for host in (parts["hosts"] or "127.0.0.1").split(",") if host.strip()]
        bounds = {"hosts": hosts, "maxRequests": parts["max_requests"]}
    tool = {"name": parts["tool"] or id.replace("-", "_"), "primitive": parts["primitive"], "params": {}}
    # The local door says what is missing of a name and a description (contract 3).
    said = {key: parts[part] for key, part in (("name", "name"), ("description", "desc")) if parts[part] is not None}
    return {
        "id": id,
        **said,
        "runsIn": "host",
        "capabilities": list(needs),
        "bounds": bounds,
        "tools": [tool | {"description": parts["tooldesc"] or parts["desc"] or ""}],
    }
