"""What a terminal gets: colour, wrapped text, a progress bar."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.host.cli.progress import LONG

Write = Callable[..., Path]

COLUMNS = 60
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(*arguments: str, redirect: str = "", **env: str) -> tuple[int, str]:
    """Runs ``capgate`` on a terminal of 60 columns; returns its exit code and all that the terminal got."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    command = ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-m", "capgate", *arguments]
    environment = {**os.environ, "TERM": "xterm-256color", **env}
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment) as running:
        os.close(its)
        got = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the last process has left the terminal
                break
            if not part:
                break
            got += part
    os.close(ours)
    return running.returncode, got.decode()


@pytest.fixture
def many(write: Write, clock: Any) -> int:
    """Writes enough descriptors for a long run; returns how many."""
    count = LONG + 50
    for number in range(count):
        write(f"in/{number:04}.json", clock)
    return count


def test_a_terminal_gets_colour(write: Write, clock: Any, launcher: Any) -> None:
    write("a.json", clock)
    write("b.json", launcher)
    code, got = on_terminal("check")
    assert code == 1
    assert "\x1b[32m\x1b[1madmitted\x1b[0m" in got
    assert "\x1b[31m\x1b[1mrefused\x1b[0m" in got


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_gets_no_colour_where_none_is_wanted(env: dict[str, str], write: Write, launcher: Any) -> None:
    write("b.json", launcher)
    code, got = on_terminal("check", **env)
    assert code == 1
    assert "\x1b" not in got


def test_an_empty_no_color_does_not_count(write: Write, launcher: Any) -> None:
    write("b.json", launcher)
    assert "\x1b[31m" in on_terminal("check", NO_COLOR="")[1]


def test_json_on_a_terminal_has_no_colour(write: Write, launcher: Any) -> None:
    write("b.json", launcher)
    got = on_terminal("check", "--format", "json")[1]
    assert json.loads(got)["summary"]["refused"] == 1


def test_text_is_wrapped_to_the_terminal(write: Write, launcher: Any) -> None:
    write("b.json", launcher)
    rows = CONTROL.sub("", on_terminal("check")[1]).splitlines()
    assert max(map(len, rows)) <= COLUMNS
    assert len([row for row in rows if row.startswith("      ")]) > 4
    wide = CONTROL.sub("", on_terminal("check", COLUMNS="1000")[1]).splitlines()
    assert max(map(len, wide)) > COLUMNS


def test_a_long_run_shows_a_progress_bar_that_is_gone_at_the_end(many: int) -> None:
    code, got = on_terminal("check", "in")
    assert code == 0
    assert f"{many} judged" in got
    assert "━" in got
    # The last thing before the summary is that the bar's line is cleared.
    before, _, summary = got.rpartition("\x1b[2K")
    assert "judged" in before
    assert CONTROL.sub("", summary).strip() == f"{many} admitted, 0 refused, 0 warned, 0 errors"


def test_the_report_around_a_progress_bar_is_whole(many: int) -> None:
    shown = CONTROL.sub("", on_terminal("check", "in")[1])
    assert re.findall(r"in/(\d{4})\.json: admitted", shown) == [f"{number:04}" for number in range(many)]


def test_a_bar_is_drawn_while_the_report_goes_elsewhere(many: int, folder: Path) -> None:
    code, got = on_terminal("check", "in", "--format", "json", redirect=">report.json")
    assert code == 0
    assert "━" in got
    assert json.loads((folder / "report.json").read_text())["summary"]["admitted"] == many


def test_a_bar_without_colour_has_none(many: int) -> None:
    got = on_terminal("check", "in", NO_COLOR="1")[1]
    assert "judged" in got
    assert re.search(r"\x1b\[[0-9;]*m", got.replace("\x1b[0m", "")) is None


def test_lines_of_unknown_number_have_a_bar_too(write: Write, clock: Any) -> None:
    write("many.jsonl", (json.dumps(clock) + "\n") * (LONG + 50))
    code, got = on_terminal("check", "--lines", "-", redirect="<many.jsonl")
    assert code == 0
    assert f"{LONG + 50} judged" in got


@pytest.mark.parametrize(
    ("arguments", "redirect", "env"),
    [
        (["in/0001.json"], "", {}),
        (["in"], "2>errors", {}),
        (["in"], "", {"TERM": "dumb"}),
    ],
    ids=["short", "standard error elsewhere", "dumb terminal"],
)
def test_no_bar(arguments: list[str], redirect: str, env: dict[str, str], many: int, folder: Path) -> None:
    code, got = on_terminal("check", *arguments, redirect=redirect, **env)
    assert code == 0
    assert "judged" not in got
    if redirect:
        assert (folder / "errors").read_bytes() == b""


def test_an_invalid_policy_is_shown_on_the_terminal(write: Write, clock: Any, broken_rules: Path) -> None:
    write("a.json", clock)
    code, got = on_terminal("check", "--rules", str(broken_rules))
    assert code == 3
    assert "half.yaml" in got
