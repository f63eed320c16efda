"""Measures ``POST /v1/decide`` under load: ``python -m bench.http_load [--quick] [--write]``.

`wrk` asks with 32 connections, one round each in turn, capgate and a server that answers a constant.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench import machine
from bench.descriptors import descriptors

__all__ = ["Round", "into_readme", "main", "measure", "parse", "report"]

README: Final = Path(__file__).with_name("README.md")
_TABLE: Final = re.compile(r"(<!-- load -->\n).*(<!-- end of load -->)", re.DOTALL)
_CONNECTIONS: Final = 32
_DECIDE: Final = "/v1/decide"
_BAR: Final = 0.6
#: Units that wrk gives times in, to milliseconds.
_MILLISECONDS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


class Counts(NamedTuple):
    """How much is measured: rounds, and the seconds of each."""

    rounds: int
    seconds: int


FULL: Final = Counts(7, 6)
QUICK: Final = Counts(1, 1)


class Round(NamedTuple):
    """What one round of wrk found.

    Attributes:
        rate: requests a second.
        p99: 99 of 100 requests took at most so many milliseconds.
        processor: processor time of the server for each request, in microseconds.
    """

    rate: float
    p99: float
    processor: float


def main() -> int:
    """Returns the exit code: 0 whatever the figures are, 2 where they cannot be taken."""
    parser = argparse.ArgumentParser(prog="python -m bench.http_load", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round: shows that it works, measures nothing")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is not there; on Debian: apt-get install wrk", file=sys.stderr)
        return 2
    described = machine.describe(("starlette", "uvicorn", "uvloop", "httptools"))
    with TemporaryDirectory(prefix="capgate-load-") as folder:
        text = report(measure(QUICK if given.quick else FULL, Path(folder)), described)
    print(text)
    if given.write:
        into_readme(text)
    return 0


def measure(counts: Counts, folder: Path) -> dict[str, list[Round]]:
    """The rounds of each server, by its name; round by round they were taken in turn."""
    script = _script(folder)
    capgate = {
        "PORT": "0",
        "VOICEBOX_WORKSPACE": str(folder / "workspace"),
        "VOICEBOX_EXTENSIONS_DIR": str(folder / "extensions"),
    }
    rounds: dict[str, list[Round]] = {}
    with (
        _served(["-m", "capgate", "serve"], folder, capgate) as decides,
        _served(["-m", "bench.http_constant"], README.parents[1], {}) as answers,
    ):
        servers = {"capgate": decides, "constant": answers}
        for number in range(counts.rounds + 1):
            for name, server in servers.items():
                found = _round(server, script, counts.seconds if number else 1)
                if number:  # The first only warms up.
                    rounds.setdefault(name, []).append(found)
    return rounds


def report(rounds: dict[str, list[Round]], described: str) -> str:
    """Everything, as Markdown."""
    lines = [f"{described}; wrk, {_CONNECTIONS} connections, the median of {len(rounds['capgate'])} rounds.", ""]
    lines += [
        "| | requests a second | p99, ms | processor of the server, µs a request |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, shown in (("capgate", "**`POST /v1/decide`**"), ("constant", "a constant")):
        rate, p99, processor = (median(column) for column in zip(*rounds[name], strict=True))
        lines.append(f"| {shown} | {rate:,.0f} | {p99:.1f} | {processor:.0f} |")
    pairs = list(zip(rounds["capgate"], rounds["constant"], strict=True))
    by_rate = [ours.rate / constant.rate for ours, constant in pairs]
    by_processor = median(constant.processor / ours.processor for ours, constant in pairs)
    met = "met" if median(by_rate) >= _BAR else "missed"
    spread = f"rounds from {min(by_rate):.0%} to {max(by_rate):.0%}"
    verdict = f"The bar is {_BAR:.0%}: {met}."
    lines += [
        "",
        f"Of the constant's rate: {median(by_rate):.0%} ({spread}); by processor time {by_processor:.0%}. {verdict}",
    ]
    return "\n".join([*lines, ""])


def into_readme(text: str) -> None:
    """Puts the report where the one before stands in the README."""
    old = README.read_text(encoding="utf-8")
    README.write_text(_TABLE.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", old), encoding="utf-8")


def parse(output: str) -> tuple[float, float, int]:
    """Requests a second, the 99th percentile in milliseconds, and the number of requests, from what wrk prints."""
    if refused := re.search(r"Non-2xx or 3xx responses: \d+|Socket errors: .*", output):
        raise ValueError(f"not every request was answered: {refused[0]}")
    rate = float(_found(r"Requests/sec:\s+([\d.]+)", output)[1])
    p99 = _found(r"99%\s+([\d.]+)([a-z]+)", output)
    requests = int(_found(r"(\d+) requests in", output)[1])
    return rate, float(p99[1]) * _MILLISECONDS[p99[2]], requests


class _Server(NamedTuple):
    pid: int
    address: str


@contextmanager
def _served(arguments: Sequence[str], folder: Path, environment: dict[str, str]) -> Iterator[_Server]:
    process = subprocess.Popen(
        [sys.executable, *arguments], env={**os.environ, **environment}, cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield _Server(process.pid, _found(r"http://[\d.:]+", process.stdout.readline())[0])
    finally:
        process.terminate()
        process.communicate()


def _round(server: _Server, script: Path, seconds: int) -> Round:
    before = _processor(server.pid)
    command = ["wrk", "-t1", f"-c{_CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(script)]
    done = subprocess.run([*command, server.address + _DECIDE], capture_output=True, text=True, check=True)
    rate, p99, requests = parse(done.stdout)
    return Round(rate, p99, (_processor(server.pid) - before) * 1e6 / requests)


def _processor(pid: int) -> float:
    """The processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _script(folder: Path) -> Path:
    """A script for wrk that asks about 1,000 descriptors in turn, all that capgate's other figures are taken with."""
    bodies = (json.dumps({"descriptor": each}) for each in descriptors(1000))
    lines = [
        'wrk.method = "POST"',
        'wrk.headers["Content-Type"] = "application/json"',
        "local bodies = {",
        *(f"[==[{body}]==]," for body in bodies),
        "}",
        "local asked = {}",
        "function init() for i, body in ipairs(bodies) do asked[i] = wrk.format(nil, nil, nil, body) end end",
        "local at = 0",
        "function request() at = at % #asked + 1; return asked[at] end",
    ]
    script = folder / "decide.lua"
    script.write_text("\n".join(lines), encoding="utf-8")
    return script


def _found(pattern: str, text: str) -> re.Match[str]:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"{pattern!r} is not in {text!r}")
    return found


if __name__ == "__main__":
    sys.exit(main())
