"""Finds and reads what is to be judged: files, folders, standard input, JSON Lines.

Nothing is silently passed over: what cannot be read is yielded as an error in its place, and the
rest goes on. Paths are plain strings: results name a file as it was given, and pathlib would rewrite that.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from capgate.policy.documents import DocumentError
from capgate.policy.documents.source import MAX_BYTES
from capgate.policy.errors import CapgateError, Span

__all__ = ["STDIN", "STDIN_NAME", "Found", "InputError", "Source", "find", "one", "read", "total_size"]

#: The path that means standard input, and how results name it.
STDIN: Final = "-"
STDIN_NAME: Final = "<stdin>"
_BLANK: Final = b" \t\r\n"


class InputError(CapgateError):
    """Something that was to be judged could not be, for another reason than its JSON."""

    ids = {
        "bad-case": 'Write a descriptor, or {"descriptor": {}, "taken": ["name"], "placement": "machine"}.',
        "no-descriptors": "Name a file, or a folder that holds some.",
        "unknown-placement": "Name a placement that a plugin offers.",
        "unreadable": "Check the name and the permissions; files, folders and - (standard input) can be read.",
    }


class Source(NamedTuple):
    """The bytes of one document.

    Attributes:
        file: the name of its file, as given or found.
        data: the document, at most 1 MiB.
        line: the number of its first line.
    """

    file: str
    data: bytes
    line: int = 1


#: A file to read, or why there is none.
Found: TypeAlias = "str | CapgateError"


def find(paths: Iterable[str], *, lines: bool = False) -> Iterator[Found]:
    """Yields the files that `paths` name, in their order, and walks the folders among them.

    A folder is walked to the bottom, each level by name. Its files are those called ``*.json``, or
    ``*.jsonl`` where `lines` says that JSON Lines are read. Hidden files and folders (a leading
    dot) and linked folders in it are left alone. A folder without any such file is an error.
    """
    suffix = ".jsonl" if lines else ".json"
    for path in paths:
        if _is_folder(path):
            yield from _walk(path, suffix)
        else:
            yield path


def one(path: str) -> Found:
    """`path`, or an error where it names many descriptors and one is asked for."""
    if _is_folder(path):
        return InputError("unreadable", "is a folder", hint="Name one descriptor.", span=Span(path))
    return path


def _ignore(size: int) -> None:
    pass


def read(
    found: Iterable[Found], *, lines: bool = False, advance: Callable[[int], object] = _ignore
) -> Iterator[Source | CapgateError]:
    """Reads what `find` found, one document at a time and never more than 1 MiB of it.

    With `lines` every line of a file is a document of its own; lines of only white space are none.
    `advance` is told the number of bytes done since the last call.
    """
    for item in found:
        if isinstance(item, CapgateError):
            yield item
            continue
        name = STDIN_NAME if item == STDIN else item
        try:
            with _open(item, name) as stream:
                yield from _lines(stream, name, advance) if lines else _whole(stream, name, advance)
        except InputError as fault:
            yield fault
        except (OSError, ValueError) as fault:
            yield _unreadable(name, fault)


def total_size(found: Iterable[Found]) -> int | None:
    """The number of bytes that `read` will pass, or None where standard input is among `found`."""
    size = 0
    for item in found:
        if item == STDIN:
            return None
        if isinstance(item, str):
            try:
                size += os.stat(item).st_size
            except (OSError, ValueError):
                continue  # `read` says so
    return size


def _is_folder(path: str) -> bool:
    try:
        return path != STDIN and stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _walk(root: str, suffix: str) -> Iterator[Found]:
    # A stack of our own: the depth of folders is the submitter's to choose, that of Python's calls is not.
    waiting = [(root, True)]
    passed = False
    while waiting:
        path, is_folder = waiting.pop()
        if not is_folder:
            passed = True
            yield path
            continue
        try:
            waiting += reversed(_entries(path, suffix))
        except OSError as fault:
            passed = True
            yield _unreadable(path, fault)
    if not passed:
        yield InputError(
            "no-descriptors",
            f"the folder holds no *{suffix} file",
            hint="Name a folder that does; hidden files and folders and linked folders in it are not looked at.",
            span=Span(root),
        )


def _entries(folder: str, suffix: str) -> list[tuple[str, bool]]:
    """What to visit in `folder`, by name: the path, and whether it is a folder."""
    visit = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith("."):
                continue
            path = entry.name if folder == "." else entry.path
            if entry.is_dir(follow_symlinks=False):
                visit.append((path, True))
            elif entry.name.lower().endswith(suffix) and not _is_folder(path):
                visit.append((path, False))
    return visit


@contextmanager
def _open(path: str, name: str) -> Iterator[BinaryIO]:
    if path == STDIN:
        # Python has no standard input where the caller closed it.
        if sys.stdin is None:
            raise InputError("unreadable", "standard input is closed", span=Span(name))
        _wait_for_data(sys.stdin.buffer)
        yield sys.stdin.buffer
        return
    # Opening a named pipe would wait for a writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        _wait_for_data(stream)
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise InputError(
                "unreadable", "not a regular file", hint="Pipe it in and name - (standard input).", span=Span(name)
            )
        yield stream


def _wait_for_data(stream: BinaryIO) -> None:
    """Makes reads wait. A pipe may come from a caller that made it non-blocking, and an empty one looks ended."""
    with suppress(OSError, ValueError):  # what is no file of the system, as in a test, waits anyhow
        os.set_blocking(stream.fileno(), True)


def _whole(stream: BinaryIO, name: str, advance: Callable[[int], object]) -> Iterator[Source | CapgateError]:
    data = stream.read(MAX_BYTES + 1)
    yield Source(name, data) if len(data) <= MAX_BYTES else _too_large(Span(name), "document")
    advance(len(data))


def _lines(stream: BinaryIO, name: str, advance: Callable[[int], object]) -> Iterator[Source | CapgateError]:
    number = 0
    passed = False
    # The longest line that may pass ends in CR LF.
    while start := stream.readline(MAX_BYTES + 2):
        number += 1
        size = len(start)
        blank = not start.strip(_BLANK)
        part = start
        while not part.endswith(b"\n") and (part := stream.readline(MAX_BYTES)):
            size += len(part)
            blank = blank and not part.strip(_BLANK)
        if not blank:
            passed = True
            data = start.removesuffix(b"\n").removesuffix(b"\r")
            yield Source(name, data, number) if len(data) <= MAX_BYTES else _too_large(Span(name, number), "line")
        advance(size)
    if not passed:
        yield InputError("no-descriptors", "no line holds a descriptor", span=Span(name))


def _too_large(span: Span, what: str) -> DocumentError:
    return DocumentError("document-too-large", f"the {what} has more than {MAX_BYTES} bytes", span=span)


def _unreadable(name: str, fault: OSError | ValueError) -> InputError:
    reason = fault.strerror if isinstance(fault, OSError) else None
    return InputError("unreadable", reason or str(fault), span=Span(name))
