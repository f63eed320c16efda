"""One code admits once, however many try it at the same moment, through however many hosts."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.settings import Settings
from host_samples import MODEL, Clock, Screen, clock_descriptor

pytestmark = pytest.mark.long

OpenAnother = Callable[[], AdmissionHost]

#: How many codes are raced for; `make soak` takes ten thousand over each store.
CODES = int(os.environ.get("CAPGATE_RACED_CODES", "0"))
THREADS = 32
#: A request keeps its place for four minutes.
FREE_AGAIN = 240.0


class Crowd:
    """Threads that all try at the same moment, spread over some hosts."""

    def __init__(self, hosts: list[AdmissionHost]):
        self.hosts = hosts
        self._barrier = Barrier(THREADS)
        self._pool = ThreadPoolExecutor(THREADS)

    def attempt(self, id: str, tries: list[tuple[str, str]]) -> Counter[str]:
        """Tries request and code pairs, one a thread; returns how often which answer came."""

        def one(number: int) -> str:
            host, (request, code) = self.hosts[number % len(self.hosts)], tries[number]
            self._barrier.wait()
            try:
                answer = host.approve(id, request, code)
            except AdmissionError as error:
                return error.id
            return str(answer["decision"])

        return Counter(self._pool.map(one, range(THREADS)))

    @property
    def codes(self) -> range:
        """One number for each code to race for; a database takes longer."""
        return range(CODES or (300 if len(self.hosts) == 1 else 60))

    def close(self) -> None:
        self._pool.shutdown()


@pytest.fixture
def crowd(open_another: OpenAnother, settings: Settings) -> Iterator[Crowd]:
    """One host over files, where requests are of one process; four that share a database."""
    crowd = Crowd([open_another() for _ in range(4 if settings.database_url else 1)])
    yield crowd
    crowd.close()


def asked(crowd: Crowd, screen: Screen, descriptor: dict[str, Any]) -> tuple[str, str]:
    """Files a descriptor and asks for a code, each through any host; returns the request and the code."""
    host = crowd.hosts[len(descriptor["description"]) % len(crowd.hosts)]
    host.propose(descriptor, actor=MODEL)
    screen.seek(0)
    screen.truncate()
    request: str = host.request_approval(descriptor["id"])["requestId"]
    code = re.search(rf"{request} approve [^\n]+: (\d{{8}}) ", screen.text)
    assert code
    return request, code[1]


def ledger_length(crowd: Crowd) -> int:
    return crowd.hosts[0].registry.ledger.length


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**8:08}"


def test_each_code_admits_exactly_once_of_32_that_try_it_at_once(crowd: Crowd, screen: Screen, clock: Clock) -> None:
    for number in crowd.codes:
        descriptor = clock_descriptor(description=f"the one of code {number}")
        request, code = asked(crowd, screen, descriptor)
        before = ledger_length(crowd)

        assert crowd.attempt("tide-clock", [(request, code)] * THREADS) == {"admitted": 1, "approval-used": THREADS - 1}
        assert ledger_length(crowd) == before + 1
        clock.time += FREE_AGAIN


def test_of_right_and_wrong_codes_at_once_no_more_than_five_count(crowd: Crowd, screen: Screen, clock: Clock) -> None:
    for number in crowd.codes[::10]:
        request, code = asked(crowd, screen, clock_descriptor(description=f"the one of code {number}"))
        before = ledger_length(crowd)
        answers = crowd.attempt("tide-clock", [(request, wrong(code) if n % 8 else code) for n in range(THREADS)])

        assert answers["admitted"] <= 1
        counted = answers["admitted"] + answers["approval-code-invalid"] + answers["approval-attempts-exhausted"]
        assert counted <= 5
        assert answers["admitted"] or answers["approval-attempts-exhausted"] == 1
        assert counted + answers["approval-used"] == THREADS
        assert ledger_length(crowd) == before + answers["admitted"]
        clock.time += FREE_AGAIN


def test_of_an_old_and_a_new_request_at_once_only_the_new_one_admits(
    crowd: Crowd, screen: Screen, clock: Clock
) -> None:
    for number in crowd.codes[::10]:
        old = asked(crowd, screen, clock_descriptor(description=f"the old one {number}"))
        new = asked(crowd, screen, clock_descriptor(description=f"the new one {number}"))
        answers = crowd.attempt("tide-clock", [new if n % 2 else old for n in range(THREADS)])

        assert answers == {"admitted": 1, "approval-used": THREADS - 1}
        clock.time += FREE_AGAIN


def test_a_code_that_ends_admits_nobody(crowd: Crowd, screen: Screen, clock: Clock) -> None:
    request, code = asked(crowd, screen, clock_descriptor())
    clock.time += 120

    assert crowd.attempt("tide-clock", [(request, code)] * THREADS) == {"approval-expired": THREADS}
    assert ledger_length(crowd) == 0


def test_a_plan_that_changes_meanwhile_is_never_admitted_by_the_old_code(
    crowd: Crowd, screen: Screen, clock: Clock
) -> None:
    for number in crowd.codes[::10]:
        request, code = asked(crowd, screen, clock_descriptor(description=f"shown {number}"))
        crowd.hosts[-1].propose(clock_descriptor(description=f"changed {number}"), actor=MODEL)
        answers = crowd.attempt("tide-clock", [(request, code)] * THREADS)

        assert answers == {"approval-plan-changed": 1, "approval-used": THREADS - 1}
        clock.time += FREE_AGAIN
    assert ledger_length(crowd) == 0


def test_requests_of_32_at_once_leave_one_open(crowd: Crowd, screen: Screen) -> None:
    crowd.hosts[0].propose(clock_descriptor(), actor=MODEL)
    with ThreadPoolExecutor(THREADS) as pool:
        asks = [pool.submit(crowd.hosts[n % len(crowd.hosts)].request_approval, "tide-clock") for n in range(THREADS)]
    requests = [ask.result()["requestId"] for ask in asks]
    codes = dict(re.findall(r"(\S+) approve [^\n]+: (\d{8}) ", screen.text))

    answers = crowd.attempt("tide-clock", [(request, codes[request]) for request in requests])

    assert answers == {"admitted": 1, "approval-used": THREADS - 1}
    crowd.hosts[0].propose(clock_descriptor(description="another"), actor=MODEL)
    with pytest.raises(AdmissionError, match="approval-rate-limited"):
        crowd.hosts[0].request_approval("tide-clock")
