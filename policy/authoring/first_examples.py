"""The examples that a rule lacks, picked from the cases that were made for it, as YAML to paste into its file."""

from __future__ import annotations

from collections.abc import Iterator

from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.starters import Start, Starter
from capgate.policy.rulefile import Rule

__all__ = ["lacking_examples", "lacks"]


def lacks(rule: Rule) -> tuple[str, ...]:
    """The kinds of example that a rule has none of: of ``refused`` and ``admitted``, in this order."""
    kinds = {example.refused for example in rule.examples}
    return tuple(word for word, kind in (("refused", True), ("admitted", False)) if kind not in kinds)


def lacking_examples(starter: Starter, gates: Gates) -> str:
    """The part of a rule file with an example of each kind that the rule lacks; empty where it lacks none.

    Refused is what was found for each trigger. Admitted is what few other rules refuse and this one was asked of.
    A kind of which no case was made is left out.
    """
    rule = starter.rule
    found = {
        "refused": [case for case in starter.starts if case.seed],
        "admitted": list(_silent(starter, gates)),
    }
    rows = [row for word in lacks(rule) if found[word] for row in (f"  {word}:", *map(_row, found[word]))]
    if rows and "examples" not in rule.document.data:
        rows.insert(0, "examples:")
    return "".join(f"{row}\n" for row in rows)


def _silent(starter: Starter, gates: Gates) -> Iterator[Start]:
    """At most one case on which the rule is silent."""
    best: tuple[bool, int] | None = None
    chosen: Start | None = None
    for case in starter.starts:
        if case.refused or case.stopped:
            continue
        given, descriptor = case.subject.given, case.subject.descriptor
        gate, taken = gates.on(given), frozenset(given.taken)
        asked = any(one.rule == starter.rule.id for one in gate.explain(descriptor, given.placement, taken))
        worth = (not asked, len(gate.admit(descriptor, given.placement, taken).refusals))
        if best is None or worth < best:
            best, chosen = worth, case
    if chosen:
        yield chosen


def _row(case: Start) -> str:
    given = case.subject.given.to_json()
    tail = f", given: {flow(given)}" if given else ""
    return f"    - {{descriptor: {flow(case.subject.descriptor)}{tail}}}"
