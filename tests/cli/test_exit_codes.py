"""The exit codes, and what stands on standard error with them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.host import assembly
from capgate.policy.errors import PolicyInvalid
from capgate.policy.gate import Gate

Run = Callable[..., Any]
Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        (["admitted"], 0),
        (["admitted", "admitted"], 0),
        (["refused"], 1),
        (["admitted", "refused", "admitted"], 1),
        (["unreadable"], 4),
        (["admitted", "unreadable"], 4),
        (["refused", "unreadable", "refused"], 4),
        (["invalid policy", "admitted"], 3),
        (["invalid policy", "refused", "unreadable"], 3),
        (["defect"], 5),
        (["refused", "unreadable", "defect", "admitted"], 5),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_the_first_code_of_5_3_4_1_0_that_applies(
    inputs: list[str],
    code: int,
    form: str,
    capgate: Run,
    write: Write,
    clock: Any,
    launcher: Any,
    broken_rules: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Gate.admit

    def admit(self: Gate, descriptor: Any, *rest: Any) -> Any:
        if descriptor["id"] == "defect":
            raise RuntimeError("a defect")
        return real(self, descriptor, *rest)

    monkeypatch.setattr(Gate, "admit", admit)
    write("admitted", clock)
    write("refused", launcher)
    write("defect", {**clock, "id": "defect"})
    arguments = ["--rules", broken_rules] if "invalid policy" in inputs else []
    paths = [name for name in inputs if name != "invalid policy"]
    done = capgate("check", "--format", form, *arguments, *paths)
    assert done.code == code


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--bogus"], "No such option"),
        (["--format", "xml"], "--format"),
        (["--placement", "bogus"], "'bogus' is not one of machine, browser"),
        (["--rules", "missing"], "'missing' does not exist"),
        (["--rules", "x.json"], "'x.json' is a file"),
        (["-", "-"], "standard input can be read only once"),
        (["--output"], "Option '--output' requires an argument"),
    ],
)
def test_a_wrong_command_line_is_2_with_a_sentence(
    arguments: list[str], sentence: str, capgate: Run, write: Write, clock: Any
) -> None:
    write("x.json", clock)
    done = capgate("check", *arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_an_unknown_command_is_2(capgate: Run) -> None:
    done = capgate("chek")
    assert done.code == 2
    assert "No such command 'chek'" in done.err


def test_every_problem_of_an_invalid_policy_is_named_with_its_place_and_what_to_do(
    capgate: Run, write: Write, clock: Any, broken_rules: Path
) -> None:
    (broken_rules / "other.yaml").write_text("id: other\nid: other\n")
    write("x.json", clock)
    done = capgate("check", "--rules", broken_rules)
    assert (done.code, done.out) == (3, "")
    with pytest.raises(PolicyInvalid) as raised:
        assembly.open_gate(rules=[broken_rules])
    problems = raised.value.problems
    assert len(problems) >= 2
    rows = done.err.splitlines()
    for problem in problems:
        assert f"{problem.span}: {problem.id}: {problem.message}" in rows
        assert f"    fix: {problem.hint}" in rows
    assert rows[-1] == f"capgate: policy-invalid: the policy has {len(problems)} problems, so nothing was judged"


def test_two_rule_folders_both_count(capgate: Run, write: Write, clock: Any, warning_rules: Path, folder: Path) -> None:
    more = folder / "more"
    more.mkdir()
    text = (warning_rules / "writes-files.yaml").read_text()
    (more / "reads-files.yaml").write_text(text.replace("writes-files", "reads-files").replace("write}", "read}"))
    write("x.json", {**clock, "capabilities": ["read", "write"]})
    done = capgate("check", "--format", "json", "--rules", more, "--rules", warning_rules)
    assert {refusal["rule"] for refusal in done.results[0]["refusals"]} == {"reads-files", "writes-files"}


def test_a_defect_is_one_line_that_asks_to_report_it(
    capgate: Run, write: Write, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: Any) -> Any:
        raise RuntimeError("turned\n\u202eround")

    monkeypatch.setattr(assembly, "open_gate", broken)
    write("x.json", clock)
    done = capgate("check")
    assert (done.code, done.out) == (5, "")
    assert done.err == (
        "capgate: internal error: RuntimeError: turned\\u000A\\u202Eround"
        " (please report this; CAPGATE_DEBUG=1 shows the traceback)\n"
    )
    monkeypatch.setenv("CAPGATE_DEBUG", "1")
    done = capgate("check")
    assert done.code == 5
    assert done.err.startswith("Traceback (most recent call last):\n")
    assert "capgate: internal error: RuntimeError" in done.err


def test_a_reader_that_goes_away_ends_it_quietly(write: Write, clock: Any) -> None:
    write("x.json", clock)
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(
        [sys.executable, "-m", "capgate", "check"], stdout=writes, stderr=subprocess.PIPE, check=False
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, b"")


def test_an_interrupt_ends_it_with_130_and_no_traceback(clock: Any) -> None:
    terminal, its_end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "capgate", "check", "--lines", "-"],
        stdin=subprocess.PIPE,
        stdout=its_end,
        stderr=subprocess.PIPE,
        # A shell may have told its background jobs to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        os.close(its_end)
        running.stdin.write(json.dumps(clock).encode() + b"\n")
        running.stdin.flush()
        # A terminal sees a result at once, so this also says that the run is under way.
        shown = b""
        while b"admitted" not in shown:
            shown += os.read(terminal, 1000)
        running.send_signal(signal.SIGINT)
        running.wait(30)
        err = running.stderr.read()
    os.close(terminal)
    assert running.returncode == 130
    assert err.strip() == b""
