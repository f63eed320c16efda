"""The Markdown pages of the project, as tests read them: code blocks, tables, headings, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tree import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CELLS = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"`([^`]+)`")


class Block(NamedTuple):
    """A fenced block of code.

    Attributes:
        place: the page and line it starts on, for messages.
        heading: the nearest heading above it.
        language: the word after the fence.
        text: what it holds.
    """

    place: str
    heading: str
    language: str
    text: str


class Table(NamedTuple):
    """A table; cells are Markdown.

    Attributes:
        heading: the nearest heading above it.
        before: the line above it.
        head: the first row.
        rows: the others.
    """

    heading: str
    before: str
    head: list[str]
    rows: list[list[str]]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    made = []
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        made.append(Block(f"{page.name}:{line}", _heading_above(text, found.start()), found[1], found[2]))
    return made


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and the output shown below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield line, output


def shows(shown: str, real: str) -> bool:
    """Whether `shown` is `real` but for what stands as ``…``: any lines where it is alone, else part of one line."""
    lines = [r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in shown.splitlines()]
    return re.fullmatch("".join(lines), real) is not None


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def headings(page: Path) -> list[str]:
    """The headings of a page, in order."""
    return _HEADING.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """What links to the headings of a page end in, after the ``#``."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(page)}


def tables(page: Path) -> Iterator[Table]:
    """The tables of a page, in order."""
    text = prose(page)
    for found in re.finditer(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in _CELLS.split(row)[1:-1]] for row in found[0].splitlines()]
        before = text[: found.start()].rstrip().rpartition("\n")[2]
        yield Table(_heading_above(text, found.start()), before, head, rows)


def table(page: Path, above: str, *head: str) -> list[list[str]]:
    """The rows of the one table that stands below `above`, a heading or a line, and begins with the row `head`."""
    (found,) = [
        one for one in tables(page) if above in (one.heading, one.before) and one.head[: len(head)] == list(head)
    ]
    return found.rows


def code(cell: str) -> list[str]:
    """What stands between backquotes, each."""
    return [text.replace(r"\|", "|") for text in _CODE.findall(cell)]


def _heading_above(text: str, at: int) -> str:
    return next((found[1] for found in reversed(list(_HEADING.finditer(text, 0, at)))), "")
