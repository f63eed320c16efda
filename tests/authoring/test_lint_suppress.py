"""Comments that ignore a check: where they count, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from capgate.policy.authoring.lint.checks import CHECKS
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.suppress import Suppression, read_suppressions
from capgate.policy.errors import Span
from lint_samples import ids, linted

SLOW = """\
triggers:
  - stage: bounds
    # above
    when: {descriptor.id: {matches: "[a-z]+-[a-z]+"}} # beside
    reason: the id has two parts
"""
IGNORE = "# capgate: ignore pattern-slow because ids are short"


def read(text: str) -> list[Suppression | Finding]:
    return list(read_suppressions(text, "x.yaml", CHECKS))


@pytest.mark.parametrize(
    "text",
    [
        SLOW.replace("# above", IGNORE),
        SLOW.replace("# above", f"{IGNORE}\n    # and more about it\n"),
        SLOW.replace("# beside", IGNORE),
        f"# A rule.\n{IGNORE}\n\n{SLOW}",
        SLOW.replace("# above", "#capgate:ignore   pattern-slow   because  ids are short "),
    ],
)
def test_a_comment_with_a_reason_ignores_a_check(text: str, tmp_path: Path) -> None:
    report = linted(tmp_path / "mine", text)
    assert ids(report.findings) == set()
    ((finding, comment),) = report.ignored
    assert (finding.check, comment.reason) == ("pattern-slow", "ids are short")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SLOW, {"pattern-slow"}),
        (SLOW.replace("# above", "# capgate: ignore pattern-slow"), {"pattern-slow", "suppression-without-reason"}),
        (
            SLOW.replace("# above", "# capgate: ignore pattern-slow because"),
            {"pattern-slow", "suppression-without-reason"},
        ),
        (SLOW.replace("# above", "# capgate: ignore pattern-slw because x"), {"pattern-slow", "suppression-unknown"}),
        (SLOW.replace("# above", "# capgate: ignore"), {"pattern-slow", "suppression-unknown"}),
        (SLOW.replace("# above", IGNORE.replace("capgate", "Capgate")), {"pattern-slow", "suppression-unknown"}),
        (SLOW.replace("# above", IGNORE.replace(":", "")), {"pattern-slow", "suppression-unknown"}),
        (SLOW.replace("# above", IGNORE.replace(":", " :")), {"pattern-slow", "suppression-unknown"}),
        (SLOW.replace("# above", "# capgate ignores a name"), {"pattern-slow"}),
        (SLOW.replace("# above", "# capgate: disable pattern-slow because x"), {"pattern-slow", "suppression-unknown"}),
        (SLOW.replace("# above", "# capgate: ignore pattern-dot because x"), {"pattern-slow", "suppression-unused"}),
        (
            SLOW.replace("# above", "# capgate: ignore suppression-unused because x"),
            {"pattern-slow", "suppression-unknown"},
        ),
        (SLOW + f"    remedy: Mend it. {IGNORE}\n", {"pattern-slow", "suppression-unused"}),
        (SLOW.replace("# above", "# capgate ignores nothing here"), {"pattern-slow"}),
        (SLOW.replace("has two parts", f'"{IGNORE}"'), {"pattern-slow"}),
    ],
)
def test_a_comment_that_ignores_nothing_is_found(text: str, found: set[str], tmp_path: Path) -> None:
    text = text.replace('the id "', '"the id ')
    assert ids(linted(tmp_path / "mine", text).findings) == found


@pytest.mark.parametrize(
    "text",
    [
        f"a: |\n  {IGNORE}\n",
        f"a: >-\n  b\n  {IGNORE}\n",
        f"a: 'b {IGNORE}'\n",
        "a: b#capgate:ignore\n",
    ],
)
def test_what_stands_in_a_text_is_no_comment(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "line", "column", "lines"),
    [
        (f"{IGNORE}\na: 1\n", 1, 1, None),
        (f"\n# x\n{IGNORE}\na: 1\n", 3, 1, None),
        (f"a: 1\nb: 2 {IGNORE}\nc: 3\n", 2, 6, {2}),
        (f"a: 1\n{IGNORE}\n\n# x\nc: 3\n", 2, 1, {2, 5}),
        (f"a: 1\n{IGNORE}\n", 2, 1, {2, 3}),
        (f"a: |\n  x\n{IGNORE}\nb: 2\n", 3, 1, {3, 4}),
        (IGNORE, 1, 1, None),
    ],
)
def test_a_comment_counts_on_its_line_or_the_next_that_says_something(
    text: str, line: int, column: int, lines: set[int] | None
) -> None:
    (comment,) = read(text)
    assert isinstance(comment, Suppression)
    assert comment.span == Span("x.yaml", line, column)
    assert comment.lines == (None if lines is None else frozenset(lines))


def test_a_comment_counts_in_its_own_file_only(tmp_path: Path) -> None:
    text = f"{IGNORE}\n{SLOW}"
    assert ids(linted(tmp_path / "mine", text, other=SLOW.replace("two", "few")).findings) == {
        "pattern-slow",
        "duplicate-trigger",
        "title-same-as-other",
    }


def test_a_comment_in_ruleset_yaml_ignores_an_unused_stage(tmp_path: Path) -> None:
    stages = (
        "language: 1\nstages:\n  # capgate: ignore stage-unused because others use it\n  - {name: own, after: tools}\n"
    )
    report = linted(tmp_path / "mine", SLOW.replace("# above", IGNORE), ruleset=stages)
    assert ids(report.findings) == set()
    assert {finding.check for finding, _ in report.ignored} == {"stage-unused", "pattern-slow"}


def test_what_was_not_decided_may_be_ignored(tmp_path: Path) -> None:
    parts = ", ".join(f"{{tool.params.p{number}: {{min: {number}, max: 90}}}}" for number in range(9))
    text = "# capgate: ignore condition-implied because there are many\n"
    text += f"triggers:\n  - stage: tools\n    when: {{all: [{parts}]}}\n    reason: so\n"
    report = linted(tmp_path / "mine", text)
    assert "condition-implied" in report.undecided[0].checks
    assert "suppression-unused" not in ids(report.findings)
