"""Who asks: by which name of the host, with what right, and as which actor (contract 4 and 11.1 to 11.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.sessions import COOKIE, Session, Sessions
from capgate.host.admission.store import Actor
from capgate.policy.hosts import Host, normalise_host

__all__ = ["ANYONE", "Authority", "Caller", "Doorkeeper", "cookie_of"]

_COOKIE: Final = COOKIE.encode()
#: The names that always reach this machine and nothing else; any address of 127.0.0.0/8 besides.
_LOOPBACK: Final = frozenset({"localhost", "::1"})
#: How many ``Host`` headers are remembered; a sender may make up as many as they like.
_REMEMBERED: Final = 256


class Authority(Enum):
    """What a route asks of whoever calls it."""

    NONE = "none"
    #: The host token.
    HOST = "host"
    #: The host token, or a session whose CSRF token came along.
    ROOM = "room"


class Caller(NamedTuple):
    """Whoever sent a request, as far as that was proven.

    Attributes:
        is_host: whether the host token came along.
        session: the session that the cookie names.
        has_csrf: whether that session's CSRF token came along.
    """

    is_host: bool = False
    session: Session | None = None
    has_csrf: bool = False

    @property
    def known(self) -> bool:
        """Whether it is the host or somebody who signed in, for reading."""
        return self.is_host or self.session is not None

    @property
    def actor(self) -> Actor:
        """The actor that acts of this caller are recorded under."""
        if self.is_host:
            return Actor("host-token", "http")
        if self.session is not None and self.has_csrf:
            return Actor("session", "page", self.session.name)
        return Actor("anyone", "http")

    def check(self, needed: Authority) -> None:
        """Lets the caller pass.

        Raises:
            AdmissionError: ``host-token-required``, ``session-required`` or ``csrf-required``.
        """
        if needed is Authority.NONE or self.is_host:
            return
        if needed is Authority.HOST:
            why = "this takes the host token, from the file .host-token in the extensions folder; "
            raise AdmissionError("host-token-required", why + "the page cannot hold it")
        if self.session is None:
            raise AdmissionError("session-required", "this takes the host token or a session")
        if not self.has_csrf:
            raise AdmissionError("csrf-required", "the session's own token did not come along")


#: Whoever proved nothing.
ANYONE: Final = Caller()


class Doorkeeper:
    """Looks at the headers of every request.

    Args:
        is_token: whether a text is the host token, in constant time.
        sessions: who signed in.
        allowed_hosts: names besides the loopback ones that a ``Host`` header may carry; with a port, only that port.
        wall: whether everything asks for a session or the token (contract 4: VOICEBOX_LOOPBACK_AUTH).
    """

    def __init__(
        self, is_token: Callable[[str], bool], sessions: Sessions, allowed_hosts: Iterable[str] = (), wall: bool = False
    ):
        self._is_token = is_token
        self.sessions = sessions
        self.wall = wall
        self._allowed = frozenset(host for name in allowed_hosts if (host := normalise_host(name)))
        self._passed: set[bytes] = set()

    def check_host(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Looks at the name by which this host was asked, so that a rebound name cannot drive it (contract 11.4).

        Raises:
            AdmissionError: ``host-header-refused``.
        """
        names = [value for key, value in headers if key == b"host"]
        if len(names) != 1:
            raise AdmissionError("host-header-refused", f"the request has {len(names)} Host headers, not one")
        if names[0] in self._passed:
            return
        text = names[0].decode("latin-1")
        host = normalise_host(text) if text.isascii() else None
        if host is None or not self._is_ours(host):
            raise AdmissionError("host-header-refused", f"this host is not called {text!r}")
        if len(self._passed) < _REMEMBERED:
            self._passed.add(names[0])

    def _is_ours(self, host: Host) -> bool:
        name = host.name
        loopback = name in _LOOPBACK or (name.startswith("127.") and name.replace(".", "").isdigit())
        return loopback or host in self._allowed or Host(name, None) in self._allowed

    def caller(self, headers: Mapping[bytes, bytes]) -> Caller:
        """Who sent these headers."""
        token = headers.get(b"x-voicebox-host-token")
        if token is not None and self._is_token(token.decode("latin-1")):
            return Caller(is_host=True)
        session = self.sessions.find(cookie_of(headers)) if b"cookie" in headers else None
        if session is None:
            return ANYONE
        csrf = headers.get(b"x-capgate-csrf")
        return Caller(False, session, csrf is not None and session.allows(csrf.decode("latin-1")))

    def check_wall(self, caller: Caller) -> None:
        """Lets the caller in.

        Raises:
            AdmissionError: ``loopback-unauthenticated``.
        """
        if self.wall and not caller.known:
            raise AdmissionError("loopback-unauthenticated", "this host answers only who signed in")


def cookie_of(headers: Mapping[bytes, bytes]) -> str | None:
    """The value of the session cookie, if one came along."""
    for part in headers.get(b"cookie", b"").split(b";"):
        name, _, value = part.strip().partition(b"=")
        if name == _COOKIE:
            return value.decode("latin-1")
    return None
