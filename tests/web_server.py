"""A server's application in this process, over a real host in folders of its own, for the tests of HTTP."""

from __future__ import annotations

import asyncio
import io
from functools import cache
from pathlib import Path
from typing import Any

import httpx

import capgate
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.opening import open_host
from capgate.host.admission.sessions import Sessions
from capgate.host.admission.settings import Settings
from capgate.host.admission.token import HostToken
from capgate.host.calls.opening import open_caller
from capgate.host.calls.roots import Roots
from capgate.host.calls.tools import ModelTools
from capgate.host.mediation.console import Console
from capgate.host.mediation.redaction import Redactor
from capgate.host.web.app import make_app
from capgate.host.web.authority import Doorkeeper
from capgate.host.web.shim import Shim
from capgate.plugins.config import Config
from capgate.plugins.manager import LoadedPlugins, load
from capgate.policy.errors import PolicyInvalid


@cache
def built_in_plugins() -> LoadedPlugins:
    """The plugins of capgate itself."""
    return load(config=Config())


class Time:
    """A clock that tests turn by hand."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class Server:
    """The application, and ways to ask it."""

    def __init__(self, folder: Path, gate: capgate.Gate | PolicyInvalid, **changes: Any):
        self.out, self.err = io.StringIO(), io.StringIO()
        self.clock = Time()
        settings = Settings(
            workspace=folder / "workspace", has_root=True, extensions=folder / "extensions", shelf=folder / "shelf"
        )
        self.settings = settings._replace(**changes)
        console = Console(self.out, self.err)
        self.redactor = Redactor({})
        self._host = (
            gate
            if isinstance(gate, PolicyInvalid)
            else open_host(gate, self.settings, clock=self.clock, console=console, redactor=self.redactor)
        )
        self.token_file = HostToken(self.settings.extensions / ".host-token")
        self.token = self.token_file.value() or ""
        self.sessions = Sessions(self.clock)
        door = Doorkeeper(
            self.token_file.matches, self.sessions, self.settings.allowed_hosts, self.settings.loopback_auth
        )
        roots = Roots(self.settings)
        self.shim = Shim(
            self._host,
            door=door,
            clock=self.clock,
            console=console,
            roots=roots,
            redact=self.redactor.text,
            tools=None if isinstance(self._host, PolicyInvalid) else self._tools(self._host, roots, console),
        )
        self.app = make_app(self.shim)

    def _tools(self, host: AdmissionHost, roots: Roots, console: Console) -> ModelTools:
        plugins = built_in_plugins()
        caller = open_caller(host, plugins, roots=roots, console=console, redactor=self.redactor, clock=self.clock)
        return ModelTools(host, caller, plugins)

    @property
    def host(self) -> AdmissionHost:
        assert isinstance(self._host, AdmissionHost)
        return self._host

    def ask(self, method: str, path: str, *, token: bool = False, **options: Any) -> httpx.Response:
        """The answer to a request; with `token` it carries the host token."""
        headers = dict(options.pop("headers", {}))
        if token:
            headers["x-voicebox-host-token"] = self.token

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=True)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8787") as client:
                return await client.request(method, path, headers=headers, **options)

        return asyncio.run(ask())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.ask("POST", path, **({} if body is None else {"json": body}), **options)

    def sign_in(self) -> dict[str, str]:
        """The headers of somebody who signed in, with the CSRF token."""
        signed_in = self.sessions.redeem(self.sessions.ticket())
        assert signed_in is not None
        return {"cookie": f"capgate_session={signed_in.secret}", "x-capgate-csrf": signed_in.session.csrf}

    def admit(self, descriptor: dict[str, Any]) -> None:
        """Stages and admits."""
        assert self.post("/api/extensions/proposals", {"descriptor": descriptor}).status_code == 200
        done = self.post("/api/extensions/admit", {"id": descriptor["id"], "confirm": True}, token=True)
        assert done.json()["decision"] == "admitted", done.text

    def running(self) -> list[str]:
        return [extension["id"] for extension in self.get("/api/extensions").json()["extensions"]]

    def proposed(self) -> dict[str, str]:
        """Id to state of the proposals."""
        return {proposal["id"]: proposal["state"] for proposal in self.get("/api/extensions").json()["proposals"]}
