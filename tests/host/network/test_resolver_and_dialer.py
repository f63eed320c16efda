"""The operating system's own look-up and connections."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from capgate.host.mediation.dialer import SystemDialer
from capgate.host.mediation.resolver import SystemResolver
from network_samples import answer, pages, serving, session


def answering(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    """Has the operating system answer so."""

    def look_up(name: str, *rest: object, **options: object) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def entry(address: str, *more: int) -> tuple[Any, ...]:
    return (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0, *more))


def test_a_name_of_this_machine_is_found() -> None:
    assert set(SystemResolver().resolve("localhost", 5)) <= {"127.0.0.1", "::1"}


def test_each_address_is_told_once_in_the_order_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, [entry("fe80::1%eth0", 0, 2), entry("10.0.0.1"), entry("fe80::1%eth0", 0, 2)])

    assert SystemResolver().resolve("a.test", 5) == ("fe80::1%eth0", "10.0.0.1")


@pytest.mark.parametrize(
    "error", [socket.gaierror(socket.EAI_NONAME, "Name or service not known"), UnicodeError("label too long")]
)
def test_a_name_that_is_not_found_is_an_error_of_the_system(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    answering(monkeypatch, error)

    with pytest.raises(OSError, match=r"Name or service|no name that can be looked up"):
        SystemResolver().resolve("a.test", 5)


def test_a_look_up_is_not_waited_for_beyond_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    answering(monkeypatch, lambda: free.wait(60) and [])
    resolver = SystemResolver(at_once=2)
    try:
        for why in ("not looked up in time", "not looked up in time", "too many look-ups"):
            with pytest.raises(TimeoutError, match=why):
                resolver.resolve("a.test", 0.01)
    finally:
        free.set()
    answering(monkeypatch, [entry("8.8.8.8")])

    assert resolver.resolve("a.test", 5) == ("8.8.8.8",)


def test_a_connection_is_made_to_an_address() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        SystemDialer().dial("127.0.0.1", server.getsockname()[1], 5) as made,
    ):
        assert made.getpeername() == server.getsockname()
        assert made.gettimeout() == 5


def test_a_connection_that_is_refused_leaves_no_socket_behind() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        SystemDialer().dial("127.0.0.1", port, 5)


def test_a_name_is_nothing_to_dial(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: seen.append(address))
    SystemDialer().dial("::1", 80, 5).close()

    assert seen == [("::1", 80)]


def test_localhost_is_reached_by_all_of_it() -> None:
    with serving(pages(page=answer(b"there"))) as server:
        response = session(["localhost"]).get(f"http://localhost:{server.port}/page")

    assert (response.host, response.served_by, response.body) == (
        "localhost",
        f"http://localhost:{server.port}",
        b"there",
    )
