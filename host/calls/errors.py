"""What ends a call of a tool before, or in place of, a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from capgate.host.admission.errors import AdmissionError

__all__ = ["ToolError", "refusal"]


class ToolError(AdmissionError):
    """A call of a tool was refused; a model reads it as a result, so its HTTP status is 200."""

    answers: ClassVar[Mapping[str, tuple[int, str]]] = {
        "missing-argument": (200, "Give the argument that the tool needs."),
        "invalid-argument": (200, "Give the arguments of the tool's schema, as texts."),
        "invalid-id": (200, "Look at the catalogue for what there is."),
        "unknown-primitive": (200, "Use a primitive that this host offers."),
        "network-unbounded": (200, "Say which host it asks: give host, or a whole URL."),
        "unknown-tool": (200, "List the extensions for the tools that there are."),
        "not-admitted": (200, "Ask the person at the host to review it."),
        "admission-refused": (200, "Propose it again without what was refused."),
        "not-callable": (200, "Tools over this primitive can be judged and not called; its plugin brings no code."),
        "primitive-failed": (200, "Tell whoever wrote the plugin; its deadline is set in capgate.yaml."),
        "not-understood": (200, "Use one of the sentences that the script resolver knows."),
    }
    ids: ClassVar[Mapping[str, str]] = {id: advice for id, (_, advice) in answers.items()}


def refusal(error: AdmissionError) -> dict[str, Any]:
    """An error as the result of one of the host's own tools (contract 9): ``{ok, refused, error, why, ...details}``."""
    body = {"ok": False, "refused": error.refused, "error": f"refused: {error.refused}", "why": error.message}
    return body | error.details
