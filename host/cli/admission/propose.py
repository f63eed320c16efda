"""``capgate propose``: files a descriptor for review."""

from __future__ import annotations

import click

from capgate.host.cli.admission.hosting import acting, actor, hosting, read_descriptor, show

__all__ = ["command"]


@click.command(name="propose", short_help="File a descriptor for review.")
@click.argument("path", metavar="PATH", type=click.Path())
@acting
def command(path: str, workspace: str | None, extensions: str | None, rules: tuple[str, ...], form: str) -> None:
    """File the descriptor in PATH (a file, or - for standard input) for review.

    Nothing of it is loaded, and nothing of it runs, until it is admitted. A descriptor that the gate would
    refuse can be filed too; its plan says why.
    """
    descriptor = read_descriptor(path)
    with hosting(workspace, extensions, rules) as host:
        answer = host.propose(descriptor, actor=actor(), source="local")
    show(
        answer,
        form,
        f"Filed proposal '{answer['id']}', revision {answer['revision']}: {answer['state']}.\n{answer['note']}",
    )
