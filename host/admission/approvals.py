"""Approval codes: a person at the host approves one exact plan by a code that is shown there alone.

The rules are here, over the `Change` of any store; nothing is printed, filed or admitted here. A request
that can no longer admit anything is kept until its expiry plus the time to live, so that new requests
cannot be made fast enough to guess a code (contract 5 and 11.20).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Sequence
from typing import Final, NamedTuple

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.store import Approval, Change

__all__ = ["ATTEMPTS", "RETAINED", "TTL", "Tried", "approval_id", "judge", "request", "try_code"]

#: How long a code can be used, and how much longer its request keeps its place; seconds.
TTL: Final = 120.0
#: How many codes may be tried on one request; the last of them may still be the right one.
ATTEMPTS: Final = 5
#: How many requests are retained at most, used ones included.
RETAINED: Final = 32

_ID: Final = re.compile(r"[a-z0-9_-]{1,100}")


class Tried(NamedTuple):
    """What trying a code comes to.

    Attributes:
        approval: the request as it has to be kept from now on; None where nothing changes.
        fault: why the code admits nothing; None where it does.
    """

    approval: Approval | None
    fault: AdmissionError | None


def approval_id(value: object) -> str:
    """The id of a proposal as the approval routes take it: text of at most 100 characters.

    Raises:
        AdmissionError: ``approval-invalid-id``.
    """
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise AdmissionError("approval-invalid-id", "the id is no text of 1 to 100 lower-case letters, digits, - and _")


def request(change: Change, id: str, plan_digest: str, now: float) -> tuple[Approval, str]:
    """Makes a request for an id, and the code that approves it; an older request for that id is spent at once.

    Args:
        change: an exclusive turn at the state.
        id: id of the proposal.
        plan_digest: digest of the plan that is shown, its state and refusal included.
        now: seconds since 1970.

    Returns:
        The request, and its code of 8 digits, which is kept nowhere in the store.

    Raises:
        AdmissionError: ``approval-rate-limited``: as many as may be are retained. Nothing was spent.
    """
    retained = change.approvals()
    freed = {approval.request for approval in retained if now >= approval.expires + TTL}
    retained = [approval for approval in retained if approval.request not in freed]
    change.drop_approvals(freed)
    if len(retained) >= RETAINED:
        raise AdmissionError("approval-rate-limited", f"{RETAINED} requests for approval are retained already")
    for older in retained:
        if older.id == id and not older.spent:
            change.put_approval(older._replace(spent=True))
    made, code = str(uuid.uuid4()), f"{secrets.randbelow(10**8):08}"
    approval = Approval(made, id, _digest(made, code), plan_digest, now + TTL)
    change.put_approval(approval)
    return approval, code


def try_code(change: Change, id: str, request: object, code: object, now: float) -> Approval:
    """Tries a code. The right one spends its request before anything else happens, whatever happens then.

    The attempt is kept before this raises, so a store must keep it although the turn ends with an error.

    Args:
        change: an exclusive turn at the state.
        id: id of the proposal that is to be approved.
        request: the request id as a client sent it.
        code: the code as a client sent it.
        now: seconds since 1970.

    Raises:
        AdmissionError: in this order ``approval-unknown``, ``approval-used``, ``approval-expired``,
            ``approval-code-invalid``, ``approval-attempts-exhausted``.
    """
    tried = judge(change.approvals(), id, request, code, now)
    if tried.approval is not None:
        change.put_approval(tried.approval)
    if tried.fault is not None:
        raise tried.fault
    assert tried.approval is not None  # what has no fault was spent
    return tried.approval


def judge(retained: Sequence[Approval], id: str, request: object, code: object, now: float) -> Tried:
    """What trying a code comes to, without changing anything; see `try_code`.

    A request for another id is as unknown as one that was never made.
    """
    approval = next((one for one in retained if one.request == request and one.id == id), None)
    if approval is None:
        return _refused("approval-unknown", "no such request for approval is open")
    if approval.spent:
        return _refused("approval-used", "this request for approval can no longer be used")
    if now >= approval.expires:
        return _refused("approval-expired", "this request for approval has expired")
    attempts = approval.attempts + 1
    if _is_code(approval, code):
        return Tried(approval._replace(attempts=attempts, spent=True), None)
    if attempts < ATTEMPTS:
        counted = approval._replace(attempts=attempts)
        return _refused("approval-code-invalid", f"attempt {attempts} of {ATTEMPTS} had another code", counted)
    spent = approval._replace(attempts=attempts, spent=True)
    return _refused("approval-attempts-exhausted", f"all {ATTEMPTS} attempts had another code", spent)


def _refused(id: str, why: str, approval: Approval | None = None) -> Tried:
    return Tried(approval, AdmissionError(id, why))


def _is_code(approval: Approval, code: object) -> bool:
    return isinstance(code, str) and hmac.compare_digest(_digest(approval.request, code), approval.code)


def _digest(request: str, code: str) -> str:
    # Whoever reads the store could try all codes against this. It keeps codes out of backups and queries,
    # no more: the store itself is the host's own.
    return "sha256:" + hashlib.sha256(f"{request} {code}".encode("utf-8", "surrogatepass")).hexdigest()
