"""From bytes to text: size, byte order mark and encoding, the same for JSON and YAML."""

from __future__ import annotations

from typing import Final

from capgate.policy.documents.document import Lines
from capgate.policy.documents.errors import DocumentError
from capgate.policy.errors import Span

__all__ = ["MAX_BYTES", "read_text"]

#: The largest document, in bytes (contract 11.10).
MAX_BYTES: Final = 1024 * 1024


def read_text(source: bytes, name: str, first_line: int = 1) -> str:
    """Decodes `source`.

    Raises:
        DocumentError: document-too-large, byte-order-mark or invalid-utf8.
    """
    if len(source) > MAX_BYTES:
        raise DocumentError(
            "document-too-large", f"the document has {len(source)} bytes; at most {MAX_BYTES} are read", span=Span(name)
        )
    if source.startswith(b"\xef\xbb\xbf"):
        raise DocumentError(
            "byte-order-mark", "the document starts with a byte order mark", span=Span(name, first_line, 1)
        )
    try:
        return source.decode()
    except UnicodeDecodeError as fault:
        before = source[: fault.start].decode()
        raise DocumentError(
            "invalid-utf8",
            f"the byte 0x{source[fault.start]:02x} here is no UTF-8",
            span=Lines(before, first_line).span(name, len(before)),
        ) from None
