"""/api/root, /api/files, /api/file: the active root, and nothing outside of it (contract 4, 7, 11.17, 11.25, 11.34)."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from web_server import Server


@pytest.fixture
def root(server: Server) -> Path:
    """The active root, with files in it and one beside it."""
    folder: Path = server.settings.workspace
    for name, text in {
        "notes.md": "# Notes\n",
        "sub/deep/a.txt": "deep",
        "sub/.env": "hush",
        ".hidden": "hush",
        ".audit/extensions.jsonl": "hush",
        "audit.jsonl": "hush",
        "audit.jsonl.1": "hush",
        "proposals/x.json": "hush",
        "../outside.txt": "hush",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read(server: Server, name: str) -> Any:
    return server.get("/api/file", params={"name": name})


def test_the_workspace_is_the_root_where_it_was_named(server: Server, root: Path) -> None:
    assert server.get("/api/files").json() == {"ok": True, "files": ["notes.md", "sub"]}
    assert read(server, "notes.md").json() == {"ok": True, "name": "notes.md", "content": "# Notes\n"}


@pytest.mark.parametrize("path", ["/api/files", "/api/file?name=x"])
def test_without_a_root_there_are_no_files(make_server: Callable[..., Server], path: str) -> None:
    answer = make_server(has_root=False).get(path)

    assert (answer.status_code, answer.json()["refused"]) == (409, "root-not-declared")


@pytest.mark.parametrize(
    ("name", "content"),
    [("sub/deep/a.txt", "deep"), ("./sub//./deep/a.txt", "deep"), ("inside", "deep"), ("up/deep/a.txt", "deep")],
)
def test_a_file_below_the_root_is_read(server: Server, root: Path, name: str, content: str) -> None:
    (root / "inside").symlink_to("sub/deep/a.txt")
    (root / "sub/up").symlink_to("..")
    (root / "up").symlink_to("sub/up/sub")

    assert read(server, name).json()["content"] == content


@pytest.mark.parametrize(
    ("name", "status", "refused"),
    [
        ("", 403, "outside-root"),
        (" ", 403, "outside-root"),
        (".", 403, "outside-root"),
        ("/", 403, "outside-root"),
        ("/etc/passwd", 403, "outside-root"),
        ("..", 403, "outside-root"),
        ("../outside.txt", 403, "outside-root"),
        ("sub/../notes.md", 403, "outside-root"),
        ("../.ssh/x", 403, "outside-root"),
        ("out", 403, "outside-root"),
        ("out-absolute", 403, "outside-root"),
        ("out-folder/outside.txt", 403, "outside-root"),
        ("out-folder/new.txt", 403, "outside-root"),
        ("out-prefix", 403, "outside-root"),
        (".audit/x", 403, "protected-audit"),
        (".audit/extensions.jsonl", 403, "protected-audit"),
        (".AUDIT/x", 403, "protected-audit"),
        ("audit.jsonl", 403, "protected-audit"),
        ("Audit.jsonl", 403, "protected-audit"),
        ("audit.jsonl.1", 403, "protected-audit"),
        ("proposals/x.json", 403, "protected-audit"),
        ("proposals", 403, "protected-audit"),
        ("to-audit", 403, "protected-audit"),
        ("to-hidden", 403, "dotfile-refused"),
        (".hidden", 403, "dotfile-refused"),
        (".host-token", 403, "dotfile-refused"),
        ("sub/.env", 403, "dotfile-refused"),
        (".missing/x", 403, "dotfile-refused"),
        ("a\0b", 403, "bad-path"),
        ("x" * 256, 403, "bad-path"),
        ("ä" * 128, 403, "bad-path"),
        ("missing.md", 404, "missing"),
        ("notes.md/x", 404, "missing"),
        ("sub", 403, "not-a-file"),
        ("notes.md/", 403, "not-a-file"),
        ("pipe", 403, "not-a-file"),
        ("socket", 403, "not-a-file"),
        ("loop", 403, "unreadable"),
        ("binary", 403, "not-text"),
        ("large", 403, "over-budget"),
    ],
)
def test_anything_else_is_refused_by_its_own_id(
    server: Server, root: Path, monkeypatch: pytest.MonkeyPatch, name: str, status: int, refused: str
) -> None:
    (root / "out").symlink_to("../outside.txt")
    (root / "out-absolute").symlink_to(root.parent / "outside.txt")
    (root / "out-folder").symlink_to("..")
    (root / "out-prefix").symlink_to(f"{root}-other/x")
    (root / "to-audit").symlink_to(root / "audit.jsonl")
    (root / "to-hidden").symlink_to("sub/.env")
    (root / "loop").symlink_to("loop")
    (root / "binary").write_bytes(b"\xff")
    (root / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        answer = read(server, name)

    assert (answer.status_code, answer.json()["refused"]) == (status, refused)
    assert "hush" not in answer.text
    if refused == "dotfile-refused":
        assert "host secrets live behind that line" in answer.json()["why"]


def test_a_file_that_fits_is_read_whole(server: Server, root: Path) -> None:
    (root / "fits").write_bytes(b"x" * 1024 * 1024)

    assert len(read(server, "fits").json()["content"]) == 1024 * 1024


def test_a_name_is_needed(server: Server, root: Path) -> None:
    assert server.get("/api/file").json()["refused"] == "bad-request"


def test_a_name_that_is_no_text_does_not_break_the_list(server: Server, root: Path) -> None:
    os.close(os.open(os.fsencode(root) + b"/\xff.txt", os.O_CREAT))

    assert len(server.get("/api/files").json()["files"]) == 3


# Declaring


def declare(server: Server, root: Any, **more: Any) -> Any:
    return server.post("/api/root", {"project": "atlas", "root": root, **more}, token=True)


def test_a_folder_is_declared(server: Server, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/a.txt").write_text("a")
    (tmp_path / "link").symlink_to("project")
    answer = declare(server, {"kind": "machine", "path": str(tmp_path / "link")})

    assert answer.status_code == 200
    path = str(tmp_path / "project")
    assert answer.json() == {
        "ok": True,
        "root": {"kind": "machine", "path": path},
        "project": "atlas",
        "actsVia": "server",
    }
    assert server.get("/api/files").json()["files"] == ["a.txt"]


@pytest.mark.parametrize("kind", ["opfs", "handle"])
def test_a_pages_root_is_reached_through_the_page(server: Server, kind: str) -> None:
    answer = declare(server, {"kind": kind})
    assert (answer.json()["ok"], answer.json()["actsVia"]) == (True, "page")

    answer = server.get("/api/files")
    assert (answer.status_code, answer.json()["refused"], answer.json()["via"]) == (409, "no-page", "page")


@pytest.mark.parametrize(
    ("root", "refused"),
    [
        (None, "bad-request"),
        ({}, "bad-request"),
        ({"kind": "moon"}, "bad-request"),
        ({"kind": ["machine"]}, "bad-request"),
        ({"kind": "machine"}, "bad-request"),
        ({"kind": "machine", "path": "relative"}, "bad-request"),
        ({"kind": "machine", "path": "/a\0b"}, "bad-request"),
        ({"kind": "machine", "path": 7}, "bad-request"),
        ({"kind": "machine", "path": "/nowhere/at/all"}, "bad-root"),
        ({"kind": "machine", "path": "/"}, "bad-root"),
        ({"kind": "machine", "path": "{extensions}"}, "bad-root"),
        ({"kind": "machine", "path": "{extensions}/.."}, "bad-root"),
    ],
)
def test_another_root_is_refused_and_the_old_one_stays(server: Server, root: Any, refused: str) -> None:
    before = server.get("/api/files").json()
    if isinstance(root, dict) and isinstance(root.get("path"), str):
        root = root | {"path": root["path"].replace("{extensions}", str(server.settings.extensions))}
    answer = declare(server, root)

    assert (answer.status_code, answer.json()["refused"]) == (400, refused)
    assert server.get("/api/files").json() == before


def test_a_project_is_a_text(server: Server) -> None:
    assert declare(server, {"kind": "opfs"}, project=7).json()["refused"] == "bad-request"


def test_a_root_that_went_away_is_unreadable(server: Server, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    declare(server, {"kind": "machine", "path": str(tmp_path / "gone")})
    (tmp_path / "gone").rmdir()

    for path in ("/api/files", "/api/file?name=x"):
        answer = server.get(path)
        assert (answer.status_code, answer.json()["refused"]) == (403, "unreadable")
