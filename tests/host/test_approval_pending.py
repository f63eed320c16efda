"""The file of open approval codes, and the command that shows it."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.host.admission.approvals import TTL
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.pending import NAME, Pending, read_pending
from capgate.host.admission.store import Approval
from capgate.host.cli.main import main
from capgate.host.mediation.console import Console
from capgate.host.mediation.disk import Disk

#: 2027-01-15T08:00:00Z
NOON = 1_800_000_000.0


def approval(request: str, id: str = "search", now: float = NOON, **fields: Any) -> Approval:
    return Approval(request, id, "sha256:x", "sha256:y", now + TTL, **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


@pytest.fixture
def errors() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def pending(path: Path, errors: io.StringIO) -> Pending:
    return Pending(path, Console(io.StringIO(), errors))


def written(path: Path) -> Any:
    return json.loads(path.read_bytes())


def requests(path: Path) -> list[str]:
    return [one["requestId"] for one in written(path)["open"]]


def test_the_file_shows_the_newest_request_and_all_that_are_open(path: Path, pending: Pending) -> None:
    pending.add(approval("r1", "a"), {"id": "a"}, "00000001")
    pending.add(approval("r2", "b"), {"id": "b"}, "00000002")

    first = {"requestId": "r1", "plan": {"id": "a"}, "code": "00000001", "expiresAt": 1800000120000}
    newest = {"requestId": "r2", "plan": {"id": "b"}, "code": "00000002", "expiresAt": 1800000120000}
    assert written(path) == newest | {"open": [first, newest]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_request_takes_the_place_of_the_old_one_for_its_id(path: Path, pending: Pending) -> None:
    pending.add(approval("r1", "a"), {}, "00000001")
    pending.add(approval("r2", "b"), {}, "00000002")
    pending.add(approval("r3", "a"), {}, "00000003")

    assert requests(path) == ["r2", "r3"]


def test_a_request_that_ended_is_not_shown_beside_a_new_one(path: Path, pending: Pending) -> None:
    pending.add(approval("r1", "a"), {}, "00000001")
    pending.add(approval("r2", "b", NOON + TTL), {}, "00000002")

    assert requests(path) == ["r2"]


def test_what_is_spent_is_taken_away_and_nothing_else(path: Path, pending: Pending) -> None:
    made = [approval("r1", "a"), approval("r2", "b"), approval("r3", "c")]
    for one in made:
        pending.add(one, {}, "00000001")

    pending.keep([made[0], made[1]._replace(spent=True)], NOON)

    assert requests(path) == ["r1", "r3"]


def test_a_wrong_attempt_leaves_the_file_as_it_is(path: Path, pending: Pending) -> None:
    one = approval("r1")
    pending.add(one, {}, "00000001")
    before = path.stat().st_ino

    pending.keep([one._replace(attempts=1)], NOON + TTL - 0.001)

    assert path.stat().st_ino == before


def test_without_an_open_request_there_is_no_file(path: Path, pending: Pending) -> None:
    one = approval("r1")
    pending.add(one, {}, "00000001")
    pending.keep([one], NOON + TTL)

    assert not path.exists()
    pending.keep([], NOON)


@pytest.mark.parametrize(
    ("mode", "said"), [(0o600, False), (0o400, False), (0o644, True), (0o620, True)], ids=lambda value: str(value)
)
def test_what_an_earlier_host_left_is_removed_and_said_where_others_could_read_it(
    path: Path, pending: Pending, errors: io.StringIO, mode: int, said: bool
) -> None:
    path.write_text('{"code": "12345678"}')
    path.chmod(mode)
    pending.clear()
    pending.clear()

    assert not path.exists()
    assert errors.getvalue() == (
        f"[extension approval] {path} had the mode {mode:04o}; it is removed\n" if said else ""
    )


def test_a_cleared_host_shows_nothing_of_before(path: Path, pending: Pending) -> None:
    pending.add(approval("r1", "a"), {}, "00000001")
    pending.clear()
    pending.add(approval("r2", "b"), {}, "00000002")

    assert requests(path) == ["r2"]


def test_a_link_is_replaced_and_not_followed(path: Path, pending: Pending, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("kept")
    path.symlink_to(target)
    pending.add(approval("r1"), {}, "00000001")

    assert target.read_text() == "kept"
    assert not path.is_symlink()


class Full(Disk):
    def write(self, fd: int, data: bytes | memoryview) -> int:
        raise OSError(28, "No space left on device")


def test_a_file_that_cannot_be_written_is_a_warning_without_the_code(path: Path, errors: io.StringIO) -> None:
    Pending(path, Console(io.StringIO(), errors), Full()).add(approval("r1"), {}, "12345678")

    assert errors.getvalue() == f"[extension approval] {path}: No space left on device\n"
    assert list(path.parent.iterdir()) == []


def test_a_file_that_cannot_be_removed_is_a_warning(path: Path, pending: Pending, errors: io.StringIO) -> None:
    path.mkdir(mode=0o700)
    pending.clear()

    assert str(path) in errors.getvalue()


GOOD = {"requestId": "r", "plan": {"name": "Search"}, "code": "12345678", "expiresAt": 1800000000000}


def test_the_file_can_be_read_also_as_the_existing_system_writes_it() -> None:
    (shown,) = read_pending(json.dumps(GOOD).encode(), "f")

    assert shown == ("r", {"name": "Search"}, "12345678", NOON)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"7",
        b"null",
        b"{}",
        b'{"open": 7}',
        b'{"open": null}',
        b'{"open": [7]}',
        b"[" * 100_000,
        json.dumps({"open": [GOOD, {}]}).encode(),
        *(json.dumps(GOOD | {key: None}).encode() for key in GOOD),
        *(json.dumps({k: v for k, v in GOOD.items() if k != key}).encode() for key in GOOD),
        json.dumps(GOOD | {"code": 12345678}).encode(),
        json.dumps(GOOD | {"code": "1234567\u0668"}).encode(),
        json.dumps(GOOD | {"plan": []}).encode(),
        json.dumps(GOOD | {"requestId": 7}).encode(),
        json.dumps(GOOD | {"expiresAt": "soon"}).encode(),
        json.dumps(GOOD | {"expiresAt": 10**30}).encode(),
        json.dumps(GOOD | {"expiresAt": 10**400}).encode(),
        json.dumps(GOOD | {"expiresAt": float("nan")}).encode(),
        json.dumps(GOOD | {"expiresAt": float("inf")}).encode(),
    ],
)
def test_anything_else_is_unreadable(data: bytes) -> None:
    with pytest.raises(AdmissionError) as caught:
        read_pending(data, "f")

    assert caught.value.id == "unreadable"


# The command


@pytest.fixture
def approval_code(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("capgate.host.mediation.clock.SystemClock.now", lambda self: NOON)
    monkeypatch.delenv("VOICEBOX_WORKSPACE", raising=False)
    monkeypatch.setenv("VOICEBOX_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["approval-code", *arguments])
        return code, *capsys.readouterr()

    return run


Run = Callable[..., tuple[int, str, str]]


def test_without_a_file_nothing_is_pending(approval_code: Run) -> None:
    assert approval_code() == (0, "No pending extension approval requests\n", "")


def test_every_open_request_is_shown_with_its_plan_and_code(pending: Pending, approval_code: Run) -> None:
    pending.add(approval("r1", "a"), {"name": "Tide clock", "bounds": {"maxRequests": 5}}, "00000001")
    pending.add(approval("r2", "b"), {"id": "b"}, "00000002")

    code, out, err = approval_code()

    assert (code, err) == (0, "")
    first, second = out.split("EXTENSION APPROVAL REQUEST")[1:]
    assert "Extension: Tide clock\n" in first
    assert "Approval code: 00000001\n" in first
    assert '"maxRequests": 5' in first
    assert "Enter this 8-digit code in the room UI" in first
    assert "before 2027-01-15T08:02:00.000Z" in first
    assert "Extension: b\n" in second
    assert "Approval code: 00000002\n" in second


def test_codes_that_ended_are_said_and_the_file_is_removed(path: Path, pending: Pending, approval_code: Run) -> None:
    pending.add(approval("r1", "a", NOON - TTL), {"name": "Tide clock"}, "00000001")

    assert approval_code() == (0, "The request for Tide clock expired at 2027-01-15T08:00:00.000Z.\n", "")
    assert not path.exists()


def test_a_code_that_ended_is_said_beside_one_that_is_open(path: Path, pending: Pending, approval_code: Run) -> None:
    pending.add(approval("r1", "a", NOON - TTL), {"name": "Old"}, "00000001")
    pending.add(approval("r2", "b", NOON - 1), {"name": "New"}, "00000002")

    code, out, _ = approval_code()

    assert code == 0
    assert "Old expired at" in out
    assert "00000001" not in out
    assert "Approval code: 00000002" in out
    assert path.exists()


def test_what_a_server_has_put_there_meanwhile_stays(
    path: Path, pending: Pending, approval_code: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending.add(approval("r1", "a", NOON - TTL), {"name": "Old"}, "00000001")
    read = Disk.read

    def read_then_written(self: Disk, *arguments: Any, **options: Any) -> bytes:
        data = read(self, *arguments, **options)
        pending.add(approval("r2", "b"), {"name": "New"}, "00000002")
        return data

    monkeypatch.setattr(Disk, "read", read_then_written)

    assert "Old expired at" in approval_code()[1]
    assert requests(path) == ["r2"]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (FileNotFoundError(2, "No such file or directory"), ""),
        (PermissionError(13, "Permission denied"), "capgate: {path} cannot be removed: Permission denied\n"),
    ],
    ids=["gone", "not allowed"],
)
def test_a_file_of_ended_codes_that_cannot_be_removed_is_said(
    path: Path, pending: Pending, approval_code: Run, monkeypatch: pytest.MonkeyPatch, fault: OSError, said: str
) -> None:
    pending.add(approval("r1", "a", NOON - TTL), {"name": "Old"}, "00000001")

    def unlink(self: Disk, *arguments: Any, **options: Any) -> None:
        raise fault

    monkeypatch.setattr(Disk, "unlink", unlink)
    code, out, err = approval_code()

    assert (code, err) == (0, said.format(path=path))
    assert "Old expired at" in out


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[]"])
def test_an_unreadable_file_is_named_and_ends_with_1(path: Path, approval_code: Run, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)

    assert approval_code() == (1, "", f"capgate: {path} holds no requests for approval\n")


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_is_no_file_ends_with_1(path: Path, approval_code: Run, kind: str) -> None:
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path.with_name("elsewhere"))
    code, out, err = approval_code()

    assert (code, out) == (1, "")
    assert err.startswith(f"capgate: {path}: ")


def test_a_file_that_others_can_read_is_warned_of(path: Path, pending: Pending, approval_code: Run) -> None:
    pending.add(approval("r1"), {"name": "Search"}, "00000001")
    path.chmod(0o644)

    code, out, err = approval_code()

    assert (code, err) == (0, f"capgate: {path} can be reached by others; do not use its codes\n")
    assert "00000001" in out


def test_nothing_in_a_plan_steers_the_terminal(pending: Pending, approval_code: Run) -> None:
    odd = "a\x1b[2J\u202e\u200b\nApproval code: 99999999\ud800"
    pending.add(approval("r1"), {"name": odd, odd: odd}, "00000001")

    code, out, _ = approval_code()

    assert code == 0
    assert all(line.isprintable() for line in out.splitlines())
    assert [line for line in out.splitlines() if line.strip().startswith("Approval code:")] == [
        "  Approval code: 00000001"
    ]


def test_the_folder_can_be_named(tmp_path: Path, approval_code: Run) -> None:
    other = tmp_path / "other"
    other.mkdir()
    Pending(other / NAME, Console(io.StringIO())).add(approval("r1"), {"name": "Search"}, "00000001")

    assert "00000001" in approval_code("--extensions", str(other))[1]
    assert approval_code()[1] == "No pending extension approval requests\n"
    assert approval_code("--extensions", str(tmp_path / "workspace" / "x"))[0] == 2
