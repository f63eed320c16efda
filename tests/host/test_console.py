"""The console: lines for a person, whole, at once, and harmless."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from threading import Thread

import pytest

from capgate.host.mediation.console import Console

#: 2027-01-15T08:00:00Z
NOON = 1_800_000_000.0

REQUEST = "0b9dc0de-0000-4000-8000-000000000001"
#: What turns the reading direction, clears a screen, takes no room or ends a line.
HOSTILE = "a\x1b[2J\u202eb\u200bc\x07\r\nd\x9b\u2066\ufeff\U000e0041"


def approved(plan: dict[str, object], id: str = "search") -> list[str]:
    stream = io.StringIO()
    Console(stream).approval(REQUEST, id, plan, "00123456", NOON)
    return stream.getvalue().splitlines()


def test_a_code_is_shown_below_its_plan_as_the_contract_words_it() -> None:
    plan = {"id": "search", "gate": {"decision": "admitted"}}
    first, second = approved(plan)

    assert first.startswith("[extension approval] ")
    assert re.search(r"Review this plan on the host", first)
    assert json.loads(first[first.index("{") :]) == plan
    assert second.startswith(f'[extension approval] {REQUEST} approve "search": 00123456 (expires 2027-01-15T')
    assert re.search(rf"{REQUEST} approve [^\n]+: (\d{{8}}) ", second)
    assert re.search(r'approve "search": (\d{8}) ', second)


def test_nothing_in_a_plan_steers_the_terminal_or_begins_a_line() -> None:
    first, second = approved({"name": HOSTILE, HOSTILE: [HOSTILE]}, HOSTILE)

    assert (first + second).isprintable()
    assert json.loads(first[first.index("{") :]) == {"name": HOSTILE, HOSTILE: [HOSTILE]}


def test_a_name_cannot_fake_a_line_of_another_request() -> None:
    fake = f'x"\n[extension approval] {REQUEST} approve "evil": 99999999 (expires'
    lines = approved({"name": fake}, fake)

    assert len(lines) == 2
    assert [line[:21] for line in lines] == ["[extension approval] "] * 2


def test_plain_lines_are_escaped_too() -> None:
    stream = io.StringIO()
    Console(stream).say("listening", HOSTILE)

    assert stream.getvalue().splitlines()[0] == "listening"
    assert len(stream.getvalue().splitlines()) == 2
    assert "\x1b" not in stream.getvalue()


class Flushed(io.StringIO):
    shown = ""

    def flush(self) -> None:
        self.shown = self.getvalue()


def test_lines_appear_at_once() -> None:
    stream = Flushed()
    console = Console(stream)

    console.say("one")
    assert stream.shown == "one\n"
    console.approval(REQUEST, "search", {}, "12345678", NOON)
    assert "12345678" in stream.shown


def test_the_streams_are_those_of_the_moment(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.say("out")
    console.warn("err")

    assert capsys.readouterr() == ("out\n", "err\n")


def test_what_an_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Console(stream).say("é ☃ \ud800")

    assert raw.getvalue() == b"\\xe9 \\u2603 \\uD800\n"


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_line_that_nobody_reads_is_told_of_and_the_host_goes_on() -> None:
    errors = io.StringIO()
    Console(Broken(), errors).say("x")
    Console(Broken(), Broken()).say("x")

    assert errors.getvalue() == "standard output cannot be written: [Errno 32] Broken pipe\n"


def test_a_closed_stream_is_told_of() -> None:
    errors, stream = io.StringIO(), io.StringIO()
    stream.close()
    Console(stream, errors).say("x")

    assert "cannot be written" in errors.getvalue()


def test_a_code_goes_through_no_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        approved({})

    assert not caplog.records


class Slow(io.StringIO):
    """A stream on which somebody else wants to write while the first line is being written."""

    console: Console
    other: Thread | None = None

    def write(self, text: str) -> int:
        if self.other is None:
            self.other = Thread(target=self.console.say, args=("other",))
            self.other.start()
            # Whoever does not wait for the lock is done long before this.
            self.other.join(0.2)
        return super().write(text)


def test_lines_of_two_threads_do_not_mix() -> None:
    stream = Slow()
    stream.console = Console(stream)
    stream.console.say("first", "second")
    assert stream.other
    stream.other.join()

    assert stream.getvalue() == "first\nsecond\nother\n"


def test_standard_output_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console()
    later = io.StringIO()
    monkeypatch.setattr(sys, "stdout", later)
    console.say("x")

    assert later.getvalue() == "x\n"
