"""Roots for the tests of files: one that anybody may enter, and somebody who may not do all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["acting_as_nobody", "descriptors", "open_folder"]

_NOBODY = 65534


@contextmanager
def open_folder() -> Iterator[Path]:
    """A new folder that every user of the machine may enter and write; those that pytest makes are closed to others."""
    folder = Path(os.path.realpath(tempfile.mkdtemp()))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def acting_as_nobody() -> Iterator[None]:
    """Root may do everything, so a test that root runs is somebody else for a moment; for others nothing changes."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def descriptors() -> set[str]:
    """What this process has open."""
    return set(os.listdir("/proc/self/fd"))
