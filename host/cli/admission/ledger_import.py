"""``capgate ledger import``: takes over what another system admitted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capgate.host.cli.admission.hosting import METHOD, acting, actor, hosting, show
from capgate.host.cli.exits import Exit
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.host.admission.host import AdmissionHost
    from capgate.host.admission.importing import OldEntry

__all__ = ["command"]


@click.command(name="import", short_help="Confirm what another system's ledger admits.")
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(dir_okay=False))
@click.option("--confirm", "confirmed", metavar="ID", multiple=True, help="Admit this one. May be repeated.")
@click.option("--all", "everything", is_flag=True, help="Admit every one that the gate admits.")
@acting
def command(
    file: str | None,
    confirmed: tuple[str, ...],
    everything: bool,
    workspace: str | None,
    extensions: str | None,
    rules: tuple[str, ...],
    form: str,
) -> int:
    """List what lines without a digest admit, and admit those that are confirmed.

    FILE is the ledger of the other system, with the descriptors beside it; by default it is this host's
    own ledger, which may begin with such lines. Each is listed with the digest of what its file holds
    now. Nothing of it is live before it is confirmed, and the gate judges it first.

    \b
    The exit code is the first that applies:
      4  the ledger could not be read, or has no such entry
      1  something that was confirmed was not admitted
      0  all is well
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.admission.file_store import LEDGER
    from capgate.host.admission.importing import old_entries

    with hosting(workspace, extensions, rules) as host:
        ledger = Path(file) if file else host.settings.extensions / LEDGER
        entries = {entry.id: entry for entry in old_entries(host, ledger)}
        unknown = [id for id in confirmed if id not in entries]
        if unknown:
            raise _not_found(unknown[0], ledger)
        chosen = [entry for id, entry in entries.items() if id in confirmed or (everything and entry.digest)]
        answers = {}
        for entry in chosen:
            if not (everything and entry.running):
                answers[entry.id] = _confirm(host, ledger, entry)
    refused = any(answer.get("decision") != "admitted" for answer in answers.values())
    listed = [entry.to_json() | {"answer": answers.get(id)} for id, entry in entries.items()]
    show({"entries": listed}, form, "\n".join(_rows(entries, answers)) or "There is nothing to confirm.")
    return Exit.REFUSED if refused else Exit.ADMITTED


def _confirm(host: AdmissionHost, ledger: Path, entry: OldEntry) -> dict[str, Any]:
    """The answer for one: that some cannot be admitted does not stop the rest."""
    from capgate.host.admission.errors import AdmissionError
    from capgate.host.admission.importing import confirm_entry

    try:
        return confirm_entry(host, ledger, entry, actor=actor(), method=METHOD)
    except AdmissionError as error:
        if error.http_status >= 500:
            raise
        return error.to_body()


def _not_found(id: str, ledger: Path) -> Exception:
    from capgate.host.admission.errors import AdmissionError

    hint = "Run it without --confirm to see what there is."
    return AdmissionError("not-found", f"{ledger} has no entry {id!r} to confirm", hint=hint)


def _rows(entries: dict[str, OldEntry], answers: dict[str, dict[str, Any]]) -> list[str]:
    rows = []
    for id, entry in entries.items():
        answer = answers.get(id)
        gate = entry.plan["gate"] if entry.plan else {}
        if answer and answer.get("decision") == "admitted":
            said = "admitted now"
        elif answer:
            said = f"NOT admitted: {answer.get('rule') or answer.get('refused')}: {answer['why']}"
        elif entry.why:
            said = f"cannot be confirmed: {entry.why}"
        elif entry.running:
            said = "admitted here already"
        elif gate.get("decision") == "refused":
            said = f"the gate would refuse it: {gate['rule']}: {gate['why']}"
        else:
            said = "waits to be confirmed"
        rows.append(escape(f"{id}: {said}"))
        if entry.digest:
            rows.append(f"  content {entry.digest}")
    return rows
