"""Running the YAML parser, and saying in our words why it stopped."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from capgate.policy.documents.document import Place
from capgate.policy.documents.yaml_build import MAX_DEPTH, Builder, half_character, surrogate_at, too_deep
from capgate.policy.documents.yaml_scalars import Fault

__all__ = ["parse"]

_BRACKET: Final = re.compile(r"[\[\]{}]")
#: How far the scanner may run ahead of its events, in code points: a simple key has 1024 at most.
_AHEAD: Final = 4096


def parse(text: str) -> tuple[Any, Place]:
    """The value of `text`, which holds no directive and no refused character, and its places.

    Raises:
        Fault: the first thing wrong with it.
    """
    builder = Builder(text)
    loader = (yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader)(text)
    last: yaml.Event | None = None
    try:
        while (event := loader.get_event()) is not None:
            builder.take(event)
            last = event
    except yaml.MarkedYAMLError as fault:
        raise _explain(text, fault, builder.depth, _end(last)) from None
    except (ValueError, OverflowError):
        # So the parser in Python meets an escape beyond U+10FFFF.
        raise Fault("yaml-syntax", _end(last), "after this an escape names no character") from None
    finally:
        loader.dispose()
    return builder.finish()


def _end(event: yaml.Event | None) -> int:
    """Where an event ended; 0 before the first."""
    return event.end_mark.index if event and event.end_mark else 0


def _explain(text: str, fault: yaml.MarkedYAMLError, depth: int, reached: int) -> Fault:
    """What made the parser stop, after the event that ended at `reached`."""
    mark = fault.problem_mark or fault.context_mark
    offset = reached if mark is None else mark.index
    if fault.context_mark is not None:
        # libyaml takes no surrogate escape at all.
        surrogate = surrogate_at(text, fault.context_mark.index)
        if surrogate is not None and surrogate <= offset:
            return half_character(surrogate)
    for bracket in _BRACKET.finditer(text, reached, reached + _AHEAD):
        # libyaml's scanner has a limit of its own and may meet it before the events get that far.
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            return too_deep(bracket.start())
    hint = "Indent with spaces, not with tabs." if text.startswith("\t", offset) else None
    return Fault("yaml-syntax", offset, f"the text cannot be read as YAML here; the parser says: {fault.problem}", hint)
