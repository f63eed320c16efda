"""Puts an admission host together, from what its environment says."""

from __future__ import annotations

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.settings import Settings
from capgate.host.admission.store import Store
from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.audit_files import ROTATE_AT
from capgate.host.mediation.clock import Clock, SystemClock
from capgate.host.mediation.console import Console
from capgate.host.mediation.disk import Disk
from capgate.host.mediation.redaction import Redactor
from capgate.policy.gate import Gate

__all__ = ["open_host", "open_store"]


def open_host(
    gate: Gate,
    settings: Settings,
    *,
    clock: Clock | None = None,
    console: Console | None = None,
    redactor: Redactor | None = None,
    disk: Disk | None = None,
    audit_bytes: int = ROTATE_AT,
) -> AdmissionHost:
    """A host over the folders, or the database, that the settings name; makes the folders where they are absent.

    Args:
        gate: judges.
        settings: where things are.
        clock: tells the time; None takes the machine's.
        console: where codes are printed; None takes standard output.
        redactor: takes secrets out of the audit; None knows those of the environment.
        disk: the file system.
        audit_bytes: how many bytes make a file of the audit full.

    Raises:
        AdmissionError: ``store-unavailable``.
    """
    clock = clock or SystemClock()
    disk = disk or Disk()
    store = open_store(settings, clock=clock, disk=disk)
    path = settings.workspace / "audit.jsonl"
    audit = AuditLog(path, disk, clock=clock, redactor=redactor, rotate_at=audit_bytes)
    return AdmissionHost(gate, store, settings=settings, clock=clock, audit=audit, console=console or Console())


def open_store(settings: Settings, *, clock: Clock, disk: Disk) -> Store:
    """The store that the settings name.

    Raises:
        AdmissionError: ``store-unavailable``.
    """
    for folder in (settings.workspace, settings.extensions):
        try:
            disk.make_folders(folder)
        except OSError as error:
            what = error.strerror or str(error)
            raise AdmissionError("store-unavailable", f"the folder {folder} cannot be made: {what}") from None
    if settings.database_url is not None:
        from capgate.host.admission.sql_store import SqlStore

        return SqlStore(settings.database_url, settings.extensions, clock=clock, disk=disk)
    from capgate.host.admission.file_store import FileStore

    return FileStore(settings.workspace, settings.extensions, disk=disk, clock=clock)
