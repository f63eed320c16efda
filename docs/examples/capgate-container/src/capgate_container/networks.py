"""The condition operator ``in_network``: is a host an address in one of some networks?"""

from __future__ import annotations

from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from capgate.policy.hosts import normalise_host

__all__ = ["accepts", "holds"]


def accepts(operand: Any) -> str | None:
    """None for a list of networks such as ``10.0.0.0/8``; else what is wrong with it."""
    if not isinstance(operand, list) or not operand:
        return "expected a list of networks, such as [10.0.0.0/8]"
    for text in operand:
        try:
            _network(text)
        except (TypeError, ValueError):
            return f"{text!r} is no network, such as 10.0.0.0/8"
    return None


def holds(value: Any, operand: list[str]) -> bool | None:
    """Whether the host `value` is an address in one of the networks; a name is in none.

    None for what is no host, so that the rule refuses it rather than passing it over.
    """
    # Hosts have many spellings (0x0a.0.0.5, [::ffff:10.0.0.5]:80): this is the one that capgate goes by.
    host = normalise_host(value) if isinstance(value, str) else None
    if host is None:
        return None
    try:
        address = ip_address(host.name)
    except ValueError:
        return False
    return any(address in _network(text) for text in operand)


@cache
def _network(text: str) -> IPv4Network | IPv6Network:
    if not isinstance(text, str):
        raise TypeError
    return ip_network(text)
