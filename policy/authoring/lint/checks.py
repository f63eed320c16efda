"""Every check: its id, what it finds in one line, and what runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from capgate.policy.authoring.lint import (
    claims,
    forms,
    indexing,
    matching,
    operands,
    sets,
    shadows,
    shape,
    spelling,
    tested,
    texts,
    typed,
)
from capgate.policy.authoring.lint.context import Context
from capgate.policy.authoring.lint.finding import Finding, Undecided

__all__ = ["CHECKS", "RUNS", "SUPPRESSIONS"]

Run: TypeAlias = "Callable[[Context], Iterator[Finding | Undecided]]"

#: Each check with its summary, as ``docs/lint/README.md`` lists them.
CHECKS: Final[Mapping[str, str]] = {
    "trigger-never-holds": "a trigger that refuses nothing, whatever the descriptor is",
    "trigger-always-holds": "a trigger that refuses everything that it is asked of",
    "rule-shadowed": "a trigger before which another rule has always refused",
    "condition-contradicts": "conditions that cannot hold together",
    "condition-implied": "a condition that changes nothing beside the others",
    "condition-duplicate": "a condition that stands in a list twice",
    "duplicate-trigger": "a trigger that asks what an earlier one asks",
    "negative-double": "a negation of a negation",
    "single-part-combinator": "all, any or none of one condition",
    "operand-never-matches-type": "an operator that is not for what the path can be",
    "unreachable-after-shape": "a check of a type that the stage shape has made certain",
    "value-outside-domain": "a word that the path can never be, such as a misspelt capability",
    "in-with-one-value": "a list of one value to compare with",
    "in-with-duplicates": "a list that holds a value twice",
    "in-with-fact-map": "a map with fact inside an operand, which is read from nowhere",
    "host-spelling": "a host compared as it was written, or with a name that no host has",
    "url-spelling": "a URL whose scheme is known in one spelling only",
    "header-spelling": "a header that is known in one spelling only",
    "pattern-is-literal": "a pattern that is a few plain texts",
    "pattern-anchored": "anchors in a pattern that matches the whole text in any case",
    "pattern-slow": "a pattern that takes RE2",
    "pattern-dot": "a repeated dot that a line feed gets around",
    "reason-names-unread-path": "a reason that shows what the trigger does not look at",
    "placeholder-always-absent": "a placeholder that never has a value when the trigger holds",
    "reason-repeats-title": "a reason that is the title once more",
    "remedy-missing": "a trigger that does not say what to do",
    "title-same-as-other": "a title that an earlier rule has",
    "reference-broken": "a reference to a file or a heading that is not there",
    "example-missing-kind": "a rule without an example of both kinds",
    "example-duplicate": "an example that stands there twice",
    "example-tests-nothing": "an example of which the rule is asked nothing",
    "trigger-without-example": "a trigger that no example makes refuse",
    "loop-unused": "a loop whose variable the condition does not read",
    "loop-over-no-list": "a loop over what is never a list",
    "severity-warn-in-shape": "a warning about what is refused as malformed in any case",
    "stage-unused": "a stage in which nothing is asked",
    "fact-unused": "a fact of a plugin that no rule reads",
    "index-unusable": "many texts in a form that cannot be looked up",
    "cerberus-differs": "a shape check that differs from the schema that it was made from",
    "suppression-unknown": "a comment to capgate that names no check",
    "suppression-without-reason": "a comment that ignores a check and does not say why",
    "suppression-unused": "a comment that ignores what is not found",
}
#: The checks of the comments that ignore others; they cannot be ignored.
SUPPRESSIONS: Final = ("suppression-unknown", "suppression-without-reason", "suppression-unused")


def _claims(context: Context) -> Iterator[Finding | Undecided]:
    for asker in context.askers:
        yield from claims.claims(asker, context)


def _shadows(context: Context) -> Iterator[Finding | Undecided]:
    for asker in context.askers:
        yield from shadows.shadowed(asker, context)


#: What finds them.
RUNS: Final[tuple[Run, ...]] = (
    _claims,
    _shadows,
    forms.duplicate_conditions,
    forms.duplicate_triggers,
    forms.double_negatives,
    forms.single_parts,
    typed.operand_type,
    typed.type_certain,
    typed.outside_domain,
    operands.one_value,
    operands.duplicates,
    operands.fact_maps,
    spelling.hosts,
    spelling.urls,
    spelling.headers,
    matching.literal,
    matching.anchored,
    matching.slow,
    matching.one_line,
    texts.unread_paths,
    texts.absent_placeholders,
    texts.repeated_titles,
    texts.missing_remedies,
    texts.same_titles,
    texts.dead_references,
    tested.missing_kinds,
    tested.duplicate_examples,
    tested.idle_examples,
    tested.untested_triggers,
    sets.overlooked_elements,
    sets.walks_over_no_list,
    sets.warnings_in_shape,
    sets.own_stages,
    sets.unused_facts,
    indexing.unusable,
    shape.differences,
)
