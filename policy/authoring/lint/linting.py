"""The whole of it: every check over some rules, less what comments ignore."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Final

from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.lint.checks import CHECKS, RUNS, SUPPRESSIONS
from capgate.policy.authoring.lint.context import Context
from capgate.policy.authoring.lint.finding import Finding, Undecided
from capgate.policy.authoring.lint.suppress import Suppression, read_suppressions
from capgate.policy.authoring.suite import gather
from capgate.policy.errors import CapgateError
from capgate.policy.folders import RULESET

__all__ = ["Report", "lint"]

#: Who provides the rules that capgate itself has.
_SHIPPED: Final = "capgate"
#: What need not be said where the other is said of the same place.
_SAID_BY: Final = {
    "condition-implied": ("unreachable-after-shape", "condition-duplicate"),
    "rule-shadowed": ("duplicate-trigger",),
}


@dataclass(frozen=True, slots=True)
class Report:
    """What was found.

    Attributes:
        rules: how many rules were looked at.
        findings: what was found, by file and line.
        ignored: what was found and is ignored, with the reason.
        undecided: what could not be decided.
        problems: what is wrong with tests, so that they were not looked at.
    """

    rules: int
    findings: tuple[Finding, ...]
    ignored: tuple[tuple[Finding, Suppression], ...]
    undecided: tuple[Undecided, ...]
    problems: tuple[CapgateError, ...]


def lint(gates: Gates, folders: Sequence[FilePath] = ()) -> Report:
    """Looks at the rules that lie in `folders`, or at all rules where none is named.

    The shipped rules are written for whatever plugins there are. With some loaded they may say more than is needed, so
    they are then left out.
    """
    suite = gather(gates, folders)
    if not folders and {name for name, _ in gates.catalog.plugins} - {_SHIPPED}:
        suite = replace(suite, rules=tuple(rule for rule in suite.rules if rule.provider != _SHIPPED))
    context = Context(gates, suite, folders)
    found = [one for run in RUNS for one in run(context)]
    undecided = tuple(one for one in found if isinstance(one, Undecided))
    findings = _worth_saying([one for one in found if isinstance(one, Finding)])
    comments = [comment for file in _files(context) for comment in _comments(file)]
    findings += (comment for comment in comments if isinstance(comment, Finding))
    suppressions = [comment for comment in comments if isinstance(comment, Suppression)]
    ignored: list[tuple[Finding, Suppression]] = []
    left: list[Finding] = []
    for finding in findings:
        own = next((one for one in suppressions if one.covers(finding)), None)
        if own is None:
            left.append(finding)
        else:
            ignored.append((finding, own))
    left += _unused(suppressions, ignored, undecided)
    return Report(len(context.rules), tuple(sorted(left, key=_order)), tuple(ignored), undecided, suite.problems)


def _worth_saying(findings: Sequence[Finding]) -> list[Finding]:
    """Each once, less what another of them makes plain."""
    said = {(finding.check, finding.span) for finding in findings}
    once = {(finding.check, finding.span, finding.message): finding for finding in findings}
    return [
        finding
        for finding in once.values()
        if not any((other, finding.span) in said for other in _SAID_BY.get(finding.check, ()))
    ]


def _files(context: Context) -> Iterable[FilePath]:
    files = {FilePath(rule.document.name): None for rule in context.rules}
    for folder in {file.parent: None for file in files}:
        if (folder / RULESET).is_file():
            files[folder / RULESET] = None
    return files


def _comments(file: FilePath) -> Iterable[Suppression | Finding]:
    checks = {id: summary for id, summary in CHECKS.items() if id not in SUPPRESSIONS}
    return read_suppressions(file.read_text(encoding="utf-8"), str(file), checks)


def _unused(
    suppressions: Sequence[Suppression],
    ignored: Sequence[tuple[Finding, Suppression]],
    undecided: Sequence[Undecided],
) -> Iterable[Finding]:
    used = [suppression for _, suppression in ignored]
    open_ = {(one.span.file, check) for one in undecided for check in one.checks}
    for one in suppressions:
        if one not in used and (one.span.file, one.check) not in open_:
            message = f"'{one.check}' is not found here, so there is nothing to ignore"
            yield Finding("suppression-unused", one.span, message, "Take the comment out.")


def _order(finding: Finding) -> tuple[str, int, int, str]:
    return finding.span.file, finding.span.line or 0, finding.span.column or 0, finding.check
