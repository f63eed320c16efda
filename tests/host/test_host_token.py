"""The host token: made once, repaired where that is safe, compared without telling anything."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread

import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.token import HostToken
from capgate.host.mediation.disk import Disk, StrPath

GOOD = "0123456789abcdef" * 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "extensions" / ".host-token"


def put(path: Path, content: str | bytes, mode: int = 0o600) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o000, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_token_of_64_hex_digits_is_made_at_0600_whatever_the_umask_is(path: Path) -> None:
    token = HostToken(path)

    assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
    assert mode_of(path) == 0o600
    assert token.repaired is None
    assert token.matches(path.read_text().strip())


def test_tokens_differ(tmp_path: Path) -> None:
    assert HostToken(tmp_path / "a").value() != HostToken(tmp_path / "b").value()


@pytest.mark.parametrize("content", [GOOD, f"{GOOD}\n", f"  {GOOD}\r\n"])
def test_a_token_that_is_there_is_kept(path: Path, content: str) -> None:
    put(path, content)

    token = HostToken(path)

    assert path.read_bytes() == content.encode()
    assert token.repaired is None
    assert token.matches(GOOD)


@pytest.mark.parametrize(
    "content",
    ["", "\n", GOOD[:-1], GOOD + "0", GOOD.upper(), "g" * 64, f"{GOOD}\n{GOOD}", b"\xff" * 64, "0" * 100_000],
    ids=["empty", "blank", "short", "long", "capitals", "no hex", "two", "bytes", "huge"],
)
def test_a_file_without_a_token_gets_a_new_one_and_that_is_said(path: Path, content: str | bytes) -> None:
    put(path, content)

    token = HostToken(path)

    assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
    assert token.repaired == f"{path} did not hold 64 lower-case hex digits; it holds a new token"
    assert token.matches(path.read_text().strip())
    assert not token.matches(GOOD)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o666, 0o601, 0o777])
def test_a_token_that_others_could_reach_is_replaced(path: Path, mode: int) -> None:
    put(path, GOOD, mode)

    token = HostToken(path)

    assert token.repaired == (
        f"{path} had the mode {mode:04o}, so others could reach it; it holds a new token, at 0600"
    )
    assert mode_of(path) == 0o600
    assert not token.matches(GOOD)


@pytest.mark.parametrize("mode", [0o400, 0o700])
def test_a_token_that_only_its_owner_could_reach_is_kept_at_0600(path: Path, mode: int) -> None:
    put(path, GOOD, mode)

    token = HostToken(path)

    assert token.repaired == f"{path} had the mode {mode:04o}; it has 0600 again"
    assert mode_of(path) == 0o600
    assert token.matches(GOOD)


def refusal(path: Path, disk: Disk | None = None) -> AdmissionError:
    with pytest.raises(AdmissionError) as caught:
        HostToken(path, disk)
    assert caught.value.id == "host-token-unusable"
    assert str(path) in caught.value.message
    return caught.value


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "fifo"])
def test_what_is_no_regular_file_refuses_the_start(path: Path, tmp_path: Path, kind: str) -> None:
    path.parent.mkdir()
    target = tmp_path / "elsewhere"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path, 0o600)
    else:
        if kind == "link":
            put(target, GOOD)
        path.symlink_to(target)

    assert "no regular file" in refusal(path).message
    assert target.exists() == (kind == "link")


def test_a_token_of_another_user_refuses_the_start(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(path, GOOD)
    monkeypatch.setattr("os.geteuid", lambda: path.stat().st_uid + 1)

    assert "belongs to the user" in refusal(path).message


class Moded(Disk):
    """A file system that keeps no modes, as some shares do."""

    def stat(self, path: StrPath, *, dir_fd: int | None = None) -> os.stat_result:
        found = super().stat(path, dir_fd=dir_fd)
        return os.stat_result((found.st_mode | 0o077, *found[1:]))


def test_a_file_system_without_modes_refuses_the_start(path: Path) -> None:
    assert "0600" in refusal(path, Moded()).message


class Full(Disk):
    def write(self, fd: int, data: bytes | memoryview) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_refuses_the_start_and_the_next_start_makes_a_token(path: Path) -> None:
    assert "No space left" in refusal(path, Full()).message

    assert HostToken(path).value() is not None


class Torn(Disk):
    def pread(self, fd: int, size: int, offset: int) -> bytes:
        raise OSError(5, "Input/output error")


def test_a_token_that_cannot_be_read_refuses_the_start_and_stays(path: Path) -> None:
    put(path, GOOD)

    assert refusal(path, Torn()).message == f"{path}: Input/output error"
    assert path.read_text() == GOOD


@pytest.mark.parametrize(
    "given",
    [None, "", GOOD[:-1], GOOD + "0", GOOD.upper(), f" {GOOD}", f"{GOOD}\n", GOOD.encode(), "é" * 64, "\ud800"],
    ids=repr,
)
def test_only_the_exact_token_matches(path: Path, given: object) -> None:
    put(path, GOOD)

    assert not HostToken(path).matches(given)


def test_the_comparison_takes_constant_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(path, GOOD)
    token = HostToken(path)
    compared: list[tuple[bytes, bytes]] = []
    monkeypatch.setattr("hmac.compare_digest", lambda a, b: bool(compared.append((a, b))))

    token.matches("given")

    assert compared == [(b"given", GOOD.encode())]


def test_a_token_that_changes_while_the_host_runs_is_followed(path: Path) -> None:
    put(path, GOOD)
    token = HostToken(path)
    other = path.with_name("other")
    put(other, "f" * 64)
    other.replace(path)

    assert (token.matches(GOOD), token.matches("f" * 64)) == (False, True)


@pytest.mark.parametrize("harm", ["gone", "loose", "empty", "link"])
def test_an_unfit_file_matches_nothing_until_it_is_put_right(path: Path, harm: str) -> None:
    put(path, GOOD)
    token = HostToken(path)
    if harm == "loose":
        path.chmod(0o644)
    elif harm == "empty":
        path.write_text("")
    else:
        path.unlink()
        if harm == "link":
            put(path.with_name("elsewhere"), GOOD)
            path.symlink_to("elsewhere")

    assert not token.matches(GOOD)
    assert not token.matches("")
    path.unlink(missing_ok=True)
    put(path, GOOD)
    assert token.matches(GOOD)


def test_hosts_that_start_at_once_end_with_one_token(path: Path) -> None:
    barrier = Barrier(8)
    tokens: list[HostToken] = []

    def start() -> None:
        barrier.wait()
        tokens.append(HostToken(path))

    threads = [Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {token.value() for token in tokens} == {path.read_text().strip()}
