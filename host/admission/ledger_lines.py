"""The lines of a host's ledger, for whoever verifies or shows them; reading them changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.settings import Settings
from capgate.host.admission.store import Store

__all__ = ["ledger_lines"]


def ledger_lines(settings: Settings) -> Iterator[bytes]:
    """Every line of the ledger of the host that the settings name, with its newline; a torn last one without.

    Raises:
        AdmissionError: not-found: there is no ledger; store-unavailable.
    """
    store = _store(settings)
    try:
        yield from store.lines()
    finally:
        store.close()


def _store(settings: Settings) -> Store:
    if settings.database_url is None:
        from capgate.host.admission.file_store import FileStore

        store = FileStore(settings.workspace, settings.extensions)
        if store.version() is None:
            message = f"there is no ledger in {settings.extensions}"
            raise AdmissionError("not-found", message, hint="Name the host's own folder with --extensions.")
        return store
    from capgate.host.admission.opening import open_store
    from capgate.host.mediation.clock import SystemClock
    from capgate.host.mediation.disk import Disk

    return open_store(settings, clock=SystemClock(), disk=Disk())
