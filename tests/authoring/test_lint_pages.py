"""Every check has a page, and what the pages show is so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.policy.authoring.lint.checks import CHECKS, SUPPRESSIONS
from lint_samples import ids, said_of_page
from pages import DOCS, blocks, commands, headings, table

FOLDER = DOCS / "lint"
INDEX = FOLDER / "README.md"
#: There is no rule file in which a comment could ignore these.
NO_FILE = ("fact-unused", "cerberus-differs")


def page(id: str) -> Path:
    return FOLDER / f"{id}.md"


def block(id: str, heading: str, language: str = "yaml") -> str:
    (found,) = [one.text for one in blocks(page(id)) if (one.heading, one.language) == (heading, language)]
    return found


def test_there_are_at_least_25_checks_and_each_has_a_page() -> None:
    assert len(CHECKS) >= 25
    assert {file.stem for file in FOLDER.glob("*.md")} == {*CHECKS, "README"}


def test_the_index_lists_every_check_with_its_summary() -> None:
    assert table(INDEX, "The checks", "check") == [[f"[{id}]({id}.md)", text] for id, text in CHECKS.items()]


def test_the_index_shows_what_the_command_says_of_the_shipped_rules(rules: Callable[..., Any]) -> None:
    shown = [pair for one in blocks(INDEX) if one.language == "console" for pair in commands(one)]
    assert shown == [("capgate rules lint", rules("lint").out)]


@pytest.mark.parametrize("id", CHECKS)
def test_a_page_has_all_its_parts(id: str) -> None:
    text = page(id).read_text(encoding="utf-8")
    assert headings(page(id)) == [id, "Wrong", "Right", "When it is meant"]
    assert text.startswith(f"# {id}\n\n{CHECKS[id][0].upper()}{CHECKS[id][1:]}.\n\n")
    ignoring = f"# capgate: ignore {id} because …" in text.partition("## When it is meant")[2]
    assert ignoring is (id not in (*SUPPRESSIONS, *NO_FILE))


@pytest.mark.parametrize("id", CHECKS)
def test_what_a_page_calls_wrong_is_found_with_the_message_shown(id: str, tmp_path: Path) -> None:
    found = said_of_page(id, block(id, "Wrong"), tmp_path / "my-rules")
    messages = [finding.message.replace(str(tmp_path) + "/", "") for finding in found if finding.check == id]
    assert block(id, "Wrong", "text") == messages[0] + "\n"


@pytest.mark.parametrize("id", CHECKS)
def test_in_what_a_page_calls_right_nothing_is_found(id: str, tmp_path: Path) -> None:
    found = said_of_page(id, block(id, "Right"), tmp_path / "my-rules")
    assert ids(found) == set()
    assert id not in {finding.check for finding in found}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.md")), ids=lambda file: file.stem)
def test_every_link_of_a_page_leads_to_a_file(file: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", file.read_text(encoding="utf-8"))
    assert [target for target in targets if not (file.parent / target).is_file()] == []
