"""Overlays to judge with: random rules in the language, only such as a loader must accept.

Words, numbers and hosts come from the same small pools as the descriptors', so that conditions are
often true, often false and often unknown.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

from reference.descriptors import ABIS, CAPABILITIES, DIGEST, HOSTS, PRIMITIVES

__all__ = ["Overlay", "Scope", "overlay", "overlays", "random_condition"]

COMMON: tuple[Any, ...] = (
    None, True, False, 0, 1, 5, 8.0, -1, 0.5, "", "a", "read", "network", [], ["a"], [1], {}, {"a": 1}
)  # fmt: skip
LIST_PATHS = (
    "subject.capabilities",
    "subject.tools",
    "subject.hosts",
    "subject.destinations",
    "subject.faults",
    "placement.mechanisms",
    "host.taken",
    "catalog.capabilities",
    "catalog.mediated",
    "catalog.primitives",
    "catalog.abis",
    "descriptor.capabilities",
    "descriptor.tools",
    "descriptor.bounds.hosts",
)
#: What a loop may be asked to walk over and is seldom a list, or never.
ODD_LISTS = (
    "descriptor",
    "descriptor.bounds",
    "descriptor.bounds.maxRequests",
    "descriptor.runsIn",
    "placement.name",
    "placement.mechanism",
)
TEXT_POOL = ("a", "b", "host", "", "A note", "model")
#: What may be named anywhere, with values that are often there.
GLOBAL_PATHS: dict[str, Sequence[Any]] = {
    "descriptor": ({}, {"a": 1}),
    "descriptor.id": ("tide-clock", "a", ""),
    "descriptor.name": TEXT_POOL,
    "descriptor.description": TEXT_POOL,
    "descriptor.source": ("model", "local"),
    "descriptor.runsIn": ("host", "process", "remote"),
    "descriptor.capabilities": (["read"], [], "read", "network"),
    "descriptor.bounds": ({}, 5),
    "descriptor.bounds.hosts": (["api.test"], [], "api.test", 1, 2),
    "descriptor.bounds.maxRequests": (1, 5, 20, 5.0, -1, "8"),
    "descriptor.bounds.maxBytes": (0, 1, 8, 65536),
    "descriptor.bounds.window": ("process", "hour", "day"),
    "descriptor.tools": ([], 1, 2),
    "subject.capabilities": (*CAPABILITIES, ["read"], ["read", "network"], 1, 2),
    "subject.tools": ([], 1, 2, {}),
    "subject.hosts": (*HOSTS, 1, 2),
    "subject.destinations": ([], 1, 2, {}),
    "subject.faults": ([], 0, 1),
    "placement.name": ("machine", "browser"),
    "placement.mechanisms": (*CAPABILITIES, 4, 5),
    "placement.mechanism": ({}, 4, 5),
    "placement.mechanism.read": ("host-primitive-scope", "handle-scope"),
    "placement.mechanism.import": ("csp-script-src",),
    "placement.mechanism.exec": ("a",),
    "host.taken": ("a", "b", "web_search", "delegate_task", 5, 6),
    "catalog.capabilities": (*CAPABILITIES, 7),
    "catalog.mediated": (*CAPABILITIES, 3),
    "catalog.primitives": (*PRIMITIVES, 6),
    "catalog.abis": (*ABIS, 2),
}
SUBMITTED_TOOL: dict[str, Sequence[Any]] = {
    "": ({}, {"a": 1}, 2, 3),
    ".name": ("a", "b", "c", "web_search", "", 1),
    ".description": TEXT_POOL,
    ".promptSnippet": TEXT_POOL,
    ".primitive": (*PRIMITIVES, "process"),
    ".params": ({}, 2, 3),
    ".params.path": ("notes.md",),
    ".params.n": (0, 1.5, True),
    ".params.headers": ({}, 1, 2),
    ".params.headers.X-Key": ("$KEY",),
    ".wasm": ({}, 5),
    ".wasm.path": ("modules/hash.wasm", ""),
    ".wasm.digest": (DIGEST, 64),
    ".wasm.abi": ABIS,
    ".wasm.call": ({"export": "run"},),
    ".wasm.call.export": ("run", "", 3),
    ".wasm.input.addr": (0, 1, 8.0, 1000),
    ".wasm.output": ({}, 2),
    ".wasm.output.maxBytes": (0, 1, 65536),
}
TOOL: dict[str, Sequence[Any]] = {
    **SUBMITTED_TOOL,
    ".known": (True, False),
    ".needs": (["read"], [], "network", "write", 1),
    ".undeclared": (["read"], [], "network", "write", 1),
    ".layout": ([], 4, 6),
    ".first_use": ("$.tools[0].name",),
}
#: Loops: the path walked over, to what its variable has below it.
ELEMENTS: dict[str, dict[str, Sequence[Any]]] = {
    "subject.tools": TOOL,
    "descriptor.tools": SUBMITTED_TOOL,
    # What a fault says is the words of either evaluator, so only its path is named.
    "subject.faults": {"": ({}, 3), ".path": ("$", "$.tools[0]", "$.capabilities")},
    "subject.hosts": {"": HOSTS},
    "subject.destinations": {"": ({}, 1, 2), ".name": HOSTS, ".port": (443, 8443, "443")},
    "host.taken": {"": ("a", "b", "delegate_task")},
    "catalog.primitives": {"": PRIMITIVES},
    "catalog.abis": {"": ABIS},
    "LAYOUT": {"": ({}, 1, 2), ".name": ("input.addr", "output.bytes"), ".value": (0, 1, 8.0, -1)},
    "LIST": {"": (*CAPABILITIES, 5, None)},
}
PATTERNS = (
    "[a-z]+", "[a-z0-9_]+", ".*", "", "a|b", r"\d+", r"\w*", r"[^\s]+", "(?:a|b)*c?", "[0-9a-f]{64}", ".",
    "read|write", "^a$",
)  # fmt: skip
TYPES = ("string", "boolean", "null", "list", "object", "number", "whole", "host")
OPERATORS = (
    "equals", "equals", "in", "not_in", "matches", "contains", "lacks", "subset_of", "empty",
    "min", "max", "minlength", "maxlength", "type", "type", "each", "exists", "exists",
)  # fmt: skip
TAKES_FACT = ("equals", "in", "not_in", "contains", "lacks", "subset_of", "min", "max", "minlength", "maxlength")
VARIABLES = ("item", "other", "x", "t2")


@dataclass
class Overlay:
    """An overlay as data: its rules by file name, and the stages of its ruleset.yaml."""

    rules: dict[str, dict[str, Any]]
    stages: list[dict[str, Any]] = field(default_factory=list)

    def copied(self) -> Overlay:
        """A deep copy."""
        return copy.deepcopy(self)


@dataclass(frozen=True)
class Scope:
    """The paths that may be named at one place of a rule, with values that are often there."""

    paths: Mapping[str, Sequence[Any]]

    def within(self, variable: str, walked: str) -> Scope:
        """The scope inside a loop of `variable` over the path `walked`."""
        kind = "LAYOUT" if walked.endswith(".layout") else walked
        below = ELEMENTS.get(kind, ELEMENTS["LIST"])
        return Scope({**self.paths, **{variable + name: values for name, values in below.items()}})


OUTERMOST = Scope(GLOBAL_PATHS)


def overlays(shipped_stages: Sequence[Mapping[str, Any]]) -> st.SearchStrategy[Overlay]:
    """Overlays as a Hypothesis strategy."""
    return st.builds(lambda random: overlay(random, shipped_stages), st.randoms(use_true_random=False))


def overlay(random: Random, shipped_stages: Sequence[Mapping[str, Any]]) -> Overlay:
    """One to six rules, and sometimes stages of its own."""
    stages = [dict(stage) for stage in shipped_stages]
    own: list[dict[str, Any]] = []
    for name in ("extra", "later")[: random.choice([0, 1, 1, 2])]:
        stage: dict[str, Any] = {"name": name, "after": random.choice([stage["name"] for stage in stages])}
        if random.random() < 0.6:
            stage["for_each"] = {"element": random.choice(LIST_PATHS if random.random() < 0.9 else ODD_LISTS)}
        own.append(stage)
        stages.append(stage)
    made = Overlay({})
    for name in random.sample(["zeta", "alpha", "alpha-2", "m1", "beta-9", "x"], random.choice([1, 2, 3, 4, 6])):
        made.rules[name] = _rule(random, name, stages)
    if random.random() < 0.3:
        made.rules.update(_many(random, stages))
    used = {trigger["stage"] for rule in made.rules.values() for trigger in rule["triggers"]}
    for stage in own:  # A stage without rules says nothing, so each gets one.
        if stage["name"] not in used:
            first = next(iter(made.rules.values()))
            first["triggers"].append(_trigger(random, stage))
    made.stages = own
    return made


def _rule(random: Random, name: str, stages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    triggers = [_trigger(random, random.choice(stages)) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    made = {"id": name, "title": f"Rule {name}", "applies_to": "descriptor", "triggers": triggers}
    if random.random() < 0.3:
        made["severity"] = random.choice(["warn", "warn", "refuse"])
    return made


def _many(random: Random, stages: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rules that differ in the words they watch for, as a large set has: such rules invite an index."""
    stage = random.choice(stages)
    paths = {"subject.capabilities": "contains", "descriptor.runsIn": "equals", "descriptor.bounds.hosts": "contains"}
    for variable, walked in stage.get("for_each", {}).items():
        paths[variable] = "equals"
        if walked in ("subject.tools", "descriptor.tools"):
            paths |= {f"{variable}.name": "equals", f"{variable}.primitive": "equals"}
    path = random.choice(list(paths))
    words = random.sample(["a", "b", "c", "web_search", "host", "", "now", *CAPABILITIES, *HOSTS, *PRIMITIVES[1:]], 20)
    made = {}
    for at, word in enumerate(words[: random.choice([6, 9, 12, 20])]):
        rule = made[f"many-{at}"] = _rule(random, f"many-{at}", [stage])
        for trigger in rule["triggers"]:
            some = [word, random.choice(words)]
            watch = {path: {"in": some} if random.random() < 0.3 and paths[path] == "equals" else {paths[path]: word}}
            more = trigger["when"]
            trigger["when"] = random.choice([watch, watch, {"all": [watch, more]}, {"any": [watch, watch]}, more])
    return made


def _trigger(random: Random, stage: Mapping[str, Any]) -> dict[str, Any]:
    scope = OUTERMOST
    made: dict[str, Any] = {"stage": stage["name"]}
    loops = []
    lists = list(LIST_PATHS)
    for variable, walked in stage.get("for_each", {}).items():
        scope = scope.within(variable, walked)
        loops.append(variable)
        lists += [variable, random.choice(ODD_LISTS)]
        if walked == "subject.tools":
            lists += [f"{variable}.{name}" for name in ("wasm", "wasm.path", "params", "wasm.call.export")]
            lists += ["subject.tools", *(f"{variable}.{name}" for name in ("needs", "undeclared", "layout"))] * 3
    if random.random() < 0.25:
        variable, walked = random.choice(VARIABLES), random.choice(lists)
        made["for_each"] = {variable: walked}
        scope = scope.within(variable, walked)
        loops.append(variable)
    made["when"] = random_condition(random, scope, loops, depth=random.choice([0, 1, 1, 2, 3]))
    made["reason"] = random.choice(["because", "it is {{so}}", f"value {_placeholder(random, scope)}"])
    if random.random() < 0.2:
        made["at"] = random.choice(list(scope.paths))
    if random.random() < 0.1:
        made["at"] = _placeholder(random, scope)
    if random.random() < 0.2:
        made["remedy"] = f"see {_placeholder(random, scope)}"
    return made


def _placeholder(random: Random, scope: Scope) -> str:
    return "{" + random.choice(list(scope.paths)) + "}"


def random_condition(random: Random, scope: Scope, loops: Sequence[str] = (), depth: int = 2) -> dict[str, Any]:
    """A condition over paths of `scope`; paths of `loops` come up more often."""
    if depth > 0:
        kind = random.choice(["all", "any", "none", "not", "all", "any", "leaf"])
        if kind == "not":
            return {"not": random_condition(random, scope, loops, depth - 1)}
        if kind != "leaf":
            size = random.choice([1, 2, 2, 3])
            return {kind: [random_condition(random, scope, loops, depth - 1) for _ in range(size)]}
    paths = list(scope.paths)
    near = [path for path in paths if path.split(".")[0] in loops]
    path = random.choice(near if near and random.random() < 0.6 else paths)
    size = 2 if random.random() < 0.25 else 1
    return {path: _operators(random, scope, scope.paths[path], size, nested=0)}


def _operators(random: Random, scope: Scope, usual: Sequence[Any], size: int, nested: int) -> dict[str, Any]:
    names = {random.choice(OPERATORS) for _ in range(size)}
    if nested >= 2:
        names = names - {"each"} or {"exists"}
    return {name: _operand(random, name, scope, usual, nested) for name in sorted(names)}


def _literal(random: Random, usual: Sequence[Any]) -> Any:
    return copy.deepcopy(random.choice(usual if random.random() < 0.75 else COMMON))


def _operand(random: Random, name: str, scope: Scope, usual: Sequence[Any], nested: int) -> Any:
    if name in TAKES_FACT and random.random() < 0.2:
        return {"fact": random.choice(list(scope.paths))}
    if name in ("exists", "empty"):
        return random.random() < 0.5
    if name == "type":
        return random.choice(TYPES)
    if name == "matches":
        return random.choice(PATTERNS)
    if name == "each":
        return _operators(random, scope, usual, random.choice([1, 1, 2]), nested + 1)
    if name in ("in", "not_in", "subset_of"):
        return [_literal(random, usual) for _ in range(random.choice([0, 1, 2, 3, 6]))]
    if name in ("min", "max"):
        return random.choice([0, 1, 5, 8.0, 0.5, -1, 20, 65536, 1e3])
    if name in ("minlength", "maxlength"):
        return random.choice([0, 1, 2, 3, 4, 64])
    return _literal(random, usual)
