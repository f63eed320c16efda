"""The rules in Cedar, for cedarpy: a `forbid` policy each, over facts that Python works out.

Cedar has no loops over records, no regular expressions and no test of a type. So Python checks the shape, whole
numbers, names and modules, and gives Cedar sets and flags. Cedar does not say which refusal comes first.
"""

from __future__ import annotations

from typing import Any, Final

from bench.engines import Engine, has_bad_host, has_duplicate_tool, imported, more_capabilities
from bench.handwritten import is_sound_module, is_tool_name, is_well_formed, is_whole

__all__ = ["Cedar"]

_POLICY: Final = """
permit (principal, action, resource);
forbid (principal, action, resource) when { !context.wellFormed };
forbid (principal, action, resource) unless {
    ["read", "write", "delete", "network", "exec", "eval", "import"].containsAll(context.capabilities) };
forbid (principal, action, resource) when { context.capabilities.contains("eval") };
forbid (principal, action, resource) when { context.capabilities.contains("exec") };
forbid (principal, action, resource) when { context.capabilities.containsAny(["delete", "import"]) };
forbid (principal, action, resource) when { context.runsIn == "process" };
forbid (principal, action, resource) when {
    context.capabilities.contains("network") && (context.hosts < 1 || context.maxRequests < 1) };
forbid (principal, action, resource) when { context.capabilities.contains("network") && context.badHost };
forbid (principal, action, resource) when { context.tools < 1 };
forbid (principal, action, resource) when { context.badName };
forbid (principal, action, resource) unless {
    ["now", "read-file", "write-file", "list-files", "http-get", "wasm"].containsAll(context.primitives) };
forbid (principal, action, resource) when {
    context.primitives.containsAny(["read-file", "list-files"]) && !context.capabilities.contains("read") };
forbid (principal, action, resource) when {
    context.primitives.contains("write-file") && !context.capabilities.contains("write") };
forbid (principal, action, resource) when {
    context.primitives.contains("http-get") && !context.capabilities.contains("network") };
forbid (principal, action, resource) when { context.badModule };
forbid (principal, action, resource) when { context.duplicate };
"""
_MALFORMED: Final = {"wellFormed": False}


class Cedar(Engine):
    """cedarpy, with its policies and its (absent) entities parsed once."""

    name = "cedarpy"
    names_rules = False
    helped = "shape, whole numbers, hosts, names, modules, duplicate names"

    def __init__(self, more: int = 0):
        super().__init__(more)
        cedarpy = imported("cedarpy")
        extra = (
            f'forbid (principal, action, resource) when {{ context.capabilities.contains("{capability}") }};'
            for capability in more_capabilities(more)
        )
        self._policies = cedarpy.PolicySet.from_str("\n".join((_POLICY, *extra)))
        self._entities = cedarpy.Entities.from_json_str("[]")
        self._ask = cedarpy.is_authorized

    def decide(self, descriptor: Any) -> str | None:
        """Asks Cedar about what Python found out."""
        request = {
            "principal": 'Host::"capgate"',
            "action": 'Action::"admit"',
            "resource": 'Extension::"subject"',
            "context": _facts(descriptor),
        }
        return None if self._ask(request, self._policies, self._entities).allowed else "refused"


def _facts(descriptor: Any) -> dict[str, Any]:
    if not is_well_formed(descriptor):
        return _MALFORMED
    declared = descriptor.get("capabilities") or []
    # A set of Cedar holds values of one type; what is no text is no capability, like the empty text.
    capabilities = [capability if type(capability) is str else "" for capability in declared]
    bounds = descriptor.get("bounds") or {}
    hosts = bounds.get("hosts")
    hosts = hosts if type(hosts) is list and all(type(host) is str for host in hosts) else []
    most = bounds.get("maxRequests")
    tools = descriptor.get("tools")
    tools = tools if type(tools) is list else []
    names = [tool.get("name", "") for tool in tools]
    requests = int(most) if is_whole(most) else 0
    return {
        "wellFormed": True,
        "capabilities": capabilities,
        "runsIn": descriptor.get("runsIn", "host"),
        "hosts": len(hosts),
        "maxRequests": requests,
        "badHost": bool(hosts) and has_bad_host(descriptor),
        "tools": len(tools),
        "primitives": [tool.get("primitive", "") for tool in tools],
        "badName": not all(map(is_tool_name, names)),
        "badModule": any(tool.get("primitive") == "wasm" and not is_sound_module(tool.get("wasm")) for tool in tools),
        "duplicate": all(names) and has_duplicate_tool(descriptor) if tools else False,
    }
