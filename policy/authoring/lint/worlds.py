"""What is not in the descriptor and fixed all the same: the placement, its mechanisms, the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.lint.values import TAKEN, TooMany
from capgate.policy.conditions import Check, Each, Fact
from capgate.policy.operators import ABSENT
from capgate.policy.vocabulary import constant_value

__all__ = ["Worlds"]

#: Sets of so many capabilities are tried, each.
_CAPABILITIES: Final = 8


class Worlds:
    """Everything that a descriptor can be judged against: each placement, with any mechanisms."""

    def __init__(self, gates: Gates):
        self._gates = gates
        self._catalog = gates.catalog
        self._supposed: dict[str, Mapping[str, str]] = {}

    def all(self, facts: Iterable[str], listed: Iterable[Any] = ()) -> list[Given]:
        """What a descriptor can be judged against, told apart as far as these constant facts can.

        Args:
            facts: constant facts that are read.
            listed: values that ``placement.mechanisms`` is compared with.

        Raises:
            TooMany: there are too many capabilities.
        """
        read = {fact.split(".")[1] for fact in facts if fact.startswith("placement.")}
        if not read:
            return [Given()]
        names = list(self._catalog.placements)
        found = [Given(name) for name in names]
        if read == {"name"}:
            return found
        capabilities = tuple(self._catalog.capabilities)
        if len(capabilities) > _CAPABILITIES:
            raise TooMany
        sets = [some for size in range(len(capabilities) + 1) for some in combinations(capabilities, size)]
        # The order of mechanisms is that in which a test gives them, and a rule can compare with such a list.
        sets += [
            tuple(value)
            for value in listed
            if type(value) is list and all(type(item) is str and item in capabilities for item in value)
        ]
        placed = names[:1] if read == {"mechanisms"} else names
        return found + [Given(name, (), some) for name in placed for some in dict.fromkeys(sets)]

    def constant(self, fact: str, given: Given) -> Any:
        """The value of a constant fact; `ABSENT` where it has none."""
        placement = self._catalog.placements[given.placement]
        if given.mechanisms is not None:
            names = self._names(given.placement)
            placement = replace(
                placement, mechanisms={capability: names[capability] for capability in given.mechanisms}
            )
        try:
            return constant_value(fact, self._catalog, placement)
        except KeyError:
            return ABSENT

    def _names(self, placement: str) -> Mapping[str, str]:
        """The mechanism of every capability, where a test supposes that the placement has all of them."""
        found = self._supposed.get(placement)
        if found is None:
            gate = self._gates.on(Given(placement, (), tuple(self._catalog.capabilities)))
            found = self._supposed[placement] = gate.catalog.placements[placement].mechanisms
        return found

    def resolved(self, check: Check, given: Given) -> Check | None:
        """The operator with its operand worked out; None where what it says cannot be known here."""
        operand = check.operand
        if check.added is not None:
            return None
        if isinstance(operand, Each):
            parts = tuple(self.resolved(part, given) for part in operand.checks)
            known = tuple(part for part in parts if part is not None and part.operand is not TAKEN)
            return check._replace(operand=Each(known)) if len(known) == len(parts) else None
        if not isinstance(operand, Fact):
            return check
        term = operand.reference.term
        if term.origin == "constant":
            return check._replace(operand=self.constant(term.fact, given))
        if term.fact == "host.taken" and check.operator in ("in", "not_in"):
            return check._replace(operand=TAKEN)
        return None
