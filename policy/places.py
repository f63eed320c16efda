"""Places in a descriptor, as the compiled code writes them: what is known of a path early is written early."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

from capgate.policy.codegen import constant, expression, name, text_of
from capgate.policy.paths import Path, format_path
from capgate.policy.values import Frame

__all__ = ["below", "element_place", "nearest_place", "place"]

#: The derived lists whose elements are those that stand in the descriptor.
_SUBMITTED: Final = ("subject.capabilities", "subject.tools", "subject.hosts")


def element_place(frames: Sequence[Frame]) -> ast.expr:
    """The text of the innermost loop's element; None where there is no loop."""
    if not frames:
        return constant(None)
    frame = frames[-1]
    if frame.loop.element.fact == "fault":
        return expression("E['path']", E=frame.local("element"))
    steps = _plain_steps(frame.path)
    return expression("format_path(PATH)", PATH=frame.path) if steps is None else _written(steps)


def nearest_place(path: ast.expr, frames: Sequence[Frame]) -> ast.expr:
    """The text of a path, or of its nearest parent that is there."""
    steps = _plain_steps(path)
    keys = [*takewhile(lambda step: isinstance(step, str), reversed(steps or ()))][::-1]
    head = steps[: len(steps) - len(keys)] if steps is not None else []
    holder = _holder(head, frames) if steps is not None else None
    if holder is None:
        return expression("PLACE(descriptor, PATH)", PATH=path)
    text = _written(head)
    pairs = tuple((key, format_path((key,))[1:]) for key in keys if isinstance(key, str))
    return expression("BELOW(TEXT, HOLDER, STEPS)", TEXT=text, HOLDER=holder, STEPS=constant(pairs)) if pairs else text


def place(descriptor: Any, path: Path) -> str:
    """`path`, or its nearest parent that is there, in written form."""
    value = descriptor
    for depth, step in enumerate(path):
        if type(step) is int:
            there = type(value) is list and step < len(value)
        else:
            there = type(value) is dict and step in value
        if not there:
            return format_path(path[:depth])
        value = value[step]
    return format_path(path)


def below(text: str, value: Any, steps: Sequence[tuple[str, str]]) -> str:
    """The place that `steps` lead to from `value`, which stands at `text`, as far as they lead.

    Each step is a key with its written form.
    """
    for step, written in steps:
        if type(value) is not dict or step not in value:
            break
        text += written
        value = value[step]
    return text


def _plain_steps(path: ast.expr) -> list[str | ast.Name] | None:
    """The steps of a path that is made of keys and of the indexes of loops; None where it is not."""
    if not isinstance(path, ast.Tuple):
        return None
    steps: list[str | ast.Name] = []
    for step in path.elts:
        if isinstance(step, ast.Constant):
            steps.append(str(step.value))
        elif isinstance(step, ast.Name):
            steps.append(step)
        else:
            return None
    return steps


def _holder(head: Sequence[str | ast.Name], frames: Sequence[Frame]) -> ast.expr | None:
    """What stands at a path that ends with the index of a loop; None where the code does not have it."""
    if not head:
        return name("descriptor")
    frame = next(frame for frame in frames if isinstance(head[-1], ast.Name) and frame.local("index") == head[-1].id)
    over = frame.loop.over.term
    there = over.origin == "submitted" or over.fact in _SUBMITTED
    return name(frame.local("element")) if there else None


def _written(steps: Sequence[str | ast.Name]) -> ast.expr:
    """The text of a path."""
    pieces: list[str | ast.expr] = ["$"]
    for step in steps:
        pieces += [format_path((step,))[1:]] if isinstance(step, str) else ["[", step, "]"]
    return text_of(pieces)
