"""Files that appear whole or not at all, and are not taken for what they are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capgate.host.mediation.disk import Disk


def test_a_file_is_replaced_as_a_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "file"
    Disk().replace(file, b"old")
    Disk().replace(file, b"new" * 1_000_000)

    assert file.read_bytes() == b"new" * 1_000_000
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_makes_room_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"kept")
    (tmp_path / "link").symlink_to("target")

    Disk().replace(tmp_path / "link", b"new")

    assert (tmp_path / "target").read_bytes() == b"kept"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_has_its_mode_from_the_first_byte_on(tmp_path: Path, mode: int) -> None:
    class Looking(Disk):
        modes: list[int] = []

        def write(self, fd: int, data: bytes | memoryview) -> int:
            self.modes.append(os.fstat(fd).st_mode & 0o777)
            return super().write(fd, data)

    disk = Looking()
    disk.replace(tmp_path / "file", b"x", mode)

    assert disk.modes == [mode]
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename"])
def test_a_file_that_could_not_be_replaced_is_as_it_was(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    disk = Disk()
    monkeypatch.setattr(disk, call, fail)
    with pytest.raises(OSError, match="Input/output"):
        disk.replace(file, b"new")

    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_temporary_file_of_a_killed_writer_makes_room(tmp_path: Path) -> None:
    (tmp_path / ".temporary").symlink_to("elsewhere")

    Disk().replace(tmp_path / "file", b"new", temporary=".temporary")

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("limit", [3, 4, 10_000_000])
def test_reading_gives_all_of_a_file(tmp_path: Path, limit: int) -> None:
    (tmp_path / "file").write_bytes(b"abc")

    assert Disk().read(tmp_path / "file", limit) == b"abc"


@pytest.mark.parametrize("kind", ["too large", "link", "fifo", "folder", "missing"])
def test_what_is_no_plain_small_file_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "path"
    (tmp_path / "target").write_bytes(b"secret")
    if kind == "too large":
        path.write_bytes(b"abc")
    elif kind == "link":
        path.symlink_to("target")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()

    with pytest.raises(OSError, match=r"More than 2 bytes|symbolic links|regular file|No such file"):
        Disk().read(path, 2)


def test_folders_are_made_with_those_above_them(tmp_path: Path) -> None:
    Disk().make_folders(tmp_path / "a" / "b" / "c")
    Disk().make_folders(tmp_path / "a" / "b" / "c")

    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_a_folder_below_a_dangling_link_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")

    with pytest.raises(FileNotFoundError):
        Disk().make_folders(tmp_path / "link" / "folder")


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    disk = Disk()
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        disk.replace(tmp_path / "file", b"x")
        disk.read(tmp_path / "file", 9)
        with disk.lock(tmp_path / "lock"):
            pass
        with pytest.raises(OSError, match="No such file"):
            disk.read(tmp_path / "missing", 9)
        with pytest.raises(OSError, match="Is a directory"):
            disk.replace(tmp_path, b"x")

    assert len(os.listdir("/proc/self/fd")) == len(before)
