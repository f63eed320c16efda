"""Reasons, remedies, titles and references that do not help whoever reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path as FilePath
from typing import Final

from capgate.policy.authoring.lint.claims import roles_of
from capgate.policy.authoring.lint.context import Asker, Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.kleene import said_by
from capgate.policy.authoring.lint.space import Space
from capgate.policy.authoring.lint.values import TooMany
from capgate.policy.conditions import AllOf, Check, Test, paths_of
from capgate.policy.rulefile import Rule
from capgate.policy.templates import Template
from capgate.policy.vocabulary import Reference

__all__ = [
    "absent_placeholders",
    "dead_references",
    "missing_remedies",
    "repeated_titles",
    "same_titles",
    "unread_paths",
]

#: What says which extension a reason is about, or what it asks for.
_NAMING: Final = frozenset({"descriptor.id", "descriptor.name", "subject.capabilities", "subject.hosts"})
_NAMING_STEPS: Final = ((), ("name",), ("primitive",))
#: Elements that are all about one thing, so that any part of them says which.
_SMALL: Final = frozenset({"fault", "layout"})
#: Facts that are worked out of a tool, and the parts of it that they come from.
_MADE_OF: Final = {
    "tool.known": ("primitive",),
    "tool.needs": ("primitive",),
    "tool.undeclared": ("primitive",),
    "tool.layout": ("primitive", "wasm"),
    "tool.first_use": ("name",),
}
_MADE_OF_DESCRIPTOR: Final = {
    "subject.capabilities": "descriptor.capabilities",
    "subject.tools": "descriptor.tools",
    "subject.hosts": "descriptor.bounds",
    "subject.destinations": "descriptor.bounds",
}
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)


def unread_paths(context: Context) -> Iterator[Finding]:
    """Reasons that show a value which the trigger does not look at."""
    for asker in context.askers:
        read = [reference.text for reference in paths_of(asker.trigger.when)]
        read += [loop.over.text for loop in asker.loops]
        made = [part for reference in _all_read(asker) for part in _made_of(reference)]
        for reference in _named(asker.trigger.reason):
            if not _is_naming(reference, asker) and not any(_related(reference.text, text) for text in (*read, *made)):
                message = f"the reason shows '{reference.text}', which {asker.named} does not look at"
                remedy = "Show what was found to be wrong, or ask for this path in the condition."
                at = (*asker.trigger.source, "reason")
                yield context.finding("reason-names-unread-path", asker.rule, at, message, remedy)


def _all_read(asker: Asker) -> Iterator[Reference]:
    yield from paths_of(asker.trigger.when)
    yield from (loop.over for loop in asker.loops)


def _made_of(reference: Reference) -> Iterator[str]:
    fact = reference.term.fact
    if fact in _MADE_OF_DESCRIPTOR and not reference.looped:
        yield _MADE_OF_DESCRIPTOR[fact]
    yield from (f"{reference.root}.{part}" for part in _MADE_OF.get(fact, ()))


def _named(template: Template) -> list[Reference]:
    return [piece for piece in template if isinstance(piece, Reference)]


def _is_naming(reference: Reference, asker: Asker) -> bool:
    if reference.term.origin == "constant" or reference.text in _NAMING:
        return True
    if any(loop.variable == reference.root and loop.element.fact in _SMALL for loop in asker.loops):
        return True
    return reference.looped and reference.term.origin == "submitted" and reference.steps in _NAMING_STEPS


def _related(one: str, other: str) -> bool:
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def absent_placeholders(context: Context) -> Iterator[Finding]:
    """Placeholders that have no value whenever the trigger holds."""
    for asker in context.askers:
        read = {reference.text for reference in paths_of(asker.trigger.when)}
        for key, template in (("reason", asker.trigger.reason), ("remedy", asker.trigger.remedy)):
            for reference in _named(template):
                if reference.text in read and not _can_be_there(reference, asker, context):
                    message = f"'{{{reference.text}}}' is absent whenever {asker.named} holds: the {key} shows ‹absent›"
                    remedy = "Take it out of the text."
                    own = key in asker.rule.document.data["triggers"][asker.trigger.source[1]]
                    at = (*asker.trigger.source, key) if own else (key,)
                    yield context.finding("placeholder-always-absent", asker.rule, at, message, remedy)


def _can_be_there(reference: Reference, asker: Asker, context: Context) -> bool:
    """Whether the value can be there when the trigger holds; true where that is too much to look at."""
    at = ("exists",)
    there = Test(reference, (Check("exists", True, at),), at)
    both = asker.trigger._replace(when=AllOf((asker.trigger.when, there), ()))
    try:
        (answers,) = Space([(both, roles_of(asker))], context.gates, context.domains).answers()
    except TooMany:
        return True
    # Of a trigger that never holds there is nothing more to say.
    return said_by(both.when, answers).can_hold != 0 or said_by(asker.trigger.when, answers).can_hold == 0


def missing_remedies(context: Context) -> Iterator[Finding]:
    """Triggers that say what is wrong, and not what to do."""
    for asker in context.askers:
        if not "".join(piece for piece in asker.trigger.remedy if isinstance(piece, str)).strip():
            message = f"{asker.named} has no remedy: whoever is refused is not told what to do"
            remedy = "Add a remedy, to the trigger or to the rule."
            yield context.finding("remedy-missing", asker.rule, asker.trigger.source, message, remedy)


def repeated_titles(context: Context) -> Iterator[Finding]:
    """Reasons that are the title once more."""
    for asker in context.askers:
        reason = "".join(piece for piece in asker.trigger.reason if isinstance(piece, str))
        if _plain(reason) == _plain(asker.rule.title):
            message = "the reason repeats the title, which says what holds when the rule is silent"
            remedy = "Say what was found, with its value, and why it is refused."
            at = (*asker.trigger.source, "reason")
            yield context.finding("reason-repeats-title", asker.rule, at, message, remedy)


def same_titles(context: Context) -> Iterator[Finding]:
    """Titles that an earlier rule has."""
    titles: dict[str, Rule] = {}
    for rule in context.gates.rules.rules.values():
        first = titles.setdefault(_plain(rule.title), rule)
        if first is not rule and rule in context.rules:
            message = f"the rule '{first.id}' has this title, too"
            remedy = "Say in the title what this rule is about."
            yield context.finding("title-same-as-other", rule, ("title",), message, remedy)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def dead_references(context: Context) -> Iterator[Finding]:
    """References to files and headings that are not there."""
    for rule in context.rules:
        for number, text in enumerate(rule.references):
            problem = _dead(text, FilePath(rule.document.name).parent)
            if problem:
                remedy = "Correct the reference; a path is looked for from the rule's folder upwards."
                yield context.finding("reference-broken", rule, ("references", number), problem, remedy)


def _dead(text: str, folder: FilePath) -> str | None:
    """What is wrong with a reference to a Markdown file; None where it is none, or its folder is not here."""
    name, _, anchor = text.partition("#")
    if not re.fullmatch(r"[\w./-]+\.md", name):
        return None
    # Where packages are installed, a folder of that name is somebody else's.
    homes = list(takewhile(lambda one: one.name != "site-packages", [folder, *folder.resolve().parents]))
    home = next((one for one in homes if (one / name).parent.is_dir()), None)
    if home is None:
        return None
    file = home / name
    if not file.is_file():
        return f"there is no file '{name}'"
    headings = _HEADING.findall(file.read_text(encoding="utf-8", errors="replace"))
    known = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return f"'{name}' has no heading '#{anchor}'" if anchor and anchor not in known else None
