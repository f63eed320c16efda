"""Approval codes: how they are made, tried and spent, and in which order what is refused."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.admission import approvals
from capgate.host.admission.approvals import ATTEMPTS, RETAINED, TTL, approval_id, judge
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_store import FileStore
from capgate.host.admission.store import Approval

#: 2027-01-15T08:00:00Z
NOON = 1_800_000_000.0

PLAN = "sha256:" + "a" * 64


class Host:
    """One store, and a turn for each act."""

    def __init__(self, store: FileStore):
        self.store = store

    def request(self, id: str = "search", now: float = NOON, plan: str = PLAN) -> tuple[Approval, str]:
        with self.store.changing() as change:
            return approvals.request(change, id, plan, now)

    def attempt(self, request: object, code: object, id: str = "search", now: float = NOON) -> str:
        """Tries a code; returns the id of the refusal, or ``ok``."""
        try:
            with self.store.changing() as change:
                approvals.try_code(change, id, request, code, now)
        except AdmissionError as error:
            return error.id
        return "ok"

    def retained(self) -> list[Approval]:
        with self.store.changing() as change:
            return list(change.approvals())


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(FileStore(tmp_path / "workspace", tmp_path / "extensions"))


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**8:08}"


def test_a_request_is_a_uuid_with_a_code_of_8_digits_that_no_store_holds(host: Host) -> None:
    approval, code = host.request()

    assert uuid.UUID(approval.request).version == 4
    assert re.fullmatch(r"\d{8}", code)
    assert code not in repr(host.retained())
    assert approval == Approval(approval.request, "search", approval.code, PLAN, NOON + 120.0, 0, False)


def test_codes_and_requests_are_new_each_time_and_zeros_lead(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([7, 10**8 - 1])
    bounds: list[int] = []
    monkeypatch.setattr("secrets.randbelow", lambda bound: (bounds.append(bound), next(drawn))[1])

    made = [host.request("a"), host.request("b")]

    assert [code for _, code in made] == ["00000007", "99999999"]
    assert bounds == [10**8, 10**8]
    assert made[0][0].request != made[1][0].request


def test_the_digest_of_a_code_is_bound_to_its_request(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda _: 12345678)

    (first, _), (second, _) = host.request("a"), host.request("b")

    assert first.code != second.code


def test_the_right_code_is_spent_at_once(host: Host) -> None:
    approval, code = host.request()

    assert host.attempt(approval.request, code) == "ok"
    assert host.retained() == [approval._replace(attempts=1, spent=True)]
    assert host.attempt(approval.request, code) == "approval-used"


def test_the_right_code_works_on_the_fifth_attempt(host: Host) -> None:
    approval, code = host.request()
    before = [host.attempt(approval.request, wrong(code)) for _ in range(ATTEMPTS - 1)]

    assert before == ["approval-code-invalid"] * 4
    assert host.attempt(approval.request, code) == "ok"


def test_five_wrong_codes_spend_a_request(host: Host) -> None:
    approval, code = host.request()

    assert [host.attempt(approval.request, wrong(code)) for _ in range(5)] == [
        *["approval-code-invalid"] * 4,
        "approval-attempts-exhausted",
    ]
    assert host.attempt(approval.request, code) == "approval-used"


@pytest.mark.parametrize(
    "code",
    [
        None,
        "",
        "1234567",
        "123456789",
        12345678,
        True,
        ["12345678"],
        {},
        "1234567８",
        " 12345678",
        "12345678\n",
        "\ud800",
    ],
    ids=repr,
)
def test_a_malformed_code_is_an_attempt(host: Host, code: object) -> None:
    approval, _ = host.request()

    assert host.attempt(approval.request, code) == "approval-code-invalid"
    assert [one.attempts for one in host.retained()] == [1]


@pytest.mark.parametrize(
    "request_id", [None, "", 7, [], {}, "search", "0b9dc0de-0000-4000-8000-000000000001", "\ud800"], ids=repr
)
def test_an_unknown_request_touches_no_other(host: Host, request_id: object) -> None:
    approval, code = host.request()

    assert host.attempt(request_id, code) == "approval-unknown"
    assert host.retained() == [approval]


def test_a_request_for_another_id_is_as_unknown_as_none(host: Host) -> None:
    approval, code = host.request("search")

    assert host.attempt(approval.request, code, id="other") == "approval-unknown"
    assert host.attempt(approval.request, code) == "ok"


@pytest.mark.parametrize(
    ("after", "answer"), [(0.0, "ok"), (119.999, "ok"), (120.0, "approval-expired"), (500.0, "approval-expired")]
)
def test_a_code_ends_two_minutes_after_it_was_made(host: Host, after: float, answer: str) -> None:
    approval, code = host.request()

    assert host.attempt(approval.request, code, now=NOON + after) == answer


def test_a_code_tried_too_late_is_no_attempt(host: Host) -> None:
    approval, code = host.request()

    host.attempt(approval.request, wrong(code), now=NOON + TTL)

    assert host.retained() == [approval]


#: What is wrong, each case with everything after it wrong too, so that only the order decides.
ORDER: list[tuple[str, Callable[[Approval], dict[str, Any]]]] = [
    (
        "approval-unknown",
        lambda one: {"approval": one._replace(spent=True, attempts=4), "request": "none", "late": 999},
    ),
    ("approval-used", lambda one: {"approval": one._replace(spent=True, attempts=4), "late": 999}),
    ("approval-expired", lambda one: {"approval": one._replace(attempts=4), "late": 999}),
    ("approval-attempts-exhausted", lambda one: {"approval": one._replace(attempts=4)}),
    ("approval-code-invalid", lambda one: {"approval": one._replace(attempts=3)}),
]


@pytest.mark.parametrize(("answer", "case"), ORDER, ids=[answer for answer, _ in ORDER])
def test_refusals_come_in_the_order_of_the_contract(host: Host, answer: str, case: Any) -> None:
    made, code = host.request()
    given = case(made)

    tried = judge(
        [given["approval"]], "search", given.get("request", made.request), wrong(code), NOON + given.get("late", 0)
    )

    assert tried.fault is not None
    assert tried.fault.id == answer
    assert tried.fault.http_status == 403


def test_a_new_request_spends_the_old_one_of_that_id_alone(host: Host) -> None:
    old, old_code = host.request("search")
    other, other_code = host.request("other")
    new, new_code = host.request("search")

    assert host.attempt(old.request, old_code) == "approval-used"
    assert host.attempt(other.request, other_code, id="other") == "ok"
    assert host.attempt(new.request, new_code) == "ok"


def test_a_replaced_request_keeps_its_place(host: Host) -> None:
    for _ in range(RETAINED):
        host.request("search")

    with pytest.raises(AdmissionError) as caught:
        host.request("other")

    assert caught.value.id == "approval-rate-limited"
    assert len(host.retained()) == RETAINED


def test_a_request_that_is_refused_spends_nothing(host: Host) -> None:
    made = [host.request(f"id-{number}") for number in range(RETAINED)]

    with pytest.raises(AdmissionError):
        host.request("id-0")

    assert host.attempt(made[0][0].request, made[0][1], id="id-0") == "ok"


@pytest.mark.parametrize("use", ["used", "exhausted", "untouched"])
def test_a_place_is_free_again_four_minutes_after_its_request(host: Host, use: str) -> None:
    made = [host.request(f"id-{number}") for number in range(RETAINED)]
    first, code = made[0]
    if use == "used":
        host.attempt(first.request, code, id="id-0")
    elif use == "exhausted":
        for _ in range(ATTEMPTS):
            host.attempt(first.request, wrong(code), id="id-0")

    with pytest.raises(AdmissionError, match="approval-rate-limited"):
        host.request("late", now=NOON + 239.999)
    host.request("late", now=NOON + 240.0)

    assert [one.id for one in host.retained()] == ["late"]


def test_what_is_expired_but_keeps_its_place_says_so(host: Host) -> None:
    approval, code = host.request()
    host.request("other", now=NOON + 239.0)

    assert host.attempt(approval.request, code, now=NOON + 239.0) == "approval-expired"
    host.request("third", now=NOON + 240.0)
    assert host.attempt(approval.request, code, now=NOON + 240.0) == "approval-unknown"


def test_whoever_keeps_asking_gets_160_guesses_in_four_minutes_and_no_more(host: Host) -> None:
    guesses = 0
    for second in range(240):
        try:
            approval, code = host.request("search", now=NOON + second)
        except AdmissionError:
            continue
        for _ in range(ATTEMPTS + 1):
            answer = host.attempt(approval.request, wrong(code), now=NOON + second)
            guesses += answer in ("approval-code-invalid", "approval-attempts-exhausted")

    assert guesses == RETAINED * ATTEMPTS


@pytest.mark.parametrize("value", ["a", "web-search", "a_b-9", "x" * 100])
def test_ids_that_can_be_asked_about(value: str) -> None:
    assert approval_id(value) == value


@pytest.mark.parametrize(
    "value", [None, 7, "", "x" * 101, "../escape", "A", "a b", "a\n", "é", ["a"], {"id": "a"}], ids=repr
)
def test_ids_that_no_proposal_can_have(value: object) -> None:
    with pytest.raises(AdmissionError) as caught:
        approval_id(value)

    assert (caught.value.id, caught.value.http_status) == ("approval-invalid-id", 400)


class Memory:
    """As much of a turn as codes need."""

    def __init__(self) -> None:
        self.kept: dict[str, Approval] = {}

    def approvals(self) -> list[Approval]:
        return list(self.kept.values())

    def put_approval(self, approval: Approval) -> None:
        self.kept[approval.request] = approval

    def drop_approvals(self, requests: Iterable[str]) -> None:
        for request in requests:
            del self.kept[request]


@settings(deadline=None, derandomize=True)
@given(tries=st.lists(st.tuples(st.booleans(), st.floats(0, 300)), max_size=12))
def test_a_request_admits_at_most_once_whatever_is_tried_when(tries: list[tuple[bool, float]]) -> None:
    turn: Any = Memory()
    approval, code = approvals.request(turn, "search", PLAN, NOON)
    admitted = []
    for right, after in sorted(tries, key=lambda one: one[1]):
        try:
            approvals.try_code(turn, "search", approval.request, code if right else wrong(code), NOON + after)
        except AdmissionError:
            continue
        admitted.append((right, after))

    assert len(admitted) <= 1
    assert all(right and after < TTL for right, after in admitted)
    assert turn.kept[approval.request].attempts <= ATTEMPTS


@settings(deadline=None, derandomize=True)
@given(
    asks=st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.floats(0, 30), st.booleans()), min_size=1, max_size=80)
)
def test_at_most_32_requests_are_retained_and_one_of_an_id_is_open(asks: list[tuple[str, float, bool]]) -> None:
    turn: Any = Memory()
    now = NOON
    for id, pause, used in asks:
        now += pause
        try:
            approval, code = approvals.request(turn, id, PLAN, now)
        except AdmissionError:
            assert len(turn.kept) == RETAINED
            continue
        if used:
            approvals.try_code(turn, id, approval.request, code, now)

        opened = [one.id for one in turn.kept.values() if not one.spent]
        assert len(turn.kept) <= RETAINED
        assert len(opened) == len(set(opened))
        assert all(now < one.expires + TTL for one in turn.kept.values())
