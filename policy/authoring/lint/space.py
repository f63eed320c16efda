"""Every way in which the conditions of some triggers can be answered together.

The ways are those that some descriptor could bring about, and perhaps a few more: what is so in all of them is
so for every descriptor. Places that depend on each other are tied: see `ties`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from capgate.policy.authoring.domains import Domains
from capgate.policy.authoring.given import Gates, Given
from capgate.policy.authoring.lint.kleene import FALSE, RANK, TRUE, UNKNOWN, Answers, Columns
from capgate.policy.authoring.lint.slots import Key, Option, Role, Slots
from capgate.policy.authoring.lint.ties import Tie, ties
from capgate.policy.authoring.lint.values import TAKEN, TooMany, Value
from capgate.policy.authoring.lint.worlds import Worlds
from capgate.policy.authoring.possible import judged
from capgate.policy.catalog import RESERVED_TOOL_NAMES
from capgate.policy.conditions import Check, Each, Fact, Test, leaves_of
from capgate.policy.paths import Path
from capgate.policy.rulefile import Trigger
from capgate.policy.vocabulary import Reference

__all__ = ["BOUND", "Part", "Space"]

#: So many combinations of values are looked at for one question.
BOUND: Final = 200_000

#: A trigger, and what its variables are in the comparison.
Part = tuple[Trigger, Mapping[str, Role]]


class Space:
    """The ways in which some triggers can be answered together.

    Args:
        parts: the triggers; variables of one role stand for the same element.
        gates: what exists.
        domains: what each path can be.
    """

    def __init__(self, parts: Sequence[Part], gates: Gates, domains: Domains):
        self._parts = parts
        self._gates = gates
        self._domains = domains
        self._worlds = Worlds(gates)
        self._leaves = [(number, leaf) for number, (trigger, _) in enumerate(parts) for leaf in leaves_of(trigger.when)]

    def answers(self) -> list[Answers]:
        """What every operator says in each way, for each of the triggers.

        Raises:
            TooMany: there are more than `BOUND` ways, or more values than can be told apart.
        """
        columns = [Columns(leaf.at for leaf in leaves_of(trigger.when)) for trigger, _ in self._parts]
        seen: set[str] = set()
        left = BOUND
        for given in self._worlds.all(self._facts(), self._listed()):
            told = repr([self._told(leaf, given) for _, leaf in self._leaves])
            if told in seen:
                continue
            seen.add(told)
            for found in self._table(given).ways():
                left -= 1
                if left < 0:
                    raise TooMany
                if found is not None:
                    for column, answers in zip(columns, found, strict=True):
                        column.add(answers)
        return [column.answers() for column in columns]

    def _told(self, leaf: Test, given: Given) -> Any:
        """All that makes an operator speak otherwise where descriptors are judged against something else."""
        (check,) = leaf.checks
        known = self._worlds.resolved(check, given)
        if known is None:
            return None
        if leaf.reference.term.origin == "constant" and known.operand is not TAKEN:
            return judged(known, known.operand, self._worlds.constant(leaf.reference.term.fact, given))
        return None if known.operand is check.operand else known.operand

    def alone(self) -> Iterator[tuple[Test, str | None, frozenset[int]]]:
        """Each operator of the first trigger by itself: a kind of value, and all that it can say of such values.

        The kind is None where it compares what is not in the descriptor. What can say anything is left out.

        Raises:
            TooMany: there are more values than can be told apart.
        """
        table = self._table(Given())
        ties(self._parts, table.slots)  # they know of more values
        said: dict[tuple[Path, str | None], set[int]] = {}
        for slot in table.slots.found.values():
            for option in slot.options() if slot.asked else ():
                for (_, _, view), (_, at, truth) in zip(slot.asked, option.answers, strict=True):
                    said.setdefault((at, view.of(option.value).kind), set()).add(truth)
        for at, truth in table.fixed[0].items():
            said.setdefault((at, None), set()).add(truth)
        for _, leaf in self._leaves:
            yield from ((leaf, kind, frozenset(truths)) for (at, kind), truths in said.items() if at == leaf.at)

    def _table(self, given: Given) -> _Table:
        table = _Table(self._parts, Slots(self._gates.catalog, self._domains))
        for number, leaf in self._leaves:
            table.add(number, leaf, given, self._worlds)
        return table

    def _facts(self) -> set[str]:
        references = [leaf.reference for _, leaf in self._leaves]
        references += [reference for _, leaf in self._leaves for reference in _operands(leaf.checks)]
        return {reference.term.fact for reference in references if reference.term.origin == "constant"}

    def _listed(self) -> Iterator[Any]:
        for _, leaf in self._leaves:
            if leaf.reference.term.fact == "placement.mechanisms":
                operand = leaf.checks[0].operand
                yield operand
                yield from operand if type(operand) is list else ()


def _operands(checks: Sequence[Check]) -> Iterator[Reference]:
    for check in checks:
        if isinstance(check.operand, Fact):
            yield check.operand.reference
        elif isinstance(check.operand, Each):
            yield from _operands(check.operand.checks)


class _Table:
    """What can vary where descriptors are judged against one thing, and what cannot.

    Attributes:
        slots: what can vary.
        fixed: for each trigger the answers that are the same for all descriptors, by the place of the operator.
    """

    def __init__(self, parts: Sequence[Part], slots: Slots):
        self._parts = parts
        self.slots = slots
        self.fixed: list[dict[Path, int]] = [{} for _ in parts]
        self._free: dict[str, list[tuple[int, Path]]] = {}

    def add(self, number: int, leaf: Test, given: Given, worlds: Worlds) -> None:
        """Adds an operator of the trigger of that number."""
        (check,) = leaf.checks
        trigger, roles = self._parts[number]
        known = worlds.resolved(check, given)
        fact = leaf.reference.term.fact
        if leaf.reference.term.origin == "constant":
            if known is None or known.operand is TAKEN:
                self._vary(number, leaf)
            else:
                self._fix(number, check.at, RANK[judged(known, known.operand, worlds.constant(fact, given))])
        elif fact == "host.taken":
            if check.operator in ("type", "exists", "empty"):
                self._fix(number, check.at, RANK[judged(check, check.operand, sorted(RESERVED_TOOL_NAMES))])
            else:
                self._vary(number, leaf)
        elif known is None or (fact == "tool.layout" and check.operator not in _OF_ANY_CONTENT):
            self.slots.view(leaf.reference, trigger, roles)
            self._vary(number, leaf)
        else:
            view = self.slots.view(leaf.reference, trigger, roles)
            self.slots.found[view.key].asked.append((number, known, view))

    def _fix(self, number: int, at: Path, said: int) -> None:
        self.fixed[number][at] = said

    def _vary(self, number: int, leaf: Test) -> None:
        """What the operator says is not known, but that it says the same wherever the same is asked."""
        (check,) = leaf.checks
        trigger, roles = self._parts[number]
        written = repr((number, check.at))
        if check.added is not None:
            written = repr(check.operand)
        elif isinstance(check.operand, Fact):
            written = self._name(check.operand.reference, trigger, roles)
        key = f"{self._name(leaf.reference, trigger, roles)} {check.operator} {written}"
        self._free.setdefault(key, []).append((number, check.at))

    def _name(self, reference: Reference, trigger: Trigger, roles: Mapping[str, Role]) -> str:
        if reference.term.origin == "constant" or reference.term.fact == "host.taken":
            return reference.term.fact
        view = self.slots.view(reference, trigger, roles)
        return repr((view.key, view.name))

    def ways(self) -> Iterator[Sequence[Mapping[Path, int]] | None]:
        """Each way, and None for each that turned out to be none. What is given changes afterwards."""
        tied = ties(self._parts, self.slots)
        rows: list[tuple[Key, list[Option]]] = []
        for key, slot in self.slots.found.items():
            if slot.asked or any(key in tie.keys for tie in tied):
                rows.append((key, slot.options()))
        for name, places in self._free.items():
            options = [
                Option(Value("answer", said), tuple((number, at, said) for number, at in places))
                for said in (TRUE, FALSE, UNKNOWN)
            ]
            rows.append((("free", name), options))
        rows.sort(key=lambda row: len(row[1]))
        order = {key: place for place, (key, _) in enumerate(rows)}
        due: list[list[Tie]] = [[] for _ in rows]
        for tie in tied:
            due[max(order[key] for key in tie.keys)].append(tie)
        yield from self._walk([options for _, options in rows], due, order, [])

    def _walk(
        self,
        rows: Sequence[Sequence[Option]],
        due: Sequence[Sequence[Tie]],
        order: Mapping[Key, int],
        chosen: list[Value],
    ) -> Iterator[Sequence[Mapping[Path, int]] | None]:
        depth = len(chosen)
        if depth == len(rows):
            yield self.fixed
            return
        for option in rows[depth]:
            chosen.append(option.value)
            if all(tie.holds([chosen[order[key]] for key in tie.keys]) for tie in due[depth]):
                for number, at, said in option.answers:
                    self.fixed[number][at] = said
                yield from self._walk(rows, due, order, chosen)
            else:
                yield None
            chosen.pop()


#: What can be said of a tool's layout without knowing the values in it.
_OF_ANY_CONTENT: Final = frozenset({"exists", "type", "empty", "minlength", "maxlength", "min", "max", "matches"})
