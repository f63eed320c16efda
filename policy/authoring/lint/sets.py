"""Loops, stages and facts that nothing uses, and severities that cannot mean what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Final

from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.conditions import paths_of
from capgate.policy.documents import load_yaml
from capgate.policy.errors import Span
from capgate.policy.folders import RULESET
from capgate.policy.rulefile import Loop
from capgate.policy.vocabulary import Reference

__all__ = ["overlooked_elements", "own_stages", "unused_facts", "walks_over_no_list", "warnings_in_shape"]

_SHAPE: Final = "shape"


def overlooked_elements(context: Context) -> Iterator[Finding]:
    """Loops whose variable the condition does not read."""
    for asker in context.askers:
        for loop in asker.loops:
            if not any(reference.looped and reference.root == loop.variable for reference in _read(asker, loop)):
                own = loop is asker.trigger.loop
                at = (*asker.trigger.source, "for_each" if own else "stage")
                message = (
                    f"{asker.named} does not look at '{loop.variable}', "
                    f"so it says the same of every element of '{loop.over.text}'"
                )
                remedy = (
                    "Ask about the variable, or take for_each out." if own else "Put it into a stage without a loop."
                )
                yield context.finding("loop-unused", asker.rule, at, message, remedy)


def _read(asker: Asker, loop: Loop) -> Iterator[Reference]:
    yield from paths_of(asker.trigger.when)
    yield from (other.over for other in asker.loops if other is not loop)


def walks_over_no_list(context: Context) -> Iterator[Finding]:
    """Loops over what can never be a list."""
    for asker in context.askers:
        loop = asker.trigger.loop
        if loop is None or loop.over.term.type == "list":
            continue
        values = context.domains.of(loop.over, asker.trigger).values(([], ["a"], [{}], [0]))
        if not any(type(value) is list for value in values):
            message = f"'{loop.over.text}' is never a list, so the trigger refuses whenever there is a value"
            remedy = "Walk over a list, or ask about the value without for_each."
            at = (*asker.trigger.source, "for_each")
            yield context.finding("loop-over-no-list", asker.rule, at, message, remedy)


def warnings_in_shape(context: Context) -> Iterator[Finding]:
    """Warnings about what is refused in any case."""
    for asker in context.askers:
        if asker.trigger.stage == _SHAPE and asker.rule.severity == "warn":
            message = "a warning in the stage 'shape' is only seen on descriptors that are refused as malformed"
            remedy = "Put the trigger into a later stage."
            at = (*asker.trigger.source, "stage")
            yield context.finding("severity-warn-in-shape", asker.rule, at, message, remedy)


def own_stages(context: Context) -> Iterator[Finding]:
    """Stages of the folders in which nothing is asked."""
    used = {stage.name for stage in context.gates.rules.stages if stage.triggers}
    for folder in dict.fromkeys(FilePath(rule.document.name).parent for rule in context.rules):
        file = folder / RULESET
        if not file.is_file():
            continue
        document = load_yaml(file.read_bytes(), str(file))
        for number, stage in enumerate(document.data["stages"]):
            if stage["name"] not in used:
                message = f"no rule asks anything in the stage '{stage['name']}'"
                remedy = "Take the stage out, or put a trigger into it."
                yield Finding("stage-unused", document.span(("stages", number, "name")), message, remedy)


def unused_facts(context: Context) -> Iterator[Finding]:
    """Facts that a plugin offers and no rule reads."""
    read = {
        reference.term.fact
        for rule in context.gates.rules.rules.values()
        for number in range(len(rule.triggers))
        for reference in _all_read(context.asker(rule, number))
    }
    for path, terms in context.catalog.facts.items():
        if path not in read:
            message = f"no rule reads '{path}' ({terms.meaning})"
            remedy = "Write the rule that it is for, or take the fact out of the plugin."
            yield Finding("fact-unused", Span(f"plugin {terms.plugin}"), message, remedy)


def _all_read(asker: Asker) -> Iterator[Reference]:
    trigger = asker.trigger
    yield from paths_of(trigger.when)
    yield from (loop.over for loop in asker.loops)
    yield from (piece for piece in (*trigger.reason, *trigger.remedy) if isinstance(piece, Reference))
    yield from [trigger.at] if trigger.at else []
