"""docs/authoring.md and docs/editors.md name every key, option, exit code and error that there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from capgate.host.cli.rules.group import command as group
from capgate.policy.authoring.json_schema import KINDS
from capgate.policy.authoring.trials import TrialError
from capgate.policy.schema import CASES
from pages import DOCS, blocks, code, table

PAGE = DOCS / "authoring.md"
EDITORS = DOCS / "editors.md"
COMMANDS = ("coverage", "explain", "list", "schema", "show", "test")


def options(name: str) -> Iterator[tuple[str, str]]:
    """The options of a command, with their defaults."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            default = parameter.default
            yield parameter.opts[0], str(default) if isinstance(default, str | int) else ""


def test_every_key_of_a_case_is_documented() -> None:
    case = CASES["schema"]["cases"]["schema"]["schema"]
    assert [code(row[0])[0] for row in table(PAGE, "Keys of a case:")] == list(case)
    assert [code(row[0])[0] for row in table(PAGE, "Keys of a case file:")] == list(CASES["schema"])


def test_every_error_is_documented_with_what_to_do() -> None:
    assert {code(row[0])[0]: row[2] for row in table(PAGE, "Errors in tests")} == TrialError.ids


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented_with_its_default(name: str) -> None:
    listed = {}
    for option, of, _, default in table(PAGE, "Options"):
        if of == "all" or (of == "all but schema" and name != "schema") or name in of.split(", "):
            listed[re.findall(r"--[a-z-]+", option)[0]] = default.strip("`").replace("standard output", "")
    assert dict(options(name)) == listed


def test_every_exit_code_is_documented() -> None:
    assert [int(row[0]) for row in table(PAGE, "Exit codes")] == [0, 1, 2, 3, 4, 5]


def test_the_schemas_for_authors_are_documented() -> None:
    listed = [code(row[0])[0] for row in table(EDITORS, "Editors", "schema")]
    assert listed == [kind for kind in KINDS if kind != "shipped-ruleset"]


@pytest.mark.parametrize("page", [PAGE, EDITORS], ids=lambda page: page.name)
def test_the_json_of_a_page_is_json(page: Path) -> None:
    for block in blocks(page):
        if block.language == "json":
            json.loads(block.text)
