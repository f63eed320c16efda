"""Copies of JSON data, so that neither side can change what the other one holds."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """A copy of JSON data.

    Raises:
        TypeError: some part is no JSON data.
    """
    kind = type(value)
    if value is None or kind in (str, bool, int) or (kind is float and math.isfinite(value)):
        return value
    if kind in (list, tuple):
        return [plain(part) for part in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: plain(part) for key, part in value.items()}
    raise TypeError(f"{kind.__name__} is no JSON data")
