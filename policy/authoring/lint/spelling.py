"""Comparisons that another spelling of the same thing gets around: hosts, addresses of pages, names of headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.conditions import Check, Each, Fact, Test
from capgate.policy.hosts import normalise_host
from capgate.policy.patterns import Pattern
from capgate.policy.vocabulary import Reference

__all__ = ["headers", "hosts", "urls"]

_HOSTS: Final = frozenset({"subject.hosts", "descriptor.bounds.hosts"})
_TEXT: Final = frozenset({"equals", "in", "not_in", "matches", "contains", "lacks", "subset_of"})
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
#: A scheme inside a pattern: in plain letters, perhaps as one of some alternatives or with an optional letter.
_IN_PATTERN: Final = re.compile(r"(?<![A-Za-z0-9+.\]\\-])(https?|ftps?|wss?)[a-z|?()]*:")
_SLASHES: Final = re.compile(r"(?:\\?/){2}")


def hosts(context: Context) -> Iterator[Finding]:
    """Hosts that are compared as they were written, and names that no normalised host has."""
    for asker in context.askers:
        for test in asker.tests():
            walked = _walked(test.reference, asker)
            if (walked == "" and test.reference.text in _HOSTS) or (walked in _HOSTS and not test.reference.steps):
                for check in test.checks:
                    if any(_compares_text(part) for part in _with_inner(check)):
                        yield _as_written(check, test, asker, context)
            if walked == "subject.destinations" and test.reference.steps == ("name",):
                for check in test.checks:
                    yield from _odd_names(check, asker, context)


def _walked(reference: Reference, asker: Asker) -> str:
    """The list that a path is an element of, or nothing."""
    found = (loop.over.text for loop in asker.loops if reference.looped and loop.variable == reference.root)
    return next(found, "")


def _with_inner(check: Check) -> Iterator[Check]:
    yield check
    if isinstance(check.operand, Each):
        for part in check.operand.checks:
            yield from _with_inner(part)


def _compares_text(check: Check) -> bool:
    operand: Any = check.operand
    texts = operand if type(operand) is list else [operand]
    return check.operator in _TEXT and any(isinstance(text, str | Pattern | Fact) for text in texts)


def _as_written(check: Check, test: Test, asker: Asker, context: Context) -> Finding:
    message = (
        f"'{test.reference.text}' holds hosts as they were written: API.example.com, api.example.com. and "
        "api.example.com:443 are one host, and this takes them for three"
    )
    remedy = "Walk over subject.destinations, and compare the variable's name: there each host has one spelling."
    return context.finding("host-spelling", asker.rule, check, message, remedy)


def _odd_names(check: Check, asker: Asker, context: Context) -> Iterator[Finding]:
    operand: Any = check.operand
    texts = operand if type(operand) is list else [operand]
    for text in texts if check.operator in ("equals", "in", "not_in") else ():
        host = normalise_host(text) if type(text) is str else None
        if type(text) is str and (host is None or host.name != text):
            message = f"no normalised host has the name '{text}', so this compares with nothing"
            remedy = f"Write '{host.name}'." if host else "Write the name alone, in lower case: no scheme, no port."
            yield context.finding("host-spelling", asker.rule, check, message, remedy)


def urls(context: Context) -> Iterator[Finding]:
    """Addresses that are compared letter by letter, though the case of the scheme does not matter."""
    for asker in context.askers:
        for test in asker.tests():
            is_url = _of_tool(test.reference, asker) == ("params", "url")
            for check in test.checks:
                scheme = next(_schemes(check, is_url=is_url), None)
                if scheme is not None:
                    message = f"this knows '{scheme}:' in one spelling, and {scheme.upper()}: is the same scheme"
                    both = "".join(f"[{letter.upper()}{letter.lower()}]" for letter in scheme if letter.isalpha())
                    remedy = f'Match both cases of each letter, as in "{both}://"; for hosts, use subject.destinations.'
                    yield context.finding("url-spelling", asker.rule, check, message, remedy)


def _schemes(check: Check, *, is_url: bool) -> Iterator[str]:
    """The schemes that an operator names in plain letters; in another text than a URL only what looks like one."""
    operand: Any = check.operand.text if isinstance(check.operand, Pattern) else check.operand
    texts = operand if type(operand) is list else [operand]
    for text in texts if is_url and check.operator in ("equals", "in", "not_in", "matches") else ():
        found = _SCHEME.match(text.lstrip("^")) if type(text) is str else None
        if found:
            yield found[1]
    for found in _IN_PATTERN.finditer(operand) if isinstance(check.operand, Pattern) else ():
        if is_url or _SLASHES.match(operand, found.end()):
            yield found[1]


def headers(context: Context) -> Iterator[Finding]:
    """Headers that are named in one spelling, though the case of their names does not matter."""
    for asker in context.askers:
        for test in asker.tests():
            steps = _of_tool(test.reference, asker)
            if steps[:2] == ("params", "headers") and len(steps) == 3:
                message = f"the case of a header's name does not matter, and this knows only '{steps[2]}'"
                whole = test.reference.text.rpartition(".")[0]
                remedy = f"Ask of all headers, as in '{whole}: {{empty: false}}', or leave the header to the host."
                yield context.finding("header-spelling", asker.rule, test.checks[0], message, remedy)


def _of_tool(reference: Reference, asker: Asker) -> tuple[str, ...]:
    """The steps of a path from a tool on."""
    return reference.steps if _walked(reference, asker) in ("subject.tools", "descriptor.tools") else ()
