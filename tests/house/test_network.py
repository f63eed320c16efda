"""The guard that keeps the suite off the network."""

from __future__ import annotations

import socket

import pytest


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "198.51.100.7"])
@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_a_test_cannot_connect_to_another_machine(host: str, method: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as client:
        client.settimeout(0.01)
        with pytest.raises(BaseException, match=f"a test connects to .*{host}"):
            getattr(client, method)((host, 9))


def test_a_test_cannot_look_up_a_name() -> None:
    with pytest.raises(BaseException, match="a test looks up 'capgate"):
        socket.getaddrinfo("capgate.test", 80)


def test_a_test_can_connect_to_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
