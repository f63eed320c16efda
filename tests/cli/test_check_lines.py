"""``capgate check --lines``: JSON Lines."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.host.inputs import find, read

Run = Callable[..., Any]
Write = Callable[..., Path]

MIB = 1024 * 1024
CORPUS = Path(__file__).parents[1] / "corpus" / "admission.jsonl"


def decisions(done: Any) -> list[tuple[int, str, str | None]]:
    return [(result["line"], result["decision"], result["rule"]) for result in done.results]


def test_the_admission_cases_are_decided_as_they_expect(capgate: Run) -> None:
    cases = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    done = capgate("check", "--lines", "--format", "json", CORPUS)
    found = [(result["line"], result["decision"], result["rule"]) for result in done.results]
    wanted = [(n, case["expect"]["decision"], case["expect"].get("rule")) for n, case in enumerate(cases, 1)]
    assert found == wanted
    assert done.code == 1


def test_a_line_is_a_descriptor_or_a_case(capgate: Run, clock: Any, launcher: Any) -> None:
    lines = [clock, {"descriptor": launcher, "note": "ignored", "expect": {}}, {"descriptor": clock}, []]
    done = capgate(
        "check", "--lines", "--format", "json", "-", stdin="\n".join(json.dumps(line) for line in lines).encode()
    )
    assert decisions(done) == [
        (1, "admitted", None),
        (2, "refused", "exec-absent"),
        (3, "admitted", None),
        (4, "refused", "malformed-descriptor"),
    ]
    assert [result["id"] for result in done.results] == ["tide-clock", "launcher", "tide-clock", None]


def test_without_lines_there_are_no_cases(capgate: Run, clock: Any) -> None:
    done = capgate("check", "--format", "json", "-", stdin=json.dumps({"descriptor": clock}).encode())
    assert decisions(done) == [(1, "refused", "no-tools")]


def test_places_are_those_of_the_line_and_paths_those_of_the_descriptor(capgate: Run) -> None:
    text = '\n  {"descriptor": {"capabilities": ["exec"], "tools": []}}\n'
    (result,) = capgate("check", "--lines", "--format", "json", "-", stdin=text.encode()).results
    assert (result["line"], result["column"]) == (2, 3)
    places = [(r["path"], r["line"], r["column"]) for r in result["refusals"]]
    assert places == [("$.capabilities[0]", 2, 36), ("$.tools", 2, 54)]


def test_the_text_names_file_and_line(capgate: Run, write: Write, clock: Any, launcher: Any) -> None:
    lines = [json.dumps(line) for line in (clock, launcher)]
    write("cases.jsonl", "\n".join(lines))
    rows = capgate("check", "--lines", "cases.jsonl").out.splitlines()
    assert rows[0] == "cases.jsonl:1: admitted"
    assert rows[1] == "cases.jsonl:2: refused by exec-absent"
    column = lines[1].index('"exec"') + 1
    assert rows[2].startswith(f"  cases.jsonl:2:{column}: exec-absent: ")


def test_taken_names_of_a_line_add_to_those_of_the_command(capgate: Run, clock: Any) -> None:
    lines = [clock, {"descriptor": clock, "taken": ["tide_now"]}, {"descriptor": clock, "taken": []}]
    text = "\n".join(json.dumps(line) for line in lines).encode()
    rules = [result["rule"] for result in capgate("check", "--lines", "--format", "json", "-", stdin=text).results]
    assert rules == [None, "duplicate-tool", None]
    done = capgate("check", "--lines", "--format", "json", "--taken", "tide_now", "--taken", "x", "-", stdin=text)
    assert [result["rule"] for result in done.results] == ["duplicate-tool"] * 3


def test_the_placement_of_a_line_counts_in_place_of_the_commands(capgate: Run, clock: Any) -> None:
    reads = {**clock, "capabilities": ["read"]}
    lines = [reads, {"descriptor": reads, "placement": "machine"}, {"descriptor": reads, "placement": "browser"}]
    text = "\n".join(json.dumps(line) for line in lines).encode()
    done = capgate("check", "--lines", "--format", "json", "--placement", "browser", "-", stdin=text)
    assert [result["enforced"]["read"] for result in done.results] == [
        "handle-scope",
        "host-primitive-scope",
        "handle-scope",
    ]


@pytest.mark.parametrize(
    ("more", "rule", "at"),
    [
        ('"placement": "bogus"', "unknown-placement", '"bogus"'),
        ('"placement": 7', "bad-case", "7"),
        ('"placement": null', "bad-case", "null"),
        ('"taken": "name"', "bad-case", '"name"'),
        ('"taken": null', "bad-case", "null"),
        ('"taken": ["a", 7]', "bad-case", "7"),
        ('"taken": oops', "json-syntax", "oops"),
    ],
)
def test_a_case_that_is_wrong_is_an_error_and_the_next_lines_go_on(
    more: str, rule: str, at: str, capgate: Run, clock: Any
) -> None:
    line = f'{{"descriptor": {{}}, {more}}}'
    text = "\n".join([json.dumps(clock), line, json.dumps(clock)])
    done = capgate("check", "--lines", "--format", "json", "-", stdin=text.encode())
    assert done.code == 4
    assert decisions(done) == [(1, "admitted", None), (2, "error", rule), (3, "admitted", None)]
    assert done.results[1]["column"] == line.index(at) + 1
    assert done.results[1]["remedy"]


def test_an_unknown_placement_of_a_line_is_met_with_advice(capgate: Run) -> None:
    done = capgate("check", "--lines", "-", stdin=b'{"descriptor": {}, "placement": "browsr"}')
    assert "no placement is called 'browsr'" in done.out
    assert "fix: Did you mean 'browser'?" in done.out


def test_lines_of_white_space_are_skipped_and_counted(capgate: Run, clock: Any) -> None:
    line = json.dumps(clock).encode()
    text = b"\n \t\r\n" + line + b"\r\n\n" + b" " * (MIB + 10) + b"\n" + line
    done = capgate("check", "--lines", "--format", "json", "-", stdin=text)
    assert decisions(done) == [(3, "admitted", None), (6, "admitted", None)]


@pytest.mark.parametrize("text", [b"", b"\n", b" \r\n\t"])
def test_a_file_without_a_descriptor_is_an_error(text: bytes, capgate: Run, write: Write) -> None:
    write("none.jsonl", text)
    done = capgate("check", "--lines", "--format", "json", "none.jsonl")
    assert done.code == 4
    assert decisions(done) == [(None, "error", "no-descriptors")]


def test_a_long_line_that_only_begins_blank_is_not_skipped(capgate: Run, clock: Any) -> None:
    line = json.dumps(clock).encode()
    done = capgate("check", "--lines", "--format", "json", "-", stdin=b" " * (MIB + 10) + line + b"\n" + line)
    assert decisions(done) == [(1, "error", "document-too-large"), (2, "admitted", None)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("size", [MIB, MIB + 1, 3 * MIB])
def test_a_line_may_have_a_mebibyte_and_the_lines_after_a_longer_one_go_on(
    size: int, end: bytes, capgate: Run, clock: Any
) -> None:
    line = json.dumps(clock).encode()
    text = line + b"\n" + line.ljust(size) + end + (line if end else b"")
    done = capgate("check", "--lines", "--format", "json", "-", stdin=text)
    middle = (2, "admitted", None) if size == MIB else (2, "error", "document-too-large")
    last = [(3, "admitted", None)] if end else []
    assert decisions(done) == [(1, "admitted", None), middle, *last]


def test_a_folder_is_walked_for_json_lines(capgate: Run, write: Write, clock: Any) -> None:
    for name in ("b.jsonl", "sub/a.jsonl", "c.json"):
        write(name, clock)
    done = capgate("check", "--lines", "--format", "json")
    assert [result["file"] for result in done.results] == ["b.jsonl", "sub/a.jsonl"]


def test_many_lines_take_no_more_memory_than_one(write: Write, clock: Any) -> None:
    path = write("many.jsonl", (json.dumps(clock) + "\n") * 50_000)
    tracemalloc.start()
    try:
        count = sum(1 for _ in read(find([str(path)], lines=True), lines=True))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 50_000
    assert path.stat().st_size > 3 * MIB
    assert peak < MIB
