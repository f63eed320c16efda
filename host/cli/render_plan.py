"""A plan for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from capgate.host.checking import Result
from capgate.host.cli.common import json_document
from capgate.host.cli.page import Page
from capgate.host.cli.render_text import TextReport
from capgate.host.safe_json import json_text
from capgate.policy.hosts import format_host, normalise_host
from capgate.policy.verdict import Plan

__all__ = ["error_json", "plan_json", "plan_text", "sections_text"]

#: What a window means.
_WINDOWS: Final = {
    "process": "for each run of the host",
    "hour": "an hour",
    "day": "a day",
    "admission": "in all, until it is admitted again",
}
#: What an extension says of itself.
_SAID: Final = ("id", "name", "description", "source", "runsIn")
#: How much of one value is shown, in code points.
_LONGEST: Final = 1000


def plan_json(plan: Plan) -> str:
    """The plan as JSON, a line for each part: what its digest is made of, and the digest."""
    parts = ",\n ".join(f"{json_text(key)}: {json_text(part)}" for key, part in plan.to_json().items())
    return f"{{{parts}}}\n"


def error_json(result: Result) -> str:
    """Why there is no plan, as JSON."""
    return json_document(
        error={
            "id": result.rule,
            "message": result.why,
            "hint": result.remedy,
            "file": result.file,
            "line": result.line,
            "column": result.column,
        }
    )


def plan_text(result: Result, plan: Plan, report: TextReport, page: Page) -> str:
    """The plan for people: the verdict as ``check`` shows it, then every part of the disclosure."""
    return report.result(result) + sections_text(plan.to_json(), page)


def sections_text(plan: Mapping[str, Any], page: Page) -> str:
    """Every part of a plan's disclosure, for people.

    Args:
        plan: the plan as JSON data.
        page: where it is shown.
    """
    rows = []
    for title, lines in _sections(plan):
        rows += ["", page.bold(title)]
        for line in lines:
            rows += page.lines(line, 2, 2)
    return "".join(f"{row}\n" for row in rows)


def _sections(data: Mapping[str, Any]) -> Iterator[tuple[str, Iterable[str]]]:
    gate, declared, bounds = data["gate"], data["declared"], data["bounds"]
    names = [_value(name) for name in declared] if isinstance(declared, list) else [_value(declared)]

    said = [f"{key}: {_value(data[key])}" for key in _SAID if key in data]
    yield "Extension", said or ["it says nothing of itself"]
    if gate["decision"] == "admitted":
        enforced = [f"{name}: {mechanism}" for name, mechanism in gate["enforced"].items()]
        yield "Declared, and enforced by", enforced or ["nothing is declared"]
        yield "Handed over", gate["gets"] or ["nothing but what needs no capability"]
    else:
        yield "Declared", names or ["nothing is declared"]
        yield "Handed over", ["nothing, as it is refused"]
    if "network" in names:
        hosts = bounds.get("hosts") if isinstance(bounds, dict) else None
        yield "Hosts", [_host(host) for host in hosts] if isinstance(hosts, list) and hosts else ["not bounded"]
    yield "Budgets", _budgets(data["budgets"], names)
    yield "Secrets", [_secret(secret) for secret in data["secrets"]] or ["none"]
    yield "Tools", [_tool(tool) for tool in data["tools"]] if isinstance(data["tools"], list) else ["none"]
    yield "Never granted", gate["cannotHave"]
    binding = [f"placement: {data['placement']}", f"policy: {gate['policy']['fingerprint']}"]
    yield "Binding", [*binding, f"digest: {data['digest']}"]


def _budgets(budgets: Mapping[str, Any], names: list[str]) -> list[str]:
    requests, size, window = budgets["maxRequests"], budgets["maxBytes"], budgets["window"]
    lines = []
    if "network" in names:
        default = _default("window", budgets)
        how = f"{_WINDOWS[window]} (window: {window}{default})" if window else "in no known window"
        lines.append("requests: not bounded" if requests is None else f"requests: at most {requests} {how}")
    if size is not None:
        lines.append(f"bytes in one write: at most {size}{_default('maxBytes', budgets)}")
    return lines or ["none needed"]


def _default(key: str, budgets: Mapping[str, Any]) -> str:
    return ", the default" if key in budgets["defaults"] else ""


def _host(host: Any) -> str:
    """A host as it is written, and the one that it means where that looks otherwise."""
    meant = normalise_host(host) if isinstance(host, str) else None
    if meant is None:
        return f"{_value(host)}: not a host"
    plain = format_host(meant)
    return host if plain == host else f"{host}: that is {plain}"


def _secret(secret: Mapping[str, Any]) -> str:
    hosts = ", ".join(secret["hosts"]) or "no host"
    return f"header {secret['header']}: from the variable {secret['variable']}, for {hosts}"


def _tool(tool: Any) -> str:
    if not isinstance(tool, dict):
        return _value(tool)
    text = f"{_value(tool.get('name', ''))}: {_value(tool.get('primitive', ''))}"
    described = [_value(tool["description"])] if tool.get("description") else []
    params = tool.get("params")
    given = params if isinstance(params, dict) else {}
    described += [f"{key} {_value(value)}" for key, value in given.items() if key != "headers"]
    headers = given.get("headers")
    if isinstance(headers, dict):
        # Those with a fixed value are never sent.
        sent = [header for header, value in headers.items() if isinstance(value, str) and value.startswith("$")]
        described += [f"sends {', '.join(sent)}"] if sent else []
    if tool.get("primitive") == "wasm":
        described.append(f"wasm {_value(tool.get('wasm'))}")
    return f"{text} ({'; '.join(described)})" if described else text


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (and {len(text) - _LONGEST} more characters)"
