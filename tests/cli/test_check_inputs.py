"""What ``capgate check`` reads: files, folders, standard input."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capgate.host.inputs import find, read

Run = Callable[..., Any]
Write = Callable[..., Path]

MIB = 1024 * 1024


def files(done: Any) -> list[str]:
    return [result["file"] for result in done.results]


def errors(done: Any) -> list[tuple[str, str]]:
    return [(result["file"], result["rule"]) for result in done.results if result["decision"] == "error"]


def test_without_a_path_the_current_folder_is_judged(capgate: Run, write: Write, clock: Any) -> None:
    write("sub/b.json", clock)
    write("a.json", clock)
    assert files(capgate("check", "--format", "json")) == ["a.json", "sub/b.json"]


def test_a_folder_is_walked_by_name_level_by_level(capgate: Run, write: Write, clock: Any) -> None:
    for name in ("z.json", "B.json", "m/deep/er/x.json", "m/a.json", "a.json", "m/z.json"):
        write(f"root/{name}", clock)
    expected = ["B.json", "a.json", "m/a.json", "m/deep/er/x.json", "m/z.json", "z.json"]
    assert files(capgate("check", "--format", "json", "root")) == [f"root/{name}" for name in expected]


def test_only_files_that_end_in_json_are_walked_whatever_their_case(capgate: Run, write: Write, clock: Any) -> None:
    for name in ("a.json", "b.JSON", "c.jsonl", "d.yaml", "json", "e.json.bak"):
        write(name, clock)
    assert files(capgate("check", "--format", "json")) == ["a.json", "b.JSON"]
    assert files(capgate("check", "--format", "json", "e.json.bak")) == ["e.json.bak"]


def test_hidden_files_and_folders_are_judged_only_when_named(capgate: Run, write: Write, clock: Any) -> None:
    for name in ("a.json", ".hidden.json", ".git/b.json"):
        write(name, clock)
    assert files(capgate("check", "--format", "json")) == ["a.json"]
    assert files(capgate("check", "--format", "json", ".hidden.json", ".git")) == [".hidden.json", ".git/b.json"]


def test_linked_files_are_followed_and_linked_folders_are_not(
    capgate: Run, write: Write, clock: Any, folder: Path
) -> None:
    write("real/a.json", clock)
    (folder / "in").mkdir()
    (folder / "in/file.json").symlink_to(folder / "real/a.json")
    (folder / "in/folder").symlink_to(folder / "real")
    (folder / "in/folder.json").symlink_to(folder / "real")
    (folder / "in/loop").symlink_to(folder / "in")
    assert files(capgate("check", "--format", "json", "in")) == ["in/file.json"]
    assert files(capgate("check", "--format", "json", "in/folder")) == ["in/folder/a.json"]


@pytest.fixture
def deep(folder: Path) -> Iterator[int]:
    """Makes a descriptor under more folders than Python has room for calls; yields how many."""
    depth = 1100
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("x.json", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    yield depth
    # What removes the test's folder later would run out of calls.
    subprocess.run(["rm", "-rf", folder / "d"], check=True)


def test_very_deep_folders_are_walked(deep: int) -> None:
    assert list(find(["."])) == ["d/" * deep + "x.json"]


def test_a_folder_without_descriptors_is_an_error(capgate: Run, write: Write) -> None:
    write("docs/readme.txt", "hello")
    done = capgate("check", "--format", "json", "docs", ".")
    assert done.code == 4
    assert errors(done) == [("docs", "no-descriptors"), (".", "no-descriptors")]
    assert [result["line"] for result in done.results] == [None, None]


def test_what_is_missing_or_no_regular_file_is_an_error_and_the_rest_goes_on(
    capgate: Run, write: Write, clock: Any, folder: Path
) -> None:
    write("z.json", clock)
    os.mkfifo(folder / "pipe.json")
    (folder / "dangling.json").symlink_to("nowhere")
    (folder / "itself.json").symlink_to("itself.json")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.json")
        done = capgate("check", "--format", "json", "missing.json", "", ".", "/dev/null")
    assert done.code == 4
    assert errors(done) == [
        ("missing.json", "unreadable"),
        ("", "unreadable"),
        ("dangling.json", "unreadable"),
        ("itself.json", "unreadable"),
        ("pipe.json", "unreadable"),
        ("socket.json", "unreadable"),
        ("/dev/null", "unreadable"),
    ]
    assert done.json["summary"] == {"admitted": 1, "refused": 0, "warned": 0, "errors": 7}


def test_a_file_that_may_not_be_read_is_an_error(
    capgate: Run, write: Write, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The permission itself would not stop a test that root runs.
    write("a.json", clock)
    write("b.json", clock)
    real = os.open

    def open_(path: str, *arguments: Any, **options: Any) -> int:
        if path == "a.json":
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", open_)
    done = capgate("check", "--format", "json")
    assert [(r["file"], r["rule"], r["why"]) for r in done.results] == [
        ("a.json", "unreadable", "Permission denied"),
        ("b.json", None, None),
    ]


def test_a_folder_that_cannot_be_listed_is_an_error(
    capgate: Run, write: Write, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a/x.json", clock)
    write("b/x.json", clock)
    real = os.scandir

    def scandir(path: str) -> Any:
        if path == "a":
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    done = capgate("check", "--format", "json", "a", ".")
    # One error a folder: what could not be listed is not said to be empty as well.
    assert [(r["file"], r["decision"], r["why"]) for r in done.results] == [
        ("a", "error", "Permission denied"),
        ("a", "error", "Permission denied"),
        ("b/x.json", "admitted", None),
    ]


def test_a_path_that_no_system_knows_is_an_error_not_an_exception() -> None:
    (error,) = read(find(["a\0b.json"]))
    assert getattr(error, "id", None) == "unreadable"


def test_standard_input_is_one_descriptor(capgate: Run, clock: Any) -> None:
    done = capgate("check", "-", stdin=json.dumps(clock).encode())
    assert done.out.splitlines()[0] == "<stdin>: admitted"


def test_a_file_called_dash_is_named_with_its_folder(capgate: Run, write: Write, clock: Any) -> None:
    write("-", clock)
    assert files(capgate("check", "--format", "json", "./-", stdin=b"{}")) == ["./-"]


def test_empty_standard_input_is_an_error(capgate: Run) -> None:
    done = capgate("check", "--format", "json", "-")
    assert errors(done) == [("<stdin>", "empty-document")]


def test_closed_standard_input_is_an_error(process: Run) -> None:
    done = process("check", "--format", "json", "-", shell='exec "$@" <&-')
    assert (done.code, errors(done)) == (4, [("<stdin>", "unreadable")])


def test_standard_input_that_cannot_be_read_is_an_error(process: Run) -> None:
    done = process("check", "--format", "json", "-", shell='exec "$@" 0>only-for-writing')
    assert (done.code, errors(done)) == (4, [("<stdin>", "unreadable")])


@pytest.mark.parametrize("size", [MIB, MIB + 1])
@pytest.mark.parametrize("how", ["file", "stdin"])
def test_a_document_may_have_a_mebibyte_and_no_more(
    size: int, how: str, capgate: Run, write: Write, clock: Any
) -> None:
    data = json.dumps(clock).encode().ljust(size)
    write("big.json", data)
    done = capgate("check", "--format", "json", *(["-"] if how == "stdin" else []), stdin=data)
    assert [result["rule"] for result in done.results] == [None if size == MIB else "document-too-large"]


def test_a_huge_file_is_never_read_whole(folder: Path) -> None:
    with (folder / "huge.json").open("wb") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    try:
        (error,) = read(find(["."]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert getattr(error, "id", None) == "document-too-large"
    assert peak < 4 * MIB


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "a document"])
def test_a_pipe_that_would_not_wait_is_made_to_wait(lines: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Otherwise "nothing there yet" looks like the end, and what comes later is never judged.
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with open(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(b'{"tools": []}\n')
        assert len(list(read(find(["-"], lines=lines), lines=lines, advance=lambda count: None))) == 1
        assert os.get_blocking(reading)
