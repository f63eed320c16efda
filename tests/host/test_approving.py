"""Approving by code or by token, over files and over a database."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime

import pytest

from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.settings import Settings
from host_samples import (
    HUMAN,
    MODEL,
    Clock,
    Screen,
    admitted,
    audit,
    clock_descriptor,
    exec_descriptor,
    refused,
    running,
)

OpenAnother = Callable[[], AdmissionHost]


def code_on(screen: Screen) -> tuple[str, str]:
    found = re.findall(r"(\S+) approve [^\n]+: (\d{8}) ", screen.text)
    return found[-1]


def test_a_code_from_the_console_admits_the_plan_that_was_shown(
    host: AdmissionHost, screen: Screen, settings: Settings, clock: Clock
) -> None:
    host.propose(clock_descriptor("search"), actor=MODEL)
    asked = host.request_approval("search")
    request, code = code_on(screen)
    assert asked == {
        "ok": True,
        "requestId": request,
        "expiresAt": round((clock.time + 120) * 1000),
        "plan": host.proposal_plan("search"),
    }
    assert code not in json.dumps(asked)
    assert re.search(r'approve "search": \d{8} ', screen.text)
    assert "Review this plan on the host" in screen.text
    pending = settings.extensions / ".pending-approval.json"
    assert json.loads(pending.read_text(encoding="utf-8"))["code"] == code
    assert host.approve("search", request, code)["decision"] == "admitted"
    assert running(host) == ["search"]
    assert not pending.exists()
    confirmed = next(entry for entry in audit(settings) if entry["act"]["tool"] == "extensions.approve")
    assert confirmed["decision"] == "confirm"
    assert confirmed["rule"] == "human-approved-extension"
    assert confirmed["actor"] == {"name": "human-at-host", "harness": "host-console-code", "session": request}
    assert (confirmed["approval"]["method"], confirmed["approval"]["decision"]) == ("single-use-host-code", "admit")
    assert code not in (settings.workspace / "audit.jsonl").read_text(encoding="utf-8")
    assert refused(lambda: host.approve("search", request, code)).id == "approval-used"


@pytest.mark.parametrize("fraction", [0.0004, 0.0005, 0.0006, 0.7139996])
def test_the_console_and_the_answer_name_one_moment(
    host: AdmissionHost, screen: Screen, clock: Clock, fraction: float
) -> None:
    clock.time += fraction
    host.propose(clock_descriptor(), actor=MODEL)
    answered = host.request_approval("tide-clock")["expiresAt"]
    printed = re.findall(r"\(expires (\S+)\)", screen.text)[-1]
    assert round(datetime.fromisoformat(printed).timestamp() * 1000) == answered


def test_a_code_is_for_one_plan_and_burnt_by_any_other(host: AdmissionHost, screen: Screen) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    host.request_approval("tide-clock")
    request, code = code_on(screen)
    host.propose(clock_descriptor(description="something else"), actor=MODEL)
    assert refused(lambda: host.approve("tide-clock", request, code)).id == "approval-plan-changed"
    host.propose(clock_descriptor(), actor=MODEL)
    assert refused(lambda: host.approve("tide-clock", request, code)).id == "approval-used"
    assert running(host) == []


def test_a_tool_name_taken_meanwhile_changes_the_plan(host: AdmissionHost, screen: Screen) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    host.request_approval("tide-clock")
    request, code = code_on(screen)
    admitted(host, clock_descriptor("other"))
    assert refused(lambda: host.approve("tide-clock", request, code)).id == "approval-plan-changed"


def test_wrong_codes_are_counted_and_the_fifth_ends_it(host: AdmissionHost, screen: Screen) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    host.request_approval("tide-clock")
    request, code = code_on(screen)
    wrong = f"{(int(code) + 1) % 10**8:08}"
    ids = [refused(lambda: host.approve("tide-clock", request, wrong)).id for _ in range(5)]
    assert ids == [*["approval-code-invalid"] * 4, "approval-attempts-exhausted"]
    assert refused(lambda: host.approve("tide-clock", request, code)).id == "approval-used"
    assert running(host) == []


def test_the_right_code_still_works_at_the_fifth_attempt(host: AdmissionHost, screen: Screen) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    host.request_approval("tide-clock")
    request, code = code_on(screen)
    for wrong in (None, 7, "x", ""):
        assert refused(lambda wrong=wrong: host.approve("tide-clock", request, wrong)).id == "approval-code-invalid"  # type: ignore[misc]
    assert host.approve("tide-clock", request, code)["decision"] == "admitted"


def test_a_code_expires(host: AdmissionHost, screen: Screen, clock: Clock) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    host.request_approval("tide-clock")
    request, code = code_on(screen)
    clock.time += 120
    assert refused(lambda: host.approve("tide-clock", request, code)).id == "approval-expired"


def test_no_code_is_made_for_what_cannot_be_admitted(host: AdmissionHost) -> None:
    host.propose(exec_descriptor(), actor=MODEL)
    error = refused(lambda: host.request_approval("runner"))
    assert (error.id, error.http_status) == ("approval-unavailable", 403)
    assert refused(lambda: host.request_approval("nothing")).id == "approval-no-proposal"
    assert refused(lambda: host.request_approval("../escape")).id == "approval-invalid-id"
    admitted(host, clock_descriptor())
    assert refused(lambda: host.request_approval("tide-clock")).id == "approval-unavailable"


def test_codes_are_shared_by_all_hosts_of_a_database(
    host: AdmissionHost, open_another: OpenAnother, screen: Screen, settings: Settings
) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    host.request_approval("tide-clock")
    request, code = code_on(screen)
    other = open_another()
    if settings.database_url is None:
        assert refused(lambda: other.approve("tide-clock", request, code)).id == "approval-unknown"
    else:
        assert other.approve("tide-clock", request, code)["decision"] == "admitted"
        assert refused(lambda: host.approve("tide-clock", request, code)).id == "approval-used"


def test_whoever_holds_the_host_token_approves_without_a_code(host: AdmissionHost, settings: Settings) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    assert host.approve_directly("tide-clock", actor=HUMAN)["decision"] == "admitted"
    confirmed = next(entry for entry in audit(settings) if entry["act"]["tool"] == "extensions.approve")
    assert confirmed["approval"]["method"] == "room-ui"


def test_nothing_is_approved_that_cannot_be_audited(
    host: AdmissionHost, screen: Screen, settings: Settings, open_another: OpenAnother
) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    host.request_approval("tide-clock")
    request, code = code_on(screen)
    (settings.workspace / "audit.jsonl").mkdir()
    assert refused(lambda: host.approve("tide-clock", request, code)).id == "approval-audit-unwritable"
    assert running(open_another()) == []
    assert refused(lambda: host.approve("tide-clock", request, code)).id == "approval-used"


def test_any_other_act_goes_on_without_an_audit_and_says_so(
    host: AdmissionHost, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    (settings.workspace / "audit.jsonl").mkdir(parents=True)
    assert admitted(host, clock_descriptor())["decision"] == "admitted"
    assert "audit-unwritable" in capsys.readouterr().err
