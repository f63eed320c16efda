"""Where a report goes: standard output, or a file that appears whole or not at all.

Paths stay plain strings here and in `capgate.host.inputs`: pathlib takes 4 ms to import.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

from capgate.policy.errors import CapgateError, Span

__all__ = ["Output", "OutputClosed", "OutputError", "open_output"]

#: How errors name standard output.
_STDOUT: Final = "<stdout>"


class OutputError(CapgateError):
    """A report could not be written."""

    ids = {"output-failed": "Give --output a regular file, in a folder that exists and has space left."}


class OutputClosed(Exception):
    """Whoever read the report went away, as ``| head`` does. Nothing is left to say to them."""


class Output:
    """A stream that a report is written to. Never fails on a character: what its encoding lacks is escaped."""

    def __init__(self, stream: BinaryIO, name: str, encoding: str = "utf-8", live: bool = False):
        self._stream = stream
        self._name = name
        self._encoding = encoding
        self._live = live

    def showable(self, text: str) -> str:
        """`text` with escapes for what the encoding lacks."""
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)

    def write(self, text: str) -> None:
        """Writes `text`; a terminal shows it at once.

        Raises:
            OutputError: output-failed.
            OutputClosed: nobody reads it any more.
        """
        with _named(self._name):
            self._stream.write(text.encode(self._encoding, "backslashreplace"))
            if self._live:
                self._stream.flush()

    def flush(self) -> None:
        """Hands everything on; raises what `write` does."""
        with _named(self._name):
            self._stream.flush()


@contextmanager
def open_output(path: str | None, *, encoding: str | None = None) -> Iterator[Output]:
    """Opens the file at `path` for a report, or standard output for None.

    The file is written beside its target and takes its place when the block ends well; the target
    stays as it was when the block raises. Links are followed, and a mode that was set is kept.

    Args:
        path: the target.
        encoding: how text is written; by default UTF-8 in a file, and what standard output says of itself.

    Raises:
        OutputError: output-failed.
        OutputClosed: nobody reads standard output any more.
    """
    if path is None:
        with _standard_output(encoding) as output:
            yield output
        return
    with _named(path):
        target = os.path.realpath(path)
        mode = _mode(target)
        folder, name = os.path.split(target)
        # Hidden, so that a walk over the same folder does not take it for an input.
        beside = os.path.join(folder, f".{name[:200]}.{os.urandom(6).hex()}.tmp")
        stream = os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb")
    try:
        yield Output(stream, path, encoding or "utf-8")
        with _named(path):
            stream.flush()
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
            stream.close()
            os.replace(beside, target)
    except BaseException:
        # Closing writes what is still held, and may fail as what went before it did.
        with suppress(OSError):
            stream.close()
        with suppress(OSError):
            os.unlink(beside)
        raise


def _mode(target: str) -> int | None:
    """The permissions of the file at `target`, or None where there is none yet."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "Not a regular file")
    return stat.S_IMODE(found.st_mode)


@contextmanager
def _standard_output(encoding: str | None) -> Iterator[Output]:
    # Python has no standard output where the caller closed it.
    if sys.stdout is None:
        raise OutputError("output-failed", "standard output is closed", span=Span(_STDOUT))
    stream = sys.stdout
    output = Output(stream.buffer, _STDOUT, encoding or stream.encoding, stream.isatty())
    try:
        yield output
        output.flush()
    except (OutputClosed, OutputError):
        # Python flushes once more at its end, and would complain there.
        with suppress(OSError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        raise


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Turns what the system refuses into an error that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise OutputClosed from None
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else None
        raise OutputError("output-failed", f"cannot be written: {reason or fault}", span=Span(name)) from None
