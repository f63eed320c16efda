"""Bodies as they come over the wire: decompressed, and never more of them than may be."""

from __future__ import annotations

import zlib
from typing import Any, Final

from capgate.host.mediation.guarded import TooMuch

__all__ = ["ACCEPTED", "BadBody", "Body"]

#: What a request asks for.
ACCEPTED: Final = "gzip, deflate"
_GZIP: Final = ("gzip", "x-gzip")
_PLAIN: Final = ("", "identity")


class BadBody(ValueError):
    """A body that cannot be read as what its headers say."""


class Body:
    """Collects the content of an answer.

    Args:
        encoding: the header ``Content-Encoding``; empty for none.
        limit: bytes that the content may have.

    Raises:
        BadBody: the encoding is none that was asked for.
    """

    def __init__(self, encoding: str, limit: int):
        self._limit = limit
        self._content = bytearray()
        self._inflate: Any = None
        match [part for part in map(str.strip, encoding.lower().split(",")) if part not in _PLAIN]:
            case []:
                self._encoding = ""
            case [one] if one in _GZIP:
                self._encoding = "gzip"
            case ["deflate"]:
                self._encoding = "deflate"
            case _:
                raise BadBody("its content encoding was not asked for")

    def feed(self, data: bytes) -> None:
        """Takes the next bytes, in the order in which they came; `data` is not empty.

        Raises:
            TooMuch: the content is larger than the limit. Nothing beyond it is decompressed.
            BadBody: the bytes are not of the encoding.
        """
        if not self._encoding:
            self._content += data
        else:
            try:
                self._decompress(data)
            except zlib.error:
                raise BadBody("its content is not compressed as it says") from None
        if len(self._content) > self._limit:
            raise TooMuch(f"the content is larger than {self._limit} bytes")

    def finish(self) -> bytes:
        """The whole content.

        Raises:
            BadBody: the end is missing.
        """
        if self._inflate is not None and not self._inflate.eof:
            raise BadBody("its compressed content breaks off")
        return bytes(self._content)

    def _decompress(self, data: bytes) -> None:
        while data and len(self._content) <= self._limit:
            if self._inflate is None:
                self._inflate = zlib.decompressobj(self._window(data))
            elif self._inflate.eof:
                # A gzip file may have several members; what else follows the end is nothing.
                if self._encoding != "gzip" or not data.startswith(b"\x1f"):
                    return
                self._inflate = zlib.decompressobj(self._window(data))
            self._content += self._inflate.decompress(data, self._limit + 1 - len(self._content))
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail

    def _window(self, data: bytes) -> int:
        """How zlib is to read it: ``deflate`` is sent with and without the header that it should have."""
        if self._encoding == "gzip":
            return 16 + zlib.MAX_WBITS
        has_header = data[0] & 0x0F == 8 and (len(data) < 2 or (data[0] << 8 | data[1]) % 31 == 0)
        return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
