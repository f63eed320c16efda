"""``/api/root``, ``/api/files`` and ``/api/file``, as far as the contract names them (section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from capgate.host.admission.errors import AdmissionError
from capgate.host.mediation.files import FileReader
from capgate.host.web.answers import Answer, json_answer
from capgate.host.web.authority import Authority
from capgate.host.web.bodies import BodyRule
from capgate.host.web.file_errors import MOST_SHOWN, FileError
from capgate.host.web.routes import Call, Operation
from capgate.plugins.api import Refused

__all__ = ["OPERATIONS"]

T = TypeVar("T")


async def declare(call: Call) -> Answer:
    """Makes a root the active one."""
    root = await call.shim.ask(call.shim.roots.declare, call.body)
    return json_answer({"ok": True} | root.to_json())


async def names(call: Call) -> Answer:
    """The names in the top level of the active root."""
    return json_answer({"ok": True, "files": await call.shim.ask(_read, _reader(call).names)})


async def text(call: Call) -> Answer:
    """The text of one file of the active root."""
    name = call.parameter("name")
    if name is None:
        raise AdmissionError("bad-request", "the query has no name", hint="Ask /api/file?name=notes.md.")
    content = await call.shim.ask(_read, _reader(call).text, name)
    return json_answer({"ok": True, "name": name, "content": content})


def _reader(call: Call) -> FileReader:
    roots = call.shim.roots
    return FileReader(roots.folder, workspace=roots.workspace, limit=MOST_SHOWN)


def _read(read: Callable[..., T], *path: str) -> T:
    try:
        return read(*path)
    except Refused as refused:
        raise FileError.of(refused) from None


OPERATIONS: Final = (
    Operation("POST", "/api/root", declare, Authority.HOST, BodyRule()),
    Operation("GET", "/api/files", names),
    Operation("GET", "/api/file", text),
)
