"""The hosts that a descriptor names, as rules find them at ``subject.destinations``: with a name and maybe a port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from capgate.policy.conditions import Each
from capgate.policy.hosts import Host, format_host, normalise_host
from capgate.policy.operators import ABSENT

__all__ = ["ALL", "host_text", "hosts_like", "named_hosts", "pairs", "ports_near", "seen"]

#: What is asked of the list of all of them, and not of one.
ALL: Final = "all"
_HIGHEST: Final = 65535


def seen(value: Any, part: str) -> Any:
    """What a rule finds of a value in ``bounds.hosts``, or of all that stands there.

    Args:
        value: an entry of the list; with `ALL` what stands in place of the list.
        part: ``name``, ``port``, empty for both as an object, or `ALL`.
    """
    if part == ALL:
        hosts = value if type(value) is list and all(type(item) is str for item in value) else []
        return [seen(item, "") for item in hosts]
    host = _host(value) if type(value) is str else None
    whole: dict[str, Any] = {} if host is None else {"name": host.name}
    if host is not None and host.port is not None:
        whole["port"] = host.port
    return whole.get(part, ABSENT) if part else whole


@lru_cache(maxsize=4096)
def _host(text: str) -> Host | None:
    return normalise_host(text)


def host_text(name: Any, port: Any = None) -> str | None:
    """How a host is written of which rules find this name and port; None where there is no such host."""
    if type(name) is not str or not (port is None or (type(port) is int and 1 <= port <= _HIGHEST)):
        return None
    text = format_host(Host(name, port))
    return text if _host(text) == Host(name, port) else None


def hosts_like(value: Any) -> Any:
    """A value with the text of a host in place of what rules find of it."""
    if type(value) is list:
        return [hosts_like(item) for item in value]
    if type(value) is dict and not value.keys() - {"name", "port"}:
        return host_text(value.get("name"), value.get("port")) or value
    return value


def named_hosts(operand: Any) -> Iterator[dict[str, Any]]:
    """Each object in an operand that speaks of a host."""
    todo = [operand]
    while todo:
        value = todo.pop()
        if isinstance(value, Each):
            todo += [part.operand for part in value.checks]
        elif type(value) is list:
            todo += value
        elif type(value) is dict:
            yield value


def ports_near(values: Iterable[Any]) -> Iterator[int]:
    """The ports among some values, and those beside each."""
    for value in values:
        if type(value) in (int, float) and value == int(value):
            yield from (port for port in (int(value), int(value) - 1, int(value) + 1) if 1 <= port <= _HIGHEST)


def pairs(names: Sequence[str], ports: Sequence[int]) -> Iterator[str]:
    """Each of some hosts, none of which has a port, with each of some ports."""
    yield from (format_host(Host(seen(name, "name"), port)) for name in names for port in ports)
