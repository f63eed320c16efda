"""From a YAML parser's events to plain data: keys, anchors and nesting are checked here.

It does not recurse, so no text can exhaust the stack.
"""

from __future__ import annotations

import re
from typing import Any, Final

from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from capgate.policy.documents.document import Lines, Place, Places
from capgate.policy.documents.errors import shown
from capgate.policy.documents.frames import Frame, ListFrame, ObjectFrame
from capgate.policy.documents.yaml_scalars import Fault, resolve

__all__ = ["MAX_DEPTH", "Builder", "half_character", "surrogate_at", "too_deep"]

#: The deepest nesting of lists and objects, aliases expanded; the root is level 1.
MAX_DEPTH: Final = 64
#: How many values all aliases together may stand for.
MAX_EXPANDED: Final = 10_000

#: Compiled when it is first needed, as it takes a while.
_SURROGATE: Final = "[\ud800-\udfff]"
_SURROGATE_ESCAPE: Final = r"\\(?:u|U0000)[dD][89a-fA-F]"
# An atomic group and no possessive repeat: those of a group fail to match in Python before 3.11.5.
_TO_SURROGATE: Final = re.compile(rf'"(?>(?:[^"\\]|(?!{_SURROGATE_ESCAPE})\\.)*)(?={_SURROGATE_ESCAPE})', re.DOTALL)


def surrogate_at(text: str, at: int) -> int | None:
    """The offset of the first surrogate escape in the double-quoted string at `at`, if there is one."""
    found = _TO_SURROGATE.match(text, at)
    return found.end() if found else None


def too_deep(at: int) -> Fault:
    """The fault of nesting over the limit, at `at`."""
    return Fault("document-too-deep", at, f"lists and objects nest deeper than {MAX_DEPTH} levels")


def half_character(at: int) -> Fault:
    """The fault of a surrogate escape, at `at`; YAML takes no pairs of them either."""
    hint = "Write the character itself, or its whole code point as \\U and eight hexadecimal digits."
    return Fault("lone-surrogate", at, "this escape is half a character", hint)


class _Anchor:
    """What an anchor names; `closed` once all of it is read."""

    __slots__ = ("closed", "height", "place", "size", "value")

    def __init__(self) -> None:
        self.closed = False
        self.value: Any = None
        self.place: Place = 0
        self.size = 0
        self.height = 0

    def close(self, value: Any, place: Place, size: int, height: int) -> None:
        self.closed = True
        self.value = value
        self.place = place
        self.size = size
        self.height = height


class _Level:
    """A list or an object that is being read, with what is known of it for aliases."""

    __slots__ = ("anchor", "before", "frame", "height")

    def __init__(self, frame: Frame, anchor: _Anchor | None, before: int):
        self.frame = frame
        self.anchor = anchor
        self.before = before
        self.height = 1


class Builder:
    """Takes the events of one document in turn; `data` and `place` are the result after `finish`."""

    __slots__ = ("_anchors", "_count", "_expanded", "_levels", "_started", "_text", "data", "place")

    def __init__(self, text: str) -> None:
        self.data: Any = None
        self.place: Place | None = None
        self._text = text
        self._started = False
        self._levels: list[_Level] = []
        self._anchors: dict[str, _Anchor] = {}
        #: Values so far, and among them those that only aliases stand for.
        self._count = 0
        self._expanded = 0

    @property
    def depth(self) -> int:
        """How many lists and objects are open."""
        return len(self._levels)

    def take(self, event: Event) -> None:
        """Takes the next event.

        Raises:
            Fault: what this event shows to be wrong.
        """
        if isinstance(event, ScalarEvent):
            self._scalar(event)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._open(event)
        elif isinstance(event, CollectionEndEvent):
            self._close()
        elif isinstance(event, AliasEvent):
            self._alias(event)
        elif isinstance(event, DocumentStartEvent):
            if self._started:
                raise Fault("yaml-several-documents", _start(event), "a second document starts here")
            self._started = True

    def finish(self) -> tuple[Any, Place]:
        """The value and its places, after the last event.

        Raises:
            Fault: empty-document.
        """
        if self.place is None:
            raise Fault("empty-document", 0, "the document holds no value")
        return self.data, self.place

    def _scalar(self, event: ScalarEvent) -> None:
        at = _start(event)
        text = event.value
        plain = event.implicit[0]
        self._refuse_tag(event)
        if event.style == '"' and not text.isascii() and re.search(_SURROGATE, text):
            quote = self._text.index('"', at)
            raise half_character(surrogate_at(self._text, quote) or quote)
        level = self._levels[-1] if self._levels else None
        if level and isinstance(level.frame, ObjectFrame) and level.frame.awaits_key:
            self._key(level.frame, text, plain, at)
            value: Any = text
        else:
            if level is None and plain and not text:
                raise Fault("empty-document", at, "the document holds no value")
            value = resolve(text, at) if plain else text
            self._count += 1
            self._add(value, at, 0)
        if event.anchor is not None:
            self._anchor(event.anchor).close(value, at, 1, 0)

    def _key(self, frame: ObjectFrame, text: str, plain: bool, at: int) -> None:
        if plain and text == "<<":
            raise Fault("yaml-merge-key", at, "merge keys are not taken")
        if plain and not _is_string(text, at):
            what = f"the plain key {shown(text)}" if text else "an empty key"
            hint = "Put the key in quotes if a string is meant; without them it is a number, a boolean or null."
            raise Fault("yaml-key-not-string", at, f"{what} is no string", hint)
        if text in frame.keys:
            lines = Lines(self._text)
            first, second = lines.line(frame.keys[text]), lines.line(at)
            raise Fault("duplicate-key", at, f"the key {shown(text)} is given twice, on lines {first} and {second}")
        frame.begin(text, at)

    def _open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        at = _start(event)
        self._refuse_tag(event)
        self._refuse_as_key(at, "a list or an object")
        if len(self._levels) >= MAX_DEPTH:
            raise too_deep(at)
        frame = ObjectFrame(at) if isinstance(event, MappingStartEvent) else ListFrame(at)
        anchor = None if event.anchor is None else self._anchor(event.anchor)
        self._levels.append(_Level(frame, anchor, self._count))
        self._count += 1

    def _close(self) -> None:
        level = self._levels.pop()
        frame = level.frame
        if level.anchor:
            level.anchor.close(frame.data, frame.places, self._count - level.before, level.height)
        self._add(frame.data, frame.places, level.height)

    def _alias(self, event: AliasEvent) -> None:
        at = _start(event)
        name = event.anchor or ""
        self._refuse_as_key(at, "an alias")
        anchor = self._anchors.get(name)
        if anchor is None:
            raise Fault("yaml-alias-unknown", at, f"no anchor {shown(name)} stands before this alias")
        if not anchor.closed:
            raise Fault("yaml-alias-recursive", at, f"the alias {shown(name)} stands inside the value that it names")
        self._count += anchor.size
        self._expanded += anchor.size
        if self._expanded > MAX_EXPANDED:
            raise Fault("yaml-alias-bomb", at, f"the aliases up to here stand for over {MAX_EXPANDED} values")
        if len(self._levels) + anchor.height > MAX_DEPTH:
            raise too_deep(at)
        place = anchor.place
        here = Places(at, place.keys, place.parts) if isinstance(place, Places) else at
        self._add(anchor.value, here, anchor.height)

    def _add(self, value: Any, place: Place, height: int) -> None:
        if self._levels:
            level = self._levels[-1]
            level.frame.add(value, place)
            if level.height <= height:
                level.height = height + 1
        else:
            self.data = value
            self.place = place

    def _anchor(self, name: str) -> _Anchor:
        """Starts the anchor `name`; from here on it hides an earlier one."""
        anchor = self._anchors[name] = _Anchor()
        return anchor

    def _refuse_tag(self, event: ScalarEvent | MappingStartEvent | SequenceStartEvent) -> None:
        if event.tag is not None:
            raise Fault("yaml-tag", self._text.index("!", _start(event)), "tags are not taken")

    def _refuse_as_key(self, at: int, what: str) -> None:
        if self._levels:
            frame = self._levels[-1].frame
            if isinstance(frame, ObjectFrame) and frame.awaits_key:
                raise Fault("yaml-key-not-string", at, f"{what} cannot be a key")


def _start(event: Event) -> int:
    mark = event.start_mark
    assert mark is not None  # true of every event that was parsed
    return mark.index


def _is_string(text: str, at: int) -> bool:
    try:
        return isinstance(resolve(text, at), str)
    except Fault:
        return False
