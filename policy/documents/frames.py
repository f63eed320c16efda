"""A list or an object while it is being read: its data and its places, filled together."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

from capgate.policy.documents.document import Place, Places

__all__ = ["Frame", "ListFrame", "ObjectFrame"]


class ListFrame:
    """A list that is being read."""

    __slots__ = ("data", "parts", "places")
    #: What ends it in JSON.
    closing: ClassVar[str] = "]"

    def __init__(self, at: int):
        self.data: list[Any] = []
        self.parts: list[Place] = []
        self.places = Places(at, {}, self.parts)

    def add(self, value: Any, place: Place) -> None:
        """Appends an item."""
        self.data.append(value)
        self.parts.append(place)


class ObjectFrame:
    """An object that is being read.

    Attributes:
        awaits_key: True before a key, False between a key and its value.
    """

    __slots__ = ("awaits_key", "data", "key", "keys", "parts", "places")
    #: What ends it in JSON.
    closing: ClassVar[str] = "}"

    def __init__(self, at: int):
        self.awaits_key = True
        self.key = ""
        self.data: dict[str, Any] = {}
        self.keys: dict[str, int] = {}
        self.parts: dict[str, Place] = {}
        self.places = Places(at, self.keys, self.parts)

    def begin(self, key: str, at: int) -> None:
        """Takes a key that is not there yet."""
        self.key = key
        self.keys[key] = at
        self.awaits_key = False

    def add(self, value: Any, place: Place) -> None:
        """Takes the value of the last key."""
        self.data[self.key] = value
        self.parts[self.key] = place
        self.awaits_key = True


Frame: TypeAlias = "ListFrame | ObjectFrame"
