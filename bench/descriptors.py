"""The descriptors that everything is measured on: seeded, so that every run measures the same ones.

Six of ten are admitted, as where most authors try their extension before they propose it; the rest breaks each rule
that can refuse at all, in the shares of `SHARES`. They look like the catalogue: all the texts, mostly one tool but up
to five, params, one host or a few; and one tool of ten is a wasm module.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

__all__ = ["SHARES", "descriptors"]

#: Of a thousand descriptors, how many the rule refuses first; None is for those that are admitted.
SHARES: Final[dict[str | None, int]] = {
    None: 600,
    "under-declared": 80,
    "network-unbounded": 70,
    "malformed-descriptor": 60,
    "bad-tool-name": 40,
    "unknown-primitive": 30,
    "exec-absent": 25,
    "unknown-capability": 20,
    "host-invalid": 20,
    "duplicate-tool": 20,
    "no-tools": 10,
    "capability-unmediated": 10,
    "eval-not-a-tool-path": 5,
    "unsupported-abi": 10,
}
_WORDS: Final = (
    "tide harbour buoy berth pilot beacon chart gauge anchor signal ledger manifest cargo crane mast".split()
)
_NEEDS: Final = {"read-file": "read", "write-file": "write", "list-files": "read", "http-get": "network"}
_PRIMITIVES: Final = (
    ["read-file"] * 26 + ["write-file"] * 14 + ["list-files"] * 10 + ["http-get"] * 32 + ["now"] * 8 + ["wasm"] * 10
)
_BAD_HOSTS: Final = ("*.example.test", "https://api.example.test", "api.example.test/v1", "a..test", "999.1.1.1")
_BAD_NAMES: Final = ("Read-Notes", "read notes", "read-notes", "", "Lire_é")
_DIGEST: Final = "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d8c1835420b6b9942dd4f1b"


def descriptors(count: int = 2000, seed: int = 4) -> list[Any]:
    """`count` descriptors in the shares of `SHARES`, shuffled; the rule that each breaks is the first to refuse it."""
    random = Random(seed)
    wanted = [rule for rule, share in SHARES.items() for _ in range(round(count * share / 1000))]
    made = [_made(rule, random) for rule in wanted]
    random.shuffle(made)
    return made


def _made(rule: str | None, random: Random) -> Any:
    descriptor = _sound(random)
    if rule is not None:
        _BREAKS[rule](descriptor, random)
    return descriptor


def _sound(random: Random) -> dict[str, Any]:
    name = f"{random.choice(_WORDS)}-{random.choice(_WORDS)}-{random.randrange(1000)}"
    tools = [_tool(name, number, random) for number in range(random.choice((1, 1, 1, 1, 1, 1, 2, 2, 3, 5)))]
    capabilities = sorted({_NEEDS[tool["primitive"]] for tool in tools if tool["primitive"] in _NEEDS})
    bounds: dict[str, Any] = {}
    if "network" in capabilities:
        bounds["hosts"] = [
            f"{random.choice(('api', 'www', 'data'))}.{random.choice(_WORDS)}.test"
            + (":8443" if random.random() < 0.05 else "")
            for _ in range(random.choice((1, 1, 1, 1, 2, 3)))
        ]
        bounds["maxRequests"] = random.choice((1, 5, 12, 20, 100))
    if "write" in capabilities and random.random() < 0.6:
        bounds["maxBytes"] = random.choice((4096, 65536))
    return {
        "id": name,
        "name": name.replace("-", " ").capitalize(),
        "description": f"Reads and keeps what the {random.choice(_WORDS)} says, and tells it when somebody asks.",
        "source": random.choice(("model", "model", "catalogue", "local")),
        "runsIn": random.choice(("host", "host", "host", "remote")),
        "capabilities": capabilities,
        "bounds": bounds,
        "tools": tools,
    }


def _tool(extension: str, number: int, random: Random) -> dict[str, Any]:
    primitive = random.choice(_PRIMITIVES)
    verb = random.choice(("read", "list", "fetch", "note", "find"))
    tool: dict[str, Any] = {
        "name": f"{verb}_{extension.split('-')[0]}_{number}",
        "description": f"Answers with what the {random.choice(_WORDS)} holds, line by line.",
        "primitive": primitive,
    }
    if random.random() < 0.5:
        tool["promptSnippet"] = f"Use it when somebody asks about the {random.choice(_WORDS)}."
    if primitive == "http-get":
        tool["params"] = {"url": "https://api.example.test/v1/latest"}
        if random.random() < 0.4:
            tool["params"]["headers"] = {"Accept": "application/json", "X-Feed-Key": "$FEED_KEY"}
    elif primitive in ("read-file", "write-file"):
        tool["params"] = {"path": f"{random.choice(_WORDS)}.md"}
    elif primitive == "wasm":
        tool["wasm"] = _module(random)
    return tool


def _module(random: Random) -> dict[str, Any]:
    module: dict[str, Any] = {"path": "modules/sum.wasm", "digest": _DIGEST, "call": {"export": "run"}}
    if random.random() < 0.5:
        return module | {
            "abi": "buffer-abi/1",
            "input": {"addr": 1024, "maxBytes": 4096},
            "output": {"addr": 8192, "bytes": 32},
        }
    return module | {
        "abi": "buffer-abi/diff",
        "inputA": {"addr": 1024, "maxBytes": 4096},
        "inputB": {"addr": 8192, "maxBytes": 4096},
        "output": {"addr": 16384, "maxBytes": 4096},
    }


def _network(descriptor: dict[str, Any]) -> None:
    if "network" not in descriptor["capabilities"]:
        descriptor["capabilities"].append("network")
        descriptor["bounds"] |= {"hosts": ["api.example.test"], "maxRequests": 5}


def _under_declared(descriptor: dict[str, Any], random: Random) -> None:
    tool = random.choice(descriptor["tools"])
    primitive = random.choice(sorted(_NEEDS))
    tool["primitive"] = primitive
    descriptor["capabilities"] = [name for name in descriptor["capabilities"] if name != _NEEDS[primitive]]


def _network_unbounded(descriptor: dict[str, Any], random: Random) -> None:
    _network(descriptor)
    if random.random() < 0.5:
        del descriptor["bounds"][random.choice(("hosts", "maxRequests"))]
    else:
        key, value = random.choice((("hosts", []), ("hosts", "*"), ("maxRequests", "5"), ("maxRequests", 0)))
        descriptor["bounds"][key] = value


def _malformed(descriptor: dict[str, Any], random: Random) -> None:
    holder, key, value = random.choice(
        (
            (descriptor, "capabilities", "read"),
            (descriptor, "name", None),
            (descriptor, "runsIn", "Process"),
            (descriptor, "bounds", []),
            (descriptor["bounds"], "maxBytes", "64 KiB"),
            (descriptor["tools"][-1], "name", 7),
            (descriptor["tools"][-1], "params", {"path": ["a", "b"]}),
            (descriptor, "tools", [None]),
        )
    )
    holder[key] = value


def _bad_tool_name(descriptor: dict[str, Any], random: Random) -> None:
    random.choice(descriptor["tools"])["name"] = random.choice(_BAD_NAMES)


def _unknown_primitive(descriptor: dict[str, Any], random: Random) -> None:
    random.choice(descriptor["tools"])["primitive"] = random.choice(("shell", "process", "http-post"))


def _exec_absent(descriptor: dict[str, Any], random: Random) -> None:
    if random.random() < 0.5:
        descriptor["capabilities"].append("exec")
    else:
        descriptor["runsIn"] = "process"


def _unknown_capability(descriptor: dict[str, Any], random: Random) -> None:
    descriptor["capabilities"].append(random.choice(("filesystem", "Read", "http", "camera", 5)))


def _host_invalid(descriptor: dict[str, Any], random: Random) -> None:
    _network(descriptor)
    descriptor["bounds"]["hosts"].append(random.choice(_BAD_HOSTS))


def _duplicate_tool(descriptor: dict[str, Any], random: Random) -> None:
    tools = descriptor["tools"]
    if random.random() < 0.5:
        tools[-1]["name"] = "delegate_task"
    else:
        tools.append(dict(tools[0]))


def _no_tools(descriptor: dict[str, Any], random: Random) -> None:
    if random.random() < 0.5:
        del descriptor["tools"]
    else:
        descriptor["tools"] = random.choice(([], None, {}))


def _capability_unmediated(descriptor: dict[str, Any], random: Random) -> None:
    descriptor["capabilities"].append(random.choice(("delete", "import")))


def _eval(descriptor: dict[str, Any], random: Random) -> None:
    descriptor["capabilities"].append("eval")


def _unsupported_abi(descriptor: dict[str, Any], random: Random) -> None:
    module = _module(random) | {"abi": "wasi/1"}
    descriptor["tools"][-1] |= {"primitive": "wasm", "wasm": module}


_BREAKS: Final[dict[str, Callable[[dict[str, Any], Random], None]]] = {
    "under-declared": _under_declared,
    "network-unbounded": _network_unbounded,
    "malformed-descriptor": _malformed,
    "bad-tool-name": _bad_tool_name,
    "unknown-primitive": _unknown_primitive,
    "exec-absent": _exec_absent,
    "unknown-capability": _unknown_capability,
    "host-invalid": _host_invalid,
    "duplicate-tool": _duplicate_tool,
    "no-tools": _no_tools,
    "capability-unmediated": _capability_unmediated,
    "eval-not-a-tool-path": _eval,
    "unsupported-abi": _unsupported_abi,
}
