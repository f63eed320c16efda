"""What a host is told by its environment (contract: harness expectations)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from capgate.policy.errors import CapgateError

__all__ = ["Settings", "SettingsError"]


class SettingsError(CapgateError, ValueError):
    """The environment says something that no host can be started with."""

    ids = {
        "bad-port": "Give PORT as a whole number from 0 to 65535; 0 takes any free port.",
        "bad-folder": "Name a folder that may be made and written.",
        "folder-in-root": "Keep the extensions folder outside of the workspace, so that no tool can reach it.",
        "bad-setting": "Give 1 to switch it on, 0 or nothing to leave it off.",
    }


class Settings(NamedTuple):
    """Where a host keeps what, and whom it answers.

    Attributes:
        workspace: the folder of proposals and of the audit; the file primitives see it where `has_root`.
        has_root: whether the workspace was named, and so is the active root at the start.
        extensions: the host's own folder: admitted descriptors, ledger, token.
        shelf: the folder of wasm modules.
        port: to listen on; 0 takes any free one.
        address: to listen on; always loopback.
        database_url: where the state is kept instead of in files; None for files.
        allowed_hosts: names besides the loopback ones that a ``Host`` header may carry, lower case (contract 11.4).
        rules: folders of overlay rules.
        loopback_auth: whether everything but the health check asks for a session.
    """

    workspace: Path
    has_root: bool
    extensions: Path
    shelf: Path
    port: int = 8787
    address: str = "127.0.0.1"
    database_url: str | None = None
    allowed_hosts: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()
    loopback_auth: bool = False

    @classmethod
    def from_environment(
        cls,
        environ: Mapping[str, str] = os.environ,
        *,
        workspace: str | None = None,
        extensions: str | None = None,
        rules: Sequence[str] = (),
        port: int | None = None,
    ) -> Settings:
        """The settings that the environment gives; a default is relative to the current folder (contract 11.26).

        ``VOICEBOX_WORKSPACE``, ``VOICEBOX_EXTENSIONS_DIR``, ``VOICEBOX_WASM_SHELF_DIR``, ``PORT``,
        ``VOICEBOX_LOOPBACK_AUTH``, ``CAPGATE_DATABASE_URL``, ``CAPGATE_ALLOWED_HOSTS`` (names, separated by commas)
        and ``CAPGATE_RULES`` (folders, separated as in PATH) are read. An empty one counts as absent.

        Args:
            environ: the environment.
            workspace: what a command line says instead.
            extensions: what a command line says instead.
            rules: what a command line says besides.
            port: what a command line says instead.

        Raises:
            SettingsError: something in it cannot be used.
        """
        named = workspace or environ.get("VOICEBOX_WORKSPACE") or None
        root = _folder(named or "workspace")
        own = _folder(extensions or environ.get("VOICEBOX_EXTENSIONS_DIR") or "extensions")
        if own == root or own.is_relative_to(root):
            raise SettingsError("folder-in-root", f"the extensions folder {own} lies inside the workspace {root}")
        names = environ.get("CAPGATE_ALLOWED_HOSTS", "").split(",")
        overlays = [folder for folder in environ.get("CAPGATE_RULES", "").split(os.pathsep) if folder]
        return cls(
            workspace=root,
            has_root=named is not None,
            extensions=own,
            shelf=_folder(environ.get("VOICEBOX_WASM_SHELF_DIR") or "~/.isocan/modules/wasm-tools"),
            port=_port(environ.get("PORT") or "8787") if port is None else port,
            database_url=environ.get("CAPGATE_DATABASE_URL") or None,
            allowed_hosts=frozenset(name.strip().lower() for name in names if name.strip()),
            rules=(*overlays, *rules),
            loopback_auth=_switch("VOICEBOX_LOOPBACK_AUTH", environ.get("VOICEBOX_LOOPBACK_AUTH")),
        )


def _folder(text: str) -> Path:
    if "\0" in text:
        raise SettingsError("bad-folder", "a folder's name holds a NUL")
    # Real paths, so that a link cannot hide that one folder lies inside the other.
    return Path(os.path.realpath(os.path.expanduser(text)))


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535:
        return int(text)
    raise SettingsError("bad-port", f"PORT is {text!r}")


def _switch(name: str, value: str | None) -> bool:
    if value not in (None, "", "0", "1"):
        raise SettingsError("bad-setting", f"{name} is {value!r}")
    return value == "1"
