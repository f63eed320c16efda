"""What is said to those who name a rule or a folder of rules as another command wants it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Overlay = Callable[..., Path]


@pytest.fixture(autouse=True)
def here(overlay: Overlay, write: Callable[..., Path]) -> None:
    """A folder of rules of one's own, and a descriptor."""
    overlay()
    write("clock.json", {"tools": [{"name": "a", "primitive": "now"}]})


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (["show", "few-requests"], "capgate rules show ID --rules DIR"),
        (["explain", "few-requests", "clock.json"], "capgate rules explain ID PATH --rules DIR"),
        (["test", "--init", "few-requests"], "capgate rules test --init ID DIR"),
    ],
)
def test_a_rule_that_is_not_found_may_be_in_a_folder_that_was_not_named(
    rules: Run, arguments: list[str], usage: str
) -> None:
    done = rules(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "no rule is called 'few-requests'. Use one of: absent-capability, " in done.err
    assert done.err.endswith(f" Of rules of your own, name the folder, too: {usage}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "few-request", "--rules", "mine"],
        ["explain", "few-request", "clock.json", "--rules", "mine"],
        ["test", "--init", "few-request", "mine"],
    ],
)
def test_where_a_folder_was_named_only_the_nearest_rule_is(rules: Run, arguments: list[str]) -> None:
    done = rules(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("no rule is called 'few-request'. Did you mean 'few-requests'?\n")


@pytest.mark.parametrize("command", ["test", "lint", "coverage", "mutate"])
@pytest.mark.parametrize("arguments", [["--rules", "mine"], ["--rules=mine"]])
def test_a_folder_that_is_an_argument_and_was_given_as_an_option(
    rules: Run, command: str, arguments: list[str]
) -> None:
    done = rules(command, *arguments)
    assert (done.code, done.out) == (2, "")
    said = f"No such option: --rules. Folders of rules are arguments here: capgate rules {command} DIR\n"
    assert done.err.endswith(said)
    assert done.err.startswith(f"Usage: capgate rules {command} ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "mine"],
        ["show", "few-requests", "mine"],
        ["explain", "few-requests", "clock.json", "mine"],
        ["schema", "rule", "mine"],
    ],
)
def test_a_folder_that_is_an_option_and_was_given_as_an_argument(rules: Run, arguments: list[str]) -> None:
    done = rules(*arguments)
    assert (done.code, done.out) == (2, "")
    said = "Got unexpected extra argument (mine). Folders of rules are named with an option here: --rules DIR\n"
    assert done.err.endswith(said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["test", "--bogus"], "No such option"),
        (["diff", "--rules", "mine", "mine"], "No such option"),
        (["list", "--bogus"], "No such option"),
        (["diff", "mine", "mine", "extra", "--count", "1"], ""),
        (["show"], "Missing argument 'ID'"),
        (["nothing"], "No such command"),
    ],
)
def test_other_mistakes_are_said_as_they_are(rules: Run, arguments: list[str], said: str) -> None:
    done = rules(*arguments)
    assert done.code == 2
    assert said in done.err
    assert "olders of rules" not in done.err
