"""Sessions of the page: one ticket, one session, for a time."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

from capgate.host.admission.sessions import (
    COOKIE,
    MOST_SESSIONS,
    MOST_TICKETS,
    SESSION_TTL,
    TICKET_TTL,
    Sessions,
    SignedIn,
)


class SetClock:
    """A clock whose two faces can part, as when somebody sets the time of day."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.since_start = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.since_start

    def move(self, seconds: float) -> None:
        self.time += seconds
        self.since_start += seconds


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def sessions(clock: SetClock) -> Sessions:
    return Sessions(clock)


def sign_in(sessions: Sessions) -> SignedIn:
    signed_in = sessions.redeem(sessions.ticket())
    assert signed_in is not None
    return signed_in


def test_a_ticket_is_redeemed_once(sessions: Sessions) -> None:
    ticket = sessions.ticket()

    assert sessions.redeem(ticket) is not None
    assert sessions.redeem(ticket) is None


def test_a_cookie_finds_its_session_and_a_token_is_that_session_s_alone(sessions: Sessions) -> None:
    one, other = sign_in(sessions), sign_in(sessions)

    assert sessions.find(one.secret) == one.session
    assert one.session.allows(one.session.csrf)
    assert not one.session.allows(other.session.csrf)
    assert one.session.name != other.session.name


@pytest.mark.parametrize("value", [None, "", 7, "x", b"x", [], "\ud800", "é"], ids=repr)
def test_nothing_else_is_a_ticket_a_cookie_or_a_token(sessions: Sessions, value: object) -> None:
    session = sign_in(sessions).session

    assert sessions.redeem(value) is None
    assert sessions.find(value) is None
    assert not session.allows(value)
    sessions.end(value)


def test_a_ticket_a_cookie_and_a_token_do_not_stand_for_each_other(sessions: Sessions) -> None:
    ticket, signed_in = sessions.ticket(), sign_in(sessions)

    assert sessions.find(ticket) is None
    assert sessions.redeem(signed_in.secret) is None
    assert sessions.find(signed_in.session.csrf) is None
    assert not signed_in.session.allows(signed_in.secret)


def test_no_secret_is_kept_and_the_name_tells_nothing(sessions: Sessions) -> None:
    ticket, signed_in = sessions.ticket(), sign_in(sessions)

    kept = repr(vars(sessions))

    assert ticket not in kept
    assert signed_in.secret not in kept
    assert signed_in.secret not in signed_in.session.name


def test_the_cookie_is_for_no_script_and_no_other_site(sessions: Sessions) -> None:
    signed_in = sign_in(sessions)

    assert signed_in.set_cookie() == f"{COOKIE}={signed_in.secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"
    assert len(signed_in.secret) >= 43


def test_a_ticket_ends(sessions: Sessions, clock: SetClock) -> None:
    early, late = sessions.ticket(), sessions.ticket()
    clock.move(TICKET_TTL - 0.001)
    assert sessions.redeem(early) is not None
    clock.move(0.001)

    assert sessions.redeem(late) is None


def test_a_session_ends(sessions: Sessions, clock: SetClock) -> None:
    signed_in = sign_in(sessions)
    clock.move(SESSION_TTL - 0.001)
    assert sessions.find(signed_in.secret) is not None
    clock.move(0.001)

    assert sessions.find(signed_in.secret) is None


def test_the_time_of_day_ends_nothing(sessions: Sessions, clock: SetClock) -> None:
    signed_in, ticket = sign_in(sessions), sessions.ticket()
    clock.time += 10 * SESSION_TTL

    assert sessions.find(signed_in.secret) is not None
    assert sessions.redeem(ticket) is not None


def test_a_session_can_be_ended_and_others_go_on(sessions: Sessions) -> None:
    one, other = sign_in(sessions), sign_in(sessions)
    sessions.end(one.secret)
    sessions.end(one.secret)

    assert sessions.find(one.secret) is None
    assert sessions.find(other.secret) == other.session


def test_the_newest_tickets_stay(sessions: Sessions) -> None:
    tickets = [sessions.ticket() for _ in range(MOST_TICKETS + 1)]

    assert [sessions.redeem(ticket) is not None for ticket in tickets] == [False] + [True] * MOST_TICKETS


def test_the_newest_sessions_stay(sessions: Sessions) -> None:
    made = [sign_in(sessions) for _ in range(MOST_SESSIONS + 1)]

    assert [sessions.find(one.secret) is not None for one in made] == [False] + [True] * MOST_SESSIONS


def test_a_ticket_is_redeemed_once_by_many_at_once(sessions: Sessions) -> None:
    ticket = sessions.ticket()
    barrier = Barrier(16)
    made: list[SignedIn | None] = []

    def redeem() -> None:
        barrier.wait()
        made.append(sessions.redeem(ticket))

    threads = [Thread(target=redeem) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(one is not None for one in made) == 1
