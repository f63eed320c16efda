"""What the tests of the network share: names, wires and servers of their own, none of them beyond this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from capgate.host.mediation.fetch import Fetch
from capgate.host.mediation.network import Network, NetworkSettings
from capgate.host.mediation.redaction import Redactor
from capgate.plugins.api import Grant, Refused

#: An address that the registries call global unicast; nothing is sent to it.
PUBLIC = "93.184.216.34"


class Names:
    """A resolver that knows the names it is given.

    Args:
        answers: name to its addresses, or to a function that gives them anew each time.
    """

    def __init__(self, answers: Mapping[str, Sequence[str] | Callable[[], Sequence[str]]] | None = None):
        self.answers = dict(answers or {})
        self.asked: list[str] = []

    def resolve(self, name: str, seconds: float) -> tuple[str, ...]:
        self.asked.append(name)
        found = self.answers.get(name)
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return tuple(found() if callable(found) else found)


class Wire:
    """A dialer that writes down what it is to dial, and connects to a server of the test instead.

    Args:
        server: the port on this machine where every connection goes; None refuses them all.
    """

    def __init__(self, server: int | None = None):
        self.server = server
        self.dialled: list[tuple[str, int]] = []

    def dial(self, address: str, port: int, seconds: float) -> socket.socket:
        self.dialled.append((address, port))
        if self.server is None:
            raise ConnectionRefusedError(111, "Connection refused")
        return socket.create_connection(("127.0.0.1", self.server), seconds)


class Budget:
    """So many requests, and no more."""

    def __init__(self, most: int = 100):
        self.most = most
        self.used = 0

    def charge(self) -> str:
        if self.used >= self.most:
            raise Refused("budget-exhausted", f"{self.used} of {self.most} requests used")
        self.used += 1
        return f"{self.used}/{self.most}"


class Session(NamedTuple):
    """A fetch, and what it did besides answering."""

    fetch: Fetch
    budget: Budget
    logged: list[str]
    noted: list[str]

    def get(self, url: str, **options: Any) -> Any:
        """The response, or the refusal."""
        try:
            return self.fetch.request("GET", url, **options)
        except Refused as refused:
            return refused

    def refusal(self, url: str, **options: Any) -> str:
        """The id of the refusal; empty where there is none."""
        outcome = self.get(url, **options)
        return outcome.id if isinstance(outcome, Refused) else ""


def session(
    hosts: Sequence[str] = ("127.0.0.1",),
    *,
    most: int = 100,
    settings: NetworkSettings | None = None,
    environ: Mapping[str, str] | None = None,
    bounds: Mapping[str, Any] | None = None,
    **parts: Any,
) -> Session:
    """A fetch for an extension with these hosts; `parts` are those of `Network`."""
    environ = environ or {}
    network = Network(settings, redactor=Redactor({}), environ=environ, **parts)
    grant = Grant("buoys", "buoy_get", bounds or {"hosts": list(hosts), "maxRequests": most})
    budget = Budget(most)
    logged: list[str] = []
    noted: list[str] = []
    return Session(Fetch(network, grant, budget.charge, log=logged.append, note=noted.append), budget, logged, noted)


class Server(NamedTuple):
    """A server on this machine.

    Attributes:
        port: where it listens.
        requests: the head of each request that it got, as text.
    """

    port: int
    requests: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def sent(self, header: str) -> list[str | None]:
        """What each request had as this header."""
        found = []
        for head in self.requests:
            lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            found.append({name.lower(): value for name, value in lines.items()}.get(header.lower()))
        return found


Script = Callable[[str, socket.socket], None]


@contextmanager
def serving(script: Script, wrap: Callable[[socket.socket], socket.socket] = lambda plain: plain) -> Iterator[Server]:
    """A server that answers each connection as `script` says: it is given the path, and the connection.

    What it sends raw may be any bytes. A client that goes away ends the script.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    made = Server(listener.getsockname()[1], [])
    threads: list[threading.Thread] = []
    over = threading.Event()

    def one(plain: socket.socket) -> None:
        with plain:
            try:
                plain.settimeout(30)
                with wrap(plain) as connection:
                    head = read_head(connection)
                    if head:
                        made.requests.append(head)
                        script(head.split(" ", 2)[1], connection)
            except OSError:
                pass  # The client went away, as it should from a hostile server.

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            if over.is_set():
                connection.close()
                return
            threads.append(threading.Thread(target=one, args=(connection,)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield made
    finally:
        over.set()
        socket.create_connection(("127.0.0.1", made.port)).close()
        accepting.join()
        listener.close()
        for thread in threads:
            thread.join()


def read_head(connection: socket.socket) -> str:
    """A request up to the end of its headers, and its body where it has one."""
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(65536)
        if not piece:
            return ""
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while lengths and len(body) < lengths[0] and (piece := connection.recv(65536)):
        body += piece
    return (head + b"\r\n\r\n" + body).decode("latin-1")


def answer(body: bytes = b"", status: int = 200, **headers: str) -> bytes:
    """An answer, whole."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body


def says(*raw: bytes) -> Script:
    """A script that sends the same to everybody, and closes."""

    def script(path: str, connection: socket.socket) -> None:
        for piece in raw:
            connection.sendall(piece)

    return script


def pages(**by_name: bytes) -> Script:
    """A script that has an answer for each path, by the first word of it; 404 for others."""

    def script(path: str, connection: socket.socket) -> None:
        word = path.strip("/").split("/")[0].split("?")[0]
        connection.sendall(by_name.get(word, answer(b"no such page", 404)))

    return script
