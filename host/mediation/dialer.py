"""From an address to a connection: the interface, and the sockets of the operating system."""

from __future__ import annotations

import socket
from typing import Protocol

__all__ = ["Dialer", "SystemDialer"]


class Dialer(Protocol):
    """What makes connections; tests give one of their own."""

    def dial(self, address: str, port: int, seconds: float) -> socket.socket:
        """A connected TCP socket.

        Args:
            address: an IPv4 or IPv6 address, never a name: nothing is looked up again.
            port: 1 to 65535.
            seconds: how long to wait at most.

        Raises:
            TimeoutError: there was no connection in time.
            OSError: there is none.
        """
        ...


class SystemDialer:
    """Connects directly; no proxy of the environment is asked."""

    def dial(self, address: str, port: int, seconds: float) -> socket.socket:
        """As in `Dialer`."""
        made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            made.settimeout(seconds)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.connect((address, port))
        except BaseException:
            made.close()
            raise
        return made
