"""Judges documents: from what was read to one result each, for every way of showing results."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from capgate.host.inputs import InputError, Source
from capgate.policy.documents import Document, DocumentError, load_json
from capgate.policy.documents.document import Lines
from capgate.policy.errors import CapgateError
from capgate.policy.gate import Gate
from capgate.policy.paths import ROOT, Path, parse_path
from capgate.policy.rule_errors import did_you_mean
from capgate.policy.verdict import Plan, Verdict

__all__ = ["Finding", "Result", "Summary", "disclose", "judge"]

_SPACE: Final = re.compile(rb"[ \t\r\n]*")


class Finding(NamedTuple):
    """A refusal or a warning, and where it points.

    Attributes:
        rule: id of the rule.
        reason: what is wrong.
        remedy: what to do about it.
        severity: ``refuse``, or ``warn`` for what decides nothing.
        path: the place in the descriptor, for example ``$.tools[0].name``.
        line: the place in the file, counted from 1; of the nearest parent where `path` is absent.
        column: in code points, counted from 1.
    """

    rule: str
    reason: str
    remedy: str
    severity: str
    path: str
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """What was decided on one input.

    Attributes:
        file: name of the file as given or found, ``<stdin>`` for standard input.
        line: where the document begins, counted from 1; for an error where the error is, and None
            where the whole file is to blame.
        column: the same, in code points.
        decision: ``error`` where the input could not be judged.
        id: the descriptor's id, where it has one that is a string.
        rule: the rule that refused, or the id of the error.
        why: its reason.
        remedy: what to do about it.
        refusals: every refusal in reading order, warnings among them.
        enforced: the mechanism that enforces each declared capability.
        gets: what the host hands over.
        cannot_have: what it never does.
    """

    file: str
    line: int | None
    column: int | None
    decision: Literal["admitted", "refused", "error"]
    id: str | None = None
    rule: str | None = None
    why: str | None = None
    remedy: str | None = None
    refusals: tuple[Finding, ...] = ()
    enforced: Mapping[str, str] = field(default_factory=dict)
    gets: tuple[str, ...] = ()
    cannot_have: tuple[str, ...] = ()

    @property
    def warnings(self) -> int:
        """How many of the refusals only warn."""
        return sum(finding.severity == "warn" for finding in self.refusals)

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "id": self.id,
            "decision": self.decision,
            "rule": self.rule,
            "why": self.why,
            "remedy": self.remedy,
            "refusals": [finding._asdict() for finding in self.refusals],
            "enforced": dict(self.enforced),
            "gets": list(self.gets),
            "cannotHave": list(self.cannot_have),
        }


@dataclass(slots=True)
class Summary:
    """Counts results: each is admitted, refused or an error; `warned` of them carry a warning."""

    admitted: int = 0
    refused: int = 0
    warned: int = 0
    errors: int = 0

    def add(self, result: Result) -> None:
        """Counts `result` too."""
        self.admitted += result.decision == "admitted"
        self.refused += result.decision == "refused"
        self.errors += result.decision == "error"
        self.warned += result.warnings > 0

    def to_json(self) -> dict[str, int]:
        """The counts as JSON data."""
        return {"admitted": self.admitted, "refused": self.refused, "warned": self.warned, "errors": self.errors}


class _Case(NamedTuple):
    """A descriptor with what it is judged against, and its path in the document."""

    descriptor: Any
    placement: str
    taken: frozenset[str]
    at: Path = ROOT


def judge(
    gate: Gate,
    source: Source | CapgateError,
    *,
    placement: str = "machine",
    taken: Collection[str] = (),
    lines: bool = False,
) -> Result:
    """Judges one document that `capgate.host.inputs.read` yielded.

    Args:
        gate: what decides.
        source: the document, or why there is none.
        placement: where the extension is to run; one of `gate.placements`.
        taken: names of tools that are already there.
        lines: whether the document may be a case: ``{"descriptor", "taken"?, "placement"?}``, where
            `placement` counts in place of the argument, `taken` on top of it, and other keys not
            at all. Every object with a ``descriptor`` is one.

    Returns:
        The result. Whatever is wrong with the document is a result too.
    """
    if isinstance(source, CapgateError):
        return _error(source)
    try:
        document = load_json(source.data, source.file, first_line=source.line)
        case = _Case(document.data, placement, frozenset(taken))
        if lines and isinstance(document.data, dict) and "descriptor" in document.data:
            case = _read_case(document, case, gate.placements)
    except (DocumentError, InputError) as error:
        return _error(error)
    verdict = gate.admit(case.descriptor, case.placement, case.taken)
    return _decided(source, document, case, verdict)


def disclose(
    gate: Gate, source: Source | CapgateError, *, placement: str = "machine", taken: Collection[str] = ()
) -> tuple[Result, Plan | None]:
    """Judges one document as `judge` does, and says what its admission would mean.

    Returns:
        The result, and the plan that the same decision is in; None where there is no descriptor.
    """
    if isinstance(source, CapgateError):
        return _error(source), None
    try:
        document = load_json(source.data, source.file, first_line=source.line)
    except DocumentError as error:
        return _error(error), None
    plan = gate.plan(document.data, placement, frozenset(taken))
    case = _Case(document.data, placement, frozenset(taken))
    return _decided(source, document, case, plan.verdict), plan


def _read_case(document: Document, default: _Case, placements: Collection[str]) -> _Case:
    data = document.data
    placement = data.get("placement", default.placement)
    if not isinstance(placement, str):
        raise InputError("bad-case", "placement is not a string", span=document.span(("placement",)))
    if placement not in placements:
        hint = did_you_mean(placement, placements)
        where = document.span(("placement",))
        raise InputError("unknown-placement", f"no placement is called {placement!r}", hint=hint, span=where)
    taken = data.get("taken", [])
    if not isinstance(taken, list):
        raise InputError("bad-case", "taken is not a list", span=document.span(("taken",)))
    for index, name in enumerate(taken):
        if not isinstance(name, str):
            raise InputError("bad-case", f"taken[{index}] is not a string", span=document.span(("taken", index)))
    return _Case(data["descriptor"], placement, default.taken.union(taken), ("descriptor",))


def _decided(source: Source, document: Document, case: _Case, verdict: Verdict) -> Result:
    # Places cost a second look at the text. What is admitted without a warning needs none but its start.
    margin = _SPACE.match(source.data)
    before = margin[0].decode() if margin else ""
    start = Lines(before, source.line).span(source.file, len(before))
    findings = []
    for refusal in verdict.refusals:
        span = document.span(case.at + (parse_path(refusal.path) or ROOT))
        findings.append(
            Finding(
                refusal.rule, refusal.reason, refusal.remedy, refusal.severity, refusal.path, span.line, span.column
            )
        )
    id = case.descriptor.get("id") if isinstance(case.descriptor, dict) else None
    return Result(
        file=source.file,
        line=start.line,
        column=start.column,
        decision=verdict.decision,
        id=id if isinstance(id, str) else None,
        rule=verdict.rule,
        why=verdict.why,
        remedy=next((finding.remedy for finding in findings if finding.severity == "refuse"), None),
        refusals=tuple(findings),
        enforced=verdict.enforced,
        gets=verdict.gets,
        cannot_have=verdict.cannot_have,
    )


def _error(error: CapgateError) -> Result:
    span = error.span
    return Result(
        file=span.file if span else "",
        line=span.line if span else None,
        column=span.column if span else None,
        decision="error",
        rule=error.id,
        why=error.message,
        remedy=error.hint,
    )
