"""URLs: read as browsers read them, and then held against the host test of admission (contract 11.14 and 11.32)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import ada_url

from capgate.policy.hosts import Host, format_host, normalise_host

__all__ = ["BadUrl", "Url", "read_url"]

#: No longer URL is taken, in code points.
LONGEST: Final = 16_384
_PORTS: Final = {"http": 80, "https": 443}
#: What the standard takes away at both ends before it reads anything.
_TRIMMED: Final = "".join(map(chr, range(0x21)))
_ABSOLUTE: Final = re.compile(r"(?i:(https?):)[/\\]*([^/\\?#]*)")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NETWORK_PATH: Final = re.compile(r"[/\\]{2,}([^/\\?#]*)")


class BadUrl(ValueError):
    """What is no URL that may be asked for; the text says why, and nothing of the URL."""


class Url(NamedTuple):
    """A URL of http or https, without a fragment.

    Attributes:
        href: the whole, as it is asked for and reported.
        scheme: ``http`` or ``https``.
        host: the name or address, as `capgate.policy.hosts` spells it.
        port: the port to connect to.
        target: path and query, in ASCII.
    """

    href: str
    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host, and the port unless it is the scheme's own; as in a ``Host`` header."""
        if self.port == _PORTS[self.scheme]:
            return f"[{self.host}]" if ":" in self.host else self.host
        return format_host(Host(self.host, self.port))

    @property
    def origin(self) -> str:
        """Scheme, host, and the port unless it is the scheme's own."""
        return f"{self.scheme}://{self.authority}"


def read_url(text: str, base: Url | None = None) -> Url:
    """Reads a URL, or one that is relative to `base`.

    Raises:
        BadUrl: it cannot be parsed, is of another scheme, has a user name or password, is too long, or its
            host is one to the URL standard and none to admission, or the other way round.
    """
    if len(text) > LONGEST:
        raise BadUrl(f"it has more than {LONGEST} characters")
    written = _authority(text.strip(_TRIMMED), base)
    if written is not None and "@" in written:
        raise BadUrl("it has a user name or a password, or an empty one")
    try:
        parsed = ada_url.URL(text, base.href if base else None)
    except ValueError:  # The message would have the text in it.
        raise BadUrl("it cannot be parsed") from None
    scheme = parsed.protocol[:-1]
    if scheme not in _PORTS:
        raise BadUrl("its scheme is neither http nor https")
    if parsed.username or parsed.password:
        raise BadUrl("it has a user name or a password")
    host = normalise_host(parsed.hostname)
    port = int(parsed.port) if parsed.port else _PORTS[scheme]
    if host is None or port == 0 or host.name != _host_in(written, base):
        raise BadUrl("its host is none that could be admitted")
    href = parsed.href.partition("#")[0]
    return Url(href, scheme, host.name, port, parsed.pathname + parsed.search)


def _authority(text: str, base: Url | None) -> str | None:
    """The host and port as they are written; None where they are those of `base`.

    What is read here wrongly lets nothing through: it must be the host that the parser found.
    """
    found = _ABSOLUTE.match(text)
    if found:
        # With a base of the same scheme and no slashes, the rest is a path.
        slashes = text[found.end(1) + 1 : found.start(2)]
        if base and found[1].lower() == base.scheme and len(slashes) < 2:
            return None
        return found[2]
    if base is None:
        return ""
    found = _NETWORK_PATH.match(text)
    if found:
        return found[1]
    return "" if _SCHEME.match(text) else None


def _host_in(written: str | None, base: Url | None) -> str | None:
    """The host that admission reads in what was written; an empty port is none (contract 11.32)."""
    if written is None:
        return base.host if base else None
    read = normalise_host(written.removesuffix(":"))
    return read.name if read else None
