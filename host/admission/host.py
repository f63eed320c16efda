"""The admission host: every act in one place, for the shim, the command line and the tools of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capgate.host.admission import approving, decisions, disclosure, reconfigure, staging
from capgate.host.admission.catalogue import load_catalogue
from capgate.host.admission.context import Context
from capgate.host.admission.inventory import inventory
from capgate.host.admission.pending import NAME, Pending
from capgate.host.admission.registry import Registry, Running
from capgate.host.admission.settings import Settings
from capgate.host.admission.store import Actor, Charge, Store
from capgate.host.admission.unloaded import NotLoaded, why_not_loaded
from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.clock import Clock
from capgate.host.mediation.console import Console
from capgate.policy.gate import Gate, ToolNames

__all__ = ["AdmissionHost"]


class AdmissionHost:
    """Stages, discloses, decides, and knows what runs; any number of threads may use it.

    Every method returns JSON data in the contract's shapes, or raises AdmissionError, whose `to_body` is
    what a client is answered. All of them wait for files or a database, but for `peek`.

    Args:
        gate: judges.
        store: keeps the state.
        settings: where things are.
        clock: tells the time.
        audit: is told of every act.
        console: where approval codes are printed.

    Attributes:
        context: its parts, for acts of the host's own.
        gate: judges.
        settings: where things are.
    """

    def __init__(
        self, gate: Gate, store: Store, *, settings: Settings, clock: Clock, audit: AuditLog, console: Console
    ):
        running = Running(gate, store, clock, settings.shelf)
        pending = Pending(settings.extensions / NAME, console)
        self.context = Context(gate, store, running, load_catalogue(), settings, clock, audit, console, pending)
        self.gate = gate
        self.settings = settings
        self.audit = audit

    @property
    def registry(self) -> Registry:
        """What runs, as the ledger says it now.

        Raises:
            AdmissionError: ``store-unavailable``.
        """
        return self.context.running.current()

    def peek(self) -> Registry:
        """What ran when `registry` was asked last; waits for nothing, so an event loop may ask."""
        return self.context.running.peek()

    def taken(self, excluding: str | None = None) -> ToolNames:
        """The names of the tools of all that runs, but for one extension; as new as `peek`."""
        return self.peek().taken(excluding)

    def why_not_loaded(self, tool: str) -> NotLoaded:
        """Why a tool that `registry` does not have is not there (contract 6)."""
        return why_not_loaded(self.context, tool)

    def charge(self, id: str, window: str, period: int, limit: int) -> Charge:
        """Counts one request of an extension; see `Store.charge`."""
        return self.context.store.charge(id, window, period, limit)

    def propose(self, descriptor: object, *, actor: Actor, source: str = "model") -> dict[str, Any]:
        """Files what a model, or anyone, proposes (contract 4, ``/proposals``)."""
        return staging.propose(self.context, descriptor, actor=actor, source=source)

    def sideload(self, id: object, *, confirm: bool, actor: Actor) -> dict[str, Any]:
        """Files an entry of the catalogue (contract 4, ``/sideload``)."""
        return staging.sideload(self.context, id, confirm=confirm, actor=actor)

    def stage_local(self, descriptor: object, *, actor: Actor) -> dict[str, Any]:
        """Files what a person made (contract 4, ``/local``)."""
        return staging.stage_local(self.context, descriptor, actor=actor)

    def create(self, descriptor: object, *, actor: Actor, method: str = "host-token") -> dict[str, Any]:
        """Files what a person made and admits it (contract 4, ``/create``)."""
        return decisions.create(self.context, descriptor, actor=actor, method=method)

    def proposal_plan(self, id: str) -> dict[str, Any]:
        """The plan of a proposal, or of a file in the host's folder."""
        return disclosure.proposal_plan(self.context, id)

    def catalogue_plan(self, id: str) -> dict[str, Any]:
        """The plan of an entry of the catalogue."""
        return disclosure.catalogue_plan(self.context, id)

    def catalogue(self) -> dict[str, Any]:
        """The catalogue, with a verdict on each entry."""
        return disclosure.catalogue(self.context)

    def inventory(self) -> dict[str, Any]:
        """What runs, what waits, what lies there, what failed."""
        return inventory(self.context)

    def admit(
        self,
        id: object,
        *,
        confirm: bool,
        actor: Actor,
        decision: object = None,
        plan_digest: object = None,
        override_deny: bool = False,
        method: str = "host-token",
    ) -> dict[str, Any]:
        """Admits what is filed, or denies it (contract 4, ``/admit``)."""
        return decisions.admit(
            self.context,
            id,
            confirm=confirm,
            decision=decision,
            plan_digest=plan_digest,
            override_deny=override_deny,
            actor=actor,
            method=method,
        )

    def deny(self, id: object, *, actor: Actor, method: str = "host-token") -> dict[str, Any]:
        """Denies what is filed (contract 4, ``/refuse``)."""
        return decisions.deny(self.context, id, actor=actor, method=method)

    def revoke(self, id: object, *, confirm: bool, actor: Actor, method: str = "host-token") -> dict[str, Any]:
        """Takes away what runs (contract 4, ``/revoke``)."""
        return decisions.revoke(self.context, id, confirm=confirm, actor=actor, method=method)

    def reconfigure(
        self,
        id: object,
        change: Mapping[str, Any],
        *,
        confirm: bool,
        actor: Actor,
        plan_digest: object = None,
        override_deny: bool = False,
        method: str = "host-token",
    ) -> dict[str, Any]:
        """Changes what runs (contract 4, ``/reconfigure``)."""
        return reconfigure.reconfigure(
            self.context,
            id,
            change,
            confirm=confirm,
            plan_digest=plan_digest,
            override_deny=override_deny,
            actor=actor,
            method=method,
        )

    def request_approval(self, id: object) -> dict[str, Any]:
        """Makes a code for one plan and prints it on the console (contract 5)."""
        return approving.request_approval(self.context, id)

    def approve(self, id: object, request: object, code: object) -> dict[str, Any]:
        """Admits by a code (contract 5)."""
        return approving.approve(self.context, id, request, code)

    def approve_directly(self, id: object, *, actor: Actor) -> dict[str, Any]:
        """Admits without a code, for whoever holds the host token (contract 5, 11.1)."""
        return approving.approve_directly(self.context, id, actor=actor)

    def forget_codes(self) -> None:
        """Removes the codes that an earlier process left behind; for the start of a server."""
        self.context.pending.clear()

    def close(self) -> None:
        """Lets go of files and connections."""
        self.context.store.close()
