"""The registry: what runs, as the ledger says it and the gate confirms it (contract 6).

A `Registry` never changes. A new one is made whenever the ledger has grown, and takes the place of the
old one in a single step, so a reader sees the one or the other and never a mix.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.failures import Failure
from capgate.host.admission.records import of_id, read_record
from capgate.host.admission.shelf import SOURCE as SHELF
from capgate.host.admission.shelf import Shelf, ShelfTool, load_shelf
from capgate.host.admission.store import Entry, LedgerState, Store, StoredDescriptor
from capgate.host.mediation.clock import Clock
from capgate.policy.gate import Gate, ToolNames
from capgate.policy.verdict import Verdict, content_digest

__all__ = ["PLACEMENT", "Extension", "Registry", "Running", "Tool"]

#: Where a server runs extensions (contract 2).
PLACEMENT: Final = "machine"
#: What a failure of the ledger itself is listed under; no extension can have this id.
LEDGER: Final = ".ledger"
#: The failures that a change which is under way would show too, for a moment.
_UNDER_WAY: Final = frozenset({"changed-since-admission", "descriptor-missing"})


class Extension(NamedTuple):
    """An extension that runs.

    Attributes:
        id: its id.
        descriptor: what was admitted; only read it.
        verdict: what the gate said when it was loaded.
        entry: the line of the ledger that admits it.
    """

    id: str
    descriptor: Mapping[str, Any]
    verdict: Verdict
    entry: Entry


class Tool(NamedTuple):
    """A tool that can be called.

    Attributes:
        extension: whose it is.
        tool: its part of the descriptor.
    """

    extension: Extension
    tool: Mapping[str, Any]


class Registry(NamedTuple):
    """All that runs, and all that does not although it should.

    Attributes:
        version: the version of the store that it was made of.
        loaded_at: when, on the monotonic clock, in seconds.
        ledger: what the ledger said.
        extensions: id to extension, by id.
        tools: name of a tool to the tool.
        names: the names of all tools.
        failed: id to failure, by id.
        shelf: what the folder of wasm modules offers; what of it runs is among the extensions.
        settled: whether nothing was under way while it was read, for all that can be told.
    """

    version: Hashable
    loaded_at: float
    ledger: LedgerState
    extensions: Mapping[str, Extension]
    tools: Mapping[str, Tool]
    names: ToolNames
    failed: Mapping[str, Failure]
    shelf: Shelf
    settled: bool

    def taken(self, excluding: str | None = None) -> ToolNames:
        """The names of the tools of all extensions but that one; only read it."""
        extension = self.extensions.get(excluding) if excluding is not None else None
        if extension is None:
            return self.names
        return ToolNames(self.names.difference(_tool_names(extension.descriptor)))


class Running:
    """Keeps the registry as new as the ledger.

    Args:
        gate: judges each descriptor again.
        store: where they are kept.
        clock: tells when it was loaded.
        shelf: the folder of wasm modules.
    """

    def __init__(self, gate: Gate, store: Store, clock: Clock, shelf: Path):
        self._gate = gate
        self._store = store
        self._clock = clock
        self._shelf = shelf
        self._lock = threading.Lock()
        self._parsed: dict[str, _Parsed] = {}
        self._registry: Registry | None = None

    def peek(self) -> Registry:
        """The registry as it was when somebody last asked for the current one; never waits after the first time."""
        return self._registry or self.current()

    def current(self) -> Registry:
        """The registry as the ledger is now; loads it where it has changed. Not for whoever has a turn at the store.

        Raises:
            AdmissionError: ``store-unavailable``; the old registry stays.
        """
        registry = self._newest()
        if not registry.settled:
            # A change that was under way while it was read would look like this too.
            with suppress(AdmissionError), self._store.changing():
                registry = self.exclusive()
        return registry

    def exclusive(self) -> Registry:
        """As `current`, for whoever has the turn at the store."""
        registry = self._newest()
        if not registry.settled:
            with self._lock:
                registry = self._registry = self._load(self._store.version())._replace(settled=True)
        return registry

    def _newest(self) -> Registry:
        registry = self._registry
        if registry is not None and registry.version == self._store.version():
            return registry
        with self._lock:
            registry = self._registry
            # Asked before anything is read: what changes meanwhile makes the next caller load again.
            version = self._store.version()
            if registry is None or registry.version != version:
                registry = self._registry = self._load(version)
            return registry

    def _load(self, version: Hashable) -> Registry:
        ledger = self._store.ledger()
        stored = {item.id: item for item in self._store.descriptors()}
        extensions: dict[str, Extension] = {}
        tools: dict[str, Tool] = {}
        names = ToolNames()
        failed = dict(self._not_there(ledger, stored))
        parsed: dict[str, _Parsed] = {}
        for id, item in stored.items():
            found = self._parse(item)
            entry = ledger.admitted.get(id)
            if found is None:
                if entry is not None and ledger.fault is None:
                    failed[id] = _missing(id)
                continue
            parsed[id] = found
            if found.descriptor is None:
                # JSON that nobody admitted merely lies there, whatever it says (contract 6).
                if entry is not None or not found.is_json:
                    failed[id] = Failure(id, None, "unreadable", found.why, f"Mend or remove the file {id}.json.")
            elif id in failed or entry is None:
                continue  # Failed as a whole, or nobody admitted it: `inventory` lists those as present.
            elif found.digest != entry.digest:
                failed[id] = _changed(id, found.descriptor)
            else:
                verdict = self._gate.admit(found.descriptor, PLACEMENT, names)
                if not verdict.admitted:
                    failed[id] = _no_longer(id, found.descriptor, verdict)
                    continue
                extensions[id] = _loaded(Extension(id, found.descriptor, verdict, entry), tools, names)
        self._parsed = parsed
        shelf = load_shelf(self._shelf, self._gate, names)
        for id, offered in shelf.tools.items():
            extensions[id] = _loaded(_of_shelf(offered), tools, names)
        failed |= shelf.failed
        in_order = dict(sorted(failed.items()))
        settled = not any(failure.refused in _UNDER_WAY for failure in failed.values())
        return Registry(version, self._clock.monotonic(), ledger, extensions, tools, names, in_order, shelf, settled)

    def _parse(self, item: StoredDescriptor) -> _Parsed | None:
        """The file, read; None where it has gone meanwhile."""
        known = self._parsed.get(item.id)
        if known is not None and known.stamp == item.stamp:
            return known
        is_json = False
        try:
            data = self._store.descriptor(item.id, item.stamp)
            if data is None:
                return None
            record = read_record(data, f"{item.id}.json")
            is_json = True
            descriptor = of_id(record, f"{item.id}.json", item.id)
        except AdmissionError as error:
            return _Parsed(item.stamp, None, "", error.message, is_json)
        return _Parsed(item.stamp, descriptor, content_digest(descriptor), "", is_json)

    def _not_there(self, ledger: LedgerState, stored: Mapping[str, StoredDescriptor]) -> Iterator[tuple[str, Failure]]:
        """The failures that no file shows."""
        fault = ledger.fault
        broken = ("ledger-broken", f"the ledger cannot be trusted: {fault.what}", fault.next) if fault else None
        if broken:
            # Also where it cannot even be read whom it admits.
            yield LEDGER, Failure(LEDGER, None, *broken)
        for id in ledger.admitted:
            if broken:
                yield id, Failure(id, None, *broken)
            elif id not in stored:
                yield id, _missing(id)
        for id in ledger.unconfirmed:
            if id not in ledger.admitted:
                yield id, _unconfirmed(id)


class _Parsed(NamedTuple):
    """A file of the host's folder, read.

    Attributes:
        stamp: of the file.
        descriptor: what it holds, or None.
        digest: digest of its content.
        why: why there is none.
        is_json: whether it holds JSON at all.
    """

    stamp: Hashable
    descriptor: dict[str, Any] | None
    digest: str
    why: str
    is_json: bool


def _loaded(extension: Extension, tools: dict[str, Tool], names: ToolNames) -> Extension:
    for tool in extension.descriptor["tools"]:
        tools[tool["name"]] = Tool(extension, tool)
        names.add(tool["name"])
    return extension


def _of_shelf(offered: ShelfTool) -> Extension:
    """A module of the shelf: its manifest admits it, so it has the number of no line."""
    id, descriptor, verdict = offered
    entry = Entry(0, id, "admitted", content_digest(dict(descriptor)), "", SHELF, "")
    return Extension(id, descriptor, verdict, entry)


def _tool_names(descriptor: Mapping[str, Any]) -> Iterator[str]:
    return (tool["name"] for tool in descriptor["tools"])


def _name(descriptor: Mapping[str, Any]) -> str | None:
    name = descriptor.get("name")
    return name if type(name) is str else None


def _missing(id: str) -> Failure:
    why = "the ledger admits it, and there is no descriptor file"
    next_step = f"Either restore {id}.json from a backup or revoke the extension."
    return Failure(id, None, "descriptor-missing", why, next_step)


def _unconfirmed(id: str) -> Failure:
    why = "the ledger admits it by a line that does not say which content"
    next_step = "Run `capgate ledger import` to read its plan and confirm it."
    return Failure(id, None, "entry-unconfirmed", why, next_step)


def _changed(id: str, descriptor: Mapping[str, Any]) -> Failure:
    return Failure(
        id,
        _name(descriptor),
        "changed-since-admission",
        f"{id}.json is no longer what was admitted",
        "Restore the file from a backup, or review what it says now and re-admit it, or revoke it.",
    )


def _no_longer(id: str, descriptor: Mapping[str, Any], verdict: Verdict) -> Failure:
    return Failure(
        id,
        _name(descriptor),
        "gate-refused-at-load",
        f"it no longer passes the gate ({verdict.rule}): {verdict.why}",
        "Change it so that the rule has nothing to say and re-admit it, or revoke it.",
        verdict.rule,
    )
