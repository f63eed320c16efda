"""Reports of a run of tests: text for people, JSON, JUnit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from capgate.host.cli.common import invalid_json, json_document
from capgate.host.cli.junit import Case, Trouble, document, invalid_document
from capgate.host.cli.page import Page, plural
from capgate.host.cli.reports import text_report
from capgate.host.cli.rules.explaining import explanation_json, explanation_lines, span_json
from capgate.policy.authoring.suite import Lack, Outcome, Suite
from capgate.policy.authoring.trials import Trial
from capgate.policy.errors import CapgateError, PolicyInvalid

__all__ = ["TestReport", "report_for"]


class TestReport(Protocol):
    """A way of showing a run."""

    def whole(self, fingerprint: str, suite: Suite, outcomes: Sequence[Outcome]) -> str:
        """The report of a run that came to its end."""

    def invalid(self, error: PolicyInvalid) -> str:
        """The report where nothing could be tested."""


def report_for(form: str, page: Page) -> TestReport:
    """The report in the form ``text``, ``json`` or ``junit``."""
    reports: dict[str, TestReport] = {"text": _Text(page), "json": _Json(), "junit": _Junit()}
    return reports[form]


class _Text:
    def __init__(self, page: Page):
        self._page = page

    def whole(self, fingerprint: str, suite: Suite, outcomes: Sequence[Outcome]) -> str:
        page = self._page
        rows: list[str] = []
        for problem in suite.problems:
            rows += page.lines(f"{problem.span}: {problem.id}: {problem.message}", 0, 4)
            rows += page.lines(f"fix: {problem.hint}", 4, 4)
        for lack in suite.lacks:
            place = f"{lack.span}: {lack.rule}: " if lack.span else "capgate: "
            rows += page.lines(f"{place}{lack.message}", 0, 4)
        for outcome in outcomes:
            if outcome.messages:
                rows += self._failed(outcome)
        counts = _counts(suite, outcomes)
        parts = [
            f"{counts['passed']} passed",
            page.word("failed", f"{counts['failed']} failed") if counts["failed"] else "0 failed",
            *([page.word("failed", f"{counts['lacking']} lacking")] if counts["lacking"] else []),
            page.word("error", plural(counts["errors"], "error")) if counts["errors"] else "0 errors",
        ]
        rows += [*([""] if rows else []), f"{plural(len(suite.rules), 'rule')}: {', '.join(parts)}"]
        return "".join(f"{row}\n" for row in rows)

    def _failed(self, outcome: Outcome) -> Iterator[str]:
        trial, page = outcome.trial, self._page
        yield f"{page.place(str(trial.span))}: {page.word('failed')}: {page.bold(_title(trial))}"
        for message in outcome.messages:
            yield from page.lines(message, 4, 4)
        for explanation in outcome.explanations:
            yield from page.lines(f"{explanation.rule.id}:", 4)
            yield from explanation_lines(explanation, page, 6)

    def invalid(self, error: PolicyInvalid) -> str:
        return text_report(None).invalid(error)


class _Json:
    def whole(self, fingerprint: str, suite: Suite, outcomes: Sequence[Outcome]) -> str:
        return json_document(
            policy={"fingerprint": fingerprint},
            results=[_outcome_json(outcome) for outcome in outcomes],
            lacks=[_lack_json(lack) for lack in suite.lacks],
            errors=[problem.to_json() for problem in suite.problems],
            summary=_counts(suite, outcomes),
        )

    def invalid(self, error: PolicyInvalid) -> str:
        nothing = {"rules": 0, "passed": 0, "failed": 0, "lacking": 0, "errors": 0}
        return invalid_json(error, results=[], lacks=[], errors=[], summary=nothing)


class _Junit:
    def whole(self, fingerprint: str, suite: Suite, outcomes: Sequence[Outcome]) -> str:
        cases = [_outcome_case(outcome) for outcome in outcomes]
        for lack in suite.lacks:
            file = lack.span.file if lack.span else "rules"
            trouble = Trouble("failure", "lacking", lack.message, str(lack.span or ""))
            cases.append(Case(file, lack.rule or "rules", f"is tested: {lack.message}", trouble))
        cases += [_problem_case(problem) for problem in suite.problems]
        return document(cases)

    def invalid(self, error: PolicyInvalid) -> str:
        return invalid_document(error)


def _title(trial: Trial) -> str:
    return f"{trial.rule}, {trial.name}" if trial.rule else trial.name


def _counts(suite: Suite, outcomes: Sequence[Outcome]) -> dict[str, int]:
    failed = sum(bool(outcome.messages) for outcome in outcomes)
    return {
        "rules": len(suite.rules),
        "passed": len(outcomes) - failed,
        "failed": failed,
        "lacking": len(suite.lacks),
        "errors": len(suite.problems),
    }


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    trial = outcome.trial
    return {
        "kind": trial.kind,
        "name": trial.name,
        "rule": trial.rule,
        "at": span_json(trial.span),
        "status": outcome.status,
        "messages": list(outcome.messages),
        "given": trial.given.to_json(),
        "expected": {
            "refused": list(trial.refused),
            "absent": list(trial.absent),
            "exactly": None if trial.exactly is None else list(trial.exactly),
            "places": None if trial.places is None else list(trial.places),
            "decision": trial.decision,
        },
        "refusals": [refusal.rule for refusal in outcome.verdict.refusals],
        "explanations": [explanation_json(explanation) for explanation in outcome.explanations],
    }


def _lack_json(lack: Lack) -> dict[str, Any]:
    return {"rule": lack.rule, "message": lack.message, "at": span_json(lack.span)}


def _outcome_case(outcome: Outcome) -> Case:
    trial, trouble = outcome.trial, None
    if outcome.messages:
        plain = Page()
        rows = [str(trial.span), *outcome.messages]
        for explanation in outcome.explanations:
            rows += [f"{explanation.rule.id}:", *explanation_lines(explanation, plain, 2)]
        trouble = Trouble("failure", "failed", "; ".join(outcome.messages), "\n".join(rows))
    return Case(trial.span.file, trial.rule or trial.kind, trial.name, trouble, outcome.seconds)


def _problem_case(problem: CapgateError) -> Case:
    file = problem.span.file if problem.span else "rules"
    return Case(file, "file", str(problem.span or file), Trouble("error", problem.id, problem.message, str(problem)))
