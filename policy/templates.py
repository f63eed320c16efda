"""Reason and remedy templates: text with paths in braces, and nothing else in braces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from capgate.policy.conditions import Reader, is_path
from capgate.policy.documents import Document
from capgate.policy.paths import Path
from capgate.policy.rule_errors import Problems, RuleError
from capgate.policy.vocabulary import Reference, Term

__all__ = ["Template", "read_template"]

#: The pieces of a template in order: text, or the path whose value stands there.
Template: TypeAlias = "tuple[str | Reference, ...]"

#: How much of the text a message shows on each side of the mistake, in code points.
_AROUND = 12
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def read_template(
    text: str, at: Path, loops: Mapping[str, Term], *, reader: Reader, document: Document, problems: Problems
) -> Template:
    """Reads a template; what is wrong with it goes to `problems`."""
    pieces: list[str | Reference] = []
    start = 0
    plain = ""
    for found in _PIECE.finditer(text):
        plain += text[start : found.start()]
        start = found.end()
        if found[0] in ("{{", "}}"):
            plain += found[0][0]
        elif found[1] is None:
            around = text[max(found.start() - _AROUND, 0) : found.end() + _AROUND]
            message = f"a lone {found[0]!r} in the text, at {around!r}"
            problems.add(RuleError("template-syntax", message, span=document.span(at)))
        elif not is_path(found[1]):
            message = f"{found[0]!r} holds no path: names joined by dots"
            problems.add(RuleError("template-syntax", message, span=document.span(at)))
        else:
            reference = reader.path(found[1], at, loops)
            if reference:
                pieces += [plain, reference] if plain else [reference]
                plain = ""
    plain += text[start:]
    return (*pieces, plain) if plain or not pieces else tuple(pieces)
