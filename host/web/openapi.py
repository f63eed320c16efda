"""The description of the API, which is written by hand and comes first: tests hold the routes against it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["description"]


@cache
def description() -> bytes:
    """The text of ``openapi.json`` (OpenAPI 3.1)."""
    return files(__package__).joinpath("openapi.json").read_bytes()
