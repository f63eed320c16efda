"""A full audit file makes room for a new one: no line is lost, no number comes twice (issue of the runtime, 11.19)."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.audit_files import next_name, read_back, rotated
from capgate.host.mediation.disk import Disk
from capgate.host.mediation.redaction import Redactor
from failing import QuickDisk, failing
from host_samples import Clock

ACT: dict[str, Any] = {
    "kind": "read",
    "target": "notes.txt",
    "tool": "peek",
    "decision": "allow",
    "rule": "notes",
    "result": "ok",
}
#: About three lines of ACT.
SMALL = 800


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def audit_at(path: Path, disk: Disk | None = None, rotate_at: int = SMALL) -> AuditLog:
    return AuditLog(path, disk or QuickDisk(), clock=Clock(), redactor=Redactor({}), rotate_at=rotate_at)


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in path.read_bytes().splitlines()]


def all_numbers(path: Path) -> list[int]:
    """The numbers in all files, oldest file first."""
    files = [*rotated(path, Disk()), *([path] if path.exists() else [])]
    return [number for file in files for number in numbers(file)]


def test_a_full_file_is_put_aside_under_a_number(path: Path) -> None:
    audit = audit_at(path)
    for _ in range(10):
        audit.write(**ACT)

    names = sorted(file.name for file in path.parent.glob("audit.jsonl*"))
    assert names == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.3"]
    assert numbers(path.with_name("audit.jsonl.1")) == [1, 2, 3]
    assert numbers(path) == [10]
    assert path.with_name("audit.jsonl.1").stat().st_size >= SMALL


def test_a_file_that_is_not_full_is_left_alone(path: Path) -> None:
    audit = audit_at(path, rotate_at=1 << 20)
    for _ in range(10):
        audit.write(**ACT)

    assert rotated(path, Disk()) == []
    assert numbers(path) == list(range(1, 11))


def test_numbers_go_on_after_a_restart_on_an_empty_file(path: Path) -> None:
    for _ in range(3):
        audit_at(path).write(**ACT)
    assert not path.exists(), "the file was full"

    assert audit_at(path).write(**ACT) == 4
    assert all_numbers(path) == [1, 2, 3, 4]


def test_many_threads_and_logs_lose_nothing(path: Path) -> None:
    logs = [audit_at(path) for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        written = list(threads.map(lambda n: logs[n % 4].write(**ACT), range(100)))

    assert sorted(written) == list(range(1, 101))
    assert all_numbers(path) == list(range(1, 101))
    assert len(rotated(path, Disk())) == 33


def test_many_processes_lose_nothing(path: Path) -> None:
    code = f"""
import os
os.fsync = lambda fd: None
from pathlib import Path
from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.redaction import Redactor
audit = AuditLog(Path({str(path)!r}), redactor=Redactor({{}}), rotate_at={SMALL})
for _ in range(40):
    audit.write(**{ACT!r})
"""
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]

    assert all_numbers(path) == list(range(1, 121))


def test_numbers_above_nine_come_after_nine(path: Path) -> None:
    for number in (1, 2, 9, 10, 11):
        path.with_name(f"audit.jsonl.{number}").touch()
    for name in ("audit.jsonl.torn-20270115", "audit.jsonl.01", "audit.jsonl.x", "audit.jsonl.1.gz", "other.jsonl.3"):
        path.with_name(name).touch()

    assert [file.suffix for file in rotated(path, Disk())] == [".1", ".2", ".9", ".10", ".11"]
    assert next_name(path, Disk()).name == "audit.jsonl.12"


def test_a_file_that_somebody_took_away_gives_its_number_to_nobody_else(path: Path) -> None:
    audit = audit_at(path)
    for _ in range(9):
        audit.write(**ACT)
    path.with_name("audit.jsonl.1").unlink()
    for _ in range(3):
        audit.write(**ACT)

    assert [file.suffix for file in rotated(path, Disk())] == [".2", ".3", ".4"]
    assert all_numbers(path) == list(range(4, 13))


def test_whichever_call_fails_no_line_that_was_promised_is_lost(tmp_path: Path) -> None:
    from capgate.host.admission.errors import AdmissionError

    number = 0
    failed = True
    while failed:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "audit.jsonl"
        promised = [audit_at(path).write(**ACT) for _ in range(2)]
        disk = failing(number)
        audit = audit_at(path, disk)
        for _ in range(3):
            try:
                promised.append(audit.write(**ACT))
            except AdmissionError as error:
                assert error.id == "audit-unwritable"
        failed = disk.calls >= number
        promised.append(audit_at(path).write(**ACT))

        found = all_numbers(path)
        assert found == sorted(set(found)), f"a number came twice when call {number} failed"
        assert set(promised) <= set(found), f"a line is gone when call {number} failed"
    assert number > 20


# Reading back


def test_lines_are_read_back_the_newest_file_first(path: Path) -> None:
    audit = audit_at(path)
    for _ in range(8):
        audit.write(**ACT)

    files = list(read_back(path, Disk()))
    assert [[json.loads(line)["seq"] for line in file] for file in files] == [[7, 8], [4, 5, 6], [1, 2, 3]]


def test_there_may_be_nothing_to_read(path: Path) -> None:
    assert list(read_back(path, Disk())) == []
    assert list(read_back(path.parent / "nowhere" / "audit.jsonl", Disk())) == []


def test_a_torn_line_is_not_read(path: Path) -> None:
    audit_at(path).write(**ACT)
    with path.open("a") as file:
        file.write('{"seq": 2')

    ((line,),) = read_back(path, Disk())
    assert json.loads(line)["seq"] == 1


def test_a_file_that_is_put_aside_while_it_is_read_is_read_once(path: Path) -> None:
    audit = audit_at(path)
    for _ in range(5):
        audit.write(**ACT)

    class Meanwhile(Disk):
        """Puts the file aside between the opening and the listing."""

        def scandir(self, folder: Any) -> Any:
            if path.exists():
                path.rename(path.with_name("audit.jsonl.2"))
            return super().scandir(folder)

    files = list(read_back(path, Meanwhile()))
    assert [[json.loads(line)["seq"] for line in file] for file in files] == [[4, 5], [1, 2, 3]]


def test_a_file_that_goes_away_while_it_is_read_is_passed_over(path: Path) -> None:
    audit = audit_at(path)
    for _ in range(7):
        audit.write(**ACT)
    files = read_back(path, Disk())
    first = next(files)
    path.with_name("audit.jsonl.1").unlink()

    assert [json.loads(line)["seq"] for line in first] == [7]
    assert [[json.loads(line)["seq"] for line in file] for file in files] == [[4, 5, 6]]
