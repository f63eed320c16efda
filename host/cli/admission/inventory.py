"""``capgate inventory``: what runs, what waits, what lies there unreviewed, what failed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from capgate.host.cli.admission.hosting import acting, hosting, show

__all__ = ["command"]


@click.command(name="inventory", short_help="List what runs, what waits and what failed.")
@acting
def command(workspace: str | None, extensions: str | None, rules: tuple[str, ...], form: str) -> None:
    """List what runs, what waits for review, what lies in the host's folder unreviewed, and what failed to load."""
    with hosting(workspace, extensions, rules) as host:
        answer = host.inventory()
    show(answer, form, _text(answer))


def _text(inventory: Mapping[str, Any]) -> str:
    from capgate.host.cli.page import page_for

    page = page_for(sys.stdout)
    rows: list[str] = []
    sections = (
        ("Running", [_extension(entry) for entry in inventory["extensions"]], "nothing runs"),
        ("Filed", [_proposal(entry) for entry in inventory["proposals"]], "nothing is filed"),
        ("Lying there, never reviewed", [entry["id"] for entry in inventory["present"]], "nothing"),
        ("Not running although it should", [_failure(entry) for entry in inventory["failedLoads"]], "nothing"),
    )
    for title, lines, nothing in sections:
        rows += [page.bold(title)]
        for line in lines or [nothing]:
            rows += page.lines(line, 2, 4)
    return "\n".join(rows)


def _extension(entry: Mapping[str, Any]) -> str:
    enforced = ", ".join(f"{name} ({mechanism})" for name, mechanism in entry["enforced"].items()) or "no capability"
    return f"{entry['id']}: {', '.join(entry['tools'])}; {enforced}"


def _proposal(entry: Mapping[str, Any]) -> str:
    refusal = entry.get("refusal")
    return f"{entry['id']}: {entry['state']}" + (f" by {refusal['rule']}: {refusal['why']}" if refusal else "")


def _failure(entry: Mapping[str, Any]) -> str:
    return f"{entry['id']}: {entry['refused']}: {entry['why']}. {entry['next']}"
