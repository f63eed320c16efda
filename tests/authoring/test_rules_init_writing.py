"""``capgate rules test --init``: its file appears whole or not at all, over nothing else, and in its own folder."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from capgate.host.cli.rules import starting

Run = Callable[..., Any]
Overlay = Callable[..., Path]
FILE = Path("mine/tests/few-requests.yaml")


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that has no links."""

    def fail(*paths: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", fail)


def test_a_write_that_fails_leaves_nothing_behind(rules: Run, overlay: Overlay) -> None:
    overlay()
    with largest_file(512):
        done = rules("test", "--init", "few-requests", "mine")
    assert (done.code, done.out) == (2, "")
    assert "mine/tests/few-requests.yaml: output-failed: cannot be written: File too large" in done.err
    assert os.listdir("mine/tests") == []
    assert rules("test", "--init", "few-requests", "mine").code == 0


def test_what_reaches_no_medium_leaves_nothing_behind(
    rules: Run, overlay: Overlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert rules("test", "--init", "few-requests", overlay()).code == 2
    assert os.listdir("mine/tests") == []


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_process_that_is_killed_leaves_no_half_file(
    rules: Run, overlay: Overlay, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    overlay()
    pid = os.fork()
    if pid == 0:
        try:
            monkeypatch.setattr(os, call, lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
            rules("test", "--init", "few-requests", "mine")
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert not FILE.exists()
    # What was written beside it is no file of cases, and in nobody's way.
    assert rules("test", "mine").code == 0
    assert rules("test", "--init", "few-requests", "mine").code == 0
    assert rules("test", "mine").code == 0


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_came_in_the_meantime_is_not_overwritten(
    rules: Run, overlay: Overlay, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, links: bool
) -> None:
    if not links:
        request.getfixturevalue("no_links")
    text_of = starting.text_of

    def meanwhile(*arguments: Any) -> str:
        FILE.parent.mkdir()
        FILE.write_text("theirs", encoding="utf-8")
        return text_of(*arguments)

    monkeypatch.setattr(starting, "text_of", meanwhile)
    done = rules("test", "--init", "few-requests", overlay())
    assert done.code == 2
    assert "'mine/tests/few-requests.yaml' is there already" in done.err
    assert os.listdir("mine/tests") == ["few-requests.yaml"]
    assert FILE.read_text(encoding="utf-8") == "theirs"


@pytest.mark.usefixtures("no_links")
def test_a_file_that_cannot_get_its_name_leaves_none_that_is_empty(
    rules: Run, overlay: Overlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*names: Any) -> None:
        raise OSError(errno.EIO, "input/output error")

    overlay()
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", fail)
        done = rules("test", "--init", "few-requests", "mine")
    assert (done.code, "output-failed" in done.err) == (2, True)
    assert os.listdir("mine/tests") == []
    assert rules("test", "--init", "few-requests", "mine").code == 0


@pytest.mark.usefixtures("no_links")
def test_a_file_system_without_links_gets_the_file_too(rules: Run, overlay: Overlay) -> None:
    assert rules("test", "--init", "few-requests", overlay()).code == 0
    assert os.listdir("mine/tests") == ["few-requests.yaml"]
    assert rules("test", "mine").code == 0


@pytest.mark.parametrize("target", ["../outside", "nowhere/../../outside"])
def test_a_folder_of_tests_that_leads_elsewhere_is_not_written_to(rules: Run, overlay: Overlay, target: str) -> None:
    overlay()
    Path("outside").mkdir()
    Path("mine/tests").symlink_to(target)
    done = rules("test", "--init", "few-requests", "mine")
    assert (done.code, done.out) == (2, "")
    assert "mine/tests: output-failed: leads out of the folder of the rules, to " in done.err
    assert "Make it a folder, and no link to another." in done.err
    assert os.listdir("outside") == []


def test_a_folder_of_rules_may_be_a_link_and_so_may_its_tests_within(rules: Run, overlay: Overlay) -> None:
    overlay()
    Path("mine/.cases").mkdir()
    Path("mine/tests").symlink_to(".cases")
    Path("other").symlink_to("mine")
    assert rules("test", "--init", "few-requests", "other").code == 0
    assert os.listdir("mine/.cases") == ["few-requests.yaml"]


@pytest.mark.parametrize("there", ["file", "link"])
def test_what_is_no_folder_is_said_to_be_in_the_way(rules: Run, overlay: Overlay, there: str) -> None:
    overlay()
    tests = Path("mine/tests")
    if there == "file":
        tests.write_text("in the way", encoding="utf-8")
    else:
        tests.symlink_to("nowhere")
    done = rules("test", "--init", "few-requests", "mine")
    assert done.code == 2
    assert "few-requests.yaml: output-failed: 'mine/tests' is no folder (Move it away.)" in done.err
