"""The pages on plans, formats and hooks name all that there is."""

from __future__ import annotations

import re
from typing import Any

import click
import pytest
import yaml

import capgate
from capgate.host.cli.plan import command
from capgate.host.cli.reports import FORMATS
from pages import DOCS, anchors, code, prose, table
from tree import ROOT

PLAN, FORMATS_PAGE, PRE_COMMIT = (DOCS / name for name in ("plan.md", "formats.md", "pre-commit.md"))


@pytest.fixture(scope="module")
def hooks() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return loaded


def test_every_option_of_plan_is_documented() -> None:
    listed = {name for row in table(PLAN, "Options", "option") for name in re.findall(r"`(--?[a-z]+)", row[0])}
    real = {name for parameter in command.params if isinstance(parameter, click.Option) for name in parameter.opts}
    assert listed == real | {"-h", "--help"}


def test_every_key_of_a_plan_is_documented() -> None:
    descriptor = dict.fromkeys(("id", "name", "description", "source"), "x") | {"runsIn": "host", "tools": []}
    listed = [name for row in table(PLAN, "JSON", "key") for name in code(row[0])]
    assert sorted(listed) == sorted(capgate.open_gate().plan(descriptor).to_json())


def test_every_format_for_other_tools_has_a_section() -> None:
    listed = {name for row in table(FORMATS_PAGE, "Formats for other tools", "format") for name in code(row[0])}
    assert listed == {*FORMATS} - {"text", "json"}
    assert listed <= anchors(FORMATS_PAGE)


def test_every_hook_is_documented_with_what_it_runs(hooks: list[dict[str, Any]]) -> None:
    listed = {code(row[0])[0]: code(row[1])[0] for row in table(PRE_COMMIT, "pre-commit", "hook")}
    assert listed == {hook["id"]: " ".join([hook["entry"], *hook.get("args", [])]) for hook in hooks}
    assert "rev: FULL-COMMIT-ID" in PRE_COMMIT.read_text(encoding="utf-8")
    assert "check.md#exit-codes" in prose(PRE_COMMIT)
