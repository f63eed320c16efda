"""A folder that somebody keeps swapping for a link: never a byte of the outside gets in, or one of ours out (11.17)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from capgate.host.mediation.files import FileReader, FileWriter
from capgate.plugins.api import Refused
from failing import QuickDisk

pytestmark = pytest.mark.long

#: How long it is tried, in seconds; `make soak` takes 60.
SECONDS = float(os.environ.get("CAPGATE_SWAP_SECONDS", "5"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a folder, and outside of it a folder and a file of the same names."""
    for folder, text in ((tmp_path / "root/folder", "inside"), (tmp_path / "outside", "outside")):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text(text)
    return tmp_path / "root"


@contextmanager
def swapping(root: Path) -> Iterator[Callable[[], int]]:
    """Swaps the folder and the file in it for links to the outside, and back, all the time, in a second thread."""
    folder, aside, link = root / "folder", root / "aside", root / "link"
    stop = threading.Event()
    count = 0

    def swap() -> None:
        nonlocal count
        while not stop.is_set():
            link.symlink_to("../outside")
            os.rename(folder, aside)
            os.rename(link, folder)
            os.unlink(folder)
            os.rename(aside, folder)
            count += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield lambda: count
    finally:
        stop.set()
        thread.join()


def test_no_byte_gets_out_or_in(root: Path) -> None:
    reader = FileReader(lambda: root, workspace=root)
    writer = FileWriter(lambda: root, {}, workspace=root, disk=QuickDisk())
    done = refused = 0
    end = time.monotonic() + SECONDS
    with swapping(root) as swaps:
        while time.monotonic() < end:
            try:
                assert reader.text("folder/a.txt") == "inside"
                done += 1
            except Refused as error:
                assert error.id in ("outside-root", "missing")
                refused += 1
            try:
                writer.text("folder/a.txt", "inside")
                writer.text("folder/new.txt", "inside")
                done += 1
            except Refused as error:
                assert error.id in ("outside-root", "missing-parent")
                refused += 1

    outside = root.parent / "outside"
    assert os.listdir(outside) == ["a.txt"]
    assert (outside / "a.txt").read_text() == "outside"
    assert min(swaps(), done, refused) > SECONDS * 10, "the folder was hardly ever swapped between two acts"


def test_looking_first_and_opening_then_would_let_bytes_out(root: Path) -> None:
    """The race is one that a reader without descriptors loses; or the test above would show nothing."""
    end = time.monotonic() + 60
    with swapping(root):
        while time.monotonic() < end:
            path = root / "folder/a.txt"
            with suppress(OSError):
                if os.path.realpath(path).startswith(f"{root}/") and path.read_text() == "outside":
                    return
    pytest.fail("nobody lost the race")
