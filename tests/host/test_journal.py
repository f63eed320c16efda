"""Append-only files: what is written whole, what is set aside, and who waits for whom."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from capgate.host.mediation.disk import Disk
from capgate.host.mediation.journal import Journal
from host_samples import Clock

LINES = [b'{"n":1}', b'{"n":2,"text":"\xc3\xa9"}', b'{"n":3}']


class Told(list[str]):
    """What a journal reported."""

    def __call__(self, message: str) -> None:
        self.append(message)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / ".ledger.jsonl"


def aside(path: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted(path.parent.glob("*.torn-*"))]


def test_lines_are_appended_in_order(path: Path) -> None:
    for line in LINES:
        Journal(path).append(line)

    assert path.read_bytes() == b"".join(line + b"\n" for line in LINES)


def test_the_last_line_and_the_size_are_known_to_the_holder(path: Path) -> None:
    with Journal(path).locked() as journal:
        assert (journal.last(), journal.size) == (None, 0)
        for line in LINES:
            journal.append(line)
            assert journal.last() == line
        assert journal.size == path.stat().st_size


def test_a_line_longer_than_a_block_is_the_last_line_too(path: Path) -> None:
    long = json.dumps("x" * 200_000).encode()
    Journal(path).append(long)
    Journal(path).append(long)

    with Journal(path).locked() as journal:
        assert journal.last() == long


@pytest.mark.parametrize("kept", range(len(LINES[1]) + 1))
def test_a_line_torn_at_any_byte_is_set_aside_and_the_next_append_is_whole(path: Path, kept: int) -> None:
    told = Told()
    path.parent.mkdir()
    path.write_bytes(LINES[0] + b"\n" + LINES[1][:kept])

    Journal(path, clock=Clock(), report=told).append(LINES[2])

    assert path.read_bytes() == LINES[0] + b"\n" + LINES[2] + b"\n"
    if kept:
        assert aside(path) == [LINES[1][:kept]]
        (message,) = told
        assert f"{kept} bytes" in message
        assert ".ledger.jsonl.torn-20270115T080000.000Z" in message
    else:
        assert (aside(path), told) == ([], [])


@pytest.mark.parametrize("rest", [b"\0" * 5000 + b"\n", b"\xff\n", b"\n", b"{\n", b"\0", b"x" * 200_000])
def test_what_is_no_json_at_the_end_is_set_aside(path: Path, rest: bytes) -> None:
    told = Told()
    path.parent.mkdir()
    path.write_bytes(LINES[0] + b"\n" + rest)

    Journal(path, report=told).append(LINES[2])

    assert path.read_bytes() == LINES[0] + b"\n" + LINES[2] + b"\n"
    assert aside(path) == [rest]
    assert len(told) == 1


def test_what_is_no_json_before_the_end_stays(path: Path) -> None:
    told = Told()
    path.parent.mkdir()
    before = b"rubbish\n" + LINES[0] + b"\n"
    path.write_bytes(before)

    Journal(path, report=told).append(LINES[1])

    assert path.read_bytes() == before + LINES[1] + b"\n"
    assert (aside(path), told) == ([], [])


def test_torn_ends_of_one_moment_are_kept_apart(path: Path) -> None:
    for rest in (b"a", b"b", b"c"):
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            file.write(rest)
        Journal(path, clock=Clock(), report=Told()).append(LINES[0])

    assert aside(path) == [b"a", b"b", b"c"]


def test_a_torn_end_is_warned_of_where_nobody_else_is_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    path.write_bytes(b"half")

    Journal(path).append(LINES[0])

    assert ["torn line of 4 bytes" in record.message for record in caplog.records] == [True]


class HalfDisk(Disk):
    """Writes a part, and then has no space left; or writes all and fails to fsync. Says how often it was cut."""

    def __init__(self, *, fails: str, cuts: bool = True):
        self.fails, self.cuts, self.armed, self.written = fails, cuts, False, 0

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.armed and self.fails == "write":
            if self.written:
                raise OSError(28, "No space left on device")
            self.written = super().write(fd, data[:4])
            return self.written
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        if self.armed and self.fails == "fsync":
            raise OSError(5, "Input/output error")
        super().fsync(fd)

    def truncate(self, fd: int, length: int) -> None:
        if self.armed and not self.cuts:
            raise OSError(5, "Input/output error")
        super().truncate(fd, length)


@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_a_line_that_could_not_be_written_is_not_there(path: Path, fails: str) -> None:
    disk = HalfDisk(fails=fails)
    with Journal(path, disk).locked() as journal:
        journal.append(LINES[0])
        disk.armed = True
        with pytest.raises(OSError, match=r"No space|Input/output"):
            journal.append(LINES[1])
        assert path.read_bytes() == LINES[0] + b"\n"
        disk.armed = False
        journal.append(LINES[2])

    assert path.read_bytes() == LINES[0] + b"\n" + LINES[2] + b"\n"
    assert aside(path) == []


def test_what_could_not_even_be_cut_off_does_not_swallow_the_next_line(path: Path) -> None:
    told = Told()
    disk = HalfDisk(fails="write", cuts=False)
    with Journal(path, disk, report=told).locked() as journal:
        journal.append(LINES[0])
        disk.armed = True
        with pytest.raises(OSError, match="No space"):
            journal.append(LINES[1])
        disk.armed = False
        journal.append(LINES[2])

    assert path.read_bytes() == LINES[0] + b"\n" + LINES[2] + b"\n"
    assert aside(path) == [LINES[1][:4]]
    assert len(told) == 1


@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_a_torn_end_that_cannot_be_set_aside_stays_until_it_can(path: Path, fails: str) -> None:
    told = Told()
    path.parent.mkdir()
    path.write_bytes(LINES[0] + b"\nhalf")
    disk = HalfDisk(fails=fails)
    journal = Journal(path, disk, report=told)
    disk.armed, disk.written = True, 1

    with pytest.raises(OSError, match=r"No space|Input/output"):
        journal.append(LINES[1])
    assert path.read_bytes() == LINES[0] + b"\nhalf"
    assert (aside(path), told) == ([], [])

    disk.armed = False
    journal.append(LINES[1])
    assert path.read_bytes() == LINES[0] + b"\n" + LINES[1] + b"\n"
    assert aside(path) == [b"half"]


# Locks


def test_threads_append_one_after_the_other(path: Path) -> None:
    journal = Journal(path)

    def work(thread: int) -> None:
        for number in range(20):
            with journal.locked() as held:
                last = json.loads(held.last() or b'{"seq":0}')["seq"]
                held.append(json.dumps({"seq": last + 1, "thread": thread, "number": number}).encode())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, 161))
    for thread in range(8):
        assert [line["number"] for line in lines if line["thread"] == thread] == list(range(20))


APPENDING = """
import json, sys
from pathlib import Path
from capgate.host.mediation.journal import Journal
journal = Journal(Path(sys.argv[1]))
for number in range(50):
    with journal.locked() as held:
        last = json.loads(held.last() or b'{"seq":0}')["seq"]
        held.append(json.dumps({"seq": last + 1}).encode())
"""

HOLDING = """
import sys
from pathlib import Path
from capgate.host.mediation.journal import Journal
with Journal(Path(sys.argv[1])).locked() as held:
    held.append(b"{}")
    print("held", flush=True)
    sys.stdin.read()
"""


def start(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, path], stdin=-1, stdout=-1, text=True)


def test_processes_append_one_after_the_other(path: Path) -> None:
    running = [start(APPENDING, path) for _ in range(3)]

    assert [process.communicate()[0] for process in running] == [""] * 3
    assert [json.loads(line)["seq"] for line in path.read_bytes().splitlines()] == list(range(1, 151))


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until it is told to end."""
    with start(HOLDING, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_holder_that_is_killed_lets_go(path: Path, holder: subprocess.Popen[str]) -> None:
    done = threading.Event()

    def append() -> None:
        Journal(path).append(LINES[0])
        done.set()

    waiting = threading.Thread(target=append)
    waiting.start()
    assert not done.wait(0.05)
    holder.send_signal(signal.SIGKILL)
    waiting.join()

    assert path.read_bytes() == b"{}\n" + LINES[0] + b"\n"


def test_a_lock_file_that_was_removed_holds_off_nobody_twice(path: Path) -> None:
    """Who waited for a file that is gone by then waits anew, for the file that is there."""

    class Removing(Disk):
        locked: int = 0

        def flock(self, fd: int, operation: int) -> None:
            super().flock(fd, operation)
            Removing.locked += 1
            if Removing.locked == 1:
                os.unlink(path.parent / "lock")

    path.parent.mkdir()
    with Removing().lock(path.parent / "lock"):
        assert (path.parent / "lock").exists()
    assert Removing.locked == 3  # gone, there, let go


@pytest.mark.parametrize("name", [".ledger.jsonl", "audit.jsonl"])
def test_the_lock_file_is_hidden_and_for_its_owner_alone(tmp_path: Path, name: str) -> None:
    Journal(tmp_path / name).append(b"{}")

    (lock,) = set(tmp_path.iterdir()) - {tmp_path / name}
    assert lock.name.startswith(".")
    assert lock.stat().st_mode & 0o777 == 0o600
