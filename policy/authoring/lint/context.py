"""What every check looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from capgate.policy.authoring.domains import Domains
from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.lint.evidence import Evidence
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.kleene import PARTS, Part, whole_parts
from capgate.policy.authoring.settle import Subject
from capgate.policy.authoring.suite import Suite
from capgate.policy.conditions import Check, Test
from capgate.policy.paths import Path
from capgate.policy.rulefile import Loop, Rule, Trigger

__all__ = ["Asker", "Context"]

#: How much of a condition a message shows, in characters.
_WIDEST = 80


class Asker(NamedTuple):
    """One trigger of a rule that is looked at.

    Attributes:
        rule: the rule.
        number: of the trigger, from 0.
        trigger: the trigger.
        loops: the loops around it, the stage's first.
    """

    rule: Rule
    number: int
    trigger: Trigger
    loops: tuple[Loop, ...]

    @property
    def named(self) -> str:
        """What a message calls it."""
        return "the trigger" if len(self.rule.triggers) == 1 else f"trigger {self.number + 1}"

    def parts(self) -> Iterator[Part]:
        """Every condition and operator in it."""
        return whole_parts(self.trigger.when)

    def tests(self) -> Iterator[Test]:
        """Every path with its operators."""
        return (part for part in self.parts() if isinstance(part, Test))


class Context:
    """The rules to look at, and what is known of them.

    Args:
        gates: what judges.
        suite: the rules and their tests.
        folders: the folders in which the rules lie, or none for all rules.
    """

    def __init__(self, gates: Gates, suite: Suite, folders: Sequence[FilePath] = ()):
        self.gates = gates
        self.catalog = gates.catalog
        self.rules = suite.rules
        self.suite = suite
        self.folders = folders
        self.loops: Mapping[str, Loop | None] = {stage.name: stage.loop for stage in gates.rules.stages}
        self.domains = Domains(gates.rules, gates.catalog)

    @cached_property
    def evidence(self) -> Evidence:
        """What is known from descriptors that were judged."""
        return Evidence(self.gates, self.rules, self.suite.trials)

    @cached_property
    def askers(self) -> tuple[Asker, ...]:
        """Every trigger of the rules that are looked at."""
        return tuple(self.asker(rule, number) for rule in self.rules for number in range(len(rule.triggers)))

    def asker(self, rule: Rule, number: int) -> Asker:
        """A trigger of a rule."""
        trigger = rule.triggers[number]
        return Asker(rule, number, trigger, tuple(loop for loop in (self.loops[trigger.stage], trigger.loop) if loop))

    def finding(
        self, check: str, rule: Rule, at: Path | Part, message: str, remedy: str, witness: Subject | None = None
    ) -> Finding:
        """A finding at a condition or an operator, or at the key or the item at a place of a rule file."""
        if isinstance(at, Test) and len(at.checks) == 1:
            at = at.checks[0]
        if isinstance(at, PARTS):
            span = rule.document.span(at.at, key=isinstance(at, Check))
        else:
            span = rule.document.span(at, key=True)
        return Finding(check, span, message, remedy, rule.id, witness)

    def text(self, rule: Rule, part: Part) -> str:
        """A condition or an operator as its file writes it, on one line."""
        return shortened(written(rule, part))


def written(rule: Rule, part: Part) -> str:
    """A condition or an operator as YAML on one line."""
    data: Any = rule.document.data
    for step in part.at:
        data = data[step]
    if isinstance(part, Check):
        return f"{part.at[-2]}: {{{part.at[-1]}: {flow(data)}}}"
    return flow(data)[1:-1]


def shortened(text: str) -> str:
    """`text`, cut where it is too long for a message."""
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
