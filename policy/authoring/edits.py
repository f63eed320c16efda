"""Small changes to the text of a YAML file, made where a value stands, so that all else stays as it is.

A place is the path of a value, as in `capgate.policy.documents`. What has no text of its own, because an
alias stands for it, cannot be edited.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import yaml

from capgate.policy.paths import Path

__all__ = ["Edit", "Text", "edited"]


class Edit(NamedTuple):
    """What stands from `start` to before `end` becomes `text`; offsets count code points."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """`text` with every edit made; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


class Text:
    """A YAML file of which the loader has read that it is sound.

    Args:
        text: all of it.
    """

    def __init__(self, text: str):
        self.text = text
        # The loader has read it, so nothing is constructed here that was not looked at: only places are taken.
        self._root = yaml.compose(text, Loader=yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader)

    def has(self, at: Path) -> bool:
        """Whether the value at `at`, and every other in what holds it, has a text of its own and is no alias."""
        holder = self._root
        for step in at:
            if not self._in_order(holder):
                return False
            holder = self._below(holder, step)
        return True

    def _in_order(self, holder: Any) -> bool:
        """Whether the parts of a list or an object stand one after the other, inside of it."""
        reached: int = holder.start_mark.index
        parts = chain.from_iterable(part if isinstance(part, tuple) else (part,) for part in holder.value)
        for part in parts:
            if part.start_mark.index < reached:
                return False
            reached = _end(part, self.text)
        return reached <= _end(holder, self.text)

    def source(self, at: Path) -> str:
        """The text of the value at `at`."""
        node = self._node(at)
        return self.text[node.start_mark.index : _end(node, self.text)]

    def replace(self, at: Path, text: str) -> list[Edit]:
        """Another value in place of the one at `at`, on one line."""
        node = self._node(at)
        return [Edit(node.start_mark.index, _end(node, self.text), text)]

    def rename(self, at: Path, key: str) -> list[Edit]:
        """Another key for the value at `at`."""
        node, _ = self._pair(self._node(at[:-1]), at[-1])
        return [Edit(node.start_mark.index, _end(node, self.text), key)]

    def insert(self, at: Path, line: str) -> list[Edit]:
        """A pair, written ``key: value``, before the pair at `at`."""
        holder = self._node(at[:-1])
        key, _ = self._pair(holder, at[-1])
        start = key.start_mark.index
        before = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        after = ", " if holder.flow_style else "\n" + " " * len(before)
        return [Edit(start, start, line + after)]

    def swap(self, one: Path, other: Path) -> list[Edit]:
        """Each of two values in the place of the other."""
        return self.replace(one, self.source(other)) + self.replace(other, self.source(one))

    def drop(self, at: Path) -> list[Edit]:
        """Takes an item out of its list, or a pair out of its object. At least one has to stay."""
        holder = self._node(at[:-1])
        if isinstance(holder, yaml.SequenceNode):
            parts = [(item, item) for item in holder.value]
            number = at[-1]
        else:
            parts = holder.value
            number = [key.value for key, _ in parts].index(at[-1])
        assert isinstance(number, int)
        dashes = isinstance(holder, yaml.SequenceNode) and not holder.flow_style
        if number + 1 < len(parts):
            start, end = (self._start(parts[place][0], dashes) for place in (number, number + 1))
            return [Edit(start, end, "")]
        start = _end(parts[number - 1][1], self.text)
        return [Edit(start, _end(parts[number][1], self.text), "")]

    def _start(self, node: Any, dashes: bool) -> int:
        start: int = node.start_mark.index
        return self.text.rindex("-", 0, start) if dashes else start

    def _node(self, at: Path) -> Any:
        node = self._root
        for step in at:
            node = self._below(node, step)
        return node

    def _below(self, holder: Any, step: str | int) -> Any:
        return holder.value[step] if isinstance(step, int) else self._pair(holder, step)[1]

    def _pair(self, holder: Any, key: str | int) -> Any:
        return next(pair for pair in holder.value if pair[0].value == key)


def _end(node: Any, text: str) -> int:
    """Where the text of a value ends; the parser counts what follows a block among it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, text)
    end: int = node.end_mark.index
    start: int = node.start_mark.index
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return start + len(text[start:end].rstrip())
    return end
