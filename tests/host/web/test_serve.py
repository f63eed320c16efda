"""``capgate serve`` in a process of its own, over real sockets (contract: harness expectations)."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from served import Served, answer_of

TIDE = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}


def test_the_harness_finds_what_it_expects(serve: Callable[..., Served]) -> None:
    served = serve()
    address = served.start()
    health = httpx.get(f"{address}/api/health")

    assert health.status_code == 200
    token = served.extensions / ".host-token"
    assert re.fullmatch("[0-9a-f]{64}", token.read_text().strip())
    assert token.stat().st_mode & 0o777 == 0o600
    assert served.post("/api/extensions/proposals", {"descriptor": TIDE}).status_code == 200
    assert (served.folder / "workspace/proposals/tide-clock.json").exists()
    done = served.post("/api/extensions/admit", {"id": "tide-clock", "confirm": True}, token=True)
    assert done.json()["decision"] == "admitted"
    assert len(httpx.get(f"{address}/api/extensions").json()["extensions"]) == 1
    assert "audit.jsonl" in os.listdir(served.folder / "workspace")
    assert served.stop() == 0
    assert served.errors() == ""


def test_the_printed_address_signs_in_once(serve: Callable[..., Served]) -> None:
    served = serve(VOICEBOX_LOOPBACK_AUTH="1")
    address = served.start()
    link = served.says(r"http://\S+/sign-in\?ticket=\S+")[0]
    assert httpx.get(f"{address}/api/extensions").status_code == 401

    with httpx.Client() as page:
        assert page.get(link).status_code == 200
        assert page.get(f"{address}/api/extensions").status_code == 200
        assert page.get(f"{address}/api/session").json()["csrf"]
    assert httpx.get(link).status_code == 403


def test_the_code_is_printed_at_once(serve: Callable[..., Served]) -> None:
    served = serve()
    served.start()
    served.post("/api/extensions/proposals", {"descriptor": TIDE})
    request = served.post("/api/extensions/approval-request", {"id": "tide-clock"}).json()["requestId"]
    code = served.says(rf"{request} approve [^\n]+: (\d{{8}}) ")[1]

    entered = {"id": "tide-clock", "requestId": request, "code": code}
    assert served.post("/api/extensions/approve", entered).json()["decision"] == "admitted"


def test_codes_that_an_earlier_server_left_are_gone(serve: Callable[..., Served]) -> None:
    first = serve()
    first.start()
    first.post("/api/extensions/proposals", {"descriptor": TIDE})
    first.post("/api/extensions/approval-request", {"id": "tide-clock"})
    pending = first.extensions / ".pending-approval.json"
    assert pending.exists()
    first.process.kill()
    first.process.wait()
    assert pending.exists()

    serve().start()
    assert not pending.exists()


def test_the_token_is_written_nowhere_even_if_somebody_sends_it(serve: Callable[..., Served]) -> None:
    served = serve()
    served.start()
    action = {"verb": "extension", "name": "x", "args": {"path": served.token}}
    served.post("/api/turn", {"action": action})
    shown = served.says(r"calling 'x' args=(.*)")[1]

    assert served.stop() == 0
    assert shown == '{"path":"[redacted]"}'
    assert served.token not in served.errors() + "".join(served.said)


def test_a_server_that_is_started_again_has_the_same_token_and_the_same_extensions(
    serve: Callable[..., Served],
) -> None:
    first = serve()
    first.start()
    first.post("/api/extensions/proposals", {"descriptor": TIDE})
    first.post("/api/extensions/admit", {"id": "tide-clock", "confirm": True}, token=True)
    token = first.token
    assert first.stop(signal.SIGINT) == 0

    second = serve()
    address = second.start()
    assert second.token == token
    assert [one["id"] for one in httpx.get(f"{address}/api/extensions").json()["extensions"]] == ["tide-clock"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_begun_is_answered_before_it_stops(serve: Callable[..., Served], number: int) -> None:
    served = serve()
    served.start()
    body = json.dumps({"descriptor": TIDE}).encode()
    head = (
        f"POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    )
    with served.connect() as connection:
        connection.sendall(f"{head}\r\nexpect: 100-continue\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # The request is being served now.
        served.process.send_signal(number)
        while True:  # Until it takes no more.
            try:
                served.connect().close()
            except OSError:
                break
        connection.sendall(body)
        answer = answer_of(connection)
    assert b"HTTP/1.1 200" in answer
    assert b'"decision":"admitted"' in answer
    assert served.ended() == 0


def test_a_broken_policy_is_said_and_nothing_is_decided(serve: Callable[..., Served], tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "half.yaml").write_text("id: half\ntitle: No triggers\napplies_to: descriptor\n")
    served = serve("--rules", str(rules))
    address = served.start()
    health = httpx.get(f"{address}/api/health")

    assert health.status_code == 503
    assert "half.yaml" in str(health.json()["policy"]["problems"])
    assert served.post("/v1/decide", {"descriptor": TIDE}).status_code == 503
    assert "half.yaml" in served.errors()
    assert served.stop() == 0


@pytest.mark.parametrize(
    ("environment", "code", "said"),
    [
        ({"PORT": "99999"}, 2, "bad-port"),
        ({"VOICEBOX_LOOPBACK_AUTH": "yes"}, 2, "bad-setting"),
        ({"VOICEBOX_EXTENSIONS_DIR": "workspace/x", "VOICEBOX_WORKSPACE": "workspace"}, 2, "folder-in-root"),
        ({"VOICEBOX_EXTENSIONS_DIR": "/proc/no"}, 4, "store-unavailable"),
    ],
)
def test_a_server_that_cannot_be_started_says_why(
    serve: Callable[..., Served], environment: dict[str, str], code: int, said: str
) -> None:
    served = serve(**environment)

    assert served.ended() == code
    assert said in served.errors()
    assert served.said == []


def test_a_port_that_is_taken_is_said(serve: Callable[..., Served]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        served = serve("--port", str(taken.getsockname()[1]))
        assert served.ended() == 2
    assert "address-unavailable" in served.errors()
    assert not served.extensions.exists()


def test_a_token_that_others_could_read_is_replaced_and_said(serve: Callable[..., Served], tmp_path: Path) -> None:
    (tmp_path / "extensions").mkdir()
    token = tmp_path / "extensions/.host-token"
    token.write_text("a" * 64)
    token.chmod(0o644)
    served = serve()
    served.start()

    assert served.token != "a" * 64
    assert token.stat().st_mode & 0o777 == 0o600
    assert ".host-token" in served.errors()


def test_only_this_machine_is_listened_to(serve: Callable[..., Served]) -> None:
    served = serve()
    served.start()
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {address for _, address, _, state, *_ in listening if state == "0A"}

    assert f"0100007F:{served.port:04X}" in addresses
    assert f"00000000:{served.port:04X}" not in addresses


def test_starting_loads_nothing_of_packages(serve: Callable[..., Served]) -> None:
    code = (
        "import sys\n"
        "from capgate.host.cli.main import main\n"
        "import capgate.host.web.serving as serving\n"
        "serving.serve = lambda app, listening, ready: (ready(), print(*sorted(sys.modules), sep='\\n'))\n"
        "sys.exit(main())\n"
    )
    served = serve(code=code)
    assert served.ended() == 0
    loaded = {line.strip() for line in served.said}

    assert "capgate.host.web.app" in loaded
    unwanted = {"mcp", "starlark_go", "wasmtime", "requests", "sqlalchemy", "psycopg", "cerberus", "cryptography"}
    assert loaded.isdisjoint(unwanted)
    assert not [name for name in loaded if name.startswith(("capgate.host.starlark", "capgate.host.packages"))]
