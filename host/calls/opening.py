"""Puts together what calls tools: over a host, or with the host itself, from what its environment says."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from capgate.host.assembly import assemble
from capgate.host.calls.caller import Caller
from capgate.host.calls.handing import Interfaces
from capgate.host.calls.machine import Machine, network_of
from capgate.host.calls.operator import Operator, read_operator
from capgate.host.calls.recording import Recorder
from capgate.host.calls.roots import Roots
from capgate.host.calls.tools import ModelTools
from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.budgets import Budgets
from capgate.host.mediation.clock import Clock, SystemClock
from capgate.host.mediation.console import Console
from capgate.host.mediation.disk import Disk
from capgate.host.mediation.redaction import Redactor
from capgate.plugins.manager import LoadedPlugins, find_config

__all__ = ["Runtime", "open_caller", "open_runtime"]


class Runtime(NamedTuple):
    """A host, and what calls its tools.

    Attributes:
        host: stages, decides, and knows what runs.
        plugins: those that its gate was made with.
        roots: the folder that file tools see.
        caller: calls the tools that run.
        tools: the tools that a model has.
    """

    host: AdmissionHost
    plugins: LoadedPlugins
    roots: Roots
    caller: Caller
    tools: ModelTools


def open_runtime(
    settings: Settings, *, console: Console, redactor: Redactor | None = None, clock: Clock | None = None
) -> Runtime:
    """All of it, as the settings and ``capgate.yaml`` say. Close its host in the end.

    Args:
        settings: where things are.
        console: where calls and codes are told of.
        redactor: takes secrets out; None knows those of the environment.
        clock: tells the time; None takes the machine's.

    Raises:
        PolicyInvalid: the rules, a plugin or the config cannot be used.
        AdmissionError: ``store-unavailable``.
    """
    redactor = redactor or Redactor()
    made = assemble(rules=settings.rules)
    operator = read_operator(find_config())
    host = open_host(
        made.gate, settings, clock=clock, console=console, redactor=redactor, audit_bytes=operator.audit_bytes
    )
    roots = Roots(settings)
    caller = open_caller(
        host, made.plugins, roots=roots, console=console, redactor=redactor, operator=operator, clock=clock
    )
    return Runtime(host, made.plugins, roots, caller, ModelTools(host, caller, made.plugins))


def open_caller(
    host: AdmissionHost,
    plugins: LoadedPlugins,
    *,
    roots: Roots,
    console: Console,
    redactor: Redactor,
    operator: Operator | None = None,
    clock: Clock | None = None,
    interfaces: Interfaces | None = None,
    disk: Disk | None = None,
) -> Caller:
    """What calls the tools of a host.

    Args:
        host: knows what runs.
        plugins: those that the host's gate was made with.
        roots: the folder that file tools see.
        console: where calls are told of.
        redactor: takes secrets out; the one that the host's audit has.
        operator: what is allowed beyond the bounds of extensions; by default nothing.
        clock: tells the time; None takes the machine's.
        interfaces: makes what calls are handed; None takes this machine's.
        disk: the file system.
    """
    operator = operator or Operator()
    clock = clock or SystemClock()
    if interfaces is None:
        interfaces = Machine(host.settings, network_of(operator, clock, redactor), clock, console)

    def audit_of(path: Path) -> AuditLog:
        return AuditLog(path, disk, clock=clock, redactor=redactor, rotate_at=operator.audit_bytes)

    return Caller(
        host,
        plugins,
        roots=roots,
        interfaces=interfaces,
        budgets=Budgets(host, clock),
        recorder=Recorder(host.audit, audit_of, console),
        console=console,
        redactor=redactor,
    )
