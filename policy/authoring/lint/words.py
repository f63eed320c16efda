"""The words that a path can be, where they are known: capabilities, primitives, placements, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.vocabulary import Reference

__all__ = ["Words", "words_of"]


class Words(NamedTuple):
    """The words that something can be.

    Attributes:
        noun: what they are called, or nothing.
        words: all of them; none where it can be any text.
    """

    noun: str
    words: Sequence[str]


_ANY: Final = Words("", ())
#: Lists of capabilities; their elements are such.
_CAPABILITIES: Final = frozenset(
    {
        "subject.capabilities",
        "descriptor.capabilities",
        "placement.mechanisms",
        "catalog.capabilities",
        "catalog.mediated",
        "tool.needs",
        "tool.undeclared",
    }
)
_TOOLS: Final = frozenset({"subject.tools", "descriptor.tools"})
_MECHANISM: Final = "placement.mechanism."


def words_of(reference: Reference, asker: Asker, context: Context, *, items: bool) -> Words:
    """The words that a path, or with `items` an element of its list, can be."""
    catalog = context.catalog
    over = next((loop.over for loop in asker.loops if reference.looped and loop.variable == reference.root), None)
    of = _name(over) if over is not None else ""
    whole = _name(reference)
    if whole in _CAPABILITIES if items else of in _CAPABILITIES and whole == reference.root:
        return Words("capability", tuple(catalog.capabilities))
    lists = {"catalog.primitives": Words("primitive", tuple(catalog.primitives))}
    lists["catalog.abis"] = Words("ABI", tuple(catalog.abis))
    if items:
        return lists.get(whole, _ANY)
    if of in _TOOLS:
        laid_out = {f"{name}.abi" for name, terms in catalog.primitives.items() if terms.abis}
        below = ".".join(reference.steps)
        kind = "catalog.primitives" if below == "primitive" else "catalog.abis" if below in laid_out else ""
        return lists.get(kind, _ANY)
    if whole == "placement.name":
        return Words("placement", tuple(catalog.placements))
    if whole.startswith(_MECHANISM):
        names = (terms.mechanisms.get(whole.removeprefix(_MECHANISM)) for terms in catalog.placements.values())
        return Words("mechanism for it", tuple(name for name in names if name))
    if reference.term.origin == "derived":
        return _ANY
    domain = context.domains.of(reference, asker.trigger)
    closed = not domain.fits("x") and all(type(value) is str for value in domain.known)
    return Words("", domain.known) if closed else _ANY


def _name(reference: Reference) -> str:
    return reference.term.fact if reference.term.origin != "submitted" else reference.text
