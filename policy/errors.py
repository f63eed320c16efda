"""The one hierarchy of errors.

Every mistake that capgate reports has a stable id, a sentence that says what is wrong, a hint that
says what to do, and, where a file is to blame, a span. Only the command line prints and exits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = ["CapgateError", "FactUnavailable", "PolicyInvalid", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text.

    Attributes:
        file: name of the file as the caller gave it, or a label such as ``<stdin>``.
        line: line, counted from 1; None where only the file is known.
        column: column in code points, counted from 1; None where only the line is known.
    """

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


class CapgateError(Exception):
    """The root: everything that capgate raises on purpose.

    Attributes:
        id: stable identifier of the mistake; one of the keys of `ids`.
        message: what is wrong, one sentence without the place.
        hint: what to do about it.
        span: where, or None.
    """

    #: Every id of this family with the advice for a person who meets it.
    ids: ClassVar[Mapping[str, str]] = {}
    #: The HTTP status that a host answers with.
    status: ClassVar[int] = 400

    def __init__(self, id: str, message: str, *, hint: str | None = None, span: Span | None = None):
        if id not in self.ids:
            raise KeyError(f"{type(self).__name__} has no error id {id!r}")
        super().__init__(id, message)
        self.id = id
        self.message = message
        self.hint = self.ids[id] if hint is None else hint
        self.span = span

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.id}: {self.message}{hint}"

    def to_json(self) -> dict[str, Any]:
        """The error as JSON data: id, message, hint, file, line, column."""
        span = self.span
        return {
            "id": self.id,
            "message": self.message,
            "hint": self.hint,
            "file": span.file if span else None,
            "line": span.line if span else None,
            "column": span.column if span else None,
        }


class PolicyInvalid(CapgateError, ValueError):
    """The rules or the plugins cannot be used; nothing is decided with them.

    Attributes:
        problems: every mistake found, in the order of files and lines.
    """

    ids = {"policy-invalid": "Mend every problem listed; no extension is judged until then."}
    status = 503

    def __init__(self, problems: Iterable[CapgateError]):
        self.problems = tuple(problems)
        count = len(self.problems)
        super().__init__(
            "policy-invalid",
            f"the policy has {count} problem{'' if count == 1 else 's'}",
        )

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"  {problem}" for problem in self.problems)])


class FactUnavailable(CapgateError):
    """A plugin could not say what a rule asked it; the subject is refused under this id."""

    ids = {"fact-unavailable": "Mend or remove the plugin named; nothing is admitted on a fact that nobody knows."}
    status = 503

    def __init__(self, message: str):
        super().__init__("fact-unavailable", message)
