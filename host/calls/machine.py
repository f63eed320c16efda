"""The interfaces of a host on this machine: files below the active root, the network, modules, the time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from capgate.host.admission.settings import Settings
from capgate.host.calls.operator import Operator
from capgate.host.calls.roots import Root, folder_of
from capgate.host.mediation.clock import Clock as HostClock
from capgate.host.mediation.console import Console
from capgate.host.mediation.network import Network, NetworkSettings
from capgate.host.mediation.redaction import Redactor
from capgate.plugins.api import Clock, Fetcher, Grant, Modules, Reader, Writer

__all__ = ["Machine", "network_of"]


class Machine:
    """Makes interfaces; implements `Interfaces`. Any number of threads may use it.

    Args:
        settings: where the workspace and the modules are.
        network: what all requests share.
        clock: what tools are told the time by.
        console: told of requests, and of headers that are left out.
    """

    def __init__(self, settings: Settings, network: Network, clock: HostClock, console: Console):
        self._settings = settings
        self._network = network
        self._clock = clock
        self._console = console

    def reader(self, root: Root | None) -> Reader:
        """Files below the root, to read."""
        from capgate.host.mediation.files import FileReader

        return FileReader(lambda: folder_of(root), workspace=self._settings.workspace)

    def writer(self, root: Root | None, grant: Grant) -> Writer:
        """Files below the root, to write."""
        from capgate.host.mediation.files import FileWriter

        return FileWriter(lambda: folder_of(root), grant.bounds, workspace=self._settings.workspace)

    def fetcher(self, grant: Grant, charge: Callable[[], str], note: Callable[[str], None]) -> Fetcher:
        """Requests to the hosts of the bounds."""
        from capgate.host.mediation.fetch import Fetch

        def tell(what: str) -> None:
            note(what)
            self._console.warn(f"[extension:network] {what}")

        return Fetch(self._network, grant, charge, log=self._console.say, note=tell)

    def clock(self) -> Clock:
        """The time of the host."""
        return self._clock

    def modules(self) -> Modules:
        """The modules of the host's folder."""
        return self._modules

    @cached_property
    def _modules(self) -> Modules:
        from capgate.host.mediation.wasm import WasmModules

        return WasmModules(self._settings.shelf)


def network_of(operator: Operator, clock: HostClock, redactor: Redactor) -> Network:
    """The network as the operator allows it."""
    settings = NetworkSettings(
        variables=operator.header_variables,
        addresses=operator.metadata_addresses,
        nat64=operator.nat64_prefixes,
        max_bytes=operator.most_bytes,
        ca_file=operator.ca_file,
    )
    return Network(settings, clock=clock, redactor=redactor)
