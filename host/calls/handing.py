"""What one call is handed: an interface for each capability that its primitive needs, and no other.

Each interface is lent. It notes for the audit what was done with it, and once the call is over it does
nothing any more, whoever kept it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeVar

from capgate.host.admission.errors import AdmissionError
from capgate.host.calls.arguments import without_userinfo
from capgate.host.calls.roots import Root
from capgate.plugins.api import Clock, Fetcher, Given, Grant, Modules, Primitive, Reader, Refused, Response, Writer

__all__ = ["Interfaces", "Loan", "Writing", "lend"]

T = TypeVar("T")


class Interfaces(Protocol):
    """Makes the host's own interfaces, each for one call."""

    def reader(self, root: Root | None) -> Reader:
        """For ``read``: of the root that is active when the call begins."""
        ...

    def writer(self, root: Root | None, grant: Grant) -> Writer:
        """For ``write``: of the root that is active when the call begins."""
        ...

    def fetcher(self, grant: Grant, charge: Callable[[], str], note: Callable[[str], None]) -> Fetcher:
        """For ``network``; `charge` is called before each request, `note` with what the audit is to know besides."""
        ...

    def clock(self) -> Clock:
        """For who takes ``clock``."""
        ...

    def modules(self) -> Modules:
        """For who takes ``wasm``."""
        ...


class Loan:
    """What was lent to one call, and what came of it.

    Args:
        redact: masks secrets in what the host itself says of a request.

    Attributes:
        budget: how much of the extension's requests is used, ``3/4``; None where none was asked for.
        notes: what the audit is to know besides, sentences.
    """

    def __init__(self, redact: Callable[[str], str]):
        self._redact = redact
        self._over = False
        self._files: dict[str, int] | None = None
        self._requests: _Requests | None = None
        self.budget: str | None = None
        self.notes: list[str] = []

    def end(self) -> None:
        """Takes everything back."""
        self._over = True

    def observed(self, *, refused: bool) -> Any:
        """What was found, for the audit (contract 6); JSON data."""
        if self._requests is not None:
            found: dict[str, Any] | None = self._requests.to_json(refused)
        else:
            found = None if refused or self._files is None else dict(self._files)
        return (found or {}) | {"notes": self.notes} if self.notes else found

    @contextmanager
    def use(self) -> Iterator[None]:
        """One use of an interface; every error of it is a Refused."""
        if self._over:
            raise Refused("call-over", "the call is over, and what it was handed was taken back")
        try:
            yield
        except AdmissionError as error:
            raise Refused(error.refused, error.message, error.details) from None

    def saw_file(self, what: str, number: int) -> None:
        """Notes what was done with files: ``bytes`` or ``names``, and how many."""
        self._files = {what: number + (self._files or {}).get(what, 0)}

    def asks(self, url: str) -> None:
        """Notes a request before it is sent."""
        self._requests = self._requests or _Requests(without_userinfo(url))
        self._requests.asked = without_userinfo(url)

    def answered(self, response: Response) -> Response:
        """Notes an answer; what it says of the way it took has no secrets then."""
        via = tuple(map(self._redact, response.via))
        if self._requests is not None:
            self._requests.answered(response, via)
        self.budget = response.used
        return response._replace(via=via)

    def charged(self, charge: Callable[[], str]) -> str:
        """Counts a request, and notes how much is used."""
        try:
            self.budget = charge()
        except Refused as refused:
            self.budget = refused.details.pop("request", self.budget)
            raise
        return self.budget


class _Requests:
    """What the requests of one call came to.

    Attributes:
        asked: the URL that was asked last.
    """

    def __init__(self, asked: str):
        self.asked = asked
        self._bytes = 0
        self._served_by = ""
        self._via: tuple[str, ...] = ()

    def answered(self, response: Response, via: tuple[str, ...]) -> None:
        self._bytes += len(response.body)
        self._served_by = response.served_by
        self._via += via

    def to_json(self, refused: bool) -> dict[str, Any]:
        if refused or not self._via:
            return {"requested": self.asked}
        return {"bytes": self._bytes, "servedBy": self._served_by, "via": list(self._via)}


def lend(
    primitive: Primitive,
    grant: Grant,
    loan: Loan,
    interfaces: Interfaces,
    *,
    root: Root | None,
    providers: Mapping[str, Callable[[Grant], Any]] = MappingProxyType({}),
    charge: Callable[[], str],
) -> Given:
    """The interfaces for one call, made when they are first used.

    Args:
        primitive: says what it needs and takes.
        grant: for whom.
        loan: notes what is done with them.
        interfaces: makes the host's own.
        root: the active root.
        providers: capability to what makes the interface of a plugin's mechanism.
        charge: counts a request; gives what is used, or raises Refused.
    """

    def fetcher() -> Fetcher:
        return interfaces.fetcher(grant, lambda: loan.charged(charge), loan.notes.append)

    own: Mapping[str, Callable[[], Any]] = {
        "read": lambda: _Reader(loan, lambda: interfaces.reader(root)),
        "write": lambda: Writing(loan, lambda: interfaces.writer(root, grant)),
        "network": lambda: _Fetcher(loan, fetcher),
    }
    handed: dict[str, Any] = {}
    for need in primitive.needs:
        if need in own:
            handed[need] = own[need]()
        elif need in providers:
            handed[need] = providers[need](grant)
    for taken in primitive.takes:
        handed[taken] = _TAKEN[taken](loan, interfaces)
    return Given(handed)


class _Reader:
    """Implements `Reader`."""

    def __init__(self, loan: Loan, make: Callable[[], Reader]):
        self.__loan, self.__real = loan, _Once(make)

    def text(self, path: str) -> str:
        with self.__loan.use():
            text = self.__real().text(path)
            self.__loan.saw_file("bytes", len(text.encode("utf-8", "surrogatepass")))
            return text

    def names(self) -> list[str]:
        with self.__loan.use():
            names = self.__real().names()
            self.__loan.saw_file("names", len(names))
            return names


class Writing:
    """Lends a `Writer`, and is one.

    Args:
        loan: notes what is done with it.
        make: makes the one that is lent.
    """

    def __init__(self, loan: Loan, make: Callable[[], Writer]):
        self.__loan, self.__real = loan, _Once(make)

    def text(self, path: str, content: str) -> int:
        """As in `Writer`."""
        with self.__loan.use():
            written = self.__real().text(path, content)
            self.__loan.saw_file("bytes", written)
            return written


class _Fetcher:
    """Implements `Fetcher`."""

    def __init__(self, loan: Loan, make: Callable[[], Fetcher]):
        self.__loan, self.__real = loan, _Once(make)

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
        body: bytes | None = None,
        secret_headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Response:
        with self.__loan.use():
            self.__loan.asks(url)
            response = self.__real().request(method, url, headers=headers, body=body, secret_headers=secret_headers)
            return self.__loan.answered(response)


class _Clock:
    """Implements `Clock`."""

    def __init__(self, loan: Loan, interfaces: Interfaces):
        self.__loan, self.__real = loan, _Once(interfaces.clock)

    def now(self) -> float:
        with self.__loan.use():
            return self.__real().now()


class _Modules:
    """Implements `Modules`."""

    def __init__(self, loan: Loan, interfaces: Interfaces):
        self.__loan, self.__real = loan, _Once(interfaces.modules)

    def run(self, settings: Mapping[str, Any], inputs: Mapping[str, bytes]) -> Mapping[str, Any]:
        with self.__loan.use():
            return self.__real().run(settings, inputs)


_TAKEN: Final[Mapping[str, Callable[[Loan, Interfaces], Any]]] = {"clock": _Clock, "wasm": _Modules}


class _Once(Generic[T]):
    """Makes a thing when it is first wanted."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]):
        self._make = make
        self._made: T | None = None

    def __call__(self) -> T:
        if self._made is None:
            self._made = self._make()
        return self._made
