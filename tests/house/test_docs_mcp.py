"""What the page about the Model Context Protocol lists is what there is."""

from __future__ import annotations

import re

import click
import pytest

from capgate.host.calls.tools import COMMANDS
from capgate.host.cli.mcp import command
from capgate.host.mcp.changes import MOST_LISTENERS
from capgate.host.mcp.http import LARGEST_BODY, MOST_SESSIONS, PATH, TOKEN, McpError
from capgate.host.mcp.server import MOST_CALLS
from capgate.host.mcp.stdio import LONGEST_LINE
from pages import DOCS, code, prose, table
from tree import ROOT

PAGE = DOCS / "mcp.md"


def test_every_option_is_documented_with_its_default() -> None:
    shown = {name for row in table(PAGE, "Over standard input and output", "option") for name in code(row[0])}
    real = {name for parameter in command.params if isinstance(parameter, click.Option) for name in parameter.opts}
    port = next(parameter for parameter in command.params if parameter.name == "port")

    assert {name.split()[0] for name in shown} == real | {"-h", "--help"}
    assert f"{port.default} by default" in prose(PAGE)
    assert f"http://127.0.0.1:{port.default}{PATH}" in prose(PAGE)


def test_the_exit_codes_are_those_of_the_help() -> None:
    assert command.help is not None
    said = {int(number) for number in re.findall(r"^ +(\d)  ", command.help, re.MULTILINE)}
    assert {int(row[0]) for row in table(PAGE, "Over standard input and output", "exit code")} == said


def test_every_error_is_documented_with_its_status_and_what_to_do() -> None:
    listed = {code(row[0])[0]: (int(row[1]), row[2]) for row in table(PAGE, "Over HTTP", "id")}
    assert listed == McpError.answers


@pytest.mark.parametrize("id", McpError.ids)
def test_every_error_is_tested(id: str) -> None:
    tests = (ROOT / "tests/host/mcp_server").glob("*.py")
    assert any(f'"{id}"' in test.read_text(encoding="utf-8") for test in tests)


def test_the_tools_of_the_host_are_listed() -> None:
    shown = [name for row in table(PAGE, "What a client sees", "tool") for name in code(row[0])]
    assert shown == list(COMMANDS)


def test_the_limits_are_the_real_ones() -> None:
    shown = [int(row[1]) for row in table(PAGE, "Limits", "limit")]
    assert shown == [LONGEST_LINE, LARGEST_BODY, MOST_CALLS, MOST_SESSIONS, MOST_LISTENERS]


def test_the_token_is_named() -> None:
    assert f"`{TOKEN}`" in prose(PAGE)
