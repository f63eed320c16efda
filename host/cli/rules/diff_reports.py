"""Reports of what a change of rules means: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from capgate.host.cli.common import json_document
from capgate.host.cli.page import Page, plural
from capgate.host.cli.rules.mutate_reports import bounds_text, left_out_text
from capgate.policy.authoring.difference import Change, Difference, Sides
from capgate.policy.authoring.flow import flow
from capgate.policy.errors import CapgateError
from capgate.policy.verdict import Refusal

__all__ = ["Judged", "json_report", "loosens", "summary", "text_report"]


class Judged(NamedTuple):
    """A descriptor that was judged by both sides.

    Attributes:
        file: its file.
        descriptor: the descriptor.
        before, after: what the old rules and the new ones report, in order; warnings among it.
    """

    file: str
    descriptor: Any
    before: tuple[Refusal, ...]
    after: tuple[Refusal, ...]


def loosens(judged: Judged) -> bool:
    """Whether the old rules refuse it and the new ones admit it."""
    return _first(judged.before) is not None and _first(judged.after) is None


def summary(judged: Sequence[Judged], errors: Sequence[CapgateError]) -> dict[str, Any]:
    """The counts of a report."""
    return {
        "descriptors": len(judged),
        "changed": sum(_changed(one) for one in judged),
        "loosened": sum(loosens(one) for one in judged),
        "tightened": sum(_first(one.before) is None and _first(one.after) is not None for one in judged),
        "errors": len(errors),
    }


def json_report(sides: Sides, difference: Difference, judged: Sequence[Judged], errors: Sequence[CapgateError]) -> str:
    """The whole report as JSON."""
    return json_document(
        policy={"old": sides.old.rules.fingerprint, "new": sides.new.rules.fingerprint},
        loosened=_change_json(difference.loosened),
        tightened=_change_json(difference.tightened),
        bounds=difference.bounds.to_json() if difference.bounds else None,
        results=[
            {"file": one.file, "changed": _changed(one), "old": _side_json(one.before), "new": _side_json(one.after)}
            for one in judged
        ],
        errors=[error.to_json() for error in errors],
        summary=summary(judged, errors),
    )


def text_report(page: Page, difference: Difference, judged: Sequence[Judged], errors: Sequence[CapgateError]) -> str:
    """The whole report for people."""
    rows: list[str] = []
    for error in errors:
        rows += page.lines(f"{error.span}: {error.id}: {error.message}", 0, 4)
        rows += page.lines(f"fix: {error.hint}", 4, 4)
    for one in judged:
        if _changed(one):
            rows += page.lines(f"{one.file}: was {_said(one.before)}, is {_said(one.after)}", 0, 4)
    if judged or errors:
        counts = summary(judged, errors)
        unread = f", {plural(len(errors), 'error')}" if errors else ""
        rows += [f"{plural(len(judged), 'descriptor')} judged, {counts['changed']} said otherwise{unread}", ""]
    if difference.bounds is None:
        rows.append("no rule differs in when it refuses")
    else:
        without = left_out_text(difference.bounds)
        rows += _found(page, "loosened", ("refused", "admitted"), difference.loosened, without)
        rows += _found(page, "tightened", ("admitted", "refused"), difference.tightened, without)
        rows += page.lines(bounds_text(difference.bounds), 0, 4)
    return "".join(f"{row}\n" for row in rows)


def _found(page: Page, word: str, said: tuple[str, str], change: Change | None, left_out: str) -> Iterator[str]:
    if change is None:
        text = f"not {word}: no descriptor was found that was {said[0]} and is {said[1]}{left_out}"
        yield from page.lines(text, 0, 4)
        return
    given = change.subject.given.to_json()
    colour = "failed" if word == "loosened" else "passed"
    by = ", ".join(dict.fromkeys(change.refused))
    verdicts = " and is ".join(f"{one} by {by}" if one == "refused" else one for one in said)
    yield f"{page.word(colour, word)}: this was {verdicts}:"
    yield from page.lines(flow(change.subject.descriptor), 4, 4)
    if given:
        yield from page.lines(f"given {flow(given)}", 4, 4)


def _first(refusals: Sequence[Refusal]) -> str | None:
    return next((refusal.rule for refusal in refusals if refusal.severity == "refuse"), None)


def _rules(refusals: Sequence[Refusal]) -> list[tuple[str, str, str]]:
    return [(refusal.rule, refusal.path, refusal.severity) for refusal in refusals]


def _changed(judged: Judged) -> bool:
    return _rules(judged.before) != _rules(judged.after)


def _said(refusals: Sequence[Refusal]) -> str:
    first = _first(refusals)
    words = "admitted" if first is None else f"refused by {first}"
    refused = [refusal.rule for refusal in refusals if refusal.severity == "refuse"]
    warned = [refusal.rule for refusal in refusals if refusal.severity != "refuse"]
    more = f" ({', '.join(refused)})" if len(refused) > 1 else ""
    return f"{words}{more}" + (f" with warnings of {', '.join(warned)}" if warned else "")


def _side_json(refusals: Sequence[Refusal]) -> dict[str, Any]:
    first = _first(refusals)
    return {
        "decision": "admitted" if first is None else "refused",
        "rule": first,
        "refusals": [{"rule": one.rule, "severity": one.severity, "path": one.path} for one in refusals],
    }


def _change_json(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {
        "descriptor": change.subject.descriptor,
        "given": change.subject.given.to_json(),
        "rules": list(change.refused),
    }
