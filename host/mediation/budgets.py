"""Budgets: how many requests an extension may send until its window renews (contract 11.16).

A request is counted before it is sent, and stays counted whatever comes of it. A window begins anew for
nobody but its extension: no reload, and no change of another extension, gives anything back.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol

from capgate.host.admission.store import Charge
from capgate.host.mediation.clock import Clock
from capgate.plugins.api import Refused

__all__ = ["Account", "Budgets", "Count", "Counts", "one_more"]

#: When each window renews, as the end of a sentence.
_RENEWS: Final[Mapping[str, str]] = {
    "process": "they renew when the host starts again",
    "hour": "they renew with the next full hour",
    "day": "they renew with the next day (UTC)",
    "admission": "they renew when the extension is admitted again",
}
_HOUR: Final = 3600
_DAY: Final = 86400


class Count(NamedTuple):
    """How many requests were counted in a period.

    Attributes:
        period: number of the period; later ones have higher numbers.
        used: how many.
    """

    period: int
    used: int


def one_more(before: Count | None, period: int, limit: int) -> tuple[Count, Charge]:
    """Counts one request, unless the limit is reached.

    A period that is earlier than the counted one is taken for that one: a clock that was set back gives
    nothing back.

    Args:
        before: what was counted so far; None for nothing.
        period: number of the present period.
        limit: how many a period may have.
    """
    if before is None or before.period < period:
        before = Count(period, 0)
    if before.used >= limit:
        return before, Charge(before.used, False)
    after = Count(before.period, before.used + 1)
    return after, Charge(after.used, True)


class Account(NamedTuple):
    """The budget of one extension.

    Attributes:
        id: id of the extension.
        limit: how many requests a window may have.
        window: ``process``, ``hour``, ``day`` or ``admission``.
        since: number of the ledger's line by which the extension was admitted last.
    """

    id: str
    limit: int
    window: str
    since: int

    @classmethod
    def of(cls, id: str, bounds: Mapping[str, Any], since: int) -> Account:
        """The account that admitted bounds describe."""
        return cls(id, int(bounds.get("maxRequests") or 0), bounds.get("window") or "process", since)


class Counts(Protocol):
    """Where counts are kept that outlive a process: a `Store`."""

    def charge(self, id: str, window: str, period: int, limit: int) -> Charge:
        """Counts one request, unless the limit is reached; raises AdmissionError."""
        ...


class Budgets:
    """Counts requests; any number of threads may ask.

    Args:
        counts: keeps what other processes see too.
        clock: tells the hour and the day.
    """

    def __init__(self, counts: Counts, clock: Clock):
        self._counts = counts
        self._clock = clock
        self._lock = Lock()
        self._here: dict[str, Count] = {}

    def charge(self, account: Account) -> str:
        """Counts one request, and says how much is used: ``3/4``.

        Raises:
            Refused: ``budget-exhausted``; nothing was counted.
            AdmissionError: ``store-unavailable``: it could not be counted.
        """
        used, granted = self._one_more(account)
        if granted:
            return f"{used}/{account.limit}"
        why = f"{used} of {account.limit} requests used; {_RENEWS[account.window]}"
        raise Refused("budget-exhausted", why, {"request": f"{used}/{account.limit}"})

    def _one_more(self, account: Account) -> Charge:
        if account.window == "process":
            with self._lock:
                self._here[account.id], charge = one_more(self._here.get(account.id), account.since, account.limit)
            return charge
        return self._counts.charge(account.id, account.window, self._period(account), account.limit)

    def _period(self, account: Account) -> int:
        if account.window == "admission":
            return account.since
        return int(self._clock.now() // (_HOUR if account.window == "hour" else _DAY))
