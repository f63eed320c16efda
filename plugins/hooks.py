"""Calls the hooks of one plugin, each apart from those of all others, and checks what they return."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pluggy

import capgate
from capgate.plugins.api import HookContext, Hooks
from capgate.plugins.assembly import Contribution
from capgate.plugins.calls import Calls, Direct, Fault
from capgate.plugins.checks import HOOKS, faults
from capgate.plugins.errors import Origin, PluginError

__all__ = ["VERSION", "Gathered", "Source", "gather", "invoke"]

#: The version of capgate, for `HookContext` and ``requires_capgate``.
VERSION: Final = capgate.__version__


class Source(NamedTuple):
    """Where the hooks of one plugin are.

    Attributes:
        origin: which plugin it is.
        objects: the modules or objects with its hooks.
        caller: calls its code.
        config: what the config says for it.
        location: file it was loaded from; empty where there is none.
    """

    origin: Origin
    objects: tuple[object, ...]
    caller: Calls = Direct()
    config: Mapping[str, Any] = MappingProxyType({})
    location: str = ""

    def context(self) -> HookContext:
        """A context for one call: the plugin may keep it, and what it does to it reaches nobody."""
        config: Mapping[str, Any] = {}
        if self.config:
            from copy import deepcopy

            config = deepcopy(dict(self.config))
        return HookContext(capgate_version=VERSION, config=MappingProxyType(config))


class Gathered:
    """What the hooks of one plugin gave.

    Attributes:
        source: the plugin.
        contribution: what it declares.
        hooks: names of the hooks it implements, in the order of `capgate.plugins.api`.
        listeners: its functions that are told of verdicts.
    """

    def __init__(self, source: Source):
        self.source = source
        self.contribution = Contribution(source.origin)
        self.hooks: tuple[str, ...] = ()
        self.listeners: list[pluggy.HookImpl] = []


def gather(source: Source, problems: list[PluginError]) -> Gathered:
    """Calls every hook of `source` but ``capgate_decided``; what is wrong goes to `problems`."""
    gathered = Gathered(source)
    calls: dict[str, list[pluggy.HookImpl]] = {}
    for hook, function in _implementations(source, problems):
        calls.setdefault(hook, []).append(function)
    for hook in HOOKS:
        for function in calls.get(hook, ()):
            _add(gathered, hook, function, problems)
    gathered.listeners = calls.get("capgate_decided", [])
    gathered.hooks = tuple(hook for hook in (*HOOKS, "capgate_decided") if hook in calls)
    return gathered


def invoke(function: pluggy.HookImpl, **given: Any) -> Any:
    """Calls a hook implementation with those of the arguments that it asks for."""
    return function.function(*[given[name] for name in function.argnames])


def _implementations(source: Source, problems: list[PluginError]) -> Iterator[tuple[str, pluggy.HookImpl]]:
    """The hook functions of a plugin, each with the name of its hook."""
    manager = pluggy.PluginManager("capgate")
    manager.add_hookspecs(Hooks)
    for plugin in source.objects:
        found = _attempt(source, "", partial(_registered, manager, plugin), problems)
        if found is _FAILED:
            continue
        if not found or isinstance(found, str):
            what = found or "implements no hook; are its functions marked @hookimpl?"
            problems.append(PluginError("plugin-hook", what, origin=source.origin))
            continue
        for caller, function in found:
            if _is_sound(source, caller, function, problems):
                yield caller.name, function


def _is_sound(
    source: Source, caller: pluggy.HookCaller, function: pluggy.HookImpl, problems: list[PluginError]
) -> bool:
    if function.wrapper or function.hookwrapper:
        what = "wraps the hook, and no plugin may change what another one declares"
    elif not caller.has_spec() and not function.optionalhook:
        what = f"no such hook; there are {', '.join([*HOOKS, 'capgate_decided'])}"
    else:
        return caller.has_spec()
    problems.append(PluginError("plugin-hook", what, origin=source.origin, hook=caller.name))
    return False


def _registered(manager: pluggy.PluginManager, plugin: object) -> list[tuple[pluggy.HookCaller, pluggy.HookImpl]] | str:
    """Registers `plugin` and returns its hook functions, or a text that says why it cannot be.

    This looks at the plugin's attributes and compares it, so it runs code of the plugin.
    """
    try:
        manager.register(plugin)
    except pluggy.PluginValidationError as error:
        return " ".join(str(error).split())
    callers = manager.get_hookcallers(plugin) or []
    functions = [(caller, function) for caller in callers for function in caller.get_hookimpls()]
    return [(caller, function) for caller, function in functions if function.plugin is plugin]


def _add(gathered: Gathered, hook: str, function: pluggy.HookImpl, problems: list[PluginError]) -> None:
    """Calls one hook and adds what it returned, unless something is wrong with that."""
    source = gathered.source

    def call() -> Any:
        result = invoke(function, context=source.context())
        if hook == "capgate_rules" and type(result) in (list, tuple):
            return [os.fspath(path) if isinstance(path, os.PathLike) else path for path in result]
        return result

    result = _attempt(source, hook, call, problems)
    if result is _FAILED:
        return
    wrong = [PluginError(id, what, origin=source.origin, hook=hook) for id, what in faults(hook, result)]
    if wrong:
        problems += wrong
        return
    one = gathered.contribution
    if hook == "capgate_capabilities":
        one.capabilities += result.items()
    elif hook == "capgate_primitives":
        one.primitives += result
    elif hook == "capgate_placements":
        one.placements += result
    elif hook == "capgate_rules":
        one.rules += [path for path in result if _is_folder(source.origin, path, problems)]
    else:
        from capgate.plugins.terms import fact_terms, operator_terms

        if hook == "capgate_facts":
            one.facts += [fact_terms(fact, source.origin, source.caller) for fact in result]
        else:
            one.operators += [operator_terms(operator, source.origin, source.caller) for operator in result]


_FAILED: Final = object()


def _attempt(source: Source, hook: str, function: Callable[[], Any], problems: list[PluginError]) -> Any:
    """What `function` returns; `_FAILED`, and a problem, where the plugin's code fails."""
    try:
        return source.caller.call(function)
    except Fault as fault:
        problems.append(PluginError(fault.id, fault.what, origin=source.origin, hook=hook))
        return _FAILED


def _is_folder(origin: Origin, path: str, problems: list[PluginError]) -> bool:
    from pathlib import Path

    absolute = Path(path).is_absolute()
    if absolute and Path(path).is_dir():
        return True
    what = f"'{path}' is no {'folder' if absolute else 'absolute path'}"
    problems.append(PluginError("plugin-rule-folder", what, origin=origin, hook="capgate_rules"))
    return False
