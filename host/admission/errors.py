"""What ends an act of the host early: one error with an id, an HTTP status and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from capgate.policy.errors import CapgateError, Span

__all__ = ["AdmissionError", "GateRefused"]


class AdmissionError(CapgateError):
    """An act was refused or could not be done; nothing was changed, unless the message says what was.

    Attributes:
        details: what else the answer carries, as JSON data (the plan, the rule, ...).
    """

    #: Each id: the HTTP status it is answered with, and the advice.
    answers: ClassVar[Mapping[str, tuple[int, str]]] = {
        # What was asked is not well formed (contract 3 and 4).
        "bad-request": (400, "Send a JSON object with the fields that this act takes."),
        "bad-descriptor": (400, "Send the descriptor as a JSON object."),
        "invalid-id": (400, "Use lower-case letters, digits, - and _ in the id."),
        "missing-name": (400, "Give the extension a name: a text that is not empty."),
        "missing-description": (400, "Give the extension a description: a text that is not empty."),
        "no-tools": (400, "Give the extension a list of at least one tool."),
        "bad-tool-name": (400, "Use lower-case letters, digits and _ in the names of tools."),
        "unknown-primitive": (400, "Use one of the primitives that this host offers."),
        "bounds-invalid": (400, "Give whole numbers that are not negative, and hosts as a list of names."),
        "params-invalid": (400, "Give params as an object: the name of a tool to an object of its params."),
        "params-unknown-tool": (400, "Name a tool that the extension has."),
        "gate-refused": (400, "Change the descriptor so that the rule has nothing to say."),
        "unsupported-content-type": (415, "Send the content type that this route takes."),
        "body-too-large": (413, "Send less at a time."),
        # Who asks (contract 4, 11.1 to 11.4).
        "host-token-required": (
            403,
            "Send the content of .host-token as x-voicebox-host-token; the page cannot hold it.",
        ),
        "session-required": (403, "Sign in with the address that `capgate serve` prints, or send the host token."),
        "csrf-required": (403, "Send the token that /api/session gives as x-capgate-csrf."),
        "host-header-refused": (421, "Ask by a loopback name, or add the name to the allowed hosts."),
        "loopback-unauthenticated": (
            401,
            "Sign in with the address that `capgate serve` prints, or send the host token.",
        ),
        # What was asked about is not there, or not in that state.
        "not-found": (404, "Look at the inventory for what there is."),
        "unknown-proposal": (404, "Stage it first, or look at the inventory for what waits."),
        "unknown-catalogue-entry": (404, "Look at the catalogue for what there is."),
        "extension-not-admitted": (404, "Look at the inventory for what runs."),
        "already-admitted": (200, "Revoke it first, or change it."),
        "unreadable": (200, "Mend or remove the file."),
        "plan-changed": (409, "Read the plan again, and decide on that one."),
        # Approval codes (contract 5).
        "approval-json-required": (415, "Send application/json."),
        "approval-invalid-id": (400, "Send the id of a proposal as a text of at most 100 characters."),
        "approval-no-proposal": (403, "Stage it first, or look at the inventory for what waits."),
        "approval-unavailable": (403, "Only what waits and what the gate admits can be approved."),
        "approval-rate-limited": (403, "Wait until earlier requests have expired."),
        "approval-unknown": (403, "Ask for a new code."),
        "approval-used": (403, "Ask for a new code."),
        "approval-expired": (403, "Ask for a new code, and enter it within two minutes."),
        "approval-code-invalid": (403, "Enter the 8 digits that the host printed."),
        "approval-attempts-exhausted": (403, "Ask for a new code."),
        "approval-plan-changed": (403, "Read the plan again, and ask for a new code."),
        "approval-audit-unwritable": (403, "Make the audit file writable, and ask for a new code."),
        # The host's own state.
        "host-token-unusable": (500, "Remove .host-token; the host makes a new one when it starts."),
        "host-folder-in-root": (500, "Keep the extensions folder outside of the workspace."),
        "ledger-broken": (503, "Restore the ledger from a backup; `capgate ledger verify` names the line."),
        "ledger-unwritable": (503, "Make room and permission for the ledger; nothing was recorded."),
        "store-not-empty": (409, "Take a database that no host has used yet."),
        "store-unavailable": (503, "Check the database, the disk and the permissions."),
        "audit-unwritable": (503, "Make room and permission for the audit file."),
    }
    ids: ClassVar[Mapping[str, str]] = {id: advice for id, (_, advice) in answers.items()}

    def __init__(
        self,
        id: str,
        message: str,
        *,
        hint: str | None = None,
        span: Span | None = None,
        details: Mapping[str, Any] | None = None,
    ):
        super().__init__(id, message, hint=hint, span=span)
        self.details = dict(details or {})

    @property
    def http_status(self) -> int:
        """The HTTP status that this is answered with."""
        return self.answers[self.id][0]

    @property
    def refused(self) -> str:
        """The id as clients see it."""
        return self.id

    def to_body(self) -> dict[str, Any]:
        """The one shape of an error over HTTP: ``{ok, refused, why, error, hint, ...details}``."""
        return {
            "ok": False,
            "refused": self.refused,
            "why": self.message,
            "error": f"{self.refused}: {self.message}",
            "hint": self.hint,
        } | self.details


class GateRefused(AdmissionError):
    """The gate refused; clients see the id of its rule.

    Args:
        rule: id of the first refusing rule.
        why: its reason.
        details: what else the answer carries.
    """

    def __init__(self, rule: str, why: str, *, details: Mapping[str, Any] | None = None):
        super().__init__("gate-refused", why, details=details)
        self.rule = rule

    @property
    def refused(self) -> str:
        """The id of the rule."""
        return self.rule
