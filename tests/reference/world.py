"""What exists in the shipped product, written down by hand from sections 2 and 3 of the contract."""

from __future__ import annotations

from typing import Final

from reference.facts import Catalog, Placement

__all__ = ["CATALOG", "PLACEMENTS"]

CATALOG: Final[Catalog] = {
    "capabilities": ["read", "write", "delete", "network", "exec", "eval", "import"],
    "primitives": {
        "now": [],
        "read-file": ["read"],
        "write-file": ["write"],
        "list-files": ["read"],
        "http-get": ["network"],
        "wasm": [],
    },
    "abis": {
        "buffer-abi/1": ["input.addr", "input.maxBytes", "output.addr", "output.bytes"],
        "buffer-abi/diff": [
            "inputA.addr",
            "inputA.maxBytes",
            "inputB.addr",
            "inputB.maxBytes",
            "output.addr",
            "output.maxBytes",
        ],
    },
}

PLACEMENTS: Final[dict[str, Placement]] = {
    "machine": {
        "name": "machine",
        "mechanisms": {
            "read": "host-primitive-scope",
            "write": "host-primitive-scope",
            "delete": "host-primitive-scope",
            "network": "mediated-fetch",
        },
    },
    "browser": {
        "name": "browser",
        "mechanisms": {
            "read": "handle-scope",
            "write": "handle-scope",
            "delete": "handle-scope",
            "network": "csp-connect-src",
            "import": "csp-script-src",
        },
    },
}
