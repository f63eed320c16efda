"""Reports of mutants: for people, and as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from capgate.host.cli.common import json_document
from capgate.host.cli.page import Page, plural
from capgate.host.cli.rules.explaining import span_json
from capgate.policy.authoring.missing import Missing, missing_test
from capgate.policy.authoring.mutation import Mutation
from capgate.policy.authoring.space import Bounds
from capgate.policy.authoring.trials import Trial
from capgate.policy.text import escape

__all__ = ["Tried", "attempt", "bounds_text", "json_report", "left_out_text", "percent", "summary", "text_report"]

#: So many lines around a change are shown.
_AROUND = 2


class Tried(NamedTuple):
    """A mutant that was tried.

    Attributes:
        number: its number.
        killer: the test that noticed it, or None.
        missing: for one that none noticed, what is missing.
    """

    number: int
    killer: str | None
    missing: Missing | None


def attempt(mutation: Mutation, number: int) -> Tried:
    """Tries one mutant; where no test notices it, one is looked for that would."""
    killer = mutation.judge(number).killer
    if killer:
        return Tried(number, killer, None)
    return Tried(number, None, missing_test(mutation, number))


def percent(tried: Sequence[Tried]) -> float:
    """How many of the mutants were noticed; nothing to notice is nothing tested."""
    return 100 * sum(one.killer is not None for one in tried) / len(tried) if tried else 0.0


def summary(tried: Sequence[Tried], equivalent: int = 0) -> dict[str, Any]:
    """The counts of a report; `equivalent` mutants were left out."""
    noticed = sum(one.killer is not None for one in tried)
    return {
        "mutants": len(tried),
        "noticed": noticed,
        "unnoticed": len(tried) - noticed,
        "percent": round(percent(tried), 2),
        "equivalent": equivalent,
    }


def json_report(fingerprint: str, mutation: Mutation, tried: Sequence[Tried], failing: Sequence[Trial]) -> str:
    """The whole report as JSON."""
    return json_document(
        policy={"fingerprint": fingerprint},
        results=[_json(mutation, one) for one in tried],
        errors=[problem.to_json() for problem in mutation.suite.problems],
        failing=[{"test": trial.name, "rule": trial.rule, "at": span_json(trial.span)} for trial in failing],
        summary=summary(tried, mutation.equivalent),
    )


def text_report(
    page: Page, mutation: Mutation, tried: Sequence[Tried], failing: Sequence[Trial], fail_under: float
) -> str:
    """The whole report for people."""
    rows: list[str] = []
    for problem in mutation.suite.problems:
        rows += page.lines(f"{problem.span}: {problem.id}: {problem.message}", 0, 4)
        rows += page.lines(f"fix: {problem.hint}", 4, 4)
    for trial in failing:
        rows += page.lines(f"{trial.span}: {trial.name}: fails on the rules as they are", 0, 4)
    if failing:
        rows += ["", "capgate: no mutant was tried; see capgate rules test"]
    for one in tried:
        if one.missing is not None:
            rows += [*_unnoticed(page, mutation, one.number, one.missing), ""]
    if not failing and not mutation.suite.problems:
        counts = summary(tried)
        enough = percent(tried) >= fail_under
        share = page.word("passed" if enough else "failed", f"{int(percent(tried) * 10) / 10:g} %")
        rows.append(f"{plural(len(tried), 'mutant')}: {counts['noticed']} noticed, {share}")
        if mutation.equivalent:
            rows.append(f"{mutation.equivalent} more left out: a pattern that matches the same texts")
        if not enough:
            rows.append(f"capgate: that is less than {fail_under:g} %")
    return "".join(f"{row}\n" for row in rows)


def bounds_text(bounds: Bounds) -> str:
    """What was looked at, in words."""
    places = ", ".join(f"{place} ({_values_text(bounds, place)})" for place in bounds.places) or "nothing"
    how = "at these places in every combination"
    if not bounds.whole:
        how = f"at up to {bounds.at_once} of these places in every combination, and at more in some"
    begun = f"those of all tests; and {bounds.bases} to begin with"
    return f"{plural(bounds.tried, 'descriptor')} tried: {begun}, with so many other values {how}: {places}"


def left_out_text(bounds: Bounds) -> str:
    """What was left out, in words, to be put after what was not found; empty where nothing was."""
    places: dict[str, list[str]] = {}
    for place, words in bounds.left_out.items():
        for what in words:
            places.setdefault(what, []).append(place)
    return "".join(f"; {what} were left out at {', '.join(some)}" for what, some in places.items())


def _values_text(bounds: Bounds, place: str) -> str:
    """How many values were tried at a place, and what is known of the texts among them."""
    count, told = f"{bounds.places[place]}", bounds.texts.get(place)
    if told is None:
        return count
    texts, patterns = plural(len(told.texts), "text"), plural(told.patterns, "pattern")
    return f"{count}; {texts} for {'all that' if told.whole else 'some of what'} {patterns} can answer"


def _unnoticed(page: Page, mutation: Mutation, number: int, missing: Missing) -> Iterator[str]:
    mutant = mutation.mutants[number]
    yield from page.lines(f"{mutation.span(number)}: {mutant.name}: no test notices this", 0, 4)
    yield from (f"    {escape(line)}" for line in _diff(mutation, number))
    if missing.text is None:
        hidden = ", since other rules hide what it changes" if missing.hidden else ""
        without = f"no test was found that would{hidden}{left_out_text(missing.bounds)}"
        yield from page.lines(f"{without}; {bounds_text(missing.bounds)}", 4, 4)
        return
    yield from page.lines(f"missing, in {missing.place}:", 4, 4)
    yield from missing.text.splitlines()


def _diff(mutation: Mutation, number: int) -> Iterator[str]:
    for path, *texts in mutation.sources(number):
        before, after = (text.split("\n") for text in texts)
        yield from difflib.unified_diff(before, after, str(path), str(path), n=_AROUND, lineterm="")


def _json(mutation: Mutation, one: Tried) -> dict[str, Any]:
    mutant = mutation.mutants[one.number]
    made: dict[str, Any] = {
        "mutant": mutant.name,
        "kind": mutant.kind,
        "rules": list(mutant.rules),
        "at": span_json(mutation.span(one.number)),
        "noticed": one.killer is not None,
        "by": one.killer,
    }
    if one.missing is not None:
        made["diff"] = "\n".join(_diff(mutation, one.number))
        made["missing"] = None
        if one.missing.text is not None:
            made["missing"] = {"in": one.missing.place, "yaml": one.missing.text}
        made["bounds"] = one.missing.bounds.to_json()
    return made
