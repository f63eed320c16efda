"""TLS: the certificate must name the host that was asked for, whatever address was dialled."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from capgate.host.mediation.network import NetworkSettings
from capgate.plugins.api import Refused
from network_samples import PUBLIC, Names, Session, Wire, answer, pages, says, serving, session

Wrap = Callable[[socket.socket], socket.socket]


class Authority:
    """A certificate authority of the test's own."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
        certificate = self._sign(self._name, self._key, [(x509.BasicConstraints(ca=True, path_length=None), True)])
        self.file = folder / "ca.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, *names: str, days: int = 1) -> Wrap:
        """What makes a connection one of a server with these names."""
        key = ec.generate_private_key(ec.SECP256R1())
        listed: list[x509.GeneralName] = []
        for name in names:
            try:
                listed.append(x509.IPAddress(ipaddress.ip_address(name)))
            except ValueError:
                listed.append(x509.DNSName(name))
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
        certificate = self._sign(subject, key, [(x509.SubjectAlternativeName(listed), False)], days)
        file = self._folder / "server.pem"
        pem = serialization.Encoding.PEM
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file.write_bytes(private + certificate.public_bytes(pem))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return lambda plain: context.wrap_socket(plain, server_side=True)

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        extensions: list[tuple[x509.ExtensionType, bool]],
        days: int = 1,
    ) -> x509.Certificate:
        today = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(
            self._name,
            subject,
            key.public_key(),
            x509.random_serial_number(),
            today + datetime.timedelta(days=-9),
            today + datetime.timedelta(days=days),
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256())


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def over_tls(
    port: int,
    ca_file: Path | None,
    hosts: tuple[str, ...] = ("a.test", "b.test"),
    *,
    limit: int = 1 << 20,
    seconds: float = 20,
) -> Session:
    names = Names({name: [PUBLIC] for name in ("a.test", "b.test")})
    settings = NetworkSettings(ca_file=str(ca_file) if ca_file else None, max_bytes=limit, seconds=seconds)
    return session(hosts, resolver=names, dialer=Wire(port), settings=settings)


def test_a_certificate_for_the_name_is_trusted(authority: Authority) -> None:
    with serving(pages(x=answer(b"there" * 9000)), authority.server("a.test")) as server:
        response = over_tls(server.port, authority.file).get("https://a.test/x")

    assert (response.body, response.served_by) == (b"there" * 9000, "https://a.test")
    assert server.sent("host") == ["a.test"]


def test_a_certificate_for_an_address_is_trusted_for_that_address(authority: Authority) -> None:
    with serving(pages(x=answer(b"there")), authority.server("127.0.0.1")) as server:
        one = over_tls(server.port, authority.file, ("127.0.0.1", "127.0.0.2"))

        assert one.get("https://127.0.0.1/x").body == b"there"
        assert one.refusal("https://127.0.0.2/x") == "fetch-failed"


@pytest.mark.parametrize("names", [("b.test",), (PUBLIC,), ("*.a.test",), ("A.test.evil.test",)])
def test_a_certificate_for_another_name_is_not(authority: Authority, names: tuple[str, ...]) -> None:
    with serving(pages(x=answer(b"there")), authority.server(*names)) as server:
        refused = over_tls(server.port, authority.file).get("https://a.test/x")

    assert isinstance(refused, Refused)
    assert refused.id == "fetch-failed"
    assert "a.test has no certificate to trust: Hostname mismatch" in refused.why
    assert server.requests == []


def test_a_certificate_of_a_stranger_is_not(authority: Authority) -> None:
    with serving(pages(x=answer(b"there")), authority.server("a.test")) as server:
        refused = over_tls(server.port, None).get("https://a.test/x")

    assert isinstance(refused, Refused)
    assert refused.why.startswith("a.test has no certificate to trust: ")


def test_a_certificate_that_has_expired_is_not(authority: Authority) -> None:
    with serving(pages(x=answer(b"there")), authority.server("a.test", days=-1)) as server:
        refused = over_tls(server.port, authority.file).get("https://a.test/x")

    assert isinstance(refused, Refused)
    assert refused.why == "a.test has no certificate to trust: certificate has expired"


def test_a_server_without_tls_fails(authority: Authority) -> None:
    def plainly(connection: socket.socket) -> socket.socket:
        connection.sendall(answer(b"there"))
        return connection

    with serving(says(), plainly) as server:
        refused = over_tls(server.port, authority.file).get("https://a.test/x")

    assert isinstance(refused, Refused)
    assert refused.id == "fetch-failed"
    assert refused.why.startswith("a.test does not speak TLS as it should: ")


def test_the_caps_hold_under_tls(authority: Authority) -> None:
    def script(path: str, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 4096)

    with serving(script, authority.server("a.test")) as server:
        assert over_tls(server.port, authority.file, limit=10_000).refusal("https://a.test/") == "over-budget"


@pytest.mark.parametrize("silent", ["handshake", "answer", "body"])
def test_the_deadline_holds_under_tls(authority: Authority, silent: str) -> None:
    said = {"answer": b"", "body": b"HTTP/1.1 200 OK\r\n\r\nx"}.get(silent, b"")
    wrap: Wrap = waiting if silent == "handshake" else authority.server("a.test")
    with serving(lambda path, connection: (connection.sendall(said), connection.recv(1))[0], wrap) as server:
        assert over_tls(server.port, authority.file, seconds=0.5).refusal("https://a.test/") == "time-exceeded"


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 ", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_drops_under_tls_do_not_move_the_deadline(authority: Authority, start: bytes) -> None:
    gone = threading.Event()

    def script(path: str, connection: socket.socket) -> None:
        connection.sendall(start)
        for _ in range(500):
            gone.wait(0.02)
            connection.sendall(b"1")

    with serving(script, authority.server("a.test")) as server:
        assert over_tls(server.port, authority.file, seconds=0.5).refusal("https://a.test/") == "time-exceeded"


def test_a_reader_in_no_hurry_does_not_move_the_deadline(authority: Authority) -> None:
    gone = threading.Event()
    wrap = authority.server("a.test")

    def slowly(plain: socket.socket) -> socket.socket:
        connection = wrap(plain)
        for _ in range(500):
            if gone.wait(0.02):
                break
            connection.recv(65536)
        return connection

    with serving(says(), slowly) as server:
        one = over_tls(server.port, authority.file, seconds=0.5)
        with pytest.raises(Refused) as raised:
            one.fetch.request("POST", "https://a.test/", body=bytes(100_000_000))
        gone.set()

    assert raised.value.id == "time-exceeded"


def test_what_surrounds_a_body_counts_under_tls_too(authority: Authority) -> None:
    def script(path: str, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
        while True:
            connection.sendall(b"X-Trailer: x\r\n" * 100)

    with serving(script, authority.server("a.test")) as server:
        assert over_tls(server.port, authority.file, limit=10_000).refusal("https://a.test/") == "over-budget"


def waiting(plain: socket.socket) -> socket.socket:
    """Takes what the client says until it goes, and answers nothing."""
    while plain.recv(4096):
        pass
    return plain


def test_a_secret_follows_to_tls_and_never_from_it(authority: Authority) -> None:
    settings = NetworkSettings(variables=frozenset({"K"}), ca_file=str(authority.file), seconds=20)
    tls, plain = (
        authority.server("a.test"),
        pages(up=answer(status=307, Location="https://a.test/x"), x=answer(b"there")),
    )

    class Both(Wire):
        def dial(self, address: str, port: int, seconds: float) -> socket.socket:
            self.server = {443: secure.port, 80: open_.port}[port]
            return super().dial(address, port, seconds)

    down = pages(down=answer(status=307, Location="http://a.test/x"), x=answer(b"there"))
    with serving(down, tls) as secure, serving(plain) as open_:
        names = Names({"a.test": [PUBLIC]})
        one = session(["a.test"], settings=settings, environ={"K": "sesame"}, resolver=names, dialer=Both())
        assert one.get("http://a.test/up", secret_headers={"X-Key": "$K"}).body == b"there"
        assert one.get("https://a.test/down", secret_headers={"X-Key": "$K"}).body == b"there"

    assert secure.sent("x-key") == ["sesame", "sesame"]
    assert open_.sent("x-key") == ["sesame", None]


def test_the_environment_names_no_certificates(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, str(authority.file))
    with serving(pages(x=answer(b"there")), authority.server("a.test")) as server:
        assert over_tls(server.port, None).refusal("https://a.test/x") == "fetch-failed"
