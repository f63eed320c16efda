"""The fetch that ``network`` hands over: to the hosts of the bounds, and within the budget (contract 7 and 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from capgate.host.mediation.deadline import Deadline
from capgate.host.mediation.headers import checked, secret_values
from capgate.host.mediation.network import Network
from capgate.host.mediation.reach import Reach
from capgate.host.mediation.redaction import MASK, SHORTEST
from capgate.host.mediation.sending import REDIRECTS, Answer, Outgoing, send
from capgate.host.mediation.urls import BadUrl, Url, read_url
from capgate.plugins.api import Grant, Refused, Response

__all__ = ["Fetch"]

_METHODS: Final = ("GET", "POST")
#: How many redirects are followed (contract 11.15).
_HOPS: Final = 5
_OURS: Final = {"user-agent": "capgate", "accept": "*/*"}
_ARROW: Final = " \u2192 "
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Fetch:
    """Requests on behalf of one extension, in one call of one of its tools; a `Fetcher`.

    Args:
        network: what all requests share.
        grant: whose bounds hold.
        charge: takes one request from the budget and says how much is used, ``3/4``; raises Refused with
            ``budget-exhausted``. It is called before each request, also before each that follows a redirect.
        log: takes a line for standard output, in which secrets are masked.
        note: takes a sentence for the audit and for standard error: that a header was left out.
    """

    def __init__(
        self,
        network: Network,
        grant: Grant,
        charge: Callable[[], str],
        *,
        log: Callable[[str], None],
        note: Callable[[str], None],
    ):
        self._network = network
        self._reach = Reach(grant.bounds.get("hosts"), network.allowed, network.nat64)
        self._charge = charge
        self._log = log
        self._note = note

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = _NOTHING,
        body: bytes | None = None,
        secret_headers: Mapping[str, str] = _NOTHING,
    ) -> Response:
        """As in `Fetcher`.

        Raises:
            Refused: ``bad-url``, ``host-not-allowed``, ``bad-request``, which cost nothing; and, after a request
                was charged, ``budget-exhausted``, ``address-not-allowed``, ``fetch-failed``, ``time-exceeded``,
                ``over-budget``, ``redirect-without-location``, ``bad-redirect``, ``redirect-host-not-allowed``,
                ``too-many-redirects``. What is refused because of a redirect carries ``chain``.
        """
        first = self._read(url)
        if method not in _METHODS:
            raise Refused("bad-request", f"the method is none of {', '.join(_METHODS)}")
        given = _OURS | checked(headers)
        secrets = self._secrets(secret_headers)
        deadline = Deadline(self._network.clock, self._network.settings.seconds)
        outgoing = Outgoing(method, first, given, secrets, body)
        chain, what = [first.href], f"fetch {self._shown(first)}"
        while True:
            used = self._charge()
            self._tell(what, outgoing.secrets)
            try:
                answer = send(self._network, self._reach, outgoing, deadline)
            except Refused as refused:
                if len(chain) > 1 and refused.id == "address-not-allowed":
                    refused.details["chain"] = list(chain)
                raise
            if answer.status not in REDIRECTS:
                return self._response(answer, first, outgoing.url, chain, used, secrets)
            target = self._next(answer, outgoing.url, chain)
            what = f"redirect ({answer.status}) {self._shown(outgoing.url)} -> {self._shown(target)}"
            outgoing = outgoing.moved(answer.status, target)

    def _read(self, text: str) -> Url:
        try:
            url = read_url(text)
        except BadUrl as error:
            raise Refused("bad-url", f"this URL is not asked for: {error}") from None
        if not self._reach.allows(url):
            raise Refused("host-not-allowed", f"{url.authority} is not allowed: bounds.hosts is {self._reach}")
        return url

    def _next(self, answer: Answer, current: Url, chain: list[str]) -> Url:
        """Where a redirect leads; it is in the chain then."""
        match answer.locations:
            case []:
                why = f"{current.authority} answered {answer.status} without saying where to go"
                raise Refused("redirect-without-location", why, {"chain": list(chain)})
            case [location]:
                pass
            case _:
                why = f"{current.authority} redirects to several places at once"
                raise Refused("bad-redirect", why, {"chain": list(chain)})
        try:
            # Headers are read as Latin-1; where a URL has other letters they are sent as UTF-8.
            target = read_url(location.encode("latin-1").decode(), current)
        except UnicodeError:
            why = f"{current.authority} redirects to what is no text"
            raise Refused("bad-redirect", why, {"chain": list(chain)}) from None
        except BadUrl as error:
            why = f"{current.authority} redirects to a URL that is not asked for: {error}"
            raise Refused("bad-redirect", why, {"chain": list(chain)}) from None
        chain.append(target.href)
        if not self._reach.allows(target):
            where = f"{target.authority}, which is not in bounds.hosts {self._reach}"
            why = f"{current.authority} redirects to {where}; chain: {_ARROW.join(chain)}"
            raise Refused("redirect-host-not-allowed", why, {"chain": list(chain)})
        if len(chain) > _HOPS + 1:
            why = f"no more than {_HOPS} redirects are followed; chain: {_ARROW.join(chain)}"
            raise Refused("too-many-redirects", why, {"chain": list(chain)})
        return target

    def _secrets(self, wanted: Mapping[str, str]) -> dict[str, str]:
        def drop(header: str, why: str) -> None:
            self._note(self._network.redactor.text(f"the header {header} is left out: {why}"))

        found = secret_values(wanted, self._network.settings.variables, self._network.environ, drop)
        for value in found.values():
            self._network.redactor.learn(value)
        return found

    def _shown(self, url: Url) -> str:
        return self._network.redactor.text(url.href)

    def _tell(self, what: str, secrets: Mapping[str, str]) -> None:
        # The names of headers are shown as they are (contract 11.30).
        auth = f" (auth: {', '.join(secrets)})" if secrets else ""
        self._log(f"[extension:network] {what}{auth}")

    def _response(
        self, answer: Answer, first: Url, last: Url, chain: list[str], used: str, secrets: Mapping[str, str]
    ) -> Response:
        """The result, without the values of secret headers: a server may send back what it was sent."""
        text, content = _masking(secrets)
        via = tuple(map(text, chain))
        headers = {name: text(value) for name, value in answer.headers.items()}
        return Response(answer.status, first.host, last.origin, via, used, headers, content(answer.content))


def _masking(secrets: Mapping[str, str]) -> tuple[Callable[[str], str], Callable[[bytes], bytes]]:
    """What takes the values out of a text, and out of bytes."""
    values = [value for value in secrets.values() if len(value) >= SHORTEST]
    spelt = sorted({form for value in values for form in (value, quote(value), quote(value, safe=""))}, key=len)

    def text(whole: str) -> str:
        for form in reversed(spelt):
            whole = whole.replace(form, MASK)
        return whole

    def content(whole: bytes) -> bytes:
        for form in reversed(spelt):
            whole = whole.replace(form.encode(), MASK.encode()).replace(form.encode("latin-1"), MASK.encode())
        return whole

    return text, content
