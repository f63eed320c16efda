"""The progress bar of a long run."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from capgate.host.cli.output import Output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["LONG", "Bar"]

#: How many inputs make a run a long one.
LONG: Final = 200
#: Seconds between two frames.
_FRAME: Final = 0.1


class Bar:
    """Passes a report on, and draws how far the run is once it is a long one. At the end the bar is gone.

    Args:
        output: what the report is written to.
        draws: whether standard error is a terminal to draw on.
        shares: whether `output` is that terminal too; the report then scrolls by above the bar.
        total: how many bytes there are to read, or None where nobody knows.
    """

    def __init__(self, output: Output, *, draws: bool, shares: bool, total: int | None):
        self._output = output
        self._draws = draws
        self._shares = shares
        self._total = total
        self._read = 0
        self._judged = 0
        self._held: list[str] = []
        self._next_frame = 0.0
        self._drawn: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._drawn:
            self._draw(*self._drawn)
            self._drawn[0].stop()

    def advance(self, size: int) -> None:
        """Notes that `size` more bytes were read."""
        self._read += size

    def write(self, text: str) -> None:
        """Writes what the report says of one input."""
        self._judged += 1
        if self._drawn and self._shares:
            self._held.append(self._output.showable(text))
        else:
            self._output.write(text)
        if self._drawn is None and self._draws and self._judged >= LONG:
            self._drawn = self._start()
        if self._drawn and time.monotonic() >= self._next_frame:
            self._draw(*self._drawn)

    def _start(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._output.flush()
        # One console for the bar and what scrolls by above it: it knows which lines to draw anew.
        progress = Progress(
            TextColumn("{task.fields[judged]} judged"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(file=sys.stdout if self._shares else sys.stderr),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        task = progress.add_task("", total=self._total, judged="0")
        progress.start()
        return progress, task

    def _draw(self, progress: Progress, task: TaskID) -> None:
        from rich.segment import Segment, Segments

        self._next_frame = time.monotonic() + _FRAME
        progress.update(task, completed=self._read, judged=f"{self._judged:,}")
        if self._held:
            # Ready-made text: rich is neither to wrap nor to colour it.
            progress.console.print(Segments([Segment("".join(self._held))]), end="", crop=False)
            self._held.clear()
        progress.refresh()
