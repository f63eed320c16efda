"""One request and its answer, read within all limits; what goes wrong is a refusal by id."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from capgate.host.mediation.deadline import Deadline
from capgate.host.mediation.decoding import ACCEPTED, BadBody, Body
from capgate.host.mediation.guarded import TooMuch
from capgate.host.mediation.headers import for_elsewhere
from capgate.host.mediation.network import Network
from capgate.host.mediation.reach import Reach
from capgate.host.mediation.urls import Url
from capgate.plugins.api import Refused

__all__ = ["REDIRECTS", "Answer", "Outgoing", "send"]

#: Statuses that say where to go instead.
REDIRECTS: Final = (301, 302, 303, 307, 308)
_PIECE: Final = 64 * 1024


class Outgoing(NamedTuple):
    """What is sent to one URL.

    Attributes:
        method: ``GET`` or ``POST``.
        url: to whom.
        headers: names in lower case.
        secrets: headers with values of the environment.
        body: what is sent, or None.
    """

    method: str
    url: Url
    headers: Mapping[str, str]
    secrets: Mapping[str, str]
    body: bytes | None

    def moved(self, status: int, target: Url) -> Outgoing:
        """What is sent on after a redirect: to another host no secret, and little else (contract 11.9)."""
        headers, secrets = dict(self.headers), self.secrets
        if not _is_same(self.url, target):
            headers, secrets = for_elsewhere(headers), {}
        if status == 303 or (status in (301, 302) and self.method == "POST"):
            headers.pop("content-type", None)
            return Outgoing("GET", target, headers, secrets, None)
        return Outgoing(self.method, target, headers, secrets, self.body)


class Answer(NamedTuple):
    """What came back.

    Attributes:
        status: 200 to 999.
        headers: names in lower case, repeated ones joined.
        locations: each header ``Location``, once.
        content: decompressed; empty for a redirect.
    """

    status: int
    headers: dict[str, str]
    locations: list[str]
    content: bytes


def send(network: Network, reach: Reach, outgoing: Outgoing, deadline: Deadline) -> Answer:
    """Sends a request, without following redirects.

    Raises:
        Refused: ``address-not-allowed``, ``fetch-failed``, ``time-exceeded``, ``over-budget``.
    """
    from capgate.host.mediation.adapter import Hop

    url, limit = outgoing.url, network.settings.max_bytes
    hop = Hop(
        outgoing.method,
        url,
        {"accept-encoding": ACCEPTED, **outgoing.headers, **outgoing.secrets},
        outgoing.body,
        choose=lambda found: reach.choose(url, found),
        deadline=deadline,
        limit=limit,
    )
    try:
        with network.adapter.send(hop) as response:
            return _read(response.raw, limit)
    except TimeoutError:
        raise Refused("time-exceeded", f"{url.authority} took more than {deadline.seconds * 1000:g} ms") from None
    except TooMuch:
        raise Refused("over-budget", f"{url.authority} answered with more than {limit} bytes") from None
    except BadBody as error:
        raise _failed(url, f"gave an answer that cannot be read: {error}") from None
    except ssl.SSLCertVerificationError as error:
        raise _failed(url, f"has no certificate to trust: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise _failed(url, f"does not speak TLS as it should: {error.reason or 'the connection broke off'}") from None
    except http.client.HTTPException:  # Its text is what the other side sent.
        raise _failed(url, "gave no answer that is HTTP") from None
    except OSError as error:
        raise _failed(url, f"cannot be reached: {error.strerror or error}") from None


def _read(raw: Any, limit: int) -> Answer:
    """Reads an answer of `http.client`; the content of a redirect is left alone."""
    names = dict.fromkeys(name.lower() for name in raw.headers)
    headers = {name: ", ".join(raw.headers.get_all(name)) for name in names}
    locations = list(dict.fromkeys(raw.headers.get_all("location", [])))
    if raw.status < 200:
        raise http.client.HTTPException("an interim answer, and no other")
    if raw.status in REDIRECTS:
        return Answer(raw.status, headers, locations, b"")
    if raw.length is not None and raw.length > limit:
        raise TooMuch("its header says so")
    body = Body(headers.get("content-encoding", ""), limit)
    while piece := raw.read(_PIECE):
        body.feed(piece)
    if raw.length:
        raise http.client.IncompleteRead(b"", raw.length)
    return Answer(raw.status, headers, locations, body.finish())


def _failed(url: Url, what: str) -> Refused:
    return Refused("fetch-failed", f"{url.authority} {what}")


def _is_same(one: Url, other: Url) -> bool:
    """Whether `other` is who `one` was: the same host and port, or the same host, now with TLS."""
    if one.host != other.host:
        return False
    if one.scheme == other.scheme:
        return one.port == other.port
    return (one.scheme, one.port, other.port) == ("http", 80, 443)
