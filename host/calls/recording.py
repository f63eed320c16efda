"""What the audit says of a call, and which file it goes into (contract 6 and 11.19)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.registry import Tool
from capgate.host.admission.store import Actor
from capgate.host.calls.arguments import without_userinfo
from capgate.host.calls.roots import Root
from capgate.host.mediation.audit import AuditLog
from capgate.host.mediation.console import Console
from capgate.host.mediation.disk import Disk
from capgate.plugins.api import Primitive
from capgate.policy.text import show

__all__ = ["ROOT_AUDIT", "Act", "Recorder"]

#: The audit of a declared root, below it.
ROOT_AUDIT: Final = Path(".audit", "extensions.jsonl")
#: How much of a target is written, in code points; whoever calls chooses it.
_LONGEST: Final = 1000


class Act:
    """One call, as the audit will tell of it.

    Args:
        name: the name that was called.
        call: id of the call.
        actor: who called.
        root: the root that was active.

    Attributes:
        allowed: whether the call was let through, whatever came of it.
        active: the root that was active.
        observed: what was found, as JSON data.
    """

    def __init__(self, name: str, call: str, actor: Actor, root: Root | None):
        self.call = call
        self.actor = actor
        self.allowed = True
        self.observed: Any = None
        self.tool = self.target = show(name)
        self.kind = "read"
        self.rule = ""
        self.result = "ok"
        self.why: str | None = None
        self.active = root
        self._is_of_files = False

    def about(self, tool: Tool | None, primitive: Primitive | None, said: Mapping[str, str]) -> None:
        """Fills in what is known once the tool was looked up."""
        if tool is None:
            return
        params = tool.tool.get("params") or {}
        path = said.get("path", params.get("path"))
        self.target = str(path if path is not None else without_userinfo(str(params.get("url", self.tool))))
        self.rule = tool.extension.id
        needs = primitive.needs if primitive else ()
        self.kind = "network" if "network" in needs else (needs[0] if needs else "read")
        self._is_of_files = self.kind != "network" and not {"read", "write"}.isdisjoint(needs)

    def on_file(self, path: str) -> None:
        """It is an act of the host's own on a file."""
        self.kind, self.target, self.rule, self._is_of_files = "write", show(path), "host", True

    def refuse(self, id: str, why: str) -> None:
        """The call was refused."""
        self.allowed, self.rule, self.result, self.why = False, id, "refused", why

    def fail(self, why: str) -> None:
        """The call was let through, and its code broke."""
        self.rule, self.result, self.why = self.rule or "internal-error", "error", why

    @property
    def root(self) -> Root | None:
        """The root whose own audit tells of the call; None where the workspace's does."""
        # The workspace is told what was too much for a write, as nothing was done in the root (contract 6).
        in_root = self._is_of_files and not (self.kind == "write" and self.rule == "over-budget")
        return self.active if in_root and self.active and self.active.path else None


class Recorder:
    """Writes calls into the audit: what was done in a declared root into that root's, the rest into the workspace's.

    Args:
        workspace: the audit of the workspace.
        of_root: makes the audit of a root, given its file.
        console: told of what cannot be written.
    """

    def __init__(self, workspace: AuditLog, of_root: Callable[[Path], AuditLog], console: Console):
        self._workspace = workspace
        self._of_root = of_root
        self._console = console
        self._disk = Disk()
        self._lock = Lock()
        self._logs: dict[Path, AuditLog] = {}

    def write(self, act: Act) -> Path | None:
        """Writes a line; says into which file, None where none could be written, which ends no call (contract 6)."""
        where: dict[str, Any] = {}
        if act.root is not None:
            where = {"root": f"machine:{act.root.path}"}
            if act.root.project:
                where["project"] = f"{act.root.project}@machine"
        for log in filter(None, (self._log_of(act.root), self._workspace)):
            try:
                self._write(log, act, where)
            except AdmissionError as error:
                self._console.warn(f"[audit] {error.id}: {error.message}")
            else:
                return log.path
        return None

    def _write(self, log: AuditLog, act: Act, where: Mapping[str, Any]) -> None:
        log.write(
            kind=act.kind,
            target=act.target[:_LONGEST],
            tool=act.tool,
            decision="allow" if act.allowed else "refuse",
            rule=act.rule,
            result=act.result,
            observed=act.observed,
            why=act.why,
            actor=act.actor.to_json(),
            correlation=act.call,
            **where,
        )

    def _log_of(self, root: Root | None) -> AuditLog | None:
        if root is None or root.path is None:
            return None
        path = root.path / ROOT_AUDIT
        # Whoever made the root may have put a link there, and the host writes with its own rights.
        if self._disk.lies_there(path.parent) and not self._disk.is_folder(path.parent):
            self._console.warn(f"[audit] audit-unwritable: {path.parent} is no folder")
            return None
        with self._lock:
            if path not in self._logs:
                self._logs[path] = self._of_root(path)
            return self._logs[path]
