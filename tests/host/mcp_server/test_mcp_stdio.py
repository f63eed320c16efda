"""``capgate mcp`` over standard input and output: the official client starts it, and hostile ones."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from host_samples import clock_descriptor
from mcp_client import MODES, admit, connected, environment, names, over_stdio, run

Process = Any  # of conftest.py
Start = Callable[..., Process]
OWN = ["list_extensions", "call_extension", "propose_extension"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


@pytest.mark.parametrize("mode", MODES)
def test_a_client_starts_it_calls_and_is_told_what_others_admit(mode: str, cli: Any, tmp_path: Path) -> None:
    async def use() -> None:
        async with connected(over_stdio(tmp_path), mode) as (client, told):
            assert client.server_info is not None
            assert client.server_info.name == "capgate"
            assert await names(client) == OWN
            admit(cli, clock_descriptor())
            await told.wait_until("tide_now", there=True)
            result = await client.call_tool("tide_now")
            assert result.is_error is False
            assert result.structured_content["action"] == "now"
            assert cli("revoke", "tide-clock", "--yes").code == 0
            await told.wait_until("tide_now", there=False)

    run(use)
    errors = (tmp_path / "stderr").read_text()
    assert errors == "[extension] calling 'tide_now' args={}\n"
    (line,) = [line for line in audit(tmp_path) if "correlationId" in line]
    assert line["actor"] == {"name": "model", "harness": "mcp-stdio", "session": None}


def audit(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "workspace/audit.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("mode", MODES)
def test_what_a_tool_prints_or_reads_does_not_reach_the_client(mode: str, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "import capgate.host.calls.opening as opening\n"
        "from capgate.host.calls.tools import ModelTools\n"
        "from capgate.host.cli.main import main\n"
        "real = opening.open_runtime\n"
        "opening.open_runtime = lambda *a, **o: (print('printed early'), real(*a, **o))[1]\n"
        "def call(self, *args, **options):\n"
        "    print('printed late', flush=True)\n"
        "    os.write(1, b'written late\\n')\n"
        "    return {'ok': True, 'read': os.read(0, 100).decode() + sys.stdin.readline()}\n"
        "ModelTools.call = call\n"
        "sys.exit(main())\n"
    )

    async def use() -> None:
        async with connected(over_stdio(tmp_path, code=code), mode) as (client, _):
            assert (await client.call_tool("any")).structured_content == {"ok": True, "read": ""}

    run(use)
    assert (tmp_path / "stderr").read_text() == "printed early\nprinted late\nwritten late\n"


def test_it_ends_with_the_input(start: Start) -> None:
    process = start()
    process.send(HELLO)
    assert json.loads(process.says("result")[0] and process.said[-1])["result"]["protocolVersion"] == "2025-06-18"

    assert process.ended() == 0
    assert process.errors() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_told_to_though_the_input_does_not(start: Start, number: int) -> None:
    process = start()
    process.send(HELLO)
    process.says("result")

    assert process.stop(number) == 0
    assert process.errors() == ""


def test_a_call_that_was_begun_is_finished(start: Start, tmp_path: Path) -> None:
    code = (
        "import sys, threading\n"
        "from capgate.host.calls.tools import ModelTools\n"
        "from capgate.host.cli.main import main\n"
        "import capgate.host.mcp.stdio as stdio\n"
        "stopped = threading.Event()\n"
        "real = stdio._stop_at_a_signal\n"
        "async def stop(scope):\n"
        "    try:\n"
        "        await real(scope)\n"
        "    finally:\n"
        "        stopped.set()\n"
        "stdio._stop_at_a_signal = stop\n"
        "def call(self, *args, **options):\n"
        "    print('begun', file=sys.stderr, flush=True)\n"
        "    stopped.wait(60)\n"
        "    print('finished', file=sys.stderr, flush=True)\n"
        "    return {'ok': True}\n"
        "ModelTools.call = call\n"
        "sys.exit(main())\n"
    )
    process = start(code=code)
    process.send(HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    process.says("result")
    process.send({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "any"}})
    while "begun" not in process.errors():
        process.send(PING)
        process.says('"id":2')

    assert process.stop() == 0
    assert process.errors() == "begun\nfinished\n"


#: What a server may be sent, and goes on after.
NONSENSE = (
    "nonsense",
    "[]",
    "{}",
    "null",
    '{"jsonrpc": "1.0"}',
    '{"jsonrpc":"2.0","id":9,"method":"tools/admit"}',
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":7}}',
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"\\ud800"}}',
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"x","arguments":[]}}',
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"x\\u001b[31m"}}',
    '{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    '{"a":' * 10_000,
    "\x00\x1b[31m",
    "x" * 1_000_000,
)


def test_what_is_no_message_ends_nothing(start: Start) -> None:
    process = start()
    process.send(HELLO)
    process.says("result")
    for number, nonsense in enumerate(NONSENSE, 100):
        process.send(nonsense, PING | {"id": number})
        process.says(f'"id":{number},"result"')

    assert process.ended() == 0
    assert "Traceback" not in process.errors()
    assert "\x1b" not in process.errors()


def test_a_message_without_end_ends_the_connection(start: Start) -> None:
    process = start()
    process.send(HELLO)
    process.says("result")
    with suppress(BrokenPipeError):
        process.process.stdin.write("x" * 5_000_000)
        process.process.stdin.flush()

    assert process.process.wait(60) == 0


def test_a_client_that_is_gone_is_no_failure(start: Start) -> None:
    process = start()
    process.send(HELLO)
    process.says("result")
    process.process.stdout.close()
    process.send(PING)

    assert process.process.wait(60) == 0
    assert process.errors() == ""
    process.process.stdout = None


def test_the_input_may_be_a_file(start: Start, tmp_path: Path) -> None:
    (tmp_path / "input").write_text(f"{json.dumps(HELLO)}\n{json.dumps(PING)}\n")
    with open(tmp_path / "input") as file:
        process = start(stdin=file)

    assert process.ended() == 0
    assert process.errors() == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--rules rules", 3, "half.yaml"),
        ("--workspace w --extensions w/x", 2, "folder-in-root"),
        ("--extensions /proc/no", 4, "store-unavailable"),
        ("--http --port 0 --extensions /proc/no", 4, "store-unavailable"),
        ("--port 99999", 2, "99999"),
    ],
)
def test_what_cannot_be_started_says_why(start: Start, arguments: str, code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/half.yaml").write_text("id: half\ntitle: No triggers\napplies_to: descriptor\n")
    process = start(*arguments.split())

    assert process.ended() == code
    assert said in process.errors()
    assert process.said == []


def test_without_the_package_it_says_what_to_install(start: Start) -> None:
    code = "import sys\nsys.modules['mcp'] = None\nfrom capgate.host.cli.main import main\nsys.exit(main())\n"
    process = start(code=code)

    assert process.ended() == 2
    assert "install capgate[host,mcp]" in process.errors()


@pytest.mark.parametrize("command", ["check", "call"])
def test_other_commands_load_nothing_of_it(command: str, tmp_path: Path) -> None:
    (tmp_path / "tide.json").write_text(json.dumps(clock_descriptor()))
    arguments = {"check": ["check", "tide.json"], "call": ["call", "tide_now"]}[command]
    code = (
        "import sys\nfrom capgate.host.cli.main import main\nmain(sys.argv[1:])\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'mcp' or 'host.mcp' in name], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env=environment(tmp_path),
    )
    assert done.stderr.splitlines()[-1] == "[]"
