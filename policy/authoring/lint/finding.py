"""What a check finds, and what it could not decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from capgate.policy.authoring.settle import Subject
from capgate.policy.errors import Span
from capgate.policy.rulefile import Rule

__all__ = ["Finding", "Undecided"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is probably not meant.

    Attributes:
        check: id of the check; its page is ``docs/lint/<id>.md``.
        span: where it is.
        message: what it is, one sentence.
        remedy: what to do.
        rule: id of the rule, or None where it is about none.
        witness: a descriptor that shows it, with what it is judged against.
    """

    check: str
    span: Span
    message: str
    remedy: str
    rule: str | None = None
    witness: Subject | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "id": self.check,
            "rule": self.rule,
            "file": self.span.file,
            "line": self.span.line,
            "column": self.span.column,
            "message": self.message,
            "remedy": self.remedy,
            "witness": None
            if self.witness is None
            else {"descriptor": self.witness.descriptor, "given": self.witness.given.to_json()},
            "page": f"docs/lint/{self.check}.md",
        }


@dataclass(frozen=True, slots=True)
class Undecided:
    """A question that is too large to be answered.

    Attributes:
        rule: the rule that it is about.
        checks: the ids of the checks that say nothing of it.
        span: where it is.
        why: why not.
    """

    rule: Rule
    checks: tuple[str, ...]
    span: Span
    why: str

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "rule": self.rule.id,
            "ids": list(self.checks),
            "file": self.span.file,
            "line": self.span.line,
            "column": self.span.column,
            "why": self.why,
        }
