"""Tells clients when the tools are no longer the ones that they were told of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio
from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ServerEvent, ToolsListChanged
from mcp.types import NotificationParams

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.registry import Registry
from capgate.host.calls.declarations import Declaration
from capgate.host.calls.opening import Runtime

__all__ = ["FOLLOW_SECONDS", "MOST_LISTENERS", "Changes"]

#: How often it is looked whether somebody admitted or revoked something, in seconds.
FOLLOW_SECONDS: Final = 0.25
#: How many clients of the protocol's versions with a handshake are told; more are served and not told.
MOST_LISTENERS: Final = 1024


class Changes:
    """Follows the registry, whoever changes it.

    Args:
        runtime: knows the tools.
        report: told of a defect of capgate, and of what it was doing.

    Attributes:
        bus: is given an event for each change.
    """

    def __init__(self, runtime: Runtime, report: Callable[[Exception, str], None]):
        self._runtime = runtime
        self._report = report
        self._seen: Registry | None = None
        self._told: list[Declaration] | None = None
        self._served_another = False
        self._listeners = 0
        self.bus = InMemorySubscriptionBus()

    async def follow(self) -> None:
        """Publishes changes until it is cancelled."""
        while True:
            try:
                await self.look()
            except AdmissionError:
                pass  # The store cannot be read; what was told stays true until it can.
            except Exception as defect:  # noqa: BLE001  # without it clients would go by an old list, unseen
                self._report(defect, "following the ledger")
            await anyio.sleep(FOLLOW_SECONDS)

    def served(self, tools: list[Declaration]) -> None:
        """Notes what a client was told of, which may be what the next look finds gone, or the last has found gone."""
        if self._told is None:
            self._told = tools
        elif self._told != tools:
            self._served_another = True

    async def look(self) -> None:
        """Looks once; raises AdmissionError (``store-unavailable``)."""
        registry = await to_thread.run_sync(lambda: self._runtime.host.registry)
        if registry is not self._seen:
            now = await to_thread.run_sync(lambda: list(self._runtime.tools.declarations()))
            # Read here, not before: a client may have been told while the tools were looked at.
            if self._told is not None and self._told != now:
                self._served_another = True
            self._told, self._seen = now, registry
        if self._served_another:
            self._served_another = False
            await self.bus.publish(ToolsListChanged())

    async def listen(self, context: ServerRequestContext[Any, Any], params: NotificationParams) -> None:
        """Tells one client of changes, from its ``notifications/initialized`` until its connection ends.

        Clients of later versions of the protocol ask with ``subscriptions/listen``.
        """
        if self._listeners >= MOST_LISTENERS:
            return
        # One place: a client that was not told yet need not be told twice.
        send, changed = anyio.create_memory_object_stream[None](1)

        def note(event: ServerEvent) -> None:
            with suppress(anyio.WouldBlock):
                send.send_nowait(None)

        unsubscribe = self.bus.subscribe(note)
        self._listeners += 1
        try:
            # The server cancels its handlers when the connection ends.
            async for _ in changed:
                await context.session.send_tool_list_changed()
        finally:
            self._listeners -= 1
            unsubscribe()
            send.close()
            changed.close()
