"""``--output FORMAT:FILE``: several reports of one run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.host.cli.reports import FORMATS

Run = Callable[..., Any]
Write = Callable[..., Path]


def timeless(text: str) -> str:
    """A report without the one thing that depends on when it was made."""
    return re.sub(r'timestamp="[^"]*"', "", text)


@pytest.fixture
def inputs(write: Write, clock: Any, launcher: Any) -> str:
    write("in/a.json", clock)
    write("in/bücher.json", launcher)
    write("in/c.json", "{")
    return "in"


@pytest.mark.parametrize("main", FORMATS)
def test_every_format_at_once_says_what_each_says_alone(main: str, inputs: str, capgate: Run, folder: Path) -> None:
    alone = {form: timeless(capgate("check", inputs, "--format", form).out) for form in FORMATS}
    outputs = [f"--output={form}:report.{form}" for form in FORMATS]
    done = capgate("check", inputs, "--format", main, *outputs)
    assert (done.code, done.err) == (4, "")
    assert timeless(done.out) == alone[main]
    written = {form: timeless((folder / f"report.{form}").read_text(encoding="utf-8")) for form in FORMATS}
    assert written == alone
    assert len(set(alone.values())) == len(FORMATS)


def test_a_plain_file_takes_the_main_report_and_leaves_nothing_to_standard_output(
    inputs: str, capgate: Run, folder: Path
) -> None:
    done = capgate("check", inputs, "--output", "sarif:log.sarif", "--format", "json", "--output", "report")
    assert (done.code, done.out, done.err) == (4, "", "")
    assert (folder / "report").read_text().startswith('{"policy"')
    assert (folder / "log.sarif").read_text().startswith('{"$schema"')


@pytest.mark.parametrize("name", ["bogus:report", "a:b:c", "Sarif:x", "C:report"])
def test_a_misspelt_format_is_refused_and_nothing_is_written(
    name: str, inputs: str, capgate: Run, folder: Path
) -> None:
    done = capgate("check", inputs, "--output", name)
    assert (done.code, done.out) == (2, "")
    assert f"is none of the formats {', '.join(FORMATS)}" in " ".join(done.err.split())
    assert not (folder / name).exists()


@pytest.mark.parametrize("name", [":report", "./json:report", "re-port:x", "./bogus:report"])
def test_what_is_before_a_colon_and_no_word_belongs_to_the_file(
    name: str, inputs: str, capgate: Run, folder: Path
) -> None:
    done = capgate("check", inputs, "--output", name)
    assert (done.code, done.out) == (4, "")
    assert (folder / name).is_file()


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (["a", "b"], "both without a format"),
        (["json:x", "sarif:x"], "two reports would go to"),
        (["json:x", "./in/../x"], "two reports would go to"),
        (["json:x", "sarif:link"], "two reports would go to"),
    ],
)
def test_two_reports_never_go_to_one_place(
    outputs: list[str], said: str, inputs: str, capgate: Run, folder: Path
) -> None:
    (folder / "link").symlink_to("x")
    before = sorted(folder.iterdir())
    done = capgate("check", inputs, *(f"--output={output}" for output in outputs))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "--output" in done.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("wrong", ["json:missing/x", "json:", "sarif:in"])
def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(
    wrong: str, inputs: str, capgate: Run, write: Write, folder: Path
) -> None:
    write("old", "the old one")
    done = capgate("check", inputs, "--output", "sarif:old", "--output", wrong, "--output", "junit:new")
    assert (done.code, done.out) == (2, "")
    assert "output-failed" in done.err
    assert (folder / "old").read_text() == "the old one"
    assert sorted(path.name for path in folder.iterdir()) == ["in", "old"]


def test_an_invalid_policy_is_reported_in_every_file(
    inputs: str, capgate: Run, folder: Path, broken_rules: Path
) -> None:
    outputs = [f"--output={form}:report.{form}" for form in FORMATS]
    done = capgate("check", inputs, "--rules", broken_rules, *outputs)
    assert (done.code, done.out) == (3, "")
    assert "key-missing" in done.err
    for form in FORMATS:
        assert "key-missing" in (folder / f"report.{form}").read_text()


def test_an_unknown_format_is_a_wrong_command_line(inputs: str, capgate: Run) -> None:
    done = capgate("check", inputs, "--format", "xml")
    assert done.code == 2
    assert all(form in done.err for form in FORMATS)


def test_a_long_run_with_more_reports_is_whole(capgate: Run, write: Write, launcher: Any, folder: Path) -> None:
    for number in range(300):
        write(f"in/{number}.json", launcher)
    done = capgate("check", "in", "--output", "github:annotations")
    assert done.out.count("refused by exec-absent") == 300
    assert (folder / "annotations").read_text().count("::error ") == 300


@pytest.mark.parametrize("output", ["in/a.json", "sarif:in/a.json", "./in/../in/a.json", "rules/r.yaml", "json:link"])
def test_a_report_never_replaces_what_is_read(
    output: str, inputs: str, capgate: Run, folder: Path, tmp_path: Path
) -> None:
    (folder / "rules").mkdir()
    trigger = "{stage: bounds, when: {descriptor.id: {equals: q}}, reason: r}"
    rule = f"{{id: r, title: R, applies_to: descriptor, triggers: [{trigger}]}}"
    (folder / "rules" / "r.yaml").write_text(rule)
    (folder / "link").symlink_to("in/a.json")
    before = (folder / "in" / "a.json").read_bytes()
    done = capgate("check", "in/a.json", "--rules", "rules", "--output", output)
    assert (done.code, done.out) == (2, "")
    assert "which is read" in " ".join(done.err.split())
    assert (folder / "in" / "a.json").read_bytes() == before
    assert (folder / "rules" / "r.yaml").read_text() == rule
