"""Writing below the root: whole or not at all, and never outside of it (contract 7, 11.17, 11.34)."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.mediation.disk import Disk
from capgate.host.mediation.files import FileWriter
from capgate.plugins.api import Refused
from failing import QuickDisk, failing
from roots import acting_as_nobody, descriptors, open_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with files in it, and with one beside it."""
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "old.txt").write_text("old")
    (folder / "sub/old.txt").write_text("old")
    (tmp_path / "outside.txt").write_text("outside")
    return folder


def writer(root: Path, disk: Disk | None = None, **bounds: Any) -> FileWriter:
    return FileWriter(lambda: root, bounds, workspace=root, disk=disk or QuickDisk())


def refusal(writer: FileWriter, path: str, content: str = "new") -> str:
    with pytest.raises(Refused) as refused:
        writer.text(path, content)
    return refused.value.id


def tree(folder: Path) -> Mapping[str, str | None]:
    """Every name below a folder, with its text; a link's target; None for anything else."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = path.read_text() if path.is_file() else None
    return found


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("new.txt", "new.txt"),
        ("old.txt", "old.txt"),
        ("sub/new.txt", "sub/new.txt"),
        ("./sub//./old.txt", "sub/old.txt"),
        ("link", "sub/old.txt"),
        ("folder-link/new.txt", "sub/new.txt"),
        ("dangling", "sub/new.txt"),
        ("absolute", "old.txt"),
        ("x" * 255, "x" * 255),
    ],
)
def test_a_file_below_the_root_is_written(root: Path, path: str, real: str) -> None:
    (root / "link").symlink_to("sub/old.txt")
    (root / "folder-link").symlink_to("sub")
    (root / "dangling").symlink_to("sub/new.txt")
    (root / "absolute").symlink_to(root / "old.txt")
    before = tree(root)

    assert writer(root).text(path, "héllo") == 6
    assert tree(root) == {**before, real: "héllo"}


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("", "outside-root"),
        ("/etc/motd", "outside-root"),
        ("../new.txt", "outside-root"),
        ("sub/../new.txt", "outside-root"),
        ("out/new.txt", "outside-root"),
        ("out/outside.txt", "outside-root"),
        ("to-outside", "outside-root"),
        ("dangling-out", "outside-root"),
        ("a\0b", "bad-path"),
        ("x" * 256, "bad-path"),
        (".audit/x", "protected-audit"),
        ("audit.jsonl", "protected-audit"),
        ("AUDIT.jsonl", "protected-audit"),
        ("audit.jsonl.2", "protected-audit"),
        ("proposals", "protected-audit"),
        ("proposals/x.json", "protected-audit"),
        ("to-audit", "protected-audit"),
        ("to-audit-folder", "protected-audit"),
        (".env", "dotfile-refused"),
        ("sub/.env", "dotfile-refused"),
        ("to-dot", "dotfile-refused"),
        ("missing/new.txt", "missing-parent"),
        ("missing/deep/new.txt", "missing-parent"),
        ("missing/", "not-a-file"),
        ("old.txt/new.txt", "missing-parent"),
        ("dangling-deep", "missing-parent"),
        ("dangling-up", "missing-parent"),
        ("sub", "not-a-file"),
        ("sub/", "not-a-file"),
        ("old.txt/", "not-a-file"),
        ("new.txt/", "not-a-file"),
        ("to-root", "not-a-file"),
        ("pipe", "not-a-file"),
        ("loop", "unwritable"),
    ],
)
def test_anything_else_is_refused_and_nothing_is_written(root: Path, path: str, refused: str) -> None:
    for name, target in {
        "out": "..",
        "to-outside": "../outside.txt",
        "dangling-out": "../new.txt",
        "to-audit": "audit.jsonl.7",
        "to-audit-folder": ".audit",
        "to-dot": "sub/.new",
        "dangling-deep": "missing/new.txt",
        "dangling-up": "missing/../new.txt",
        "to-root": ".",
        "loop": "loop",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    before = tree(root.parent)

    # Whatever the path is refused by comes before the budget and the text.
    assert refusal(writer(root, maxBytes=1), path, "too much") == refused
    assert tree(root.parent) == before


def test_a_pipe_that_somebody_reads_is_not_written(root: Path) -> None:
    os.mkfifo(root / "pipe")
    reading = os.open(root / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert refusal(writer(root), "pipe") == "not-a-file"
        assert os.read(reading, 10) == b""
    finally:
        os.close(reading)


def test_a_root_that_went_away_is_unreadable(root: Path) -> None:
    root.rename(root.parent / "elsewhere")
    assert refusal(writer(root), "new.txt") == "unreadable"


def test_the_workspace_is_kept_in_a_root_around_it(root: Path) -> None:
    outer = FileWriter(lambda: root.parent, {}, workspace=root)

    assert refusal(outer, "root/proposals/x.json") == "protected-audit"
    assert refusal(outer, "root/audit.jsonl") == "protected-audit"
    assert outer.text("root/old.txt", "new") == 3


@pytest.mark.parametrize(
    ("bounds", "size", "fits"),
    [
        ({}, 65536, True),
        ({}, 65537, False),
        ({"maxBytes": 5}, 5, True),
        ({"maxBytes": 5}, 6, False),
        ({"maxBytes": 5.0}, 5, True),
        ({"maxBytes": 0}, 0, True),
        ({"maxBytes": 0}, 1, False),
    ],
)
def test_a_file_has_at_most_the_bytes_that_were_admitted(
    root: Path, bounds: Mapping[str, Any], size: int, fits: bool
) -> None:
    if fits:
        assert writer(root, **bounds).text("new.txt", "x" * size) == size
    else:
        assert refusal(writer(root, **bounds), "new.txt", "x" * size) == "over-budget"
        assert not (root / "new.txt").exists()


def test_bytes_are_counted_and_not_letters(root: Path) -> None:
    assert writer(root, maxBytes=4).text("new.txt", "üü") == 4
    assert refusal(writer(root, maxBytes=3), "new.txt", "üü") == "over-budget"


def test_half_a_character_is_not_text(root: Path) -> None:
    assert refusal(writer(root), "new.txt", "a\ud800") == "not-text"


# How a file is replaced


def test_a_new_file_gets_the_usual_mode_and_an_old_one_keeps_its_own(root: Path) -> None:
    old_umask = os.umask(0o027)
    try:
        (root / "old.txt").chmod(0o606)
        writer(root).text("old.txt", "new")
        writer(root).text("new.txt", "new")
    finally:
        os.umask(old_umask)

    assert stat.S_IMODE((root / "old.txt").stat().st_mode) == 0o606
    assert stat.S_IMODE((root / "new.txt").stat().st_mode) == 0o640


def test_who_reads_the_old_file_goes_on_reading_it_and_another_name_keeps_it(root: Path) -> None:
    os.link(root / "old.txt", root.parent / "other-name.txt")
    with (root / "old.txt").open() as reading:
        writer(root).text("old.txt", "new")
        assert reading.read() == "old"

    assert (root.parent / "other-name.txt").read_text() == "old"


def test_no_permission_is_unwritable() -> None:
    with open_folder() as root:
        (root / "locked.txt").write_text("old")
        (root / "locked.txt").chmod(0o444)
        (root / "locked").mkdir()
        (root / "locked").chmod(0o555)
        (root / "closed").mkdir()
        (root / "closed").chmod(0)
        with acting_as_nobody():
            for path in ("locked.txt", "locked/new.txt", "closed/new.txt"):
                assert refusal(writer(root), path) == "unwritable"
            assert writer(root).text("new.txt", "new") == 3

        assert tree(root) == {"closed": None, "locked": None, "locked.txt": "old", "new.txt": "new"}


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("path", ["old.txt", "sub/new.txt"])
def test_whichever_call_fails_the_file_is_the_old_one_or_the_new_one(root: Path, path: str, half: bool) -> None:
    before = tree(root)
    for number in range(1, 50):
        disk = failing(number, half=half)
        opened = descriptors()
        try:
            writer(root, disk).text(path, "new")
        except Refused as refused:
            assert refused.id == "unwritable"
            assert "Input/output error" in refused.why
        else:
            break
        finally:
            assert descriptors() == opened
        # Only the very last call, that the folder be on the medium, comes when the file is in place.
        in_place = number == 6
        assert tree(root) == ({**before, path: "new"} if in_place else before)
    else:
        pytest.fail("no call was the last")
    assert number == 7
    assert tree(root) == {**before, path: "new"}


def test_a_full_disk_is_unwritable(root: Path) -> None:
    class Full(Disk):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(Refused, match="No space left"):
        writer(root, Full()).text("old.txt", "new")
    assert tree(root)["old.txt"] == "old"


def test_a_link_that_comes_into_the_files_place_makes_room(root: Path) -> None:
    class Swapping(QuickDisk):
        def rename(self, *names: Any, **folders: Any) -> None:
            (root / "old.txt").unlink()
            (root / "old.txt").symlink_to("../outside.txt")
            super().rename(*names, **folders)

    writer(root, Swapping()).text("old.txt", "new")

    assert (root.parent / "outside.txt").read_text() == "outside"
    assert not (root / "old.txt").is_symlink()
    assert (root / "old.txt").read_text() == "new"


# Anything


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    path=st.lists(
        st.sampled_from(["..", ".", "", "sub", "out", "in", ".env", ".audit", "audit.jsonl", "proposals", "new", "a\0"])
        | st.text(max_size=5),
        max_size=6,
    ).map("/".join)
    | st.text(max_size=40)
)
def test_no_path_writes_what_no_tool_may_write(path: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(os.path.realpath(name)) / "root"
        (root / "sub").mkdir(parents=True)
        (root / ".audit").mkdir()
        (root / "proposals").mkdir()
        (root / "out").symlink_to("..")
        (root / "in").symlink_to("sub/..")
        (root / "sub/back").symlink_to("../audit.jsonl")
        before = set(Path(name).rglob("*"))
        try:
            writer(root).text(path, "new")
        except Refused:
            written = set()
        else:
            written = {".", "sub"}
        added = set(Path(name).rglob("*")) - before
        assert {file.parent.relative_to(root).as_posix() for file in added} <= written
        assert not [file for file in added if file.name.startswith(".") or file.name == "audit.jsonl"]
