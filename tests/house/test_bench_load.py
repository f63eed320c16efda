"""The load bench runs, and does not count what was not answered."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from tree import ROOT

SAID = """\
Running 1s test @ http://127.0.0.1:1/v1/decide
  Latency Distribution
     50%  844.00us
     99%    4.10ms
  10262 requests in 1.00s, 9.09MB read
Requests/sec:  10220.50
"""


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("bench.http_load")


def test_what_wrk_says_is_read(load: Any) -> None:
    assert load.parse(SAID) == (10220.5, 4.1, 10262)
    assert load.parse(SAID.replace("4.10ms", "900.00us"))[1] == pytest.approx(0.9)
    assert load.parse(SAID.replace("4.10ms", "1.20s"))[1] == pytest.approx(1200)


@pytest.mark.parametrize(
    "said",
    [
        SAID + "  Non-2xx or 3xx responses: 7\n",
        SAID + "  Socket errors: connect 0, read 3, write 0, timeout 0\n",
        "unable to connect",
    ],
)
def test_a_round_with_failures_does_not_count(load: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r"not every request|is not in"):
        load.parse(said)


def test_the_ratio_is_taken_round_by_round(load: Any) -> None:
    rounds = {
        "capgate": [load.Round(60, 1, 20), load.Round(700, 1, 20), load.Round(6, 1, 20)],
        "constant": [load.Round(100, 1, 10), load.Round(1000, 1, 10), load.Round(10, 1, 10)],
    }
    text = load.report(rounds, "a machine")

    assert "60% (rounds from 60% to 70%); by processor time 50%. The bar is 60%: met." in text


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not there; on Debian: apt-get install wrk")
def test_the_load_bench_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.http_load", "--quick"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| **`POST /v1/decide`** |" in done.stdout


def test_the_bench_of_mediation_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.mediation", "--quick"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| `http-get`, 200 bytes" in done.stdout
