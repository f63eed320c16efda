"""One rule file: from its text to a `Rule`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from capgate.policy import schema
from capgate.policy.catalog import OperatorTerms
from capgate.policy.conditions import Condition, Reader
from capgate.policy.documents import Document, DocumentError, load_yaml
from capgate.policy.paths import ROOT, Path
from capgate.policy.rule_errors import Problems, RuleError, did_you_mean
from capgate.policy.shapes import Fault, Shape, found_type
from capgate.policy.templates import Template, read_template
from capgate.policy.vocabulary import ROOTS, Reference, Term, Vocabulary

__all__ = [
    "Example",
    "Loop",
    "Rule",
    "RuleFile",
    "Trigger",
    "check_shape",
    "load_rule_file",
    "read_loop",
    "read_rule_file",
]

_VARIABLE = re.compile(r"[a-z][a-z0-9_]*")
_WORDS = frozenset({*ROOTS, "fact", "all", "any", "none", "not"}) - {"host"}
#: What to do about a file of which nothing can be read.
_NO_RULE = (
    "A rule file has at least id, title, applies_to and triggers; 'capgate new rule ID' writes one to begin with."
)
_AT_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
#: Keys that rule authors try when they want to switch a rule off; language 1 has no such thing.
_LOOSENING = frozenset(
    "allow allows disable disabled enabled except exceptions exclude exempt ignore ignored off override overrides "
    "remove replace replaces skip unless waive waived waiver waivers".split()
)


class Loop(NamedTuple):
    """``for_each``: a variable, and the list that it walks."""

    variable: str
    over: Reference

    @property
    def element(self) -> Term:
        """What the variable stands for."""
        return self.over.term.element or Term("submitted")


class Trigger(NamedTuple):
    """When a rule refuses, and what it says then.

    Attributes:
        stage: name of the stage in which it is asked.
        loop: a loop of its own inside the stage's, or None.
        when: the condition; refuses when it holds or cannot be decided.
        reason, remedy: what is said.
        at: the path pointed at, or a template whose one value is a JSON path.
        source: where the trigger stands in its file.
    """

    stage: str
    loop: Loop | None
    when: Condition
    reason: Template
    remedy: Template
    at: Reference | None
    at_value: bool
    source: Path


class Example(NamedTuple):
    """A descriptor that the rule has to refuse, or has to be silent on.

    Attributes:
        refused: which of the two.
        descriptor: the example.
        given: ``placement``, ``taken`` and ``mechanisms``, as far as given.
        source: where it stands in its file.
    """

    refused: bool
    descriptor: Any
    given: Mapping[str, Any]
    source: Path


@dataclass(frozen=True)
class Rule:
    """A refusal rule.

    Attributes:
        id: the id that refusals carry; the stem of the file.
        title: one line.
        severity: ``refuse``, or ``warn`` for what is reported and decides nothing.
        triggers: when it refuses, in order.
        references: where more is said.
        examples: what must and what must not be refused.
        document: the file, with positions.
        provider: who ships it: ``capgate``, a plugin's name, or the overlay's folder.
    """

    id: str
    title: str
    severity: str
    triggers: tuple[Trigger, ...]
    references: tuple[str, ...]
    examples: tuple[Example, ...]
    document: Document
    provider: str

    def decides(self) -> Any:
        """The part of the file that a verdict can depend on, as JSON data."""
        return {key: part for key, part in self.document.data.items() if key not in ("examples", "references")}


class RuleFile(NamedTuple):
    """A rule file that was read as far as its shape; its stages are yet unknown.

    Attributes:
        document: the file.
        stem: its name without the suffix.
        id: the id that it gives the rule; None where that cannot be one.
        provider: who ships it.
        sound: whether its shape is right; if not, it is read only for what else is wrong with it.
        readable: the numbers of the triggers whose shape is right.
    """

    document: Document
    stem: str
    id: str | None
    provider: str
    sound: bool
    readable: tuple[int, ...]


@cache
def _shape(kind: str) -> Shape:
    return Shape(getattr(schema, kind), f"schema of {kind.lower()}")


def check_shape(document: Document, kind: str, problems: Problems) -> list[Fault]:
    """Holds a file against the schema named `kind`; the faults, which also go to `problems`."""
    shape = _shape(kind)
    if shape.holds(document.data):
        return []
    faults = shape.faults(document.data)
    problems.extend(_fault_problem(document, fault) for fault in faults)
    return faults


def load_rule_file(source: bytes, name: str, stem: str, provider: str, problems: Problems) -> RuleFile | None:
    """Reads a file as far as its shape; what is wrong goes to `problems`. None where nothing can be read of it."""
    try:
        document = load_yaml(source, name)
    except DocumentError as error:
        if error.id == "empty-document":
            error = DocumentError(error.id, "the file holds no rule", hint=_NO_RULE, span=error.span)
        problems.add(error)
        return None
    data = document.data
    if not isinstance(data, dict):
        message = f"the file: expected object, found {found_type(data)}"
        problems.add(RuleError("value-unfit", message, hint=_NO_RULE, span=document.span(ROOT)))
        return None
    faults = check_shape(document, "RULE", problems)
    places = [fault.path for fault in faults if fault.kind != "unknown"]
    id = data["id"] if "id" in data and ("id",) not in places else None
    count = len(data["triggers"]) if isinstance(data.get("triggers"), list) else 0
    unread = {path[1] for path in places if path[:1] == ("triggers",) and len(path) > 1}
    readable = tuple(number for number in range(count) if number not in unread)
    return RuleFile(document, stem, id, provider, not faults, readable)


def read_loop(
    data: Mapping[str, str] | None,
    at: Path,
    outer: Mapping[str, Term],
    *,
    reader: Reader,
    document: Document,
    problems: Problems,
) -> Loop | None:
    """Reads a ``for_each``; None where there is none, or where it is wrong and `problems` says so."""
    if data is None:
        return None
    ((variable, text),) = data.items()
    there = (*at, variable)
    if not _VARIABLE.fullmatch(variable) or variable in _WORDS or variable in outer:
        problems.add(
            RuleError("loop-variable", f"{variable!r} cannot be a loop variable", span=document.span(there, key=True))
        )
        return None
    over = reader.path(text, there, outer)
    return Loop(variable, over) if over else None


def read_rule_file(
    file: RuleFile,
    *,
    stages: Mapping[str, Loop | None],
    unread: Callable[[str], bool],
    vocabulary: Vocabulary,
    operators: Mapping[str, OperatorTerms],
    placements: Sequence[str],
    capabilities: Sequence[str],
    problems: Problems,
) -> Rule | None:
    """Reads the rest of a file; what is wrong goes to `problems`, and the rule is then not to be used.

    Args:
        file: the file.
        stages: every stage, with what it walks over.
        unread: tells of a stage's name that nothing is known of it, since the file that adds it is wrong.
        vocabulary: the paths that exist.
        operators: the operators that plugins add.
        placements: the names of all placements.
        capabilities: the names of all capabilities.
        problems: where mistakes go.
    """
    document, data = file.document, file.document.data
    reader = Reader(document, vocabulary, operators, problems)
    triggers = []
    for number in file.readable:
        part = data["triggers"][number]
        if unread(part["stage"]):
            continue  # what names the stage's variable would only repeat the problem
        trigger = _trigger(part, ("triggers", number), file, stages, reader, problems)
        if trigger:
            triggers.append(trigger)
    if not file.sound:
        return None
    return Rule(
        data["id"],
        data["title"],
        data.get("severity", "refuse"),
        tuple(triggers),
        tuple(data.get("references", ())),
        tuple(_examples(document, placements, capabilities, problems)),
        document,
        file.provider,
    )


def _trigger(
    data: Any, at: Path, file: RuleFile, stages: Mapping[str, Loop | None], reader: Reader, problems: Problems
) -> Trigger | None:
    document = file.document
    if data["stage"] not in stages:
        problems.add(
            RuleError(
                "stage-unknown",
                f"no stage is called {data['stage']!r}",
                hint=did_you_mean(data["stage"], stages),
                span=document.span((*at, "stage")),
            )
        )
        return None
    loops: dict[str, Term] = {}
    outer = stages[data["stage"]]
    if outer:
        loops[outer.variable] = outer.element
    loop = read_loop(
        data.get("for_each"), (*at, "for_each"), loops, reader=reader, document=document, problems=problems
    )
    if loop:
        loops[loop.variable] = loop.element
    elif "for_each" in data:
        return None  # whatever names the variable would only repeat the problem
    when = reader.condition(data["when"], (*at, "when"), loops)
    reason = read_template(data["reason"], (*at, "reason"), loops, reader=reader, document=document, problems=problems)
    remedy_at = (*at, "remedy") if "remedy" in data else ("remedy",)
    said = data.get("remedy", document.data.get("remedy", ""))
    remedy = read_template(
        said if isinstance(said, str) else "",
        remedy_at,
        loops,
        reader=reader,
        document=document,
        problems=problems,
    )
    pointed, is_value = None, False
    if "at" in data:
        placeholder = _AT_PLACEHOLDER.fullmatch(data["at"])
        is_value = placeholder is not None
        if not is_value and "{" in data["at"]:
            message = f"{data['at']!r} is neither a path nor one path in braces"
            hint = "Give a path, or one path in braces and nothing around it."
            problems.add(RuleError("path-syntax", message, hint=hint, span=document.span((*at, "at"))))
            return None
        pointed = reader.path(placeholder[1] if placeholder else data["at"], (*at, "at"), loops)
        if pointed is None:
            return None
    return Trigger(data["stage"], loop, when, reason, remedy, pointed, is_value, at) if when else None


def _examples(
    document: Document, placements: Sequence[str], capabilities: Sequence[str], problems: Problems
) -> list[Example]:
    made = []
    for kind, examples in document.data.get("examples", {}).items():
        for number, data in enumerate(examples):
            at: Path = ("examples", kind, number)
            given = data.get("given", {})
            if given.get("placement", placements[0]) not in placements:
                problems.add(
                    RuleError(
                        "example-placement",
                        f"no placement is called {given['placement']!r}",
                        hint=did_you_mean(given["placement"], placements),
                        span=document.span((*at, "given", "placement")),
                    )
                )
            for place, name in enumerate(given.get("mechanisms", ())):
                if name not in capabilities:
                    span = document.span((*at, "given", "mechanisms", place))
                    hint = did_you_mean(name, capabilities)
                    problems.add(
                        RuleError("example-mechanism", f"no capability is called {name!r}", hint=hint, span=span)
                    )
            made.append(Example(kind == "refused", data["descriptor"], given, at))
    return made


def _fault_problem(document: Document, fault: Fault) -> RuleError:
    *_, holder, last = ("", "the file", *fault.path)
    word = repr(last) if isinstance(last, str) and fault.path else str(last)
    if fault.kind == "unknown":
        span = document.span(fault.path, key=True)
        if last in _LOOSENING:
            return RuleError("rule-loosens", f"{word} would loosen a rule", span=span)
        known = fault.expected.removeprefix("one of ").split(", ")
        return RuleError("key-unknown", f"{word} is no key here", hint=did_you_mean(str(last), known), span=span)
    if fault.kind == "required":
        return RuleError("key-missing", f"{word} is missing", span=document.span(fault.path[:-1]))
    if isinstance(last, int):
        word = f"item {last + 1} of {holder!r}"
    hint = None
    if fault.kind == "allowed":
        allowed = fault.expected.removeprefix("one of ").split(", ")
        hint = did_you_mean(fault.found.strip("'"), allowed)
    elif fault.kind == "type" and (fault.expected, fault.found) == ("string", "object"):
        hint = "Put a text that begins with a brace in quotes."
    expected = fault.expected
    if fault.kind == "regex" and expected.endswith(schema.ONE_LINE):
        expected = "text on one line, without control characters"
        hint = f"Write {word} on one line, and not as a block of text (| or >)."
    message = f"{word}: expected {expected}, found {fault.found}"
    return RuleError("value-unfit", message, hint=hint, span=document.span(fault.path))
