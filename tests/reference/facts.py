"""The facts that rules may name, and the elements that loops walk over."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, TypedDict

from capgate.policy.hosts import normalise_host
from reference.shape import faults
from reference.values import ABSENT, follow, is_list_of_strings, member

__all__ = ["Catalog", "Element", "Facts", "Placement"]

RESERVED_NAMES = ("list_extensions", "call_extension", "propose_extension", "delegate_task", "task_status")


class Placement(TypedDict):
    """A placement: its name, and the mechanism that enforces each capability it has one for."""

    name: str
    mechanisms: dict[str, str]


class Catalog(TypedDict):
    """What exists: capability names, the needs of each primitive, the whole-number fields of each ABI."""

    capabilities: list[str]
    primitives: dict[str, list[str]]
    abis: dict[str, list[str]]


@dataclass(frozen=True)
class Element:
    """One element of a loop: its value as submitted, its place, and the facts that are added to it."""

    value: Any
    place: str
    #: Added facts by name. They hide keys of the value; ABSENT hides one without giving another.
    added: Mapping[str, Any] = field(default_factory=dict)


class Facts:
    """Every fact about one subject on one placement."""

    def __init__(self, descriptor: Any, placement: Placement, taken: Set[str], catalog: Catalog):
        self.descriptor = descriptor
        self.catalog = catalog
        self.capabilities = _list_or_empty(follow(descriptor, ["capabilities"]))
        self.tools = _list_or_empty(follow(descriptor, ["tools"]))
        self.tree: dict[str, Any] = {
            "descriptor": descriptor,
            "subject": {
                "capabilities": self.capabilities,
                "tools": self.tools,
                "hosts": self._hosts(),
                "destinations": [_destination(host) for host in self._hosts()],
                "faults": faults(descriptor),
            },
            "placement": {
                "name": placement["name"],
                "mechanisms": list(placement["mechanisms"]),
                "mechanism": dict(placement["mechanisms"]),
            },
            "host": {"taken": sorted({*taken, *RESERVED_NAMES})},
            "catalog": {
                "capabilities": catalog["capabilities"],
                "mediated": self._mediated(),
                "primitives": list(catalog["primitives"]),
                "abis": list(catalog["abis"]),
            },
        }

    def value(self, path: str, loops: Mapping[str, Element]) -> Any:
        """The value at `path`, or ABSENT."""
        first, *rest = path.split(".")
        if first not in loops or path == "host.taken":
            return follow(self.tree, [first, *rest])
        element = loops[first]
        if rest and rest[0] in element.added:
            return follow(element.added[rest[0]], rest[1:])
        return follow(element.value, rest)

    def elements(self, path: str, loops: Mapping[str, Element]) -> list[Element] | None:
        """What a loop over `path` walks over; None where the value is no list. Absent gives no elements."""
        value = self.value(path, loops)
        if value is ABSENT:
            return []
        if not isinstance(value, list):
            return None
        if path == "subject.tools":
            return [self._tool(at) for at in range(len(value))]
        if path == "subject.faults":
            return [Element(fault, fault["path"]) for fault in value]
        first, *rest = path.split(".")
        if first in loops and rest and rest[0] in loops[first].added:
            holder = loops[first].place
            if rest[0] == "layout":
                return [Element(part, f"{holder}.wasm.{part['name']}") for part in value]
            return [Element(item, f"{holder}.primitive") for item in value]  # Needs come from the primitive.
        place = self.place(path, loops)
        outside = place == "$" and path != "descriptor"
        return [Element(item, place if outside else f"{place}[{at}]") for at, item in enumerate(value)]

    def place(self, path: str, loops: Mapping[str, Element]) -> str:
        """Where in the submitted document a path points; `$` for what was not submitted."""
        first, *rest = path.split(".")
        if first in loops and path != "host.taken":
            return ".".join([loops[first].place, *rest])
        if first == "descriptor":
            return ".".join(["$", *rest])
        submitted = {"subject.capabilities": "$.capabilities", "subject.tools": "$.tools"}
        hosts = {"subject.hosts": "$.bounds.hosts", "subject.destinations": "$.bounds.hosts"}
        return {**submitted, **hosts}.get(path, "$")

    def _hosts(self) -> list[Any]:
        hosts = follow(self.descriptor, ["bounds", "hosts"])
        return list(hosts) if member("network", self.capabilities) and is_list_of_strings(hosts) else []

    def _mediated(self) -> list[str]:
        needed = [need for needs in self.catalog["primitives"].values() for need in needs]
        return [name for name in self.catalog["capabilities"] if name in needed]

    def _tool(self, at: int) -> Element:
        tool = self.tools[at]
        primitive = follow(tool, ["primitive"])
        known = isinstance(primitive, str) and primitive in self.catalog["primitives"]
        needs = self.catalog["primitives"][primitive] if known else []
        added = {
            "known": known,
            "needs": list(needs),
            "undeclared": [need for need in needs if not member(need, self.capabilities)],
            "layout": self._layout(tool),
            "first_use": self._first_use(at),
        }
        return Element(tool, f"$.tools[{at}]", added)

    def _layout(self, tool: Any) -> list[dict[str, Any]]:
        abi = follow(tool, ["wasm", "abi"])
        if follow(tool, ["primitive"]) != "wasm" or not isinstance(abi, str) or abi not in self.catalog["abis"]:
            return []
        layout = []
        for name in self.catalog["abis"][abi]:
            value = follow(tool, ["wasm", *name.split(".")])
            layout.append({"name": name} if value is ABSENT else {"name": name, "value": value})
        return layout

    def _first_use(self, at: int) -> Any:
        name = follow(self.tools[at], ["name"])
        if not isinstance(name, str):
            return ABSENT
        for earlier in range(at):
            if same_name(follow(self.tools[earlier], ["name"]), name):
                return f"$.tools[{earlier}].name"
        return ABSENT


def same_name(other: Any, name: str) -> bool:
    """Whether `other` is the string `name`."""
    return isinstance(other, str) and other == name


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _destination(text: str) -> dict[str, Any]:
    host = normalise_host(text)
    if host is None:
        return {}
    return {"name": host.name, "port": host.port} if host.port else {"name": host.name}
