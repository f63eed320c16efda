"""What the packages below the server log, where a person may read it: on one line each, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

__all__ = ["tell_of_logs"]

_LOGGERS: Final = ("mcp", "sse_starlette")


class _Told(logging.Handler):
    def __init__(self, tell: Callable[[str], None]):
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(f"[mcp] {record.getMessage()}")


def tell_of_logs(tell: Callable[[str], None]) -> None:
    """Tells of warnings and errors, and of nothing besides their message: a traceback shows what clients sent.

    Args:
        tell: takes a line; secrets are not taken out yet.
    """
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [_Told(tell)]
        logger.propagate = False
