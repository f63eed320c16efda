"""Where an extension may go: the hosts of its bounds, and of their addresses those that may be dialled."""

from __future__ import annotations

from collections.abc import Sequence

from capgate.host.mediation.addresses import Address, Prefix, classify
from capgate.host.mediation.urls import Url
from capgate.plugins.api import Refused
from capgate.policy.hosts import normalise_host

__all__ = ["Reach"]


class Reach:
    """What ``bounds.hosts`` allows.

    Args:
        hosts: as admitted. What is no list of hosts allows nothing.
        allowed: link-local and metadata addresses that may be named, packed.
        nat64: prefixes behind which the network translates.
    """

    def __init__(self, hosts: object, allowed: frozenset[bytes] = frozenset(), nat64: Sequence[Prefix] = ()):
        self._shown = [host for host in hosts if isinstance(host, str)] if isinstance(hosts, list | tuple) else []
        self._hosts = [host for host in map(normalise_host, self._shown) if host]
        literals = ((classify(host.name, nat64), host.port) for host in self._hosts)
        self._literals = [(address.packed, port) for address, port in literals if address]
        self._allowed = allowed
        self._nat64 = nat64

    def __str__(self) -> str:
        return f"[{', '.join(self._shown)}]"

    def allows(self, url: Url) -> bool:
        """Whether its host is one of those in the bounds, on its port if they name one."""
        return any(host.name == url.host and host.port in (None, url.port) for host in self._hosts)

    def choose(self, url: Url, answers: Sequence[str]) -> list[str]:
        """The addresses to dial for a host that is allowed, in the usual spelling.

        Args:
            url: what is asked for.
            answers: the addresses of its host.

        Raises:
            Refused: ``address-not-allowed``, if any of them is none that may be reached (contract 11.33).
        """
        chosen = []
        for answer in answers:
            address = classify(answer, self._nat64)
            if address is None or not self._may_dial(address, url):
                raise Refused("address-not-allowed", _why(url, address))
            chosen.append(address.text)
        return chosen

    def _may_dial(self, address: Address, url: Url) -> bool:
        if address.kind == "public":
            return True
        if address.sealed and address.packed not in self._allowed:
            return False
        if address.kind == "loopback" and url.host == "localhost":
            return True
        return any(packed == address.packed and port in (None, url.port) for packed, port in self._literals)


def _why(url: Url, address: Address | None) -> str:
    if address is None:
        return f"{url.host} has an address that cannot be read"
    found = f"{address.text}, which is {address.kind} ({address.name})"
    if address.sealed:
        return f"{url.host} is at {found}; only the operator can allow such an address, and bounds.hosts must name it"
    return f"{url.host} is at {found}; such an address is reached only where bounds.hosts names it"
