"""What the packages below the server log is told on one line each, without what clients sent."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from capgate.host.mcp.logs import tell_of_logs

NAMES = ("mcp", "sse_starlette")


@pytest.fixture
def told() -> Iterator[list[str]]:
    before = [(logging.getLogger(name), [*logging.getLogger(name).handlers]) for name in NAMES]
    lines: list[str] = []
    tell_of_logs(lines.append)
    yield lines
    for logger, handlers in before:
        logger.handlers, logger.propagate = handlers, True


def test_a_defect_is_told_without_its_traceback(told: list[str]) -> None:
    try:
        raise ValueError("what a client sent")
    except ValueError:
        logging.getLogger("mcp.server.runner").exception("handler for %r raised", "tools/call")

    assert told == ["[mcp] handler for 'tools/call' raised"]


@pytest.mark.parametrize("name", ["mcp", "mcp.client", "sse_starlette.sse"])
def test_only_what_somebody_should_read_is_told(name: str, told: list[str]) -> None:
    logging.getLogger(name).info("a request came in")
    assert told == []
    logging.getLogger(name).warning("no more sessions")
    assert told == ["[mcp] no more sessions"]
    # And nobody else tells of it, with its traceback.
    assert [logging.getLogger(one).propagate for one in NAMES] == [False, False]
