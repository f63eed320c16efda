"""The shape of a descriptor by hand: every fault of contract section 11, points 10 to 13."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from reference.values import is_number, is_whole

__all__ = ["faults", "written"]

Steps: TypeAlias = "tuple[str | int, ...]"

RUNS_IN = ("host", "process", "remote")
WINDOWS = ("process", "hour", "day", "admission")
LONGEST_ID = 100
MOST_TOOLS = 256
PLAIN_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
PLAIN_MARKS = PLAIN_LETTERS | frozenset("0123456789")


class _Fault(NamedTuple):
    steps: Steps
    expected: str
    value: Any


def faults(descriptor: Any) -> list[dict[str, str]]:
    """What is malformed, in reading order: {path, expected, found} each; empty for a well-formed descriptor."""
    found = sorted(_document(descriptor), key=lambda fault: _position(descriptor, fault.steps))
    return [
        {"path": written(fault.steps), "expected": fault.expected, "found": type(fault.value).__name__}
        for fault in found
    ]


def written(steps: Steps) -> str:
    """A path as RFC 9535 writes it."""
    text = "$"
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and step[0] in PLAIN_LETTERS and set(step) <= PLAIN_MARKS:
            text += f".{step}"
        else:
            text += "['" + step.replace("\\", "\\\\").replace("'", "\\'") + "']"
    return text


def _position(document: Any, steps: Steps) -> list[int]:
    """Which of its siblings each step is."""
    position = []
    for step in steps:
        position.append(step if isinstance(step, int) else list(document).index(step))
        document = document[step]
    return position


def _document(descriptor: Any) -> Iterator[_Fault]:
    if not isinstance(descriptor, dict):
        yield _Fault((), "object", descriptor)
        return
    yield from _texts(descriptor, (), ("id", "name", "description", "source"))
    name = descriptor.get("id")
    if isinstance(name, str) and len(name) > LONGEST_ID:
        yield _Fault(("id",), "at most 100 characters", name)
    if "runsIn" in descriptor and not _one_of(descriptor["runsIn"], RUNS_IN):
        yield _Fault(("runsIn",), "host, process or remote", descriptor["runsIn"])
    capabilities = descriptor.get("capabilities")
    if capabilities is not None and not isinstance(capabilities, list):
        yield _Fault(("capabilities",), "list or null", capabilities)
    yield from _bounds(descriptor.get("bounds"))
    yield from _tools(descriptor.get("tools"))


def _texts(holder: dict[str, Any], steps: Steps, names: tuple[str, ...]) -> Iterator[_Fault]:
    for name in names:
        if name in holder and not isinstance(holder[name], str):
            yield _Fault((*steps, name), "string", holder[name])


def _one_of(value: Any, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in words


def _bounds(bounds: Any) -> Iterator[_Fault]:
    if bounds is None:
        return
    if not isinstance(bounds, dict):
        yield _Fault(("bounds",), "object or null", bounds)
        return
    if "maxBytes" in bounds and not (is_whole(bounds["maxBytes"]) and bounds["maxBytes"] >= 0):
        yield _Fault(("bounds", "maxBytes"), "whole number of at least 0", bounds["maxBytes"])
    if "window" in bounds and not _one_of(bounds["window"], WINDOWS):
        yield _Fault(("bounds", "window"), "process, hour, day or admission", bounds["window"])


def _tools(tools: Any) -> Iterator[_Fault]:
    if not isinstance(tools, list):
        return  # The rule no-tools speaks for it.
    if len(tools) > MOST_TOOLS:
        yield _Fault(("tools",), "at most 256 tools", tools)
    for at, tool in enumerate(tools):
        yield from _tool(tool, ("tools", at))


def _tool(tool: Any, steps: Steps) -> Iterator[_Fault]:
    if not isinstance(tool, dict):
        yield _Fault(steps, "object", tool)
        return
    yield from _texts(tool, steps, ("name", "description", "promptSnippet", "primitive"))
    if "params" in tool:
        yield from _params(tool["params"], (*steps, "params"))


def _params(params: Any, steps: Steps) -> Iterator[_Fault]:
    if not isinstance(params, dict):
        yield _Fault(steps, "object", params)
        return
    for name, value in params.items():
        if name == "headers":
            yield from _headers(value, (*steps, name))
        elif not (isinstance(value, (str, bool)) or is_number(value)):
            yield _Fault((*steps, name), "string, number or boolean", value)


def _headers(headers: Any, steps: Steps) -> Iterator[_Fault]:
    if not isinstance(headers, dict):
        yield _Fault(steps, "object of strings", headers)
        return
    yield from _texts(headers, steps, tuple(headers))
