"""The wasm shelf: modules in the host's own folder, whose tools load without a line in the ledger (contract 6 and 7).

Whoever can write that folder is the host, so a manifest there is an admission; the gate is asked all the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from capgate.host.admission.failures import Failure
from capgate.host.mediation.disk import Disk
from capgate.policy.documents import DocumentError, load_json
from capgate.policy.documents.source import MAX_BYTES
from capgate.policy.gate import Gate
from capgate.policy.text import show
from capgate.policy.verdict import Verdict

__all__ = ["LAYOUTS", "MANIFEST", "SOURCE", "Shelf", "ShelfTool", "load_shelf"]

#: Name of the file that lists the modules.
MANIFEST: Final = "manifest.json"
#: The `source` of what comes from a shelf.
SOURCE: Final = "wasm-shelf"
_MOST_TOOLS: Final = 256
_NAME: Final = re.compile("[a-z0-9_-]{1,64}")


def _buffer(address: int, key: str, size: int) -> dict[str, int]:
    return {"addr": address, key: size}


#: What the catalogue shows of a module.
_SHOWN: Final = ("path", "digest", "abi")
#: The modules whose layout is known; the shelf offers no other.
LAYOUTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "hash": {
        "abi": "buffer-abi/1",
        "call": {"export": "sha256"},
        "input": _buffer(0x400, "maxBytes", 8192),
        "output": _buffer(0x2400, "bytes", 32),
    },
    "diff": {
        "abi": "buffer-abi/diff",
        "call": {"export": "diff"},
        "inputA": _buffer(0x10000, "maxBytes", 65536),
        "inputB": _buffer(0x20000, "maxBytes", 65536),
        "output": _buffer(0x30000, "maxBytes", 262144),
    },
}


class ShelfTool(NamedTuple):
    """A tool of the shelf that runs.

    Attributes:
        id: id of its extension, ``wasm-shelf-<tool>``.
        descriptor: its descriptor; only read it.
        verdict: what the gate said.
    """

    id: str
    descriptor: Mapping[str, Any]
    verdict: Verdict


class Shelf(NamedTuple):
    """What the module folder offers.

    Attributes:
        tools: id to the tool that runs, in the order of the manifest.
        failed: id to why it does not run.
        entries: id to descriptor of every module with a known layout, whether it runs or not.
        unknown: id to name of the modules whose layout is not known; they are listed, and do not run.
    """

    tools: Mapping[str, ShelfTool]
    failed: Mapping[str, Failure]
    entries: Mapping[str, Mapping[str, Any]]
    unknown: Mapping[str, str]

    def catalogue(self, gate: Gate, names: Collection[str], placement: str = "machine") -> list[dict[str, Any]]:
        """The entries of the catalogue for it, as JSON data (contract 4).

        Args:
            gate: judges each as if it were admitted now.
            names: the names of the tools of all that is not of the shelf.
            placement: where it would run.
        """
        listed = [
            {
                "id": id,
                "name": descriptor["name"],
                "description": descriptor["description"],
                "runsIn": descriptor["runsIn"],
                "declared": [],
                "preview": gate.admit(descriptor, placement, frozenset(names)).to_json(),
                "wasm": {key: descriptor["tools"][0]["wasm"][key] for key in _SHOWN} | {"imports": 0},
            }
            for id, descriptor in self.entries.items()
        ]
        unknown = [
            {"id": id, "error": f"no layout is known for the module {show(name)}"} for id, name in self.unknown.items()
        ]
        return listed + unknown


def load_shelf(
    folder: Path, gate: Gate, names: Collection[str], *, placement: str = "machine", disk: Disk | None = None
) -> Shelf:
    """Reads a shelf's manifest and asks the gate about each tool; no manifest is an empty shelf.

    The modules themselves are looked at when they are called: their digest is part of the manifest.

    Args:
        folder: the host's module folder (`Settings.shelf`).
        gate: judges.
        names: names of tools that are taken.
        placement: where the tools run.
        disk: the file system.
    """
    try:
        data = (disk or Disk()).read(folder / MANIFEST, MAX_BYTES)
    except FileNotFoundError:
        return Shelf({}, {}, {}, {})
    except OSError as error:
        return _broken(f"it cannot be read: {error.strerror}")
    try:
        manifest = load_json(data, MANIFEST).data
    except DocumentError as error:
        return _broken(f"it is not JSON: {error.message}")
    listed = manifest.get("tools") if type(manifest) is dict else None
    if type(listed) is not list or len(listed) > _MOST_TOOLS:
        return _broken(f"it has no list of at most {_MOST_TOOLS} tools")
    descriptors: dict[str, dict[str, Any]] = {}
    unknown: dict[str, str] = {}
    for number, item in enumerate(listed, 1):
        module = item if type(item) is dict else {}
        name = module.get("id")
        if type(name) is not str or not _NAME.fullmatch(name):
            return _broken(f"the id of its tool {number} is {show(name)}")
        id = f"{SOURCE}-{name}"
        if id in descriptors or id in unknown:
            return _broken(f"it lists {name} twice")
        if name in LAYOUTS:
            descriptors[id] = _descriptor(id, name, module, folder)
        else:
            unknown[id] = name
    return _judged(descriptors, unknown, gate, set(names), placement)


def _descriptor(id: str, name: str, module: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The descriptor of a module with a known layout; what is wrong with the rest is for the gate to say."""
    file, digest, described = (module.get(key) for key in ("wasm", "digest", "description"))
    description = described if type(described) is str else ""
    wasm = {
        "path": f"{folder}/{file}" if type(file) is str and file else file,
        "digest": digest.removeprefix("sha256:") if type(digest) is str else digest,
        **LAYOUTS[name],
    }
    tool = {"name": name, "description": description, "primitive": "wasm", "wasm": wasm}
    return {
        "id": id,
        "name": f"Wasm shelf: {name}",
        "description": description,
        "source": SOURCE,
        "runsIn": "host",
        "capabilities": [],
        "bounds": {},
        "tools": [tool],
    }


def _judged(
    descriptors: Mapping[str, dict[str, Any]], unknown: Mapping[str, str], gate: Gate, names: set[str], placement: str
) -> Shelf:
    tools: dict[str, ShelfTool] = {}
    failed: dict[str, Failure] = {}
    for id, descriptor in descriptors.items():
        verdict = gate.admit(descriptor, placement, frozenset(names))
        if verdict.admitted:
            tools[id] = ShelfTool(id, descriptor, verdict)
            names.add(descriptor["tools"][0]["name"])
            continue
        why = f"it does not pass the gate ({verdict.rule}): {verdict.why}"
        next_step = f"Mend its entry in {MANIFEST}, or revoke the extension that has its tool's name."
        failed[id] = Failure(id, descriptor["name"], "gate-refused-at-load", why, next_step, verdict.rule)
    return Shelf(tools, failed, descriptors, unknown)


def _broken(what: str) -> Shelf:
    next_step = f"Mend or remove {MANIFEST} in the module folder."
    failure = Failure(SOURCE, None, "unreadable", f"the {MANIFEST} of the shelf: {what}", next_step)
    return Shelf({}, {SOURCE: failure}, {}, {})
