"""The smallest descriptor that shows something: parts are left out of one that does, as long as it still does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from capgate.policy.authoring.flow import flow
from capgate.policy.authoring.given import Given
from capgate.policy.authoring.settle import Subject

__all__ = ["shown", "smallest"]

#: So many attempts are made to find a smaller one.
_ATTEMPTS: Final = 400
_WIDEST: Final = 160


def smallest(subject: Subject, shows: Callable[[Subject], bool]) -> Subject:
    """A subject as small as was found for which `shows` is true, as it is for `subject`."""
    left = _ATTEMPTS
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(subject):
            left -= 1
            if left < 0:
                return subject
            if shows(candidate):
                subject, smaller = candidate, True
                break
    return subject


def shown(subject: Subject) -> str:
    """A subject for a message, on one line: as JSON, with what it is judged against where that is unusual."""
    text = json.dumps(subject.descriptor, ensure_ascii=False)
    given = subject.given.to_json()
    text += f" given {flow(given)}" if given else ""
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _smaller(subject: Subject) -> Iterator[Subject]:
    given = subject.given
    for simpler in (
        given._replace(placement=Given().placement),
        given._replace(taken=()),
        given._replace(mechanisms=None),
    ):
        if simpler != given:
            yield subject._replace(given=simpler)
    for descriptor in _simpler(subject.descriptor):
        yield subject._replace(descriptor=descriptor)


def _simpler(value: Any) -> Iterator[Any]:
    """The value with one part less, the outermost first."""
    if isinstance(value, list):
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :]
        for at, part in enumerate(value):
            yield from ([*value[:at], simpler, *value[at + 1 :]] for simpler in _simpler(part))
    elif isinstance(value, dict):
        for key in value:
            yield {name: part for name, part in value.items() if name != key}
        for key, part in value.items():
            yield from ({**value, key: simpler} for simpler in _simpler(part))
