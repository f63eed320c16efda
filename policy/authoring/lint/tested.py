"""Examples that are missing, that stand there twice, or that test nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Final

from capgate.policy.authoring.given import read_given
from capgate.policy.authoring.lint.claims import refuses_each
from capgate.policy.authoring.lint.context import Context
from capgate.policy.authoring.lint.evidence import asked_of
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.settle import Subject
from capgate.policy.documents import canonical
from capgate.policy.errors import FactUnavailable
from capgate.policy.rulefile import Example, Rule

__all__ = ["duplicate_examples", "idle_examples", "missing_kinds", "untested_triggers"]

_KINDS: Final = {True: "refused", False: "admitted"}
_SHAPE: Final = "shape"


def missing_kinds(context: Context) -> Iterator[Finding]:
    """Rules without an example of what they refuse, or of what they do not."""
    for rule in context.rules:
        for refused, word in _KINDS.items():
            if not any(example.refused is refused for example in rule.examples):
                message = f"the rule has no example under 'examples.{word}'"
                folder = shlex.quote(str(FilePath(rule.document.name).parent))
                remedy = f"Add one; 'capgate rules test --init {rule.id} {folder}' shows one to paste."
                yield context.finding("example-missing-kind", rule, ("id",), message, remedy)


def duplicate_examples(context: Context) -> Iterator[Finding]:
    """Examples that an earlier one of the rule repeats."""
    for rule in context.rules:
        seen: dict[bytes, Example] = {}
        for example in rule.examples:
            given = read_given(example.given)
            key = canonical([example.descriptor, given._replace(taken=tuple(sorted(given.taken))).to_json()])
            first = seen.setdefault(key, example)
            if first is not example:
                message = f"the same example stands at {rule.document.span(first.source)}"
                if first.refused is not example.refused:
                    message += f" under '{_KINDS[first.refused]}': it cannot be both"
                yield context.finding("example-duplicate", rule, example.source, message, "Take one of the two out.")


def idle_examples(context: Context) -> Iterator[Finding]:
    """Examples of which the rule is asked nothing."""
    for rule in context.rules:
        idle: list[Example] = []
        admitted = [example for example in rule.examples if not example.refused]
        for example in rule.examples:
            stopped, asked = _reached(example, rule, context)
            if stopped:
                message = "the stage 'shape' refuses this descriptor, so the rule is asked nothing of it"
                remedy = "Mend the descriptor, or take the example out."
                yield context.finding("example-tests-nothing", rule, example.source, message, remedy)
            elif not asked and not example.refused:
                idle.append(example)
        # A rule that refuses every element can only be silent where there is none.
        each = all(refuses_each(context.asker(rule, number)) for number in range(len(rule.triggers)))
        if admitted and idle == admitted and not each:
            message = "no example under 'admitted' has an element that the rule would be asked of"
            remedy = "Add an example that the rule looks at and is silent on, as near as can be to what it refuses."
            yield context.finding("example-tests-nothing", rule, admitted[0].source, message, remedy)


def _reached(example: Example, rule: Rule, context: Context) -> tuple[bool, bool]:
    """Whether the stage `shape` stopped an example before it came to the rule, and whether the rule was asked."""
    given = read_given(example.given)
    try:
        asked = asked_of(Subject(example.descriptor, given), context.gates)
    except FactUnavailable:
        return False, True
    rules = context.gates.rules.rules
    shape = [
        one
        for one in asked
        if rules[one.rule].triggers[one.trigger].stage == _SHAPE and rules[one.rule].severity == "refuse"
    ]
    own = any(one.rule == rule.id for one in asked)
    return not own and any(one.can_hold for one in shape), own


def untested_triggers(context: Context) -> Iterator[Finding]:
    """Triggers that no example makes refuse; nothing where a case cannot be read, which might be the one that does."""
    if context.suite.problems:
        return
    seen: dict[tuple[str, int], bool] = {}
    for trial in context.suite.trials:
        try:
            for one in asked_of(Subject(trial.descriptor, trial.given), context.gates):
                seen[one.rule, one.trigger] = seen.get((one.rule, one.trigger), False) or one.can_hold
        except FactUnavailable:
            continue
    for asker in context.askers:
        tested = any(example.refused for example in asker.rule.examples)
        if tested and not seen.get((asker.rule.id, asker.number), False):
            message = f"no example and no case makes {asker.named} refuse"
            remedy = "Add an example under 'refused' that this trigger refuses."
            yield context.finding("trigger-without-example", asker.rule, asker.trigger.source, message, remedy)
