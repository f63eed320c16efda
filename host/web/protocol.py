"""HTTP as uvicorn reads it, with limits that it does not have: on the time and the size of headers."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["HEADER_BYTES", "HEADER_SECONDS", "LimitedProtocol"]

#: How long the headers of a request may take to arrive, from the opening of the connection or their first byte.
HEADER_SECONDS: Final = 10.0
#: How many bytes request line and headers may have together.
HEADER_BYTES: Final = 64 * 1024
#: How long the rest of a body may take to arrive once the request was answered.
REST_SECONDS: Final = 30.0
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    _waiting: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _in_headers = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """A client is there; its first request has to come in time."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on; ends the connection where the headers are too large."""
        self._header_bytes += len(data)
        super().data_received(data)
        if self._in_headers and self._header_bytes > HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._header_bytes = 0
        self._in_headers = True
        if self._waiting is None:
            self._wait()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; a trailer behind a body says nothing that counts, and is kept nowhere."""
        if self._in_headers:
            super().on_header(name, value)

    def on_response_complete(self) -> None:
        """The answer is out; a body that nobody waits for any more gets its time to end, and no more."""
        cycle = self.cycle
        if cycle is not None and cycle.more_body:
            self.loop.call_later(REST_SECONDS, self._give_up_rest, cycle)
        super().on_response_complete()

    def on_headers_complete(self) -> None:
        """All headers are there."""
        self._in_headers = False
        self._stop_waiting()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up_rest(self, cycle: Any) -> None:
        if self.cycle is cycle and cycle.more_body and not self.transport.is_closing():
            self.transport.close()

    def _give_up(self) -> Any:
        self._waiting = None
        self.transport.close()
