"""``capgate ledger show``: what was decided, line by line."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import click

from capgate.host.cli.admission.ledger_common import reading, settings_of
from capgate.host.cli.common import json_document
from capgate.host.cli.exits import Exit
from capgate.host.cli.output import open_output
from capgate.host.cli.page import plural
from capgate.policy.text import escape

__all__ = ["command"]


@click.command(name="show", short_help="Show what was decided, line by line.")
@click.option("--id", "ids", metavar="ID", multiple=True, help="Only lines about this extension. May be repeated.")
@click.option("--last", metavar="N", type=click.IntRange(min=1), help="Only the last N lines.")
@reading
def command(ids: tuple[str, ...], last: int | None, extensions: str | None, form: str) -> int:
    """Show the lines of the ledger, the oldest first, and below them what is admitted now.

    \b
    The exit code is the first that applies:
      4  the ledger could not be read
      1  the ledger cannot be trusted; see `capgate ledger verify`
      0  all is well
    """  # noqa: D301  # click reads the backspace as: leave the next paragraph's lines as they are
    from capgate.host.admission.ledger import Line, Replay
    from capgate.host.admission.ledger_lines import ledger_lines

    replay = Replay()
    kept: deque[tuple[int, Line]] = deque(maxlen=last)
    for text in ledger_lines(settings_of(extensions)):
        if text.endswith(b"\n"):
            line = replay.feed(text[:-1])
            if not ids or (type(line.data) is dict and line.data.get("id") in ids):
                kept.append((replay.length, line))
    state = replay.state()
    with open_output(None, encoding="utf-8" if form == "json" else None) as out:
        if form == "json":
            fault = state.fault._asdict() if state.fault else None
            summary = {"length": state.length, "head": state.head, "fault": fault}
            lines = [{"line": number, "data": line.data, "fault": line.fault} for number, line in kept]
            parts: dict[str, Any] = {"ledger": summary, "admitted": sorted(state.admitted), "lines": lines}
            out.write(json_document(**parts))
        else:
            out.write("".join(f"{escape(row)}\n" for number, line in kept for row in _rows(number, line)))
            out.write(f"{plural(state.length, 'line')}; {len(state.admitted)} admitted; head {state.head}\n")
            if state.unconfirmed:
                out.write(escape(f"not confirmed yet (capgate ledger import): {', '.join(state.unconfirmed)}") + "\n")
            if state.fault:
                out.write(escape(f"NOTHING OF THIS COUNTS: {state.fault.what}. {state.fault.next}") + "\n")
    return Exit.REFUSED if state.fault else Exit.ADMITTED


def _rows(number: int, line: Any) -> Iterator[str]:
    if line.entry is None:
        what = line.fault or ("a line of another system" if line.legacy else "")
        data = line.data if type(line.data) is dict else {}
        yield f"{number:>6}  {data.get('at', '?')}  {data.get('decision', '?')}  {data.get('id', '?')}: {what}"
        return
    entry, data = line.entry, line.data
    actor = data["actor"]
    who = f"{actor['name']} by {actor['harness']}" + (f", {actor['session']}" if actor.get("session") else "")
    yield f"{number:>6}  {entry.at}  {entry.decision:<12}  {entry.id}"
    yield f"        {who}; content {entry.digest}"
