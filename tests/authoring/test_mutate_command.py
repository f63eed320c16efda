"""``capgate rules mutate`` as a command: what ends it early, and where its report goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rules = Callable[..., Any]
Overlay = Callable[..., Path]


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_invalid_policy_ends_with_3(rules: Rules, overlay: Overlay, form: str) -> None:
    done = rules("mutate", overlay(old="max: 15", new="maximum: 15"), "--format", form)
    assert done.code == 3
    assert "operator-unknown" in done.err
    if form == "json":
        assert done.json["summary"] == {"mutants": 0, "noticed": 0, "unnoticed": 0, "percent": 0.0, "equivalent": 0}


def test_a_test_that_cannot_be_read_ends_with_4(rules: Rules, overlay: Overlay) -> None:
    done = rules("mutate", overlay(cases="cases: 5\n"))
    assert done.code == 4
    assert "value-unfit" in done.out


@pytest.mark.parametrize(
    "arguments",
    [("--rule", "nobody"), ("--fail-under", "101"), ("--fail-under", "nan"), ("--jobs", "0"), ("nowhere",)],
)
def test_a_wrong_command_line_ends_with_2(rules: Rules, arguments: tuple[str, ...]) -> None:
    assert rules("mutate", *arguments).code == 2


def test_the_report_goes_to_a_file(rules: Rules, overlay: Overlay, folder: Path) -> None:
    done = rules("mutate", overlay(), "--output", "report.txt")
    assert done.out == ""
    assert (folder / "report.txt").read_text(encoding="utf-8").endswith("capgate: that is less than 95 %\n")
