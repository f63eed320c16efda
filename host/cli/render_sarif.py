"""The report as SARIF 2.1.0, for code scanning and for viewers in editors.

The log is written as results come; errors of inputs are told at its end, in its invocation. Nothing in
it depends on the time, and on the place only in one entry that a reader may replace: the folder that
relative files are in.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from capgate import __version__
from capgate.host.checking import Finding, Result, Summary
from capgate.host.cli.exits import MEANINGS, Exit, exit_of
from capgate.host.inputs import STDIN_NAME
from capgate.host.safe_json import json_text
from capgate.policy.errors import CapgateError, FactUnavailable, PolicyInvalid, Span
from capgate.policy.text import escape

if TYPE_CHECKING:
    from capgate.policy.gate import Gate
    from capgate.policy.rulefile import Rule
    from capgate.policy.templates import Template

__all__ = ["SCHEMA", "SarifReport"]

#: The schema that a log keeps to.
SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The name of the folder that relative files are in, as code scanning expects it.
_ROOT: Final = "%SRCROOT%"
_LEVELS: Final = {"refuse": "error", "warn": "warning"}
#: The fingerprint's name and the version of how it is made.
_FINGERPRINT: Final = "capgateRefusal/v1"


class SarifReport:
    """Writes one log with one run. What the methods return makes one document, in their order."""

    def __init__(self) -> None:
        self._between = ""
        self._rules: dict[str, int] = {}
        self._seen: Counter[str] = Counter()
        self._errors: list[dict[str, Any]] = []

    def start(self, gate: Gate) -> str:
        """Opens the log and describes every rule."""
        rules = [_rule(rule) for rule in gate.rules.rules.values()]
        rules += [_reserved(id, advice) for id, advice in FactUnavailable.ids.items()]
        self._rules = {rule["id"]: index for index, rule in enumerate(rules)}
        return _open(rules, {"fingerprint": gate.fingerprint}) + ',\n  "results": ['

    def result(self, result: Result) -> str:
        """The refusals and warnings of one input, a line each."""
        if result.decision == "error":
            span = Span(result.file, result.line, result.column)
            self._errors.append(_notification(result.rule, result.why, result.remedy, span))
        text = ""
        for finding in result.refusals:
            text += f"{self._between}\n   {json_text(self._finding(result, finding))}"
            self._between = ","
        return text

    def end(self, summary: Summary) -> str:
        """Closes the log, with the exit code and the inputs that could not be judged."""
        code = exit_of(refused=summary.refused, errors=summary.errors)
        return f"\n  ],\n  {_invocation(code, 'toolExecutionNotifications', self._errors)}\n }}]}}\n"

    def invalid(self, error: PolicyInvalid) -> str:
        """The whole log where nothing could be judged: without results, since none were looked for."""
        problems = [_problem(problem) for problem in error.problems]
        invocation = _invocation(Exit.POLICY_INVALID, "toolConfigurationNotifications", problems)
        return f"{_open([], {'fingerprint': None})},\n  {invocation}\n }}]}}\n"

    def _finding(self, result: Result, finding: Finding) -> dict[str, Any]:
        location = _location(Span(result.file, finding.line, finding.column))
        location["logicalLocations"] = [{"fullyQualifiedName": escape(finding.path), "kind": "value"}]
        return {
            "ruleId": finding.rule,
            "ruleIndex": self._rules[finding.rule],
            "level": _LEVELS[finding.severity],
            "message": _message(finding.reason, finding.remedy),
            "locations": [location],
            "partialFingerprints": {_FINGERPRINT: self._fingerprint(result, finding)},
        }

    def _fingerprint(self, result: Result, finding: Finding) -> str:
        """What stays the same for a refusal when lines move; two that are alike are numbered."""
        uri = _artifact(result.file)["uri"]
        parts = (finding.rule, uri, result.id, finding.path, finding.reason)
        same = hashlib.sha256(json_text(parts).encode()).hexdigest()
        self._seen[same] += 1
        return f"{same}:{self._seen[same]}"


def _open(rules: list[dict[str, Any]], policy: dict[str, Any]) -> str:
    """The log as far as the parts that are known at once, without the end of its run."""
    described = ",\n     ".join(json_text(rule) for rule in rules)
    driver = f'"name": "capgate", "semanticVersion": {json_text(__version__)}'
    folder = {_ROOT: {"uri": _file_uri(os.getcwd()).rstrip("/") + "/"}}
    parts = {"columnKind": "unicodeCodePoints", "originalUriBaseIds": folder, "properties": {"policy": policy}}
    lines = ",\n  ".join(f'"{key}": {json_text(part)}' for key, part in parts.items())
    return (
        f'{{"$schema": {json_text(SCHEMA)},\n "version": "2.1.0",\n "runs": [{{\n'
        f'  "tool": {{"driver": {{{driver}, "rules": [\n     {described}\n  ]}}}},\n  {lines}'
    )


def _rule(rule: Rule) -> dict[str, Any]:
    reasons = _distinct(trigger.reason for trigger in rule.triggers)
    remedies = _distinct(trigger.remedy for trigger in rule.triggers)
    verb = "Warns" if rule.severity == "warn" else "Refuses"
    parts = [rule.title, f"{verb} because:", *(f"- {reason}" for reason in reasons), "To fix:"]
    parts += [f"- {remedy}" for remedy in remedies]
    if rule.references:
        parts += ["See also:", *(f"- {reference}" for reference in rule.references)]
    return _descriptor(rule.id, rule.title, "\n".join(parts), rule.severity, rule.provider)


def _reserved(id: str, advice: str) -> dict[str, Any]:
    """What the gate refuses with when no rule does."""
    title = "A plugin could not say what a rule asked"
    return _descriptor(id, title, f"{title}\nTo fix:\n- {advice}", "refuse", "capgate")


def _descriptor(id: str, title: str, help: str, severity: str, provider: str) -> dict[str, Any]:
    return {
        "id": id,
        "shortDescription": {"text": escape(title)},
        "fullDescription": {"text": escape(title) + "."},
        "help": {"text": "\n".join(escape(line) for line in help.split("\n"))},
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": {"provider": escape(provider)},
    }


def _distinct(templates: Iterable[Template]) -> list[str]:
    """Templates as text on one line, placeholders in braces; each once, and none that is empty."""
    texts = ("".join(piece if isinstance(piece, str) else f"{{{piece.text}}}" for piece in one) for one in templates)
    return [text for text in dict.fromkeys(" ".join(text.split()) for text in texts) if text]


def _invocation(code: Exit, kind: str, notifications: list[dict[str, Any]]) -> str:
    done = code in (Exit.ADMITTED, Exit.REFUSED)
    invocation = {"executionSuccessful": done, "exitCode": int(code), "exitCodeDescription": MEANINGS[code]}
    return f'"invocations": [{json_text({**invocation, kind: notifications})}]'


def _problem(problem: CapgateError) -> dict[str, Any]:
    return _notification(problem.id, problem.message, problem.hint, problem.span)


def _notification(id: str | None, message: str | None, remedy: str | None, span: Span | None) -> dict[str, Any]:
    notification = {"descriptor": {"id": id}, "level": "error", "message": _message(message or "", remedy or "")}
    return notification | ({"locations": [_location(span)]} if span and span.file else {})


def _message(reason: str, remedy: str) -> dict[str, str]:
    text = ". ".join(escape(part.strip()).removesuffix(".") for part in (reason, remedy) if part.strip()) + "."
    # A viewer would make a link of "[text](target)", and text and target are the submitter's.
    if "](" in text:
        text = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return {"text": text}


def _location(span: Span) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(span.file)}
    if span.line is not None:
        place["region"] = {"startLine": span.line}
        if span.column is not None:
            place["region"]["startColumn"] = span.column
    return {"physicalLocation": place}


def _artifact(file: str) -> dict[str, str]:
    """A file as SARIF names it: below the current folder if it is there, else with its whole path."""
    if file == STDIN_NAME:
        return {"uri": quote(file)}
    path = os.path.normpath(file)
    if ".." in file.split("/"):
        # The text alone does not say where ".." leads: it may stand behind a link.
        folder, name = os.path.split(file)
        path = os.path.join(os.path.realpath(folder), name)
    if os.path.isabs(path):
        below = os.path.relpath(path, os.path.realpath(os.getcwd()))
        if below.split("/")[0] == "..":
            return {"uri": _file_uri(path)}
        path = below
    return {"uri": quote(os.fsencode(path)), "uriBaseId": _ROOT}


def _file_uri(path: str) -> str:
    return "file:///" + quote(os.fsencode(path.lstrip("/")))
