"""What a server works with: the host, or why there is none, and what belongs to serving alone."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.store import Actor
from capgate.host.calls.roots import Roots
from capgate.host.calls.tools import ModelTools
from capgate.host.mediation.clock import Clock
from capgate.host.mediation.console import Console
from capgate.host.web.authority import Doorkeeper
from capgate.host.web.metrics import Metrics, Now
from capgate.host.web.rendering import VerdictTexts
from capgate.policy.errors import PolicyInvalid

__all__ = ["FOLLOW_SECONDS", "MOST_CALLS", "Shim", "method_of"]

#: How often a server looks whether somebody else changed the ledger, in seconds.
FOLLOW_SECONDS: Final = 0.25
#: How many calls of tools go on at a time; more wait.
MOST_CALLS: Final = 32

P = ParamSpec("P")
T = TypeVar("T")


class Shim:
    """The parts of a server.

    Args:
        host: decides, keeps and knows; or the policy's problems, with which nothing is decided.
        door: looks at who asks.
        clock: tells the time.
        console: what the host's person reads.
        roots: the folder that file tools see.
        redact: masks secrets in what is written to a log.
        tools: those that a model has; None with the policy's problems.
    """

    def __init__(
        self,
        host: AdmissionHost | PolicyInvalid,
        *,
        door: Doorkeeper,
        clock: Clock,
        console: Console,
        roots: Roots,
        redact: Callable[[str], str],
        tools: ModelTools | None,
    ):
        self._host = host
        self.door = door
        self.clock = clock
        self.console = console
        self.roots = roots
        self.redact = redact
        self._tools = tools
        self._calls: CapacityLimiter | None = None
        self.metrics = Metrics(self._now)
        self.texts = VerdictTexts()

    @property
    def host(self) -> AdmissionHost:
        """The host.

        Raises:
            PolicyInvalid: there is no policy to decide by.
        """
        if isinstance(self._host, PolicyInvalid):
            # A copy: an instance that is raised again and again keeps a traceback of each time.
            raise PolicyInvalid(self._host.problems)
        return self._host

    @property
    def tools(self) -> ModelTools:
        """The tools that a model has.

        Raises:
            PolicyInvalid: there is no policy to decide by.
        """
        _ = self.host
        assert self._tools is not None
        return self._tools

    @property
    def problems(self) -> PolicyInvalid | None:
        """What is wrong with the policy, or None."""
        return self._host if isinstance(self._host, PolicyInvalid) else None

    async def ask(self, function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Calls what waits for files or a database, in a thread."""
        return await run_in_threadpool(function, *args, **options)

    async def act(self, function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """The same for what changes the state: when it returns, decisions in the loop know of the change."""

        def done() -> T:
            try:
                return function(*args, **options)
            finally:
                # What was done is done; whether the registry can be loaded is another matter.
                with suppress(AdmissionError):
                    _ = self.host.registry

        return await run_in_threadpool(done)

    async def call(self, function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Calls a tool, in one of the threads for that: slow ones keep nothing else waiting."""
        if self._calls is None:
            self._calls = CapacityLimiter(MOST_CALLS)
        return await to_thread.run_sync(partial(function, *args, **options), limiter=self._calls)

    async def follow(self) -> None:
        """Keeps the registry as new as the ledger, whoever writes it, until it is cancelled."""
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            try:
                await run_in_threadpool(lambda: self.host.registry)
            except AdmissionError as error:
                self.metrics.failed(error.id)
            except Exception as defect:  # noqa: BLE001  # without it the server would decide by an old registry, unseen
                self.report(defect, "following the ledger")

    def report(self, defect: Exception, doing: str) -> None:
        """Says on standard error that capgate failed; the traceback too, where CAPGATE_DEBUG=1 asks for it."""
        self.metrics.failed("internal-error")
        lines = [f"internal error: {type(defect).__name__}: {defect} ({doing})"]
        if os.environ.get("CAPGATE_DEBUG") == "1":
            lines += "".join(traceback.format_exception(defect)).splitlines()
        self.console.warn(*(f"capgate: {self.redact(line)}" for line in lines))

    def _now(self) -> Now | None:
        if isinstance(self._host, PolicyInvalid):
            return None
        return Now(self._host.peek(), self.clock.monotonic(), self._host.gate.fingerprint)


def method_of(actor: Actor) -> str:
    """By what authority an actor acts, as the ledger names it (contract 6)."""
    return "session" if actor.name == "session" else "host-token"
