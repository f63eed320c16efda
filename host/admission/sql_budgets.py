"""The counts of requests in a database: one row for each window of an extension."""

from __future__ import annotations

from sqlalchemy import Connection, case, func, select
from sqlalchemy.dialects.postgresql import insert

from capgate.host.admission.sql_schema import BUDGETS
from capgate.host.admission.store import Charge

__all__ = ["charge"]


def charge(connection: Connection, id: str, window: str, period: int, limit: int) -> Charge:
    """Counts one request, unless the limit is reached; one statement, so exact over all hosts without a lock."""
    row = BUDGETS.c
    counting = insert(BUDGETS).values(id=id, kind=window, period=period, used=1)
    begins = row.period < counting.excluded.period
    counting = counting.on_conflict_do_update(
        index_elements=[row.id, row.kind],
        set_={
            "used": case((begins, 1), else_=row.used + 1),
            "period": func.greatest(row.period, counting.excluded.period),
        },
        where=begins | (row.used < limit),
    )
    used = connection.scalar(counting.returning(row.used)) if limit > 0 else None
    if used is not None:
        return Charge(used, True)
    reached = connection.scalar(select(row.used).where((row.id == id) & (row.kind == window)))
    return Charge(reached or 0, False)
