"""The active root: the folder that file tools see (contract 4). One host has one, and forgets it when it ends."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple, cast

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.settings import Settings
from capgate.host.mediation.disk import Disk
from capgate.plugins.api import Refused
from capgate.policy.text import show

__all__ = ["Root", "RootError", "Roots", "folder_of"]

#: Roots that a page holds, and that only a page can reach.
_OF_PAGE: Final = ("opfs", "handle")
#: Folders of the workspace that the host keeps.
_KEPT: Final = ("proposals", ".audit")


class RootError(AdmissionError):
    """A folder cannot be the root."""

    answers: ClassVar[Mapping[str, tuple[int, str]]] = {
        "bad-root": (400, "Name a folder that exists and does not hold the host's own."),
    }
    ids: ClassVar[Mapping[str, str]] = {id: advice for id, (_, advice) in answers.items()}


class Root(NamedTuple):
    """A declared root.

    Attributes:
        kind: ``machine`` for a folder of this machine; the others belong to a page.
        path: the real path of the folder; None for a page's.
        project: what the one who declared it calls it.
    """

    kind: Literal["machine", "opfs", "handle"]
    path: Path | None
    project: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The root as JSON data."""
        root = {"kind": self.kind} | ({"path": str(self.path)} if self.path else {})
        return {"root": root, "project": self.project, "actsVia": "page" if self.path is None else "server"}


class Roots:
    """Knows which root is active.

    Args:
        settings: name the root at the start, and the host's own folder, which no root may hold.

    Attributes:
        workspace: the real path of the host's workspace.
    """

    def __init__(self, settings: Settings):
        self.workspace = settings.workspace
        self._own = settings.extensions
        self._active = Root("machine", settings.workspace) if settings.has_root else None

    @property
    def active(self) -> Root | None:
        """The root that was declared last; None where none is."""
        return self._active

    def declare(self, body: object) -> Root:
        """Makes the root of ``{project, root: {kind, path}}`` the active one.

        Raises:
            AdmissionError: ``bad-request``.
            RootError: ``bad-root``: there is no such folder, or it holds the host's own.
        """
        root = body.get("root") if isinstance(body, dict) else None
        kind = root.get("kind") if isinstance(root, dict) else None
        project = body.get("project") if isinstance(body, dict) else None
        if kind not in ("machine", *_OF_PAGE):
            raise AdmissionError("bad-request", f"the kind of the root is {show(kind)}, not machine, opfs or handle")
        if project is not None and type(project) is not str:
            raise AdmissionError("bad-request", f"the project is {show(project)}, not a text")
        path = self._folder(cast("dict[str, Any]", root).get("path")) if kind == "machine" else None
        self._active = Root(kind, path, project)
        return self._active

    def folder(self) -> Path:
        """The active root's folder; raises Refused, as `folder_of`."""
        return folder_of(self._active)

    def _folder(self, path: object) -> Path:
        if type(path) is not str or not os.path.isabs(os.path.expanduser(path)) or "\0" in path:
            raise AdmissionError("bad-request", f"the path of the root is {show(path)}, not an absolute path")
        real = Path(os.path.realpath(os.path.expanduser(path)))
        if not Disk().is_folder(real):
            raise RootError("bad-root", f"there is no folder {show(path)}")
        if self._own.is_relative_to(real) or real.is_relative_to(self._own):
            raise RootError("bad-root", f"{show(path)} holds the host's own folder, or lies in it")
        if any(real.is_relative_to(self.workspace / kept) for kept in _KEPT):
            raise RootError("bad-root", f"{show(path)} lies in what the host keeps in its workspace")
        return real


def folder_of(root: Root | None) -> Path:
    """The folder of a root.

    Raises:
        Refused: ``root-not-declared``, or ``no-page``: a page holds it.
    """
    if root is None:
        raise Refused(
            "root-not-declared", "no root is declared: name a workspace when the host starts, or declare a root"
        )
    if root.path is None:
        raise Refused("no-page", "the root belongs to a page, and none is connected", {"via": "page"})
    return root.path
