"""``capgate ledger verify``: whether anything was done to the ledger, and what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capgate.host.cli.admission.ledger_common import reading, settings_of
from capgate.host.cli.common import json_document
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import plural
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.host.admission.checkpoint import Checkpoint, Difference
    from capgate.host.admission.verification import Verification

__all__ = ["command"]

#: What a ledger that is sound by itself cannot show.
_NOT_SEEN = (
    "Without a checkpoint nobody can see that the end was cut off, or that all of it was written anew; "
    "capgate ledger checkpoint makes one."
)


@click.command(name="verify", short_help="Say whether the ledger was tampered with, and how.")
@click.option(
    "--checkpoint", metavar="FILE", type=click.Path(dir_okay=False), help="Hold the ledger against this checkpoint."
)
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The key of the checkpoint; its public half is enough.",
)
@reading
def command(checkpoint: str | None, key: str | None, extensions: str | None, form: str) -> int:
    """Verify every line of the ledger, and the chain that they make.

    \b
    The exit code is the first that applies:
      4  the ledger, the checkpoint or the key could not be used
      1  something was done to the ledger
      0  all is well
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.admission.checkpoint import load_checkpoint, public_key
    from capgate.host.admission.ledger_lines import ledger_lines
    from capgate.host.admission.verification import verify

    if (checkpoint is None) != (key is None):
        raise click.UsageError("--checkpoint and --key go together: a checkpoint is worth what its key is.")
    settings = settings_of(extensions)
    point: Checkpoint | None = None
    if checkpoint is not None and key is not None:
        point = load_checkpoint(_read(checkpoint), public_key(Path(key)), checkpoint)
    found = verify(ledger_lines(settings))
    # What is no chain cannot be held against anything.
    difference = point.difference(found.links) if point and found.sound else None
    aside = [] if settings.database_url else sorted(settings.extensions.glob(".ledger.jsonl.torn-*"))
    with open_output(None, encoding="utf-8" if form == "json" else None) as out:
        if form == "json":
            out.write(_json(found, point, difference, aside))
        else:
            out.write("".join(f"{escape(row)}\n" for row in _text(found, point, difference, aside)))
    return Exit.ADMITTED if found.sound and difference is None else Exit.REFUSED


def _read(path: str) -> bytes:
    from capgate.host.admission.checkpoint import CheckpointError
    from capgate.host.mediation.disk import Disk
    from capgate.policy.errors import Span

    try:
        return Disk().read(path, 64 * 1024)
    except OSError as fault:
        message = f"it cannot be read: {fault.strerror}"
        raise CheckpointError("checkpoint-malformed", message, span=Span(path)) from None


def _json(found: Verification, point: Checkpoint | None, difference: Difference | None, aside: list[Path]) -> str:
    compared: dict[str, Any] | None = None
    if point:
        compared = point._asdict() | {"difference": difference.to_json() if difference else None}
    state = found.state
    return json_document(
        sound=found.sound,
        length=state.length,
        head=state.head,
        ledger=found.links[0] if found.links else None,
        admitted=len(state.admitted),
        faults=[fault.to_json() for fault in found.faults],
        checkpoint=compared,
        setAside=[path.name for path in aside],
    )


def _text(
    found: Verification, point: Checkpoint | None, difference: Difference | None, aside: list[Path]
) -> Iterator[str]:
    state = found.state
    for fault in found.faults:
        yield f"{fault.kind}: {fault.what}. {fault.next}"
    if difference:
        yield f"{difference.kind}: {difference.what}. {difference.next}"
    for path in aside:
        yield f"set aside earlier: {path.name}, a torn line that never counted"
    if not found.sound:
        yield f"THE LEDGER CANNOT BE TRUSTED: {plural(len(found.faults), 'fault')} in {plural(state.length, 'line')}."
        return
    if difference:
        yield "The chain holds by itself, and this is not the ledger that the checkpoint vouches for."
        return
    yield f"The chain holds: {plural(state.length, 'line')}, {len(state.admitted)} admitted, head {state.head}."
    if point is None:
        yield _NOT_SEEN
    else:
        yield f"It goes on from the checkpoint of {point.at}, at line {point.length}."
