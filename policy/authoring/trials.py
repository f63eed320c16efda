"""What rules are tested with: the examples in their files, and the cases of their folders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from capgate.policy.authoring.given import Given, read_given
from capgate.policy.documents import Document
from capgate.policy.errors import CapgateError, Span
from capgate.policy.paths import Path
from capgate.policy.rulefile import Rule

__all__ = ["Trial", "TrialError", "examples_of"]


class TrialError(CapgateError, ValueError):
    """A test of rules cannot be used as it is."""

    ids = {
        "case-unreadable": "Check the name and the permissions; a path is relative to the file that names it.",
        "case-not-run": "Put the file directly into tests/ and call it NAME.yaml, or move it away.",
        "case-name-taken": "Give every case of a file a name of its own.",
        "case-subject": "Give the case a descriptor, or the path of a file that holds one.",
        "case-expects": "Say what is expected: refused and absent, or exactly; decision; places.",
        "given-placement": "Use a placement that a plugin defines.",
        "given-mechanism": "Use the name of a capability.",
    }


@dataclass(frozen=True, slots=True)
class Trial:
    """A descriptor, with what rules have to say of it.

    Attributes:
        kind: ``example`` of a rule, or ``case`` of a folder.
        name: of the case; of an example its kind and number, such as ``refused 2``.
        rule: of an example, the id of its rule.
        span: where the test stands.
        document: the file that holds the descriptor, and `at` its place in it.
        descriptor: the descriptor.
        given: what it is judged against.
        refused: ids that have to be among the refusals, and `absent` those that must not be.
        exactly: the ids of all refusals in their order, or None where others do not matter.
        places: the JSON paths that all refusals point at, in their order, or None where they do not matter.
        decision: ``admitted`` or ``refused``, or None where it does not matter.
    """

    kind: Literal["example", "case"]
    name: str
    rule: str | None
    span: Span
    document: Document
    at: Path
    descriptor: Any
    given: Given
    refused: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    exactly: tuple[str, ...] | None = None
    places: tuple[str, ...] | None = None
    decision: str | None = None

    def place(self, path: Path) -> Span:
        """Where the value at `path` of the descriptor stands, or its nearest parent."""
        return self.document.span((*self.at, *path))


def examples_of(rule: Rule) -> Iterator[Trial]:
    """The examples of a rule, in the order of its file."""
    counts = {True: 0, False: 0}
    for example in rule.examples:
        counts[example.refused] += 1
        yield Trial(
            "example",
            f"{'refused' if example.refused else 'admitted'} {counts[example.refused]}",
            rule.id,
            rule.document.span(example.source),
            rule.document,
            (*example.source, "descriptor"),
            example.descriptor,
            read_given(example.given),
            refused=(rule.id,) if example.refused else (),
            absent=() if example.refused else (rule.id,),
        )
