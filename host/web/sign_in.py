"""Signing in by the one-time address that the host prints, for the page (contract 11.1)."""

from __future__ import annotations

from typing import Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.web.answers import Answer, json_answer
from capgate.host.web.authority import Authority
from capgate.host.web.routes import Call, Operation

__all__ = ["OPERATIONS", "SIGN_IN"]

#: The path of the address that is printed.
SIGN_IN: Final = "/sign-in"
_SIGNED_IN: Final = b"You are signed in to this host. Close this page, or go on from here.\n"


async def sign_in(call: Call) -> Answer:
    """Turns the ticket into a session cookie, once."""
    signed_in = call.shim.door.sessions.redeem(call.parameter("ticket"))
    if signed_in is None:
        why = "the address was used already, or is too old"
        raise AdmissionError(
            "session-required", why, hint="Ask POST /api/session/ticket for a new one, with the host token."
        )
    headers = [(b"set-cookie", signed_in.set_cookie().encode()), (b"referrer-policy", b"no-referrer")]
    return Answer(200, _SIGNED_IN, "text/plain; charset=utf-8", headers)


async def ticket(call: Call) -> Answer:
    """Makes a new one-time address, for whoever holds the host token."""
    return json_answer({"ok": True, "path": f"{SIGN_IN}?ticket={call.shim.door.sessions.ticket()}"})


async def session(call: Call) -> Answer:
    """The CSRF token of the session that the cookie names."""
    found = call.exchange.caller.session
    if found is None:
        raise AdmissionError("session-required", "no session's cookie came along")
    return json_answer({"ok": True, "csrf": found.csrf})


OPERATIONS: Final = (
    Operation("GET", SIGN_IN, sign_in, open=True, safe=False),
    Operation("GET", "/api/session", session),
    Operation("POST", "/api/session/ticket", ticket, Authority.HOST),
)
