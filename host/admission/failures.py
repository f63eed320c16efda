"""Why something that was admitted, or lies in one of the host's folders, does not run (contract 4 and 6)."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Failure"]


class Failure(NamedTuple):
    """Why something that was admitted, or lies there, does not run.

    Attributes:
        id: the id of the extension.
        name: its name, where that is known.
        refused: what kind of failure.
        why: what is wrong, a sentence.
        next: what to do, a sentence.
        rule: the rule of the gate, where it refused.
    """

    id: str
    name: str | None
    refused: str
    why: str
    next: str
    rule: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The failure as JSON data (contract 4)."""
        return {key: value for key, value in self._asdict().items() if value is not None}
