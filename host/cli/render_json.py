"""The report as JSON: one document, one result a line, written as the results come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capgate.host.checking import Result, Summary
from capgate.host.safe_json import json_text
from capgate.policy.errors import PolicyInvalid

if TYPE_CHECKING:
    from capgate.policy.gate import Gate

__all__ = ["JsonReport"]


class JsonReport:
    """Writes ``{"policy", "results", "summary"}``. What the methods return makes one document, in their order."""

    def __init__(self) -> None:
        self._between = ""

    def start(self, gate: Gate) -> str:
        """Opens the document."""
        return f'{{"policy": {json_text({"fingerprint": gate.fingerprint})},\n "results": ['

    def result(self, result: Result) -> str:
        """One result, on a line of its own."""
        text = f"{self._between}\n  {json_text(result.to_json())}"
        self._between = ","
        return text

    def end(self, summary: Summary) -> str:
        """Closes the document."""
        return f'\n ],\n "summary": {json_text(summary.to_json())}}}\n'

    def invalid(self, error: PolicyInvalid) -> str:
        """The whole document where nothing could be judged: the problems stand beside the fingerprint."""
        problems = [problem.to_json() for problem in error.problems]
        policy = json_text({"fingerprint": None, "problems": problems})
        return f'{{"policy": {policy},\n "results": []' + f',\n "summary": {json_text(Summary().to_json())}}}\n'
