"""The tables of an admission state in a database, through SQLAlchemy Core."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Float, Integer, LargeBinary, MetaData, Table, Text

__all__ = ["APPROVALS", "BUDGETS", "DESCRIPTORS", "LEDGER", "METADATA", "PROPOSALS", "SCHEMA", "VERSION"]

#: The version of the tables; a newer capgate moves older ones on, an older one does not touch newer ones.
VERSION: Final = 1

METADATA: Final = MetaData()

#: The version, one row.
SCHEMA: Final = Table("capgate_schema", METADATA, Column("version", Integer, nullable=False))

#: The ledger: the same lines as in a file (docs/ledger.md), one a row.
LEDGER: Final = Table(
    "capgate_ledger",
    METADATA,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("line", Text, nullable=False),
)

#: What is in the host's keeping; `stamp` is the number of the line that put it there.
DESCRIPTORS: Final = Table(
    "capgate_descriptors",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("stamp", BigInteger, nullable=False, index=True),
    Column("data", LargeBinary, nullable=False),
)

#: Every version of every proposal.
PROPOSALS: Final = Table(
    "capgate_proposals",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)

#: Requests for approval codes; `code` is a digest.
APPROVALS: Final = Table(
    "capgate_approvals",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=True),
    Column("request", Text, nullable=False, unique=True),
    Column("id", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("expires", Float(53), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("spent", Boolean, nullable=False),
)

#: How many requests were counted in a window of an extension; `kind` is ``hour``, ``day`` or ``admission``.
BUDGETS: Final = Table(
    "capgate_budgets",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("period", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
)
