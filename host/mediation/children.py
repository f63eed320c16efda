"""Child processes that get one request and give one answer: nothing inherited, never waited for too long."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["Ended", "run_child"]

_BLOCK: Final = 64 * 1024


class Ended(NamedTuple):
    """How a child ended; it is gone, whatever this says.

    Attributes:
        output: what it wrote.
        code: its exit code; negative for the signal that ended it.
        late: whether it was killed because its time was up.
        loud: whether it was killed because it wrote more than it may.
    """

    output: bytes
    code: int
    late: bool = False
    loud: bool = False


def run_child(arguments: Sequence[str], request: bytes, *, seconds: float, most: int) -> Ended:
    """Starts a program, writes `request` to it and reads what it answers, until it ends or has to.

    It has an empty environment, no open file but its two pipes, and the root folder as its own.

    Args:
        arguments: the program, by its full path, and its arguments.
        request: what it reads.
        seconds: how long it may take, from its start on.
        most: how many bytes it may answer.

    Raises:
        OSError: it cannot be started.
    """
    end = time.monotonic() + seconds
    with subprocess.Popen(
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        env={},
        start_new_session=True,
    ) as process:
        try:
            return _exchange(process, request, end, most)
        finally:
            process.kill()


def _exchange(process: subprocess.Popen[bytes], request: bytes, end: float, most: int) -> Ended:
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    rest = memoryview(request)
    output = bytearray()
    with selectors.DefaultSelector() as ready:
        for pipe, event in ((stdin, selectors.EVENT_WRITE), (stdout, selectors.EVENT_READ)):
            os.set_blocking(pipe.fileno(), False)
            ready.register(pipe, event)
        while (left := end - time.monotonic()) > 0:
            for key, _ in ready.select(left):
                if key.fileobj is stdin:
                    rest = _written(stdin.fileno(), rest)
                    if not rest:
                        ready.unregister(stdin)
                        stdin.close()
                    continue
                part = os.read(stdout.fileno(), _BLOCK)
                output += part
                if len(output) > most:
                    return Ended(b"", 0, loud=True)
                if not part:
                    return _ended(process, bytes(output), end)
    return Ended(b"", 0, late=True)


def _written(stdin: int, rest: memoryview) -> memoryview:
    """What is still to be written after some of `rest` was."""
    try:
        return rest[os.write(stdin, rest[:_BLOCK]) :]
    except BrokenPipeError:
        return rest[:0]  # It reads no further; what it has to say may come all the same.


def _ended(process: subprocess.Popen[bytes], output: bytes, end: float) -> Ended:
    """What came of a child that has said all it will."""
    try:
        return Ended(output, process.wait(max(0.0, end - time.monotonic())))
    except subprocess.TimeoutExpired:
        return Ended(b"", 0, late=True)
