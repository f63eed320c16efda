"""Judging by rules that nobody would ship: mutants, and both sides of a comparison.

`Gate.admit` may take for granted that what is admitted is well-formed, since the shipped rules see to
that. Rules that were changed need not, so here refusals are asked for and no verdict is made of them.
"""

from __future__ import annotations

from typing import Any

from capgate.policy.authoring.given import Gates, Given
from capgate.policy.compiler import Program, Refusal, descriptor_shape
from capgate.policy.errors import FactUnavailable
from capgate.policy.gate import Facts
from capgate.policy.ruleset import RuleSet

__all__ = ["Judge"]


class Judge:
    """Asks one set of rules, on placements as tests suppose them.

    Args:
        rules: the rules.
        gates: gates over the same catalog, whatever their rules; they know the placements.
    """

    def __init__(self, rules: RuleSet, gates: Gates):
        self.rules = rules
        self._gates = gates
        self._programs: dict[tuple[str, tuple[str, ...] | None], Program] = {}

    def decide(self, descriptor: Any, given: Given) -> str | None:
        """The id of the first refusing rule; None where it is admitted."""
        program = self._program(given)
        try:
            return program.decide(descriptor, frozenset(given.taken), self._facts(descriptor, given))
        except FactUnavailable as error:
            return error.id

    def refusals(self, descriptor: Any, given: Given) -> list[Refusal]:
        """Every refusal and warning, in reading order."""
        found: list[Refusal] = []
        program = self._program(given)
        try:
            program.admit(descriptor, frozenset(given.taken), self._facts(descriptor, given), found)
        except FactUnavailable as error:
            found.append(Refusal(error.id, error.message, error.hint, "refuse", "$", None))
        return found

    def _program(self, given: Given) -> Program:
        key = (given.placement, given.mechanisms)
        program = self._programs.get(key)
        if program is None:
            catalog = self._gates.on(given).catalog
            terms = catalog.placements[given.placement]
            program = self._programs[key] = Program(self.rules, catalog, terms, descriptor_shape())
        return program

    def _facts(self, descriptor: Any, given: Given) -> Facts | None:
        terms = self._gates.catalog.facts
        return Facts(terms, descriptor, given.placement) if terms else None
