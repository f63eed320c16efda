"""Reading below the root: what is read, and the order and the ids of what is not (contract 7, 11.17, 11.25, 11.34)."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capgate.host.mediation.files import FileReader
from capgate.plugins.api import Reader, Refused
from roots import acting_as_nobody, descriptors, open_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with files in it, and with some beside it."""
    folder = tmp_path / "root"
    for name, text in {
        "notes.md": "# Notes\n",
        "empty": "",
        "Ünïcödé.txt": "ü",
        "sub/deep/a.txt": "deep",
        "sub/n.txt": "n",
        "sub/.env": "hush",
        ".hidden": "hush",
        ".audit/extensions.jsonl": "hush",
        "audit.jsonl": "hush",
        "audit.jsonl.1": "hush",
        "proposals/x.json": "hush",
        "../outside.txt": "hush",
        "../rootless/x": "hush",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def reader(root: Path, **more: int) -> FileReader:
    return FileReader(lambda: root, workspace=root, **more)


def refusal(reader: Reader, path: str) -> str:
    with pytest.raises(Refused) as refused:
        reader.text(path)
    assert "hush" not in refused.value.why
    return refused.value.id


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("notes.md", "# Notes\n"),
        ("empty", ""),
        ("Ünïcödé.txt", "ü"),
        ("sub/n.txt", "n"),
        ("sub/./n.txt", "n"),
        ("./sub//.//deep/a.txt", "deep"),
        ("link", "deep"),
        ("link-in-link", "deep"),
        ("folder-link/a.txt", "deep"),
        ("up/deep/a.txt", "deep"),
        ("down-and-up", "n"),
        ("absolute", "# Notes\n"),
        ("absolute-folder/n.txt", "n"),
        ("out-and-in", "# Notes\n"),
        ("out-and-in-folder/n.txt", "n"),
        ("hard", "# Notes\n"),
        ("another-spelling", "# Notes\n"),
    ],
)
def test_a_file_below_the_root_is_read(root: Path, path: str, text: str) -> None:
    (root / "link").symlink_to("sub/deep/a.txt")
    (root / "link-in-link").symlink_to("./link")
    (root / "folder-link").symlink_to("sub/deep/")
    (root / "sub/up").symlink_to("..")
    (root / "up").symlink_to("sub/up/sub")
    (root / "down-and-up").symlink_to("sub/deep/../n.txt")
    (root / "absolute").symlink_to(root / "notes.md")
    (root / "absolute-folder").symlink_to(root / "sub")
    (root / "out-and-in").symlink_to("../root/notes.md")
    (root / "out-and-in-folder").symlink_to("sub/../../root/sub")
    (root.parent / "root-link").symlink_to("root")
    (root / "another-spelling").symlink_to(root.parent / "root-link/notes.md")
    os.link(root / "notes.md", root / "hard")

    assert reader(root).text(path) == text


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("", "outside-root"),
        (" ", "outside-root"),
        (".", "outside-root"),
        ("././/", "outside-root"),
        ("/", "outside-root"),
        ("/etc/passwd", "outside-root"),
        ("..", "outside-root"),
        ("../outside.txt", "outside-root"),
        ("../root/notes.md", "outside-root"),
        ("sub/../notes.md", "outside-root"),
        ("sub/..", "outside-root"),
        ("../.ssh/x", "outside-root"),
        ("../" + "x" * 256, "outside-root"),
        ("/a\0b", "bad-path"),
        ("a\0b", "bad-path"),
        ("../a\0b", "bad-path"),
        ("a\ud800b", "bad-path"),
        ("x" * 256, "bad-path"),
        ("ä" * 128, "bad-path"),
        ("sub/" + "x" * 256, "bad-path"),
        ("x" * 255, "missing"),
        ("out", "outside-root"),
        ("out/", "outside-root"),
        ("out-absolute", "outside-root"),
        ("out-folder/outside.txt", "outside-root"),
        ("out-folder/new.txt", "outside-root"),
        ("out-prefix", "outside-root"),
        ("out-prefix-there", "outside-root"),
        ("out-by-steps", "outside-root"),
        ("to-root-above", "outside-root"),
        ("dangling-out", "outside-root"),
        (".audit", "protected-audit"),
        (".audit/x", "protected-audit"),
        (".audit/.env", "protected-audit"),
        (".audit/extensions.jsonl", "protected-audit"),
        (".AUDIT/x", "protected-audit"),
        ("audit.jsonl", "protected-audit"),
        ("./audit.jsonl", "protected-audit"),
        ("Audit.JSONL", "protected-audit"),
        ("audit.jsonl.1", "protected-audit"),
        ("audit.jsonl.torn-x", "protected-audit"),
        ("audit.jsonl/", "protected-audit"),
        ("proposals", "protected-audit"),
        ("proposals/x.json", "protected-audit"),
        ("proposals/.revisions/x/1.json", "protected-audit"),
        ("Proposalſ/x.json", "protected-audit"),
        ("to-audit", "protected-audit"),
        ("to-proposals/x.json", "protected-audit"),
        ("to-new-audit", "protected-audit"),
        ("sub/back/audit.jsonl", "protected-audit"),
        (".audit-not", "dotfile-refused"),
        (".hidden", "dotfile-refused"),
        (".host-token", "dotfile-refused"),
        (".ledger.jsonl", "dotfile-refused"),
        ("...", "dotfile-refused"),
        ("sub/.env", "dotfile-refused"),
        ("sub/.audit/x", "dotfile-refused"),
        (".missing/x", "dotfile-refused"),
        ("to-hidden", "dotfile-refused"),
        ("to-new-hidden", "dotfile-refused"),
        ("sub/audit.jsonl", "missing"),
        ("sub/proposals", "missing"),
        ("auditXjsonl", "missing"),
        ("missing.md", "missing"),
        ("missing/x", "missing"),
        ("notes.md/x", "missing"),
        ("dangling", "missing"),
        ("dangling-up", "missing"),
        ("file-and-up", "missing"),
        ("sub", "not-a-file"),
        ("sub/", "not-a-file"),
        ("notes.md/", "not-a-file"),
        ("to-root", "not-a-file"),
        ("pipe", "not-a-file"),
        ("socket", "not-a-file"),
        ("to-device", "outside-root"),
        ("loop", "unreadable"),
        ("loop-a/x", "unreadable"),
        ("many-links", "unreadable"),
        ("binary", "not-text"),
        ("half", "not-text"),
        ("to-long-name", "bad-path"),
        ("large", "over-budget"),
    ],
)
def test_anything_else_is_refused_by_its_own_id(
    root: Path, monkeypatch: pytest.MonkeyPatch, path: str, refused: str
) -> None:
    for name, target in {
        "out": "../outside.txt",
        "out-absolute": root.parent / "outside.txt",
        "out-folder": "..",
        "out-prefix": f"{root}-other/x",
        "out-prefix-there": f"{root}less/x",
        "out-by-steps": "sub/../../rootless/x",
        "to-root-above": "..",
        "dangling-out": "../nothing/here",
        "to-audit": root / "audit.jsonl",
        "to-proposals": "proposals",
        "to-new-audit": "audit.jsonl.9",
        "sub/back": "..",
        "to-hidden": "sub/.env",
        "to-new-hidden": "sub/.new",
        "dangling": "nothing",
        "dangling-up": "nothing/../notes.md",
        "file-and-up": "notes.md/../notes.md",
        "to-root": ".",
        "to-device": "/dev/zero",
        "to-long-name": "x" * 256,
        "loop": "loop",
        "loop-a": "loop-b",
        "loop-b": "loop-a",
        "many-links": "link-0",
        **{f"link-{number}": f"link-{number + 1}" for number in range(40)},
        "link-40": "notes.md",
    }.items():
        (root / name).symlink_to(target)
    (root / "binary").write_bytes(b"\xff")
    (root / "half").write_bytes(b"\xed\xa0\x80")
    (root / "large").write_bytes(b"x" * 1001)
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert refusal(reader(root, limit=1000), path) == refused


def test_what_is_refused_says_why(root: Path) -> None:
    for path, phrase in {
        "../x": "'..' segment",
        "sub/.env": "host secrets live behind that line",
        "a\u202eb\0": "a\\u202Eb\\u0000",
    }.items():
        with pytest.raises(Refused) as refused:
            reader(root).text(path)
        assert phrase in refused.value.why


def test_a_file_that_fits_is_read_whole(root: Path) -> None:
    (root / "fits").write_bytes(b"x" * 1000)
    (root / "large").write_bytes(b"x" * 2_000_000)

    assert len(reader(root, limit=1000).text("fits")) == 1000
    assert len(reader(root).text("large")) == 2_000_000


def test_a_file_that_says_nothing_of_its_size_is_read_whole(root: Path) -> None:
    proc = Path("/proc/self")
    text = FileReader(lambda: proc.resolve(), workspace=root).text("status")
    assert text.startswith("Name:")
    assert text.count("\n") > 20


def test_a_file_that_fails_when_it_is_read_is_unreadable(root: Path) -> None:
    proc = Path("/proc/self").resolve()
    assert refusal(FileReader(lambda: proc, workspace=root), "mem") == "unreadable"


def test_links_that_go_up_and_down_without_end_are_given_up(root: Path) -> None:
    (root / "a").mkdir()
    # Forty links, each of which goes down and up a thousand times.
    for number in range(39):
        (root / f"zig-{number}").symlink_to("a/../" * 780 + f"zig-{number + 1}")
    (root / "zig-39").symlink_to("notes.md")

    assert refusal(reader(root), "zig-0") == "unreadable"


def test_few_descriptors_are_open_on_a_long_way(root: Path) -> None:
    deep = root
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "x").write_text("x")
    before = descriptors()
    assert reader(root).text("d/" * 60 + "x") == "x"
    assert descriptors() == before


@pytest.mark.parametrize("path", ["notes.md", "missing", "sub", "pipe", "out", "sub/.env", "loop", "sub/x/y"])
def test_every_descriptor_is_closed(root: Path, path: str) -> None:
    (root / "out").symlink_to("..")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    before = descriptors()
    with suppress(Refused):
        reader(root).text(path)

    assert descriptors() == before


def test_no_permission_is_unreadable() -> None:
    with open_folder() as root:
        for name, mode in (("locked", 0), ("passable", 0o711)):
            (root / name).mkdir()
            (root / name / "a.txt").write_text("hush" if mode == 0 else "a")
            (root / name).chmod(mode)
        (root / "locked.txt").write_text("hush")
        (root / "locked.txt").chmod(0)
        with acting_as_nobody():
            assert refusal(reader(root), "locked.txt") == "unreadable"
            assert refusal(reader(root), "locked/a.txt") == "unreadable"
            assert reader(root).text("passable/a.txt") == "a"


# The root itself


def test_a_root_that_is_not_declared_is_said_first(root: Path) -> None:
    def folder() -> Path:
        raise Refused("no-page", "a page holds it", {"via": "page"})

    lost = FileReader(folder, workspace=root)
    for act in (lambda: lost.text("../x"), lost.names):
        with pytest.raises(Refused) as refused:
            act()
        assert (refused.value.id, refused.value.details) == ("no-page", {"via": "page"})


def test_a_root_that_went_away_is_unreadable(root: Path) -> None:
    shutil.move(root, root.parent / "elsewhere")
    assert refusal(reader(root), "notes.md") == "unreadable"
    root.symlink_to("elsewhere")
    assert refusal(reader(root), "notes.md") == "unreadable"
    with pytest.raises(Refused, match="unreadable"):
        reader(root).names()


def test_the_workspace_is_kept_in_a_root_around_it(root: Path) -> None:
    outer = FileReader(lambda: root.parent, workspace=root)

    assert outer.text("root/notes.md") == "# Notes\n"
    assert refusal(outer, "root/audit.jsonl") == "protected-audit"
    assert refusal(outer, "root/audit.jsonl.1") == "protected-audit"
    assert refusal(outer, "root/proposals/x.json") == "protected-audit"
    assert refusal(outer, "Root/.audit/x") == "protected-audit"
    assert refusal(outer, "proposals/x") == "protected-audit"
    assert refusal(outer, "rootless/proposals") == "missing"


# Listing


def test_the_top_level_is_listed_without_what_the_host_keeps(root: Path) -> None:
    (root / "link").symlink_to("/etc")
    (root / "Proposals").mkdir()
    os.close(os.open(os.fsencode(root) + b"/\xff.txt", os.O_CREAT))

    assert reader(root).names() == ["empty", "link", "notes.md", "sub", "Ünïcödé.txt", "\ufffd.txt"]


# Anything


@settings(deadline=None, derandomize=True, max_examples=400)
@given(
    path=st.lists(
        st.sampled_from(["..", ".", "", "sub", "out", "in", ".env", ".audit", "audit.jsonl", "proposals", "new", "a\0"])
        | st.text(max_size=5),
        max_size=6,
    ).map("/".join)
    | st.text(max_size=40)
)
@example(path="out/outside.txt")
@example(path="in/sub/../../outside.txt")
def test_no_path_reads_what_the_root_does_not_hold(path: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(os.path.realpath(name)) / "root"
        (root / "sub").mkdir(parents=True)
        for file in ("new", "sub/new", "sub/sub"):
            (root / file).write_text("inside")
        for file in (".env", "audit.jsonl", "sub/.env", "../outside.txt"):
            (root / file).write_text("hush")
        (root / "out").symlink_to("..")
        (root / "in").symlink_to("sub/..")
        try:
            assert reader(root).text(path) == "inside"
        except Refused as refused:
            assert "hush" not in refused.why
