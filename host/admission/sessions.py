"""Sessions of the page: a ticket that the console shows becomes a cookie, once (contract 11.1).

All is in memory and of one process: a restart ends every session. Of tickets, cookies and tokens only
digests are kept, so that looking one up takes the same time whatever was sent.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from threading import Lock
from typing import Final, NamedTuple

from capgate.host.mediation.clock import Clock

__all__ = ["COOKIE", "MOST_SESSIONS", "MOST_TICKETS", "SESSION_TTL", "TICKET_TTL", "Session", "Sessions", "SignedIn"]

#: Name of the cookie.
COOKIE: Final = "capgate_session"
#: How long a ticket can be redeemed, and how long a session lasts; seconds.
TICKET_TTL: Final = 600.0
SESSION_TTL: Final = 12 * 3600.0
#: How many tickets and sessions there are at most; a new one ends the oldest.
MOST_TICKETS: Final = 8
MOST_SESSIONS: Final = 32


class Session(NamedTuple):
    """Somebody who signed in.

    Attributes:
        name: what tells sessions apart in the audit; cannot be turned back into the cookie.
        csrf: the token that a request which changes something carries as ``x-capgate-csrf``.
        ends: when, on the monotonic clock.
    """

    name: str
    csrf: str
    ends: float

    def allows(self, token: object) -> bool:
        """Says whether `token` is the session's own, in constant time."""
        return isinstance(token, str) and hmac.compare_digest(_bytes(token), self.csrf.encode())


class SignedIn(NamedTuple):
    """A session that has just begun.

    Attributes:
        secret: the value of the cookie; kept nowhere.
        session: the session.
    """

    secret: str
    session: Session

    def set_cookie(self) -> str:
        """The ``Set-Cookie`` header: no script reads it, and no other site sends it."""
        return f"{COOKIE}={self.secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={int(SESSION_TTL)}"


class Sessions:
    """Tickets and sessions; safe to use from several threads.

    Args:
        clock: its monotonic time decides when a ticket or a session ends.
    """

    def __init__(self, clock: Clock):
        self._clock = clock
        self._lock = Lock()
        self._tickets: dict[str, float] = {}
        self._sessions: dict[str, Session] = {}

    def ticket(self) -> str:
        """Makes a ticket, for the console alone."""
        ticket = secrets.token_urlsafe(32)
        with self._lock:
            now = self._tidy()
            while len(self._tickets) >= MOST_TICKETS:
                del self._tickets[next(iter(self._tickets))]
            self._tickets[_digest(ticket)] = now + TICKET_TTL
        return ticket

    def redeem(self, ticket: object) -> SignedIn | None:
        """Turns a ticket into a session; None where there is no such ticket, or no longer."""
        if not isinstance(ticket, str):
            return None
        with self._lock:
            now = self._tidy()
            if self._tickets.pop(_digest(ticket), None) is None:
                return None
            while len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            secret = secrets.token_urlsafe(32)
            key = _digest(secret)
            session = Session(f"session-{key[:12]}", secrets.token_urlsafe(32), now + SESSION_TTL)
            self._sessions[key] = session
        return SignedIn(secret, session)

    def find(self, cookie: object) -> Session | None:
        """The session of a cookie's value; None where there is none, or no longer."""
        if not isinstance(cookie, str):
            return None
        with self._lock:
            self._tidy()
            return self._sessions.get(_digest(cookie))

    def end(self, cookie: object) -> None:
        """Ends the session of a cookie's value, if there is one."""
        if isinstance(cookie, str):
            with self._lock:
                self._sessions.pop(_digest(cookie), None)

    def _tidy(self) -> float:
        """Drops what has ended; returns the time. Both tables are in the order in which they end."""
        now = self._clock.monotonic()
        while self._tickets and now >= next(iter(self._tickets.values())):
            del self._tickets[next(iter(self._tickets))]
        while self._sessions and now >= next(iter(self._sessions.values())).ends:
            del self._sessions[next(iter(self._sessions))]
        return now


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(secret: str) -> str:
    return hashlib.sha256(_bytes(secret)).hexdigest()
