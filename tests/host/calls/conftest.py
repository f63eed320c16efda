"""A caller over a real host, with interfaces that tests see through."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import capgate.rules
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from capgate.host.assembly import Assembled, assemble
from capgate.host.calls.caller import Caller, Outcome
from capgate.host.calls.opening import open_caller
from capgate.host.calls.roots import Root, Roots, folder_of
from capgate.host.calls.tools import ModelTools
from capgate.host.mediation.console import Console
from capgate.host.mediation.redaction import Redactor
from capgate.plugins.api import Grant, Refused, Response
from capgate.plugins.config import Config
from capgate.plugins.manager import load
from capgate.policy.gate import Gate
from capgate.policy.ruleset import RuleFolder, load_ruleset
from failing import QuickDisk
from host_samples import HUMAN, MODEL, Clock


class FakeFiles:
    """Files that a test lays out: a path to a text, or to what is raised."""

    def __init__(self, root: Root | None, files: dict[str, Any]):
        self._root = root
        self._files = files

    def names(self) -> list[str]:
        folder_of(self._root)
        return sorted(self._files)

    def read(self, path: str) -> str:
        folder_of(self._root)
        found = self._files.get(path, Refused("missing", f"there is no {path}"))
        if isinstance(found, BaseException):
            raise found
        return str(found)


class FakeReader(FakeFiles):
    def text(self, path: str) -> str:
        return self.read(path)


class FakeWriter(FakeFiles):
    def text(self, path: str, content: str) -> int:
        folder_of(self._root)
        if isinstance(self._files.get(path), BaseException):
            raise self._files[path]
        self._files[path] = content
        return len(content.encode())


class FakeFetcher:
    """Answers what a test says, a request each; charges before it answers."""

    def __init__(self, world: FakeInterfaces, grant: Grant, charge: Callable[[], str], note: Callable[[str], None]):
        self._world = world
        self._grant = grant
        self._charge = charge
        self._note = note

    def request(self, method: str, url: str, **options: Any) -> Response:
        self._world.requests.append((self._grant, method, url, options))
        for note in self._world.network_notes:
            self._note(note)
        used = self._charge()
        answer = self._world.answers.pop(0) if self._world.answers else {}
        if isinstance(answer, BaseException):
            raise answer
        body = answer.get("body", b"calm")
        return Response(200, "buoys.test", "https://buoys.test", answer.get("via", (url,)), used, {}, body)


class FakeInterfaces:
    """Makes the fakes, and remembers what was asked for."""

    def __init__(self, clock: Clock):
        self.files: dict[str, Any] = {"notes.txt": "high tide at 6"}
        self.answers: list[Any] = []
        self.network_notes: Sequence[str] = ()
        self.requests: list[Any] = []
        self.made: list[str] = []
        self._clock = clock

    def reader(self, root: Root | None) -> FakeReader:
        self.made.append("reader")
        return FakeReader(root, self.files)

    def writer(self, root: Root | None, grant: Grant) -> FakeWriter:
        self.made.append("writer")
        return FakeWriter(root, self.files)

    def fetcher(self, grant: Grant, charge: Callable[[], str], note: Callable[[str], None]) -> FakeFetcher:
        self.made.append("fetcher")
        return FakeFetcher(self, grant, charge, note)

    def clock(self) -> Clock:
        self.made.append("clock")
        return self._clock

    def modules(self) -> Any:
        self.made.append("modules")
        return self

    def run(self, settings: Mapping[str, Any], inputs: Mapping[str, bytes]) -> Mapping[str, Any]:
        return {"returned": 0, "output": "", "digest": settings["digest"], "inputBytes": len(inputs.get("input", b""))}


class World:
    """A host in folders of its own, with what calls its tools.

    Args:
        folder: where it may keep things.
        assembled: the gate and the plugins.
        environ: the variables of the environment.
    """

    def __init__(self, folder: Path, assembled: Assembled, environ: Mapping[str, str] | None = None, **changes: Any):
        self.out, self.err = io.StringIO(), io.StringIO()
        self.clock = Clock()
        self.plugins = assembled.plugins
        workspace = folder / "workspace"
        self.settings = Settings(workspace, True, folder / "extensions", folder / "shelf")._replace(**changes)
        console = Console(self.out, self.err)
        self.redactor = Redactor(environ or {})
        self.host = open_host(
            assembled.gate,
            self.settings,
            clock=self.clock,
            console=console,
            redactor=self.redactor,
            disk=QuickDisk(),
        )
        self.roots = Roots(self.settings)
        self.console = console
        self.interfaces = FakeInterfaces(self.clock)
        self.use(self.interfaces)

    def use(self, interfaces: Any) -> None:
        """Hands these interfaces over from now on."""
        self.caller = open_caller(
            self.host,
            self.plugins,
            roots=self.roots,
            console=self.console,
            redactor=self.redactor,
            clock=self.clock,
            interfaces=interfaces,
            disk=QuickDisk(),
        )
        self.tools = ModelTools(self.host, self.caller, self.plugins)

    def admit(self, descriptor: dict[str, Any]) -> None:
        self.host.propose(descriptor, actor=HUMAN)
        answer = self.host.admit(descriptor["id"], confirm=True, actor=HUMAN)
        assert answer["decision"] == "admitted", answer

    def call(self, name: Any, args: Any = None) -> dict[str, Any]:
        """The result of a call, without its id."""
        result = self.caller.call(name, args, actor=MODEL)
        assert result.pop("correlationId")
        return result

    def outcome(self, name: Any, args: Any = None) -> Outcome:
        return self.caller.outcome(name, args, actor=MODEL)

    def audited(self, file: str = "audit.jsonl") -> list[dict[str, Any]]:
        """The lines about calls, oldest first."""
        path = self.settings.workspace / file
        lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        return [line for line in lines if "correlationId" in line]

    def of_root(self) -> list[dict[str, Any]]:
        """The lines about calls in the audit of the workspace as a root."""
        return self.audited(".audit/extensions.jsonl")


@pytest.fixture(scope="session")
def assembled() -> Assembled:
    return assemble()


def with_plugins(plugins: Sequence[object], deadline: float | None) -> Assembled:
    """The shipped rules with these plugins, each call of which may take so many seconds."""
    loaded = load(plugins, config=Config(), deadline=deadline)
    rules = RuleFolder(Path(next(iter(capgate.rules.__path__))), "capgate")
    return Assembled(Gate(loaded.catalog, load_ruleset(loaded.catalog, rules, [])), loaded)


@pytest.fixture
def make_world(tmp_path: Path, assembled: Assembled) -> Iterator[Callable[..., World]]:
    """Makes a world; with `plugins`, one of its own gate."""
    made: list[World] = []

    def make(plugins: Sequence[object] = (), *, deadline: float | None = None, **options: Any) -> World:
        own = with_plugins(plugins, deadline) if plugins else assembled
        made.append(World(tmp_path / f"world{len(made)}", own, **options))
        return made[-1]

    yield make
    for world in made:
        world.host.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()


@pytest.fixture
def host(world: World) -> AdmissionHost:
    return world.host


@pytest.fixture
def caller(world: World) -> Caller:
    return world.caller
