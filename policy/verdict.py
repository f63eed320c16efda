"""What a decision says: verdicts, and the plan that is disclosed before an admission."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from capgate.policy.catalog import PlacementTerms
from capgate.policy.compiler import Refusal
from capgate.policy.documents import canonical, digest

__all__ = ["Plan", "Refusal", "Secret", "Verdict"]


class Verdict(NamedTuple):
    """The answer for one subject on one placement; an immutable value that keeps nothing of the subject.

    Attributes:
        decision: ``admitted`` or ``refused``.
        rule: id of the first refusing rule, *the* refusal; None when admitted.
        why: its reason; None when admitted.
        refusals: every refusal and warning, in reading order.
        declared: the declared capabilities, in order; those that are no text are left out.
        discloses: what its primitives disclose, when admitted.
        placement: the terms of the placement asked about.
        policy: fingerprint of the rules that decided, ``sha256:<hex>``.
    """

    decision: Literal["admitted", "refused"]
    rule: str | None
    why: str | None
    refusals: tuple[Refusal, ...]
    declared: tuple[str, ...]
    discloses: tuple[str, ...]
    placement: PlacementTerms
    policy: str

    @property
    def admitted(self) -> bool:
        """Whether the decision is ``admitted``."""
        return self.decision == "admitted"

    @property
    def enforced(self) -> Mapping[str, str]:
        """Declared capability to the mechanism that enforces it (contract 2); empty when refused."""
        if not self.admitted:
            return MappingProxyType({})
        mechanisms = self.placement.mechanisms
        return MappingProxyType({name: mechanisms[name] for name in self.declared})

    @property
    def gets(self) -> tuple[str, ...]:
        """What the host hands over, one text each (contract 2); empty when refused."""
        if not self.admitted:
            return ()
        gives = self.placement.gives
        return (*self.discloses, *(f"{name}: {gives[name]}" for name in dict.fromkeys(self.declared)))

    @property
    def cannot_have(self) -> tuple[str, ...]:
        """What nothing on this placement enforces, so that no extension can have it, with the reason."""
        terms = self.placement
        return tuple(
            f"{name} \N{EM DASH} absent: {reason}"
            for name, reason in terms.absent.items()
            if name not in terms.mechanisms
        )

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON data: the contract's shape (section 2), with ``refusals`` and ``policy``."""
        shape: dict[str, Any] = {"decision": self.decision}
        if self.admitted:
            shape["enforced"] = dict(self.enforced)
        else:
            shape |= {"rule": self.rule, "why": self.why}
        return shape | {
            "gets": list(self.gets),
            "cannotHave": list(self.cannot_have),
            "refusals": [refusal._asdict() for refusal in self.refusals],
            "policy": {"fingerprint": self.policy},
        }


class Secret(NamedTuple):
    """A header that a tool fills from the host's environment (contract 11.9).

    Attributes:
        tool: name of the tool.
        header: name of the header.
        variable: name of the environment variable; never its value.
        hosts: the hosts it may be sent to.
    """

    tool: str
    header: str
    variable: str
    hosts: tuple[str, ...]


class Plan(NamedTuple):
    """The disclosure of what an admission would mean (contract 4).

    Attributes:
        verdict: what the gate says.
        subject: the descriptor's own part: id, name, description, source, runsIn, declared, bounds, tools;
            a copy, as canonical JSON.
        secrets: the headers filled from the environment.
    """

    verdict: Verdict
    subject: bytes
    secrets: tuple[Secret, ...]

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical form of all the rest of the plan (contract 11.6)."""
        return digest(self._content())

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON data."""
        content = self._content()
        return content | {"digest": digest(content)}

    def _content(self) -> dict[str, Any]:
        import json

        subject: dict[str, Any] = json.loads(self.subject)
        return subject | {
            "gate": self.verdict.to_json(),
            "secrets": [
                {"tool": tool, "header": header, "variable": variable, "hosts": list(hosts)}
                for tool, header, variable, hosts in self.secrets
            ],
        }


def plan_of(descriptor: Any, verdict: Verdict) -> Plan:
    """The plan for a descriptor that the gate has judged.

    Raises:
        DocumentError: the descriptor is no JSON value.
    """
    data = descriptor if type(descriptor) is dict else {}
    subject = {key: data[key] for key in ("id", "name", "description", "source", "runsIn") if key in data}
    bounds = data.get("bounds") or {}
    subject["declared"] = data.get("capabilities") or []
    subject["bounds"] = bounds
    subject["tools"] = data.get("tools", [])
    return Plan(verdict, canonical(subject), tuple(_secrets(data)))


def _secrets(data: dict[str, Any]) -> list[Secret]:
    tools, bounds = data.get("tools"), data.get("bounds")
    hosts = bounds.get("hosts") if type(bounds) is dict else None
    named = tuple(host for host in hosts if type(host) is str) if type(hosts) is list else ()
    found = []
    for tool in tools if type(tools) is list else ():
        params = tool.get("params") if type(tool) is dict else None
        headers = params.get("headers") if type(params) is dict else None
        for header, value in headers.items() if type(headers) is dict else ():
            if type(value) is str and value.startswith("$"):
                found.append(Secret(str(tool.get("name", "")), header, value[1:], named))
    return found
