"""Verdicts as bytes. Most of a verdict's text is the same each time, and is written once."""

from __future__ import annotations

from typing import Final

from capgate.host.web.answers import json_bytes
from capgate.policy.gate import Verdict

__all__ = ["VerdictTexts"]

#: How many texts are remembered; there are only so many placements and sets of capabilities, in whatever order.
_REMEMBERED: Final = 1024


class VerdictTexts:
    """Writes the verdicts of one gate: the same JSON as ``Verdict.to_json``, whatever the order of its keys."""

    def __init__(self) -> None:
        self._admitted: dict[tuple[str, tuple[str, ...], tuple[str, ...]], bytes] = {}
        self._ends: dict[str, bytes] = {}

    def text(self, verdict: Verdict) -> bytes:
        """The verdict as compact JSON."""
        if not verdict.admitted:
            return self._refused(verdict)
        if verdict.refusals:
            return json_bytes(verdict.to_json())
        # What is admitted without a warning has nothing else of its own.
        key = verdict.placement.name, verdict.declared, verdict.discloses
        text = self._admitted.get(key)
        if text is None:
            text = json_bytes(verdict.to_json())
            if len(self._admitted) < _REMEMBERED:
                self._admitted[key] = text
        return text

    def _refused(self, verdict: Verdict) -> bytes:
        """A refusal's own part, and the part that all refusals on that placement have."""
        own = {
            "decision": verdict.decision,
            "rule": verdict.rule,
            "why": verdict.why,
            "gets": [],
            "refusals": [refusal._asdict() for refusal in verdict.refusals],
        }
        end = self._ends.get(verdict.placement.name)
        if end is None:
            rest = {key: value for key, value in verdict.to_json().items() if key not in own}
            end = self._ends[verdict.placement.name] = json_bytes(rest)[1:]
        return json_bytes(own)[:-1] + b"," + end
