"""What a request for a decision may say, and the verdict on it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.host import AdmissionHost
from capgate.policy.gate import GateError, Verdict
from capgate.policy.text import show

__all__ = ["LARGE", "judge"]

#: What has more bytes is judged in a thread: ten thousands of hosts take longer than others may wait.
LARGE: Final = 16 * 1024

_KEYS: Final = frozenset({"descriptor", "placement", "existingTools"})


def judge(host: AdmissionHost, request: Any) -> Verdict:
    """The verdict on ``{"descriptor", "placement"?, "existingTools"?}``.

    Without ``existingTools`` the names of the tools of all other running extensions are in use (contract 11.22).

    Args:
        host: knows what runs, and has the gate.
        request: JSON data.

    Raises:
        AdmissionError: ``bad-request``: the request has another form.
        GateError: ``unknown-placement`` or ``bad-tool-names``.
    """
    if type(request) is not dict:
        raise AdmissionError("bad-request", f"the request is {show(request)}, not an object")
    if "descriptor" not in request:
        raise AdmissionError("bad-request", "the request has no descriptor", hint='Send {"descriptor": {...}}.')
    if len(request) > 1 and not request.keys() <= _KEYS:
        # Passed over, a misspelt key would change the verdict and nobody would know.
        unknown = ", ".join(show(key) for key in sorted(request.keys() - _KEYS))
        hint = f"Use {', '.join(sorted(_KEYS))}."
        raise AdmissionError("bad-request", f"the request has the unknown keys {unknown}", hint=hint)
    descriptor = request["descriptor"]
    names = _names(request["existingTools"]) if "existingTools" in request else host.taken(_id(descriptor))
    return host.gate.admit(descriptor, request.get("placement", "machine"), names)


def _id(descriptor: Any) -> str | None:
    id = descriptor.get("id") if type(descriptor) is dict else None
    return id if type(id) is str else None


def _names(given: Any) -> Collection[str]:
    if type(given) is not list or not all(type(name) is str for name in given):
        raise GateError("bad-tool-names", "existingTools is not a list of texts")
    return frozenset(given)
