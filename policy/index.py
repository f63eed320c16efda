"""Which triggers can match at all, without asking each of them.

A trigger whose condition needs some path to equal a text, or a certain list to contain one, is asked
only of subjects that have that text there. So ten thousand rules that each watch for a name of their
own cost one look-up, not ten thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from capgate.policy.conditions import AllOf, AnyOf, Condition, Test
from capgate.policy.rulefile import Trigger
from capgate.policy.vocabulary import Reference

__all__ = ["Key", "key_of", "pick"]


class Key(NamedTuple):
    """What a trigger needs: one of `texts` as the value of `source`, or among its items if `items`."""

    source: Reference
    items: bool
    texts: frozenset[str]

    @property
    def kind(self) -> tuple[str, bool]:
        """Triggers of one kind can share an index."""
        return self.source.text, self.items


def key_of(trigger: Trigger) -> Key | None:
    """The key of a trigger, or None where it has to be asked of every subject."""
    if trigger.loop is None:
        return _key(trigger.when, "")
    # An inner loop over something that might be no list refuses whatever the condition says.
    if trigger.loop.over.term.type != "list":
        return None
    return _key(trigger.when, trigger.loop.variable)


def pick(index: Mapping[str, tuple[int, ...]], items: Iterable[Any]) -> Iterable[int]:
    """The numbers of the triggers that have a key among `items`, in order, each once."""
    found = [index[item] for item in items if type(item) is str and item in index]
    if len(found) < 2:
        return found[0] if found else ()
    return sorted({number for numbers in found for number in numbers})


def _key(condition: Condition, inner: str) -> Key | None:
    match condition:
        case Test():
            return _key_of_test(condition, inner)
        case AllOf():
            keys = [key for part in condition.parts if (key := _key(part, inner))]
            return min(keys, key=lambda key: key.items, default=None)
        case AnyOf():
            found = [_key(part, inner) for part in condition.parts]
            keys = [key for key in found if key]
            if len(keys) < len(found) or len({key.kind for key in keys}) > 1:
                return None
            return Key(keys[0].source, keys[0].items, frozenset().union(*(key.texts for key in keys)))
        case _:
            return None


def _key_of_test(test: Test, inner: str) -> Key | None:
    reference = test.reference
    if reference.term.origin == "constant" or (reference.looped and reference.root == inner):
        return None
    for check in test.checks:
        operand = check.operand
        if check.operator == "equals" and type(operand) is str:
            return Key(reference, False, frozenset([operand]))
        if check.operator == "in" and type(operand) is list and all(type(item) is str for item in operand):
            return Key(reference, False, frozenset(operand))
        if check.operator == "contains" and type(operand) is str and reference.term.type == "list":
            return Key(reference, True, frozenset([operand]))
    return None
