"""The words that a path can be, where they are known: capabilities, primitives, placements, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.vocabulary import Reference

__all__ = ["words_of"]

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


def words_of(reference: Reference, asker: Asker, context: Context, *, items: bool) -> Sequence[str]:
    """The words that a path, or with `items` an element of its list, can be; none where it can be any text."""
    catalog = context.catalog
    over = next((loop.over for loop in asker.loops if reference.looped and loop.variable == reference.root), None)
    of = _name(over) if over is not None else ""
    whole = _name(reference)
    if whole in _CAPABILITIES if items else of in _CAPABILITIES and whole == reference.root:
        return tuple(catalog.capabilities)
    if items:
        return {"catalog.primitives": tuple(catalog.primitives), "catalog.abis": tuple(catalog.abis)}.get(whole, ())
    if of in _TOOLS:
        laid_out = {f"{name}.abi" for name, terms in catalog.primitives.items() if terms.abis}
        below = ".".join(reference.steps)
        return tuple(catalog.primitives if below == "primitive" else catalog.abis if below in laid_out else ())
    if whole == "placement.name":
        return tuple(catalog.placements)
    if whole.startswith(_MECHANISM):
        names = (terms.mechanisms.get(whole.removeprefix(_MECHANISM)) for terms in catalog.placements.values())
        return tuple(name for name in names if name)
    if reference.term.origin == "derived":
        return ()
    domain = context.domains.of(reference, asker.trigger)
    closed = not domain.fits("x") and all(type(value) is str for value in domain.known)
    return domain.known if closed else ()


def _name(reference: Reference) -> str:
    return reference.term.fact if reference.term.origin != "submitted" else reference.text
