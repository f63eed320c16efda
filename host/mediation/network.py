"""What all requests of a host share: what the operator allows, and by what they are carried."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from capgate.host.mediation.addresses import classify, read_nat64_prefix
from capgate.host.mediation.clock import Clock, SystemClock
from capgate.host.mediation.dialer import Dialer, SystemDialer
from capgate.host.mediation.redaction import Redactor
from capgate.host.mediation.resolver import Resolver, SystemResolver
from capgate.policy.errors import CapgateError

if TYPE_CHECKING:
    from capgate.host.mediation.adapter import MediatedAdapter

__all__ = ["Network", "NetworkError", "NetworkSettings"]

T = TypeVar("T")


class NetworkError(CapgateError, ValueError):
    """What the operator says of the network cannot be used."""

    ids = {
        "bad-address": "Give an IPv4 or IPv6 address, such as '169.254.169.254'.",
        "bad-nat64-prefix": "Give a prefix of RFC 6052, such as '64:ff9b::/96'; 32, 40, 48, 56, 64 or 96 bits long.",
        "bad-ca-file": "Give a file of certificates in PEM form that can be read.",
        "bad-limit": "Give a number of bytes, or of seconds, that is more than 0.",
    }


class NetworkSettings(NamedTuple):
    """What the operator says of the network.

    Attributes:
        variables: environment variables that headers may be filled from (contract 11.9).
        addresses: link-local and metadata addresses that an extension may name (contract 11.14).
        nat64: prefixes behind which the network translates to IPv4 (contract 11.33).
        max_bytes: how large the content of an answer may be (contract 11.15).
        seconds: how long a request may take, with all its redirects.
        ca_file: a file of certificates to trust in place of the usual ones.
    """

    variables: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()
    nat64: tuple[str, ...] = ()
    max_bytes: int = 1 << 20
    seconds: float = 5.0
    ca_file: str | None = None


class Network:
    """The network as a host sees it; one object for all threads and extensions.

    Args:
        settings: what the operator says.
        resolver: finds addresses; by default the operating system.
        dialer: connects; by default the operating system.
        clock: what deadlines go by.
        redactor: takes secrets out of what is logged, and learns those that are sent.
        environ: the variables that headers may be filled from; by default those of the process.

    Raises:
        NetworkError: a setting cannot be used.
    """

    def __init__(
        self,
        settings: NetworkSettings | None = None,
        *,
        resolver: Resolver | None = None,
        dialer: Dialer | None = None,
        clock: Clock | None = None,
        redactor: Redactor | None = None,
        environ: Mapping[str, str] = os.environ,
    ):
        self.settings = settings or NetworkSettings()
        self.clock = clock or SystemClock()
        self.redactor = redactor or Redactor()
        self.environ = environ
        self._resolver = resolver or SystemResolver()
        self._dialer = dialer or SystemDialer()
        if not (self.settings.max_bytes > 0 and self.settings.seconds > 0):
            raise NetworkError("bad-limit", "a limit of the network is not more than 0")
        _check_certificates(self.settings.ca_file)
        self.allowed = frozenset(
            address.packed for address in _read(classify, self.settings.addresses, "bad-address", "address")
        )
        self.nat64 = tuple(_read(read_nat64_prefix, self.settings.nat64, "bad-nat64-prefix", "prefix of a NAT64"))

    @cached_property
    def adapter(self) -> MediatedAdapter:
        """What carries requests; made when it is first needed, as `requests` takes long to import."""
        from capgate.host.mediation.adapter import MediatedAdapter

        return MediatedAdapter(self._resolver, self._dialer, self.settings.ca_file)


def _read(read: Callable[[str], T | None], texts: Iterable[str], id: str, what: str) -> Iterator[T]:
    """What each text says; raises NetworkError where one says nothing."""
    for text in texts:
        found = read(text)
        if found is None:
            raise NetworkError(id, f"{text!r} is no {what}")
        yield found


def _check_certificates(file: str | None) -> None:
    """Raises NetworkError unless the file, where there is one, can be used."""
    if file is not None:
        import ssl

        try:
            ssl.create_default_context(cafile=file)
        except OSError as error:  # An SSLError is one.
            raise NetworkError("bad-ca-file", f"{file} cannot be used: {error.strerror or error}") from None
