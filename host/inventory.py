"""Lists for people: which plugins are loaded, what each adds, and what was found but is not allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from capgate.host.assembly import Assembled
from capgate.plugins.errors import Origin, PluginError
from capgate.plugins.manager import Listing, find_config
from capgate.policy.catalog import Catalog
from capgate.policy.errors import PolicyInvalid

__all__ = ["Digest", "Found", "Given", "Loaded", "given", "loaded", "not_allowed"]


class Digest(NamedTuple):
    """What a distribution can be pinned with.

    Attributes:
        value: ``sha256:<hex>``, or None where its files are not known.
        why: why there is none, as a sentence.
    """

    value: str | None
    why: str = ""


class Loaded(NamedTuple):
    """A plugin that is loaded.

    Attributes:
        listing: which it is, and what it adds.
        rules: ids of the rules that it ships.
        digest: what it can be pinned with; None for a plugin that no distribution brings.
    """

    listing: Listing
    rules: tuple[str, ...]
    digest: Digest | None

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON data; rules are there by their ids."""
        entry = self.listing.to_json()
        entry["adds"] = {**entry["adds"], "rules": list(self.rules)} if self.rules else entry["adds"]
        return entry | _digest_json(self.digest)


class Given(NamedTuple):
    """What a primitive may be handed for a capability that it needs, on one placement.

    Attributes:
        placement: name of the placement.
        capability: name of the capability.
        mechanism: what enforces it there; None where nothing does, and so nothing is handed over.
        gives: what the host hands over, or why there is nothing; may be empty.
    """

    placement: str
    capability: str
    mechanism: str | None
    gives: str


class Found(NamedTuple):
    """An installed plugin that no config names. Nothing of it was imported.

    Attributes:
        origin: which it is.
        digest: what its distribution can be pinned with.
    """

    origin: Origin
    digest: Digest

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON data."""
        origin = self.origin
        entry = {"name": origin.name, "version": origin.version, "distribution": origin.distribution}
        return entry | _digest_json(self.digest)


def loaded(assembled: Assembled) -> list[Loaded]:
    """The plugins that `assembled` was made with, built-in ones first."""
    rules = assembled.gate.rules.rules.values()
    entries = []
    for listing in assembled.plugins.listing:
        origin = listing.origin
        shipped = tuple(rule.id for rule in rules if rule.provider == origin.name)
        entries.append(Loaded(listing, shipped, _digest(origin) if origin.kind == "configured" else None))
    return entries


def given(catalog: Catalog) -> Mapping[str, list[Given]]:
    """Each primitive, and what it may be handed: need by need, and of each need every placement."""
    return {
        name: [
            Given(
                placement.name,
                need,
                placement.mechanisms.get(need),
                placement.gives.get(need) or placement.absent.get(need, ""),
            )
            for need in terms.needs
            for placement in catalog.placements.values()
        ]
        for name, terms in catalog.primitives.items()
    }


def not_allowed() -> list[Found]:
    """The installed plugins that no config names. This looks into every installed distribution.

    Raises:
        PluginError: some distribution's metadata cannot be read.
    """
    from capgate.plugins.calls import Fault
    from capgate.plugins.config import Pin
    from capgate.plugins.guard import Caller
    from capgate.plugins.loading import installed

    try:
        config = find_config()
    except PolicyInvalid:
        config = None  # It names nothing that can be told.
    named = {pin.key for pin in config.plugins} if config else set()
    try:
        # Metadata can be broken in many ways, each of which importlib.metadata answers with another exception.
        origins = Caller().call(installed)
    except Fault as fault:
        raise PluginError(fault.id, f"looking for plugins in all that is installed {fault.what}") from None
    return [Found(origin, _digest(origin)) for origin in origins if Pin(origin.distribution).key not in named]


def _digest(origin: Origin) -> Digest:
    from capgate.plugins.loading import distribution_digest

    try:
        return Digest(distribution_digest(origin.distribution))
    except PluginError as error:
        return Digest(None, error.message.removeprefix(f"{error.origin}: "))


def _digest_json(digest: Digest | None) -> dict[str, Any]:
    return {"digest": digest and digest.value, "notPinnable": (digest and digest.why) or None}
