"""What the engines have in common: how they are asked, and the lines of Python that say what they cannot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from typing import Any, ClassVar, Final

from bench.handwritten import RESERVED
from capgate.policy.hosts import is_host

__all__ = [
    "Engine",
    "EngineMissing",
    "has_bad_host",
    "has_duplicate_tool",
    "imported",
    "more_capabilities",
    "with_hosts",
]

#: The refusals that come before `host-invalid`.
_BEFORE_HOSTS: Final = frozenset(
    {
        "malformed-descriptor",
        "unknown-capability",
        "eval-not-a-tool-path",
        "exec-absent",
        "capability-unmediated",
        "network-unbounded",
    }
)


class EngineMissing(Exception):
    """An engine is not installed, or does not take so many rules."""


class Engine(ABC):
    """One policy engine with the gate's rules in its own language, and `more` rules that watch for one capability each.

    Attributes:
        name: as in the table.
        names_rules: whether it says which rule refuses first; otherwise it only tells admitted (None) from refused.
        helped: what Python does for it, in words.
        json: a fast reader and writer of JSON.
    """

    name: ClassVar[str]
    names_rules: ClassVar[bool]
    helped: ClassVar[str]

    @abstractmethod
    def __init__(self, more: int = 0):
        """Raises `EngineMissing`."""
        self.json = imported("orjson")

    @abstractmethod
    def decide(self, descriptor: Any) -> str | None:
        """The id of the first refusing rule (or any text where it names none), or None, for parsed JSON."""

    def decide_bytes(self, source: bytes) -> str | None:
        """The same for JSON as bytes, read in the way that is fastest for this engine."""
        return self.decide(self.json.loads(source))


def imported(module: str) -> Any:
    """The module; raises `EngineMissing` where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise EngineMissing("not installed: it comes with the extra `bench`") from None


def more_capabilities(count: int) -> Iterator[str]:
    """The capabilities that further rules watch for, one rule each."""
    return (f"extra-{number:05}" for number in range(count))


def with_hosts(answer: str | None, descriptor: Any) -> str | None:
    """The host line: no engine can read a host as the gate does, so Python asks where the rule's turn comes."""
    if answer in _BEFORE_HOSTS or not has_bad_host(descriptor):
        return answer
    return "host-invalid"


def has_bad_host(descriptor: Any) -> bool:
    """Whether a well-formed, bounded descriptor with the network capability names what is no host."""
    if "network" not in (descriptor.get("capabilities") or ()):
        return False
    return not all(map(is_host, descriptor["bounds"]["hosts"]))


def has_duplicate_tool(descriptor: Any) -> bool:
    """Whether two tools have one name, or one has a reserved name."""
    names = {tool["name"] for tool in descriptor["tools"]}
    return len(names) < len(descriptor["tools"]) or not RESERVED.isdisjoint(names)
