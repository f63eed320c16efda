"""The adapter that carries requests: to the address that was checked, and to no proxy, whatever the environment says.

It is an adapter of the library `requests` over our own resolver and dialer. It follows no redirect, keeps no
connection, knows no cookies, and logs nothing: URLs may hold what no log may.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Final

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from capgate.host.mediation.addresses import classify
from capgate.host.mediation.deadline import Deadline
from capgate.host.mediation.dialer import Dialer
from capgate.host.mediation.guarded import GuardedTls, guard
from capgate.host.mediation.resolver import Resolver
from capgate.host.mediation.urls import Url

__all__ = ["Hop", "MediatedAdapter"]

#: What headers, the framing of chunks and trailers may take beyond the content, in bytes.
_BESIDES: Final = 64 * 1024


class Hop(PreparedRequest):
    """One request to one URL, as it is sent.

    Args:
        method: the method.
        target: what is asked for.
        headers: all but ``Host``.
        content: the body.
        choose: the addresses that may be dialled, of those found; raises where the host may not be reached.
        deadline: when the answer must be there.
        limit: bytes that its content may have.
    """

    def __init__(
        self,
        method: str,
        target: Url,
        headers: Mapping[str, str],
        content: bytes | None,
        *,
        choose: Callable[[Sequence[str]], Sequence[str]],
        deadline: Deadline,
        limit: int,
    ):
        super().__init__()
        self.method = method
        self.url = target.href
        self.headers = CaseInsensitiveDict(headers)
        self.body = content
        self.target = target
        self.choose = choose
        self.deadline = deadline
        self.limit = limit


class MediatedAdapter(HTTPAdapter):
    """Sends hops, from any thread.

    Args:
        resolver: finds addresses.
        dialer: connects to one.
        ca_file: certificates to trust in place of those that `requests` brings.
    """

    def __init__(self, resolver: Resolver, dialer: Dialer, ca_file: str | None = None):
        self._resolver = resolver
        self._dialer = dialer
        self._ca_file = ca_file
        self._context: ssl.SSLContext | None = None
        self._lock = Lock()
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """No connection is kept, so there is no pool."""

    def close(self) -> None:
        """Nothing is kept open."""

    def send(self, request: PreparedRequest, *args: Any, **options: Any) -> Response:
        """Sends a hop; the content of the answer is left in ``raw``, compressed as it came.

        Args:
            request: a `Hop`.
            args: what a session passes besides; nothing of it counts.
            options: the same.

        Raises:
            TypeError: the request is no hop.
            TimeoutError: the deadline passed.
            TooMuch: the answer is too large.
            OSError, http.client.HTTPException: there is no answer, or none that is HTTP.
        """
        if not isinstance(request, Hop):
            raise TypeError("the mediated adapter sends hops alone")
        connection = _Connection(request, self._connect)
        try:
            headers = {"Host": request.target.authority, **request.headers, "Connection": "close"}
            connection.request(request.method or "GET", request.target.target, _content(request), headers)
            answer: Any = connection.getresponse()
        except BaseException:
            connection.close()
            raise
        return self.build_response(request, answer)

    def _connect(self, hop: Hop) -> Any:
        """A connection to an address of the host that `hop` allows, with TLS where the scheme says so."""
        target, deadline = hop.target, hop.deadline
        if classify(target.host):
            found: Sequence[str] = (target.host,)
        else:
            found = self._resolver.resolve(target.host, deadline.left())
        context = self._tls() if target.scheme == "https" else None
        plain = self._dial(hop.choose(found), target.port, deadline)
        return guard(plain, context, target.host, deadline, hop.limit + _BESIDES)

    def _dial(self, addresses: Sequence[str], port: int, deadline: Deadline) -> Any:
        """Tries one address after the other; each has its share of the time that is left."""
        failure = OSError("the name has no address")
        for tried, address in enumerate(addresses):
            try:
                return self._dialer.dial(address, port, deadline.left() / (len(addresses) - tried))
            except OSError as error:
                failure = error
        deadline.left()
        raise failure

    def _tls(self) -> ssl.SSLContext:
        """Checks certificates and names; made once, as reading the certificates takes long."""
        with self._lock:
            if self._context is None:
                context = ssl.create_default_context(cafile=self._ca_file or DEFAULT_CA_BUNDLE_PATH)
                context.set_alpn_protocols(["http/1.1"])
                context.sslsocket_class = GuardedTls
                self._context = context
            return self._context


class _Head:
    """The file of an answer up to its content; `http.client` takes the end of the file for the end of the head."""

    def __init__(self, file: Any):
        self._file = file
        self.close = file.close

    def readline(self, limit: int) -> bytes:
        line: bytes = self._file.readline(limit)
        if len(line) < limit and not line.endswith(b"\n"):
            raise http.client.IncompleteRead(line)
        return line


class _Answer(http.client.HTTPResponse):
    """An answer the head of which is there to its end."""

    def begin(self) -> None:
        """Reads the head."""
        file: Any = self.fp
        head: Any = _Head(file)
        self.fp = head
        try:
            super().begin()
        finally:
            # It is None where the answer was closed.
            if self.fp is head:
                self.fp = file


class _Connection(http.client.HTTPConnection):
    """A connection for one hop."""

    response_class = _Answer

    def __init__(self, hop: Hop, connect: Callable[[Hop], Any]):
        super().__init__(hop.target.host, hop.target.port)
        self._hop = hop
        self._open = connect

    def connect(self) -> None:
        """Connects to an address that was checked."""
        self.sock = self._open(self._hop)

    def getresponse(self) -> http.client.HTTPResponse:
        """The answer; the socket is closed with it, even if the other side would keep it open."""
        answer = super().getresponse()
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        return answer


def _content(hop: Hop) -> bytes | None:
    return hop.body if isinstance(hop.body, bytes) else None
