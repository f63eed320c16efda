"""Puts new files onto the disk: all of them or none, and never over what is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from capgate.host.scaffolds.errors import ScaffoldError
from capgate.policy.errors import Span

__all__ = ["new_file", "new_files", "new_folder"]


def new_file(path: str, text: str) -> None:
    """Writes a file that was not there.

    Raises:
        ScaffoldError: target-exists, target-unwritable.
    """
    with _named(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
        except BaseException:
            with suppress(OSError):
                os.unlink(path)
            raise


def new_files(folder: str, files: Mapping[str, str]) -> None:
    """Writes files that were not there, by their paths in a folder that is.

    Raises:
        ScaffoldError: target-exists, target-unwritable.
    """
    made: list[tuple[Callable[[str], None], str]] = []
    try:
        for inside, text in files.items():
            path = os.path.join(folder, inside)
            home = os.path.dirname(path)
            if not os.path.lexists(home):
                with _named(path):
                    os.mkdir(home)
                made.append((os.rmdir, home))
            new_file(path, text)
            made.append((os.unlink, path))
    except BaseException:
        for undo, path in reversed(made):
            with suppress(OSError):
                undo(path)
        raise


def new_folder(path: str, files: Mapping[str, str]) -> None:
    """Makes a folder that was not there, with `files` in it, by their paths.

    It is made beside its place under a hidden name, and moved there once it is whole.

    Raises:
        ScaffoldError: target-exists, target-unwritable.
    """
    with _named(path):
        if os.path.lexists(path):
            raise FileExistsError
        parent, name = os.path.split(os.path.abspath(path))
        beside = os.path.join(parent, f".{name[:200]}.{os.urandom(6).hex()}.tmp")
        os.mkdir(beside)
        try:
            for inside, text in files.items():
                target = os.path.join(beside, inside)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                new_file(target, text)
            # Does not replace what came there in the meantime, an empty folder apart.
            os.rename(beside, path)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Turns what the system refuses into an error that names `path`."""
    try:
        yield
    except FileExistsError:
        raise ScaffoldError("target-exists", "is there already", span=Span(path)) from None
    except (OSError, ValueError) as fault:
        if isinstance(fault, ScaffoldError):
            raise ScaffoldError(fault.id, fault.message, span=Span(path)) from None
        reason = fault.strerror if isinstance(fault, OSError) else None
        raise ScaffoldError("target-unwritable", f"cannot be written: {reason or fault}", span=Span(path)) from None
