"""Descriptors to judge: mostly ordinary, with odd values at any place, so that every refusal occurs.

One generator serves both Hypothesis and the long seeded runs: it asks a `random.Random` for every choice.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from reference.world import CATALOG

__all__ = ["HOSTS", "ODD", "TOOL_NAMES", "descriptor", "descriptors", "taken_names"]

TOOL_NAMES = (
    "a", "b", "c", "web_search", "delegate_task", "list_extensions", "A", "a-b", "", "a\n", "é", "ａ", "x" * 300
)  # fmt: skip
HOSTS = ("api.test", "API.test.", "bücher.test", "127.0.0.1", "[::1]:8080", "a.test:8443", "localhost", "b.test")
BAD_HOSTS = (
    "", "*", "*.a.test", "https://a.test", "a.test/x", "a..test", "999.1.1.1", "a.test:0", "fe80::1%eth0",
    "a\u200b.test",
)  # fmt: skip
CAPABILITIES = tuple(CATALOG["capabilities"])
ODD_CAPABILITIES = (
    "exec", "eval", "import", "delete", "bogus", " read", "Read", "", 5, None, True, 1.0, ["read"], {"a": 1}
)  # fmt: skip
PRIMITIVES = tuple(CATALOG["primitives"])
ABIS = tuple(CATALOG["abis"])
DIGEST = "0123456789abcdef" * 4
WHOLES = (0, 1, 8.0, 1e3, 65536, 2**53)
ODD_NUMBERS: tuple[Any, ...] = (
    -1,
    0.5,
    8.5,
    True,
    False,
    "8",
    "",
    None,
    [],
    {},
    -0.0,
    10**400,
    float("inf"),
    float("nan"),
    1e308,
)
TEXTS = ("", "a", "host", "read", "A note", "{path}", "$HOME", "\u202e", "\U0001f600", "a\nb", "x\u2028", "\x00", "é")
#: Any JSON value; what the places of a descriptor are overwritten with.
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 0.5, 8.0, 1e3, 2**53 + 1, 10**400, "", "a", "network", "process", "Process", "５",
    [], ["a"], ["read", "network"], [None], [1, True], [[]], {}, {"a": 1}, {"path": "x"}, {"hosts": ["a.test"]},
    [{"name": "a"}],
)  # fmt: skip
#: Keys that a descriptor may carry and that look like facts.
LOOKALIKES: dict[str, Any] = {
    "known": True,
    "needs": [],
    "undeclared": [],
    "layout": [],
    "first_use": "$.tools[0].name",
    "fact": "host.taken",
    "mechanisms": ["exec"],
}


def descriptors() -> st.SearchStrategy[Any]:
    """Descriptors as a Hypothesis strategy."""
    return st.builds(descriptor, st.randoms(use_true_random=False))


def taken_names(random: Random) -> list[str]:
    """Tool names in use elsewhere."""
    return random.choice([[], [], ["b"], ["a", "web_search"], ["c", "zz"]])


def descriptor(random: Random) -> Any:
    """One descriptor; about half are well-formed, about a fifth are admitted by the shipped rules."""
    made = _ordinary(random, strange=random.choice([0.0, 0.0, 0.05, 0.15, 0.4]))
    kind = random.random()
    if kind < 0.03:
        return copy.deepcopy(random.choice(ODD))
    if kind < 0.35:
        for _ in range(random.choice([1, 1, 2, 4])):
            _mutate(made, random)
    if random.random() < 0.2:
        made = _shuffled(made, random)
    return made


def _one(random: Random, ordinary: Sequence[Any], odd: Sequence[Any], strange: float) -> Any:
    return copy.deepcopy(random.choice(odd if random.random() < strange else ordinary))


def _ordinary(random: Random, strange: float) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if random.random() < 0.5:
        made["id"] = random.choice(["tide-clock", "a", "A B", "", "x" * 100])
        made["name"] = random.choice(TEXTS)
    if random.random() < 0.3:
        made["description"] = random.choice(TEXTS)
        made["source"] = random.choice(["model", "local", "anything"])
    if random.random() < 0.5:
        made["runsIn"] = _one(random, ["host", "host", "remote"], ["process"], strange + 0.1)
    tools = _tools(random, strange)
    made["capabilities"] = _capabilities(random, tools, strange)
    if random.random() < 0.1:
        made["capabilities"] = None
    if random.random() < 0.1:
        del made["capabilities"]
    if random.random() < 0.85:
        made["bounds"] = _bounds(random, strange)
    made["tools"] = tools
    if random.random() < strange:
        made["tools"] = copy.deepcopy(random.choice([[], None, "a", 5, {}, {"a": 1}]))
    if random.random() < strange / 3:
        del made["tools"]
    if random.random() < 0.1:
        made.update(copy.deepcopy(random.sample(list(LOOKALIKES.items()), 2)))
    return made


def _capabilities(random: Random, tools: list[Any], strange: float) -> list[Any]:
    needed = {need for tool in tools for need in CATALOG["primitives"].get(tool.get("primitive"), [])}
    made: list[Any] = [name for name in CAPABILITIES if name in needed and random.random() > strange]
    more = random.choice([0, 0, 0, 1, 2])
    made.extend(_one(random, ["read", "write", "network"], ODD_CAPABILITIES, strange) for _ in range(more))
    if random.random() < 0.1:
        made.extend(made[:1])
    random.shuffle(made)
    return made


def _bounds(random: Random, strange: float) -> Any:
    if random.random() < 0.05:
        return None
    made: dict[str, Any] = {}
    if random.random() > strange / 2:
        count = random.choice([0, 1, 1, 2, 3])
        made["hosts"] = [_one(random, HOSTS, BAD_HOSTS, max(strange, 0.04)) for _ in range(count)]
        if random.random() < strange:
            made["hosts"] = copy.deepcopy(random.choice(ODD))
    if random.random() > strange / 2:
        made["maxRequests"] = _one(random, (1, 5, 20, 5.0), ODD_NUMBERS, strange)
    if random.random() < 0.4:
        made["maxBytes"] = random.choice(WHOLES)
    if random.random() < 0.3:
        made["window"] = random.choice(["process", "hour", "day", "admission"])
    if random.random() < 0.1:
        made["command"] = copy.deepcopy(random.choice(ODD))
    return made


def _tools(random: Random, strange: float) -> list[Any]:
    names = random.sample(["a", "b", "c", "web_search", "z_9"], 4)
    made = [_tool(random, names[at], strange) for at in range(random.choice([1, 1, 1, 2, 2, 3, 4]))]
    if random.random() < 0.003:
        made = [{"name": f"t{at}", "primitive": "now"} for at in range(random.choice([256, 257]))]
    return made


def _tool(random: Random, name: str, strange: float) -> dict[str, Any]:
    primitive = _one(random, PRIMITIVES, ["Now", "process", "", "shell"], strange / 2)
    made: dict[str, Any] = {"name": _one(random, [name], TOOL_NAMES, strange), "primitive": primitive}
    for key in ("name", "primitive"):
        if random.random() < strange / 6:
            del made[key]
    if random.random() < 0.4:
        made["description"] = random.choice(TEXTS)
    if random.random() < 0.4:
        made["params"] = {"path": "notes.md", "content": random.choice(TEXTS), "n": random.choice([0, 1.5, True])}
        if random.random() < 0.5:
            made["params"] = {"url": "https://api.test/x", "headers": {"X-Key": "$KEY", "Accept": random.choice(TEXTS)}}
    if primitive == "wasm" or random.random() < 0.1:
        made["wasm"] = _wasm(random, strange)
    if random.random() < 0.1:
        made.update(copy.deepcopy(random.sample(list(LOOKALIKES.items()), 2)))
    return made


def _wasm(random: Random, strange: float) -> Any:
    if random.random() < strange / 3:
        return copy.deepcopy(random.choice(ODD))
    abi = random.choice(ABIS)
    made: dict[str, Any] = {
        "path": _one(random, ["modules/hash.wasm"], ("", *ODD), strange / 2),
        "digest": _one(random, [DIGEST], (DIGEST.upper(), DIGEST + "\n", DIGEST[1:], *ODD), strange / 2),
        "abi": _one(random, [abi], ("buffer-abi/2", "", *ODD), strange / 2),
        "call": {"export": _one(random, ["run"], ("", *ODD), strange / 2)},
    }
    for field in CATALOG["abis"][abi]:
        group, key = field.split(".")
        made.setdefault(group, {})[key] = _one(random, WHOLES, ODD_NUMBERS, strange / 3)
    for key in list(made):
        if random.random() < strange / 8:
            made[key] = copy.deepcopy(random.choice(ODD))
        elif random.random() < strange / 8:
            del made[key]
    return made


def _mutate(document: Any, random: Random) -> None:
    """Overwrites, drops, doubles or adds something at a random place."""
    holders = list(_containers(document))
    holder = random.choice(holders)
    action = random.random()
    if isinstance(holder, dict):
        if action < 0.15:
            key = random.choice(["", "extra", "a.b", "it's", "headers", *LOOKALIKES])
            holder[key] = copy.deepcopy(random.choice(ODD))
        elif holder and action < 0.3:
            del holder[random.choice(list(holder))]
        elif holder:
            holder[random.choice(list(holder))] = copy.deepcopy(random.choice((*ODD, "x" * 101)))
    elif holder:
        at = random.randrange(len(holder))
        if action < 0.15:
            del holder[at]
        elif action < 0.4:
            holder.append(copy.deepcopy(holder[at]))
        else:
            holder[at] = copy.deepcopy(random.choice(ODD))
    else:
        holder.append(copy.deepcopy(random.choice(ODD)))


def _containers(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _containers(part)


def _shuffled(value: Any, random: Random) -> Any:
    """The same object with its keys in another order, all the way down."""
    if isinstance(value, dict):
        items = list(value.items())
        random.shuffle(items)
        return {key: _shuffled(part, random) for key, part in items}
    if isinstance(value, list):
        return [_shuffled(part, random) for part in value]
    return value
