"""Measures what mediation costs: ``python -m bench.mediation [--quick] [--write]``.

A small ``read-file`` beside `open`, and a loopback ``http-get`` beside bare `requests`, in turn. Both are
measured at the interface that a primitive is handed, so the audit of a call is not in it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import requests

from bench import machine
from capgate.host.mediation.fetch import Fetch
from capgate.host.mediation.files import FileReader
from capgate.host.mediation.network import Network
from capgate.plugins.api import Grant

__all__ = ["Pair", "into_readme", "main", "measure", "report"]

README: Final = Path(__file__).with_name("README.md")
_TABLE: Final = re.compile(r"(<!-- mediation -->\n).*(<!-- end of mediation -->)", re.DOTALL)
#: How often each is done in a round, and how many rounds.
FULL: Final = (200, 15)
QUICK: Final = (5, 2)
#: A server that answers a constant and keeps connections open.
_SERVER: Final = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "200")
        self.end_headers()
        self.wfile.write(b"x" * 200)

    def log_message(self, *arguments):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


class Pair(NamedTuple):
    """What one thing takes, bare and mediated.

    Attributes:
        name: what.
        bare: microseconds, the median of the rounds.
        mediated: the same.
        bar: how much may be added, in microseconds.
    """

    name: str
    bare: float
    mediated: float
    bar: float


def main() -> int:
    """Returns the exit code: 0, whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.mediation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two short rounds: shows that it works, measures nothing")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    given = parser.parse_args()
    described = machine.describe(("requests",))
    with TemporaryDirectory(prefix="capgate-mediation-") as folder:
        text = report(measure(QUICK if given.quick else FULL, Path(os.path.realpath(folder))), described)
    print(text)
    if given.write:
        into_readme(text)
    return 0


def measure(counts: tuple[int, int], folder: Path) -> list[Pair]:
    """Both pairs; what is bare and what is mediated takes turns."""
    (folder / "inside").mkdir()
    reader = FileReader(lambda: folder, workspace=folder)
    for name in ("note.txt", "inside/note.txt"):
        (folder / name).write_text("x" * 200, encoding="utf-8")
    with _server() as url:
        grant = Grant("bench", "bench", {"hosts": ["127.0.0.1"], "maxRequests": 1})
        network = Network()
        things: list[tuple[str, Callable[[], object], Callable[[], object], float]] = [
            (
                f"`read-file`, 200 bytes, {where}",
                lambda path=folder / name: _bare_read(path),  # type: ignore[misc]
                lambda name=name: reader.text(name),  # type: ignore[misc]
                30.0,
            )
            for where, name in (("in the root", "note.txt"), ("one folder down", "inside/note.txt"))
        ]
        things.append(
            (
                "`http-get`, 200 bytes, loopback, a connection each",
                lambda: _bare_fetch(url),
                lambda: _fetched(network, grant, url),
                150.0,
            )
        )
        return [Pair(name, *_medians(bare, mediated, *counts), bar) for name, bare, mediated, bar in things]


def report(pairs: list[Pair], described: str) -> str:
    """The table, as Markdown."""
    rows = [
        f"| {name} | {bare:.0f} | {mediated:.0f} | {mediated / bare:.2f} | {mediated - bare:+.0f} | {bar:.0f} |"
        for name, bare, mediated, bar in pairs
    ]
    head = "| | bare, µs | mediated, µs | ratio | added, µs | bar, µs |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    return "\n".join([f"{described}; the median of the rounds.", "", head, *rows])


def into_readme(text: str) -> None:
    """Puts the table into bench/README.md, in place of the one that is there."""
    page = README.read_text(encoding="utf-8")
    README.write_text(_TABLE.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page), encoding="utf-8")


def _bare_read(path: Path) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _bare_fetch(url: str) -> bytes:
    # Without looking for proxies and passwords, as mediation does: `requests.get` takes half a millisecond more.
    with requests.Session() as session:
        session.trust_env = False
        return session.get(url, timeout=5, allow_redirects=False).content


def _fetched(network: Network, grant: Grant, url: str) -> bytes:
    fetch = Fetch(network, grant, lambda: "1/1", log=lambda _: None, note=lambda _: None)
    return fetch.request("GET", url).body


def _medians(
    bare: Callable[[], object], mediated: Callable[[], object], times: int, rounds: int
) -> tuple[float, float]:
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for thing, found in zip((bare, mediated), taken, strict=True):
            began = time.perf_counter()
            for _ in range(times):
                thing()
            found.append((time.perf_counter() - began) / times * 1e6)
    return median(taken[0]), median(taken[1])


@contextmanager
def _server() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/x"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
