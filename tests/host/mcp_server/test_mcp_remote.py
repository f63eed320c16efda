"""``mcp-server-remote`` of the catalogue, called as the http-get that it is (issue 6, 10)."""

from __future__ import annotations

import datetime
import io
import ssl
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import capgate
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from capgate.host.calls.machine import Machine
from capgate.host.calls.opening import open_caller
from capgate.host.calls.roots import Roots
from capgate.host.mediation.clock import SystemClock
from capgate.host.mediation.console import Console
from capgate.host.mediation.network import Network, NetworkSettings
from capgate.host.mediation.redaction import Redactor
from host_samples import HUMAN, MODEL
from network_samples import PUBLIC, Names, Wire, answer, pages, serving
from web_server import built_in_plugins

HOST = "mcp.example.com"


def certificate(folder: Path) -> Path:
    """A file with a certificate for the host, signed by itself, and its key."""
    key, today = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    day = datetime.timedelta(days=1)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), today - day, today + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(private + made.public_bytes(pem))
    return folder / "server.pem"


def test_the_entry_of_the_catalogue_is_admitted_and_fetches_its_list_of_tools(
    tmp_path: Path, gate: capgate.Gate
) -> None:
    file, clock, screen = certificate(tmp_path), SystemClock(), io.StringIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    settings = Settings(tmp_path / "workspace", True, tmp_path / "extensions", tmp_path / "shelf")
    console, redactor = Console(screen, screen), Redactor({})
    tools = answer(b'{"tools": [{"name": "next_tide"}]}', content_type="application/json")

    with serving(pages(tools=tools), lambda plain: context.wrap_socket(plain, server_side=True)) as remote:
        names, wire = Names({HOST: [PUBLIC]}), Wire(remote.port)
        network = Network(NetworkSettings(ca_file=str(file)), resolver=names, dialer=wire, redactor=redactor)
        host = open_host(gate, settings, clock=clock, console=console, redactor=redactor)
        caller = open_caller(
            host,
            built_in_plugins(),
            roots=Roots(settings),
            console=console,
            redactor=redactor,
            interfaces=Machine(settings, network, clock, console),
        )

        def call(**said: str) -> dict[str, Any]:
            return caller.call("mcp_remote_list_tools", said, actor=MODEL)

        host.sideload("mcp-server-remote", confirm=True, actor=HUMAN)
        assert call()["refused"] == "not-admitted"
        assert host.admit("mcp-server-remote", confirm=True, actor=HUMAN)["decision"] == "admitted"
        result = call()
        elsewhere = call(url="https://mcp.example.org/tools")
        host.close()

    assert (result["ok"], result["status"], result["request"]) == (True, 200, "1/20")
    assert result["body"] == '{"tools": [{"name": "next_tide"}]}'
    assert (result["servedBy"], result["via"]) == (f"https://{HOST}", [f"https://{HOST}/tools"])
    assert wire.dialled == [(PUBLIC, 443)]
    assert elsewhere["refused"] == "host-not-allowed"
