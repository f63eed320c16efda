"""Whether a loop can meet something that is no list, and whether it can have elements at all."""

from __future__ import annotations

from typing import Any, Final

from capgate.policy.authoring.domains import Domains
from capgate.policy.operators import ABSENT
from capgate.policy.rulefile import Loop, Trigger

__all__ = ["has_elements", "may_be_no_list"]

_NO_LISTS: Final[tuple[Any, ...]] = (None, True, 0, 0.5, "a", "a.test", {})
_LISTS: Final[tuple[Any, ...]] = (["a"], [{}], [0], [None])
#: A test can suppose a mechanism for any capability.
_MECHANISM: Final = "placement.mechanism."


def may_be_no_list(loop: Loop, trigger: Trigger, domains: Domains) -> bool:
    """Whether there can be something that is no list, so that the trigger refuses."""
    if loop.over.term.type == "list":
        return False
    if loop.over.term.fact.startswith(_MECHANISM):
        return True
    values = domains.of(loop.over, trigger).values(_NO_LISTS)
    return any(value is not ABSENT and type(value) is not list for value in values)


def has_elements(loop: Loop, trigger: Trigger, domains: Domains) -> bool:
    """Whether there can be a list that is not empty."""
    term = loop.over.term
    if term.fact == "placement.mechanisms":
        return True
    domain = domains.of(loop.over, trigger)
    return any(type(value) is list and bool(value) for value in domain.values(_LISTS))
