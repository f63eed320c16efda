"""The audit: one line an act, numbered over restarts and processes, with no secret in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.disk import Disk, StrPath
from capgate.host.mediation.redaction import Redactor
from host_samples import Clock

ACT = {
    "kind": "import",
    "target": "extensions/search",
    "tool": "extensions.admit",
    "decision": "allow",
    "rule": "admitted",
    "result": "ok",
}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workspace" / "audit.jsonl"


def audit_at(path: Path, disk: Disk | None = None, *secrets: str) -> AuditLog:
    return AuditLog(path, disk, clock=Clock(), redactor=Redactor({}, secrets))


def test_a_line_has_the_fields_of_the_contract(path: Path) -> None:
    number = audit_at(path).write(**ACT, observed={"exists": True})

    assert number == 1
    assert path.read_bytes().endswith(b"\n")
    assert lines(path) == [
        {
            "v": 1,
            "kind": "act",
            "seq": 1,
            "instance": "server",
            "project": "atlas@machine",
            "root": "workspace",
            "turn": None,
            "at": "2027-01-15T08:00:00.000Z",
            "act": {"kind": "import", "target": "extensions/search", "tool": "extensions.admit"},
            "decision": "allow",
            "rule": "admitted",
            "result": "ok",
            "observed": {"exists": True},
        }
    ]


def test_what_is_known_besides_stands_in_the_line(path: Path) -> None:
    actor = {"name": "human-at-host", "harness": "host-console-code", "session": "r-1"}
    approval = {"method": "single-use-host-code", "decision": "admit", "plan": {"id": "search"}}
    act = ACT | {"decision": "confirm", "rule": "human-approved-extension"}
    audit_at(path).write(
        **act, why="a reason", approval=approval, actor=actor, root="machine:/srv", project="p@machine"
    )

    (line,) = lines(path)
    assert line["actor"] == actor
    assert line["approval"] == approval
    assert (line["why"], line["root"], line["project"]) == ("a reason", "machine:/srv", "p@machine")
    assert line["observed"] is None


def test_numbers_go_on_after_a_restart(path: Path) -> None:
    assert [audit_at(path).write(**ACT) for _ in range(3)] == [1, 2, 3]
    assert [line["seq"] for line in lines(path)] == [1, 2, 3]


def test_numbers_go_on_where_another_host_writes_too(path: Path) -> None:
    one, other = audit_at(path), audit_at(path)

    assert [one.write(**ACT), other.write(**ACT), one.write(**ACT), other.write(**ACT)] == [1, 2, 3, 4]


def test_numbers_go_on_where_the_file_was_taken_away_while_a_host_runs(path: Path) -> None:
    audit = audit_at(path)
    audit.write(**ACT)
    path.unlink()

    assert audit.write(**ACT) == 2


@pytest.mark.parametrize("foreign", ["[1]", "7", '"x"', "{}", '{"seq": "9"}', '{"seq": true}', '{"seq": 1.5}'])
def test_a_line_of_somebody_else_has_no_number(path: Path, foreign: str) -> None:
    path.parent.mkdir()
    path.write_text(foreign + "\n")

    assert audit_at(path).write(**ACT) == 1
    assert len(lines(path)) == 2


@pytest.mark.parametrize("torn", ["{", '{"seq": 2, "at": "20', '{"seq": 2}'])
def test_a_torn_last_line_is_set_aside_and_swallows_nothing(path: Path, torn: str) -> None:
    audit_at(path).write(**ACT)
    with path.open("a") as file:
        file.write(torn)

    assert audit_at(path).write(**ACT) == 2
    assert [line["seq"] for line in lines(path)] == [1, 2]
    (aside,) = path.parent.glob("audit.jsonl.torn-*")
    assert aside.read_text() == torn


class Failing(Disk):
    """A disk that fails at one kind of call."""

    def __init__(self, call: str):
        self.call = call

    def _fail(self, call: str) -> None:
        if call == self.call:
            raise OSError(28, "No space left on device")

    def open(self, path: StrPath, flags: int, mode: int = 0o666, *, dir_fd: int | None = None) -> int:
        self._fail("open")
        return super().open(path, flags, mode, dir_fd=dir_fd)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.call == "write":
            super().write(fd, data[: len(data) // 2])
        self._fail("write")
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self._fail("fsync")
        super().fsync(fd)

    def flock(self, fd: int, operation: int) -> None:
        self._fail("flock")
        super().flock(fd, operation)


@pytest.mark.parametrize("call", ["open", "write", "fsync", "flock"])
def test_a_line_that_cannot_be_written_is_an_error_and_is_not_there(path: Path, call: str) -> None:
    audit_at(path).write(**ACT)
    with pytest.raises(AdmissionError) as caught:
        audit_at(path, Failing(call)).write(**ACT)

    assert caught.value.id == "audit-unwritable"
    assert caught.value.http_status == 503
    assert caught.value.message == f"{path} cannot be written: No space left on device"
    assert len(lines(path)) == 1
    assert audit_at(path).write(**ACT) == 2


def test_a_number_that_failed_is_given_again(path: Path) -> None:
    disk = Failing("nothing")
    audit = audit_at(path, disk)
    audit.write(**ACT)
    disk.call = "fsync"
    with pytest.raises(AdmissionError):
        audit.write(**ACT)
    disk.call = "nothing"

    assert audit.write(**ACT) == 2


def test_a_link_in_place_of_the_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    (tmp_path / "elsewhere").write_text("")
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(AdmissionError, match="audit-unwritable"):
        audit_at(path).write(**ACT)
    assert (tmp_path / "elsewhere").read_text() == ""


CANARY = "c4nary-9f8e7d6c"


@pytest.mark.parametrize("field", ["target", "tool", "why", "root", "project"])
def test_texts_are_redacted(path: Path, field: str) -> None:
    fields = ACT | {field: f"fetch https://h/?token={CANARY}&q=weather"}
    audit_at(path).write(**fields)

    text = path.read_text()
    assert CANARY not in text
    assert "token=[redacted]&q=weather" in text


@pytest.mark.parametrize("field", ["observed", "approval", "actor"])
def test_data_is_redacted(path: Path, field: str) -> None:
    fields: dict[str, Any] = ACT | {field: {"via": [f"https://h/?sig={CANARY}"], "token": CANARY, "n": 1}}
    audit_at(path).write(**fields)

    assert CANARY not in path.read_text()
    assert lines(path)[0][field] == {"via": ["https://h/?sig=[redacted]"], "token": "[redacted]", "n": 1}


def test_a_known_secret_is_redacted_wherever_it_stands(path: Path) -> None:
    audit_at(path, None, CANARY).write(**ACT | {"target": f"a/{CANARY}"}, observed=[CANARY], why=CANARY)

    assert CANARY not in path.read_text()


def test_a_line_is_one_line_and_harmless_whatever_is_in_it(path: Path) -> None:
    odd = "a\nb\r\u2028\u202e\x1b[2J\x00\ud800"
    audit_at(path).write(**ACT | {"target": odd}, observed={odd: odd}, why=odd)

    (line,) = path.read_bytes().splitlines()
    assert line.decode().isprintable()


def test_many_threads_of_two_hosts_number_without_gaps(path: Path) -> None:
    hosts = [audit_at(path), audit_at(path)]
    threads = [Thread(target=lambda n=n: [hosts[n % 2].write(**ACT) for _ in range(10)]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [line["seq"] for line in lines(path)] == list(range(1, 81))


WRITER = """
import sys
from pathlib import Path
from capgate.host.mediation.audit import AuditLog
audit = AuditLog(Path(sys.argv[1]))
for _ in range(20):
    audit.write(kind="import", target="t", tool="x", decision="allow", rule="r", result="ok")
"""


def test_processes_number_without_gaps(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path]) for _ in range(3)]

    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert [line["seq"] for line in lines(path)] == list(range(1, 61))
