"""A plan for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from capgate.host.checking import Result
from capgate.host.cli.common import json_document
from capgate.host.cli.page import Page
from capgate.host.cli.render_text import TextReport
from capgate.host.safe_json import json_text
from capgate.policy.hosts import format_host, normalise_host
from capgate.policy.verdict import Plan, Secret

__all__ = ["error_json", "plan_json", "plan_text"]

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
    rows = []
    for title, lines in _sections(plan):
        rows += ["", page.bold(title)]
        for line in lines:
            rows += page.lines(line, 2, 2)
    return report.result(result) + "".join(f"{row}\n" for row in rows)


def _sections(plan: Plan) -> Iterator[tuple[str, Iterable[str]]]:
    data = plan.to_json()
    gate, declared, bounds = data["gate"], data["declared"], data["bounds"]
    names = [_value(name) for name in declared] if isinstance(declared, list) else [_value(declared)]
    admitted = plan.verdict.admitted

    said = [f"{key}: {_value(data[key])}" for key in _SAID if key in data]
    yield "Extension", said or ["it says nothing of itself"]
    if admitted:
        enforced = [f"{name}: {mechanism}" for name, mechanism in gate["enforced"].items()]
        yield "Declared, and enforced by", enforced or ["nothing is declared"]
        yield "Handed over", gate["gets"] or ["nothing but what needs no capability"]
    else:
        yield "Declared", names or ["nothing is declared"]
        yield "Handed over", ["nothing, as it is refused"]
    if "network" in names:
        hosts = bounds.get("hosts") if isinstance(bounds, dict) else None
        yield "Hosts", [_host(host) for host in hosts] if isinstance(hosts, list) and hosts else ["not bounded"]
    yield "Budgets", _budgets(plan, names)
    yield "Secrets", [_secret(secret) for secret in plan.secrets] or ["none"]
    yield "Tools", [_tool(tool) for tool in data["tools"]] if isinstance(data["tools"], list) else ["none"]
    yield "Never granted", gate["cannotHave"]
    yield "Binding", [f"placement: {data['placement']}", f"policy: {plan.verdict.policy}", f"digest: {data['digest']}"]


def _budgets(plan: Plan, names: list[str]) -> list[str]:
    requests, size, window, defaults = plan.budgets
    lines = []
    if "network" in names:
        how = f"{_WINDOWS[window]} (window: {window}{_default('window', defaults)})" if window else "in no known window"
        lines.append("requests: not bounded" if requests is None else f"requests: at most {requests} {how}")
    if size is not None:
        lines.append(f"bytes in one write: at most {size}{_default('maxBytes', defaults)}")
    return lines or ["none needed"]


def _default(key: str, defaults: tuple[str, ...]) -> str:
    return ", the default" if key in defaults else ""


def _host(host: Any) -> str:
    """A host as it is written, and the one that it means where that looks otherwise."""
    meant = normalise_host(host) if isinstance(host, str) else None
    if meant is None:
        return f"{_value(host)}: not a host"
    plain = format_host(meant)
    return host if plain == host else f"{host}: that is {plain}"


def _secret(secret: Secret) -> str:
    hosts = ", ".join(secret.hosts) or "no host"
    return f"header {secret.header} of tool {secret.tool}: from the variable {secret.variable}, for {hosts}"


def _tool(tool: Any) -> str:
    if not isinstance(tool, dict):
        return _value(tool)
    text = f"{_value(tool.get('name', ''))}: {_value(tool.get('primitive', ''))}"
    described = [_value(tool["description"])] if tool.get("description") else []
    params = tool.get("params")
    given = params if isinstance(params, dict) else {}
    # Headers are told among the secrets; those with a fixed value are never sent.
    described += [f"{key} {_value(value)}" for key, value in given.items() if key != "headers"]
    if tool.get("primitive") == "wasm":
        described.append(f"wasm {_value(tool.get('wasm'))}")
    return f"{text} ({'; '.join(described)})" if described else text


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (and {len(text) - _LONGEST} more characters)"
