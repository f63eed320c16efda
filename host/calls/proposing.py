"""What ``propose_extension`` makes of a model's words: a descriptor, or a refusal (contract 9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from capgate.host.calls.arguments import checked_texts
from capgate.host.calls.errors import ToolError
from capgate.policy.hosts import is_host
from capgate.policy.text import show

__all__ = ["PROPOSE_ARGUMENTS", "proposed_descriptor"]

#: What ``propose_extension`` takes.
PROPOSE_ARGUMENTS: Final = (
    "id",
    "catalogueId",
    "name",
    "description",
    "primitive",
    "toolName",
    "host",
    "defaultUrl",
    "defaultPath",
)
_MAX_REQUESTS: Final = 10
_MAX_BYTES: Final = 65536
_PATH: Final = "notes.txt"


def proposed_descriptor(
    args: object, catalogue: Mapping[str, Mapping[str, Any]], needs: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """The descriptor that ``propose_extension`` describes: its own, or a catalogue entry taken as a template.

    Args:
        args: what the model said.
        catalogue: id to descriptor of what can be sideloaded.
        needs: primitive to the capabilities that it needs.

    Raises:
        ToolError: ``missing-argument``, ``invalid-argument``, ``invalid-id``, ``unknown-primitive``,
            ``network-unbounded``.
    """
    said = checked_texts(args, PROPOSE_ARGUMENTS)
    wanted = said.get("catalogueId")
    if not (wanted or said.get("id") or said.get("name")):
        raise ToolError("missing-argument", "one of catalogueId, id and name is needed")
    if wanted and wanted not in catalogue:
        raise ToolError("invalid-id", f"the catalogue has no entry {show(wanted)}")
    id = _slug(said.get("id") or wanted or said["name"], "-")
    if not wanted and id in catalogue and "primitive" not in said:
        wanted = id
    if wanted:
        return {**catalogue[wanted], "id": id}
    primitive = said.get("primitive") or _primitive(said)
    if primitive not in needs:
        raise ToolError("unknown-primitive", f"{show(primitive)} is none of {', '.join(sorted(needs))}")
    params, bounds = _details(primitive, said)
    name = said.get("name") or id
    description = said.get("description") or name
    tool_name = _slug(said.get("toolName") or id.replace("-", "_"), "_")
    return {
        "id": id,
        "name": name,
        "description": description,
        "runsIn": "host",
        "capabilities": list(needs[primitive]),
        "bounds": bounds,
        "tools": [{"name": tool_name, "description": description, "primitive": primitive, "params": params}],
    }


def _primitive(said: Mapping[str, str]) -> str:
    if said.get("defaultPath"):
        return "read-file"
    return "http-get" if said.get("host") or said.get("defaultUrl") else "read-file"


def _details(primitive: str, said: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The params of the tool, and its bounds."""
    if primitive == "http-get":
        host = said.get("host") or _host_of(said.get("defaultUrl", ""))
        if not is_host(host):
            raise ToolError("network-unbounded", "neither host nor defaultUrl says which host it asks")
        url = said.get("defaultUrl") or f"https://{host}"
        return {"url": url}, {"hosts": [host], "maxRequests": _MAX_REQUESTS}
    if primitive == "read-file":
        return {"path": said.get("defaultPath") or _PATH}, {}
    if primitive == "write-file":
        return {"path": said.get("defaultPath") or _PATH}, {"maxBytes": _MAX_BYTES}
    return {}, {}


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _slug(text: str, joint: str) -> str:
    """`text` in the letters that ids have; what else it holds becomes `joint`."""
    return re.sub(r"[^a-z0-9_-]+" if joint == "-" else r"[^a-z0-9_]+", joint, text.lower()).strip(joint)
