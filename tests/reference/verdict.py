"""Stages, elements, rules and triggers in order: the refusals that a descriptor meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from reference.conditions import condition
from reference.facts import Catalog, Element, Facts, Placement

__all__ = ["Finding", "decision", "judge"]

#: No more is reported of a subject that is refused.
MOST_FINDINGS = 10_000


class Finding(NamedTuple):
    """One refusal: the rule's id, its severity, and the JSON path of the innermost loop's element."""

    rule: str
    severity: str
    element: str | None


def judge(
    rules: Mapping[str, Mapping[str, Any]],
    stages: Sequence[Mapping[str, Any]],
    descriptor: Any,
    placement: Placement,
    taken: Set[str],
    catalog: Catalog,
) -> list[Finding]:
    """Every refusal in order.

    Args:
        rules: each rule's data by its id.
        stages: in their final order, each with `name`, `rules` (ids in order) and perhaps `for_each`.
        descriptor: any JSON value.
        placement: where the extension would run.
        taken: tool names in use elsewhere; the reserved ones are added here.
        catalog: what exists.
    """
    facts = Facts(descriptor, placement, taken, catalog)
    found: list[Finding] = []
    for stage in stages:
        for finding in _stage(stage, rules, facts):
            found.append(finding)
            if len(found) >= MOST_FINDINGS and decision(found) is not None:
                return found
        if stage["name"] == "shape" and decision(found) is not None:
            break
    return found


def decision(found: Sequence[Finding]) -> str | None:
    """The rule that refuses, or None where warnings at most were found."""
    for finding in found:
        if finding.severity == "refuse":
            return finding.rule
    return None


def _stage(stage: Mapping[str, Any], rules: Mapping[str, Mapping[str, Any]], facts: Facts) -> list[Finding]:
    found: list[Finding] = []
    for loops in _walk(stage.get("for_each"), facts, {}):
        for name in stage["rules"]:
            for trigger in rules[name]["triggers"]:
                if trigger["stage"] == stage["name"]:
                    severity = rules[name].get("severity", "refuse")
                    found.extend(Finding(name, severity, place) for place in _trigger(trigger, facts, loops))
    return found


def _trigger(trigger: Mapping[str, Any], facts: Facts, outer: Mapping[str, Element] | None) -> list[str | None]:
    """The place of each refusal of one trigger."""
    if outer is None:
        return [None]
    places: list[str | None] = []
    for loops in _walk(trigger.get("for_each"), facts, outer):
        if loops is None:
            places.append(_innermost(outer))
        elif condition(trigger["when"], facts, loops) != "false":
            places.append(_innermost(loops))
    return places


def _walk(
    for_each: Mapping[str, str] | None, facts: Facts, outer: Mapping[str, Element]
) -> list[Mapping[str, Element] | None]:
    """The loop variables of each round; None alone where the loop is over something that is no list."""
    if for_each is None:
        return [outer]
    ((variable, path),) = for_each.items()
    elements = facts.elements(path, outer)
    if elements is None:
        return [None]
    return [{**outer, variable: element} for element in elements]


def _innermost(loops: Mapping[str, Element]) -> str | None:
    return list(loops.values())[-1].place if loops else None
