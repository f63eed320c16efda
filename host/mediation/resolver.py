"""From a name to addresses: the interface, and the look-up of the operating system."""

from __future__ import annotations

import socket
from threading import BoundedSemaphore, Event, Thread
from typing import Any, Final, Protocol

__all__ = ["Resolver", "SystemResolver"]

#: Look-ups that may go on at once. The operating system has no way to stop one, so those that nobody waits
#: for any more go on for a while.
_AT_ONCE: Final = 64


class Resolver(Protocol):
    """Where addresses come from; tests give one of their own."""

    def resolve(self, name: str, seconds: float) -> tuple[str, ...]:
        """The addresses of a name, in the order in which they are to be tried.

        Args:
            name: lower-case ASCII, without a trailing dot.
            seconds: how long to wait at most.

        Raises:
            TimeoutError: there was no answer in time.
            OSError: the name has no address, or cannot be looked up.
        """
        ...


class SystemResolver:
    """Asks the operating system, and so its hosts file too.

    Args:
        at_once: how many look-ups may go on.
    """

    def __init__(self, at_once: int = _AT_ONCE):
        self._free = BoundedSemaphore(at_once)

    def resolve(self, name: str, seconds: float) -> tuple[str, ...]:
        """As in `Resolver`; with many look-ups under way it waits for one of them to end."""
        if not self._free.acquire(timeout=seconds):
            raise TimeoutError("too many look-ups are under way")
        found: list[Any] = []
        done = Event()

        def look_up() -> None:
            try:
                found.append(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError) as error:
                found.append(error)
            finally:
                self._free.release()
                done.set()

        Thread(target=look_up, name="look-up", daemon=True).start()
        if not done.wait(seconds):
            raise TimeoutError("the name was not looked up in time")
        (answer,) = found
        if isinstance(answer, UnicodeError):
            raise OSError("it is no name that can be looked up")
        if isinstance(answer, OSError):
            raise answer
        return tuple(dict.fromkeys(str(address[0]) for *_, address in answer))
