"""Comments that ignore a check, with a reason: ``# capgate: ignore ID because …``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import yaml

from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.errors import Span
from capgate.policy.rule_errors import did_you_mean

__all__ = ["Suppression", "read_suppressions"]

#: What is meant as such a comment, though its beginning may be misspelt.
_COMMENT: Final = re.compile(r"(?:^|(?<=\s))#\s*((?i:capgate)(?:\s*:|\s+(?=ignore\b)))(.*)$", re.MULTILINE)
_FORM: Final = re.compile(r"\s*ignore\s+(\S+)(?:\s+because(?:\s+(\S.*))?)?\s*")
_BLANK: Final = re.compile(r"\s*(?:#.*)?")


class Suppression(NamedTuple):
    """A comment that ignores a check.

    Attributes:
        check: id of the check.
        reason: why.
        span: where the comment stands.
        lines: the lines on which it ignores it; None for the whole file.
    """

    check: str
    reason: str
    span: Span
    lines: frozenset[int] | None

    def covers(self, finding: Finding) -> bool:
        """Whether it ignores a finding."""
        here = self.lines is None or finding.span.line in self.lines
        return self.check == finding.check and finding.span.file == self.span.file and here


def read_suppressions(source: str, name: str, checks: Mapping[str, str]) -> Iterator[Suppression | Finding]:
    """The comments of a YAML file that loads, and what is wrong with them.

    Args:
        source: the text of the file.
        name: its name.
        checks: the checks that can be ignored.
    """
    texts = _scalars(source)
    lines = source.splitlines()
    blank = [_BLANK.fullmatch(line) is not None for line in lines]
    first = blank.index(False) + 1 if False in blank else len(lines) + 1
    for found in _COMMENT.finditer(source):
        if any(start <= found.start() < end for start, end in texts):
            continue  # a text that looks like a comment
        before = source[: found.start()]
        line, column = before.count("\n") + 1, found.start() - (before.rfind("\n") + 1) + 1
        span = Span(name, line, column)
        form = _FORM.fullmatch(found[2].rstrip()) if found[1] == "capgate:" else None
        if form is None:
            message = f"capgate takes no comment of the form '{found[0].strip()}'"
            yield Finding("suppression-unknown", span, message, "Write '# capgate: ignore ID because REASON'.")
        elif form[1] not in checks:
            hint = did_you_mean(form[1], checks) or "The checks are listed in docs/lint/README.md."
            yield Finding("suppression-unknown", span, f"there is no check '{form[1]}' that could be ignored", hint)
        elif form[2] is None:
            message = f"'{form[1]}' is ignored, and nothing says why"
            yield Finding("suppression-without-reason", span, message, "Add 'because' and the reason.")
        else:
            covered = None if line < first else _covered(line, blank)
            yield Suppression(form[1], form[2].strip(), span, covered)


def _covered(line: int, blank: list[bool]) -> frozenset[int]:
    """The line of a comment, and where it stands alone the next line that says something, too."""
    end = line
    while end <= len(blank) and blank[end - 1]:
        end += 1
    return frozenset({line, end})


def _scalars(source: str) -> list[tuple[int, int]]:
    """Where the texts of a file begin and end."""
    tokens = yaml.scan(source, Loader=yaml.SafeLoader)
    return [(token.start_mark.index, token.end_mark.index) for token in tokens if isinstance(token, yaml.ScalarToken)]
