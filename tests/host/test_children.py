"""Child processes with one request: nothing inherited, and gone when the call is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from capgate.host.mediation.children import Ended, run_child
from roots import descriptors


def run(code: str, request: bytes = b"", *, seconds: float = 60, most: int = 1000) -> Ended:
    return run_child([sys.executable, "-I", "-S", "-c", textwrap.dedent(code)], request, seconds=seconds, most=most)


def test_a_child_answers_a_request() -> None:
    assert run("print(input() + '!')", b"hello\n") == Ended(b"hello!\n", 0)


def test_long_requests_and_answers_pass_each_other() -> None:
    """A child that answers before it has read all would wait for ever on a host that only writes."""
    code = "import sys; [sys.stdout.buffer.write(line) for line in sys.stdin.buffer]"
    request = (b"x" * 99 + b"\n") * 50_000

    assert run(code, request, most=len(request)).output == request


def test_a_child_inherits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hush")
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        ended = run(
            """
            import os
            opened = sorted(map(int, os.listdir("/proc/self/fd")))[:-1]
            print(dict(os.environ), os.getcwd(), opened, os.getsid(0) == os.getpid())
            """
        )
    # What the interpreter sets for itself is no secret of ours.
    assert ended.output.decode().replace("'LC_CTYPE': 'C.UTF-8'", "") == "{} / [0, 1, 2] True\n"


def test_a_child_that_takes_too_long_is_killed() -> None:
    start = time.monotonic()
    ended = run("import time; print('x', flush=True); time.sleep(600)", seconds=0.5)

    assert (ended.late, ended.output) == (True, b"")
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    "code",
    [
        "import os, time; os.close(1); time.sleep(600)",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
        "import time\nwhile True: print('', end='', flush=True)",
    ],
)
def test_no_child_outlives_its_time(code: str) -> None:
    assert run(code, seconds=0.5).late


def test_a_child_that_reads_nothing_is_heard_all_the_same() -> None:
    assert run("import os; os.close(0); print('busy')", b"x" * 10_000_000) == Ended(b"busy\n", 0)


def test_a_child_that_says_too_much_is_killed() -> None:
    ended = run("while True: print('x' * 1000)", most=10_000)
    assert (ended.loud, ended.late, ended.output) == (True, False, b"")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_how_a_child_ended_is_told(code: str, expected: int) -> None:
    assert run(code) == Ended(b"", expected)


def test_what_is_no_program_is_an_error() -> None:
    with pytest.raises(OSError, match="nowhere"):
        run_child(["/nowhere"], b"", seconds=1, most=1)


def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any):
            super().__init__(*args, **options)
            started.append(self.pid)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    before = descriptors()
    for code in ("print('x')", "import time; time.sleep(600)", "while True: print('x' * 1000)"):
        run(code, b"x" * 1_000_000, seconds=0.5)

    assert descriptors() == before
    assert len(started) == 3
    for process in started:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_threads_run_children_side_by_side() -> None:
    requests = [f"{number}\n".encode() for number in range(8)]
    with ThreadPoolExecutor(len(requests)) as threads:
        ended = list(threads.map(partial(run, "print(input())"), requests))

    assert [one.output for one in ended] == requests
