"""What a decision says: verdicts, and the plan that is disclosed before an admission."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from capgate.policy.catalog import PlacementTerms
from capgate.policy.compiler import Refusal
from capgate.policy.documents import canonical, digest
from capgate.policy.schema import WINDOWS

__all__ = [
    "DEFAULT_MAX_BYTES",
    "DEFAULT_WINDOW",
    "REDACTED",
    "SET_BY_HOST",
    "Budgets",
    "Plan",
    "Refusal",
    "Secret",
    "Verdict",
    "content_digest",
    "submitted",
]

#: How many bytes one write may have where ``bounds.maxBytes`` does not say (contract 7).
DEFAULT_MAX_BYTES: Final = 65536
#: When the request budget renews where ``bounds.window`` does not say (contract 11.16).
DEFAULT_WINDOW: Final = WINDOWS[0]
#: What stands for a value that is not shown.
REDACTED: Final = "[redacted]"


class Verdict(NamedTuple):
    """The answer for one subject on one placement; an immutable value that keeps nothing of the subject.

    Attributes:
        decision: ``admitted`` or ``refused``.
        rule: id of the first refusing rule, *the* refusal; None when admitted.
        why: its reason; None when admitted.
        refusals: every refusal and warning, in reading order.
        declared: the declared capabilities, in order, when admitted.
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
        return MappingProxyType({name: mechanisms[name] for name in self.declared if name in mechanisms})

    @property
    def gets(self) -> tuple[str, ...]:
        """What the host hands over, one text each (contract 2); empty when refused."""
        if not self.admitted:
            return ()
        gives = self.placement.gives
        return (*self.discloses, *(f"{name}: {gives[name]}" for name in dict.fromkeys(self.declared) if name in gives))

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


#: Keys of a stored descriptor that the host writes; what a submitter puts there is ignored (contract 11.7).
SET_BY_HOST: Final = ("state", "refusal", "proposedAt", "source")


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


class Budgets(NamedTuple):
    """How much an extension may use, with what counts where the descriptor says nothing.

    Attributes:
        max_requests: how many requests; None without the network capability.
        max_bytes: how many bytes one write may have; None without the write capability.
        window: when the request budget renews: ``process``, ``hour``, ``day`` or ``admission``.
            What is malformed is None too, and nothing is admitted with it.
        defaults: the keys of ``bounds`` that the descriptor leaves to the host.
    """

    max_requests: int | None
    max_bytes: int | None
    window: str | None
    defaults: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The budgets as JSON data, named as in ``bounds``."""
        return {
            "maxRequests": self.max_requests,
            "maxBytes": self.max_bytes,
            "window": self.window,
            "defaults": list(self.defaults),
        }


class Plan(NamedTuple):
    """The disclosure of what an admission would mean (contract 4).

    Attributes:
        verdict: what the gate says.
        subject: the descriptor's own part: id, name, description, source, runsIn, declared, bounds, tools;
            a copy, as canonical JSON. Header values that name no variable are left out: they are never
            sent (contract 7), and may be a secret that somebody wrote there (contract 11.2).
        descriptor: SHA-256 over the canonical form of the whole descriptor, what is left out included, but
            for the keys that a host sets (contract 11.7); so the plan's digest binds all of it.
        budgets: how much it may use.
        secrets: the headers filled from the environment.
    """

    verdict: Verdict
    subject: bytes
    descriptor: str
    budgets: Budgets
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
            "descriptor": self.descriptor,
            "placement": self.verdict.placement.name,
            "budgets": self.budgets.to_json(),
            "gate": self.verdict.to_json(),
            "secrets": [
                {"header": header, "variable": variable, "hosts": list(hosts)}
                for header, variable, hosts in dict.fromkeys(secret[1:] for secret in self.secrets)
            ],
        }


def plan_of(descriptor: Any, verdict: Verdict) -> Plan:
    """The plan for a descriptor that the gate has judged.

    Raises:
        DocumentError: the descriptor is no JSON value.
    """
    data = descriptor if type(descriptor) is dict else {}
    tools, bounds = data.get("tools", []), data.get("bounds") or {}
    subject = {key: data[key] for key in ("id", "name", "description", "source", "runsIn") if key in data}
    subject["declared"] = declared = data.get("capabilities") or []
    subject["bounds"] = bounds
    subject["tools"] = [_without_values(tool) for tool in tools] if type(tools) is list else tools
    return Plan(
        verdict,
        canonical(subject),
        content_digest(descriptor),
        _budgets(bounds, declared),
        tuple(_secrets(tools, bounds)),
    )


def content_digest(descriptor: Any) -> str:
    """SHA-256 over the canonical form of a descriptor, without the keys that a host sets (contract 11.6, 11.7).

    Raises:
        DocumentError: the descriptor is no JSON value.
    """
    return digest(submitted(descriptor))


def submitted(descriptor: Any) -> Any:
    """A copy of a descriptor without the keys that a host sets; anything but an object is given back as it is."""
    if type(descriptor) is not dict:
        return descriptor
    return {key: value for key, value in descriptor.items() if key not in SET_BY_HOST}


def _budgets(bounds: Any, declared: Any) -> Budgets:
    capabilities = declared if type(declared) is list else []
    said = {"maxBytes": DEFAULT_MAX_BYTES, "window": DEFAULT_WINDOW} | (bounds if type(bounds) is dict else {})
    return Budgets(
        _whole(said.get("maxRequests")) if "network" in capabilities else None,
        _whole(said["maxBytes"]) if "write" in capabilities else None,
        said["window"] if said["window"] in WINDOWS else None,
        tuple(key for key in ("maxBytes", "window") if type(bounds) is not dict or key not in bounds),
    )


def _whole(value: Any) -> int | None:
    """`value` if it is a whole number, in whichever way JSON wrote it."""
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _headers(tool: Any) -> Any:
    """The headers of a tool as submitted, or None."""
    params = tool.get("params") if type(tool) is dict else None
    return params.get("headers") if type(params) is dict else None


def _variable(value: Any) -> str | None:
    """The environment variable that a header value names, or None where it names none."""
    return value[1:] or None if type(value) is str and value.startswith("$") else None


def _without_values(tool: Any) -> Any:
    """A copy of a tool in which every header value but the name of a variable is redacted."""
    headers = _headers(tool)
    if headers is None:
        return tool
    shown: Any = REDACTED
    if type(headers) is dict:
        shown = {header: value if _variable(value) else REDACTED for header, value in headers.items()}
    return tool | {"params": tool["params"] | {"headers": shown}}


def _secrets(tools: Any, bounds: Any) -> list[Secret]:
    hosts = bounds.get("hosts") if type(bounds) is dict else None
    named = tuple(host for host in hosts if type(host) is str) if type(hosts) is list else ()
    found = []
    for tool in tools if type(tools) is list else ():
        headers = _headers(tool)
        for header, value in headers.items() if type(headers) is dict else ():
            if variable := _variable(value):
                found.append(Secret(str(tool.get("name", "")), header, variable, named))
    return found
