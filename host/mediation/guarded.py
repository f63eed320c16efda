"""Sockets that end at a deadline and after so many bytes, however slowly or how much the other side sends."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from capgate.host.mediation.deadline import Deadline

__all__ = ["GuardedSocket", "GuardedTls", "TooMuch", "guard"]


class TooMuch(Exception):
    """More bytes came than may come."""


class _Guarded(socket.socket):
    """Each operation gets the time that is left, so that many short ones cannot add up to more."""

    # Set by `guard`. The handshake of TLS, which comes before, reads by itself and has the time-out of the socket.
    deadline: Deadline
    allowance: int

    def recv_into(self, *args: Any, **options: Any) -> int:
        """As of a socket; raises TooMuch when the allowance is used up."""
        self.settimeout(self.deadline.left())
        count = super().recv_into(*args, **options)
        self.allowance -= count
        if self.allowance < 0:
            raise TooMuch("the answer is larger than what may come over the wire")
        return count

    def send(self, *args: Any, **options: Any) -> int:
        """As of a socket; TLS sends all in many of these, where plain TCP has one time-out for all."""
        self.settimeout(self.deadline.left())
        return super().send(*args, **options)


class GuardedSocket(_Guarded):
    """Plain TCP."""


class GuardedTls(_Guarded, ssl.SSLSocket):
    """TLS; a context makes these where it is its ``sslsocket_class``."""


def guard(plain: socket.socket, context: ssl.SSLContext | None, name: str, deadline: Deadline, allowance: int) -> Any:
    """Takes `plain` over, with TLS where a context is given.

    Args:
        plain: connected; not to be used any more.
        context: its ``sslsocket_class`` is `GuardedTls`.
        name: whom the certificate must name.
        deadline: when it ends.
        allowance: bytes that may be read.

    Raises:
        OSError: TLS could not be agreed on; `plain` is closed.
    """
    seconds = plain.gettimeout()
    made: Any = GuardedSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
    try:
        made.settimeout(deadline.left() if seconds is None else min(seconds, deadline.left()))
        if context is not None:
            made = context.wrap_socket(made, server_hostname=name)
        made.deadline, made.allowance = deadline, allowance
    except BaseException:
        made.close()
        raise
    return made
