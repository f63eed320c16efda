"""Every path that a rule may name: its type, its origin, and what lies below it.

The vocabulary is a tree of `Term`s. What a descriptor submits comes from its schema, the rest is
listed here. A path that is not in the tree is a mistake of the rule, found when the rule is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from capgate.policy.catalog import Catalog, PlacementTerms
from capgate.policy.paths import Path
from capgate.policy.schema import DESCRIPTOR, Schema, members

__all__ = ["FACTS", "ROOTS", "Reference", "Term", "UnknownPath", "Vocabulary", "constant_value"]

#: The first words of paths; no loop variable but ``host`` may have such a name.
ROOTS = ("descriptor", "manifest", "subject", "placement", "host", "catalog", "plugin")

#: Facts that the gate itself provides: path, type, origin. `T` is a loop variable over subject.tools.
FACTS: tuple[tuple[str, str, str], ...] = (
    ("subject.capabilities", "list", "`capabilities` as submitted; empty unless it is a list"),
    ("subject.tools", "list", "`tools` as submitted; empty unless it is a list"),
    ("subject.hosts", "list", "`bounds.hosts` if `network` is declared and it is a list of strings; else empty"),
    ("subject.destinations", "list", "`subject.hosts` normalised, each with `name` and, if it has one, `port`"),
    ("subject.faults", "list", "what is malformed, each with `path`, `expected` and `found`"),
    ("T.known", "boolean", "whether a plugin defines the tool's primitive"),
    ("T.needs", "list", "the capabilities that its primitive needs; empty for an unknown one"),
    ("T.undeclared", "list", "those of `T.needs` that the subject does not declare"),
    ("T.layout", "list", "the whole-number fields of its ABI, each with `name` and `value`; empty without a known ABI"),
    ("T.first_use", "string", "JSON path of the earlier tool of the same name; absent for the first"),
    ("placement.name", "string", "the placement asked about"),
    ("placement.mechanisms", "list", "the capabilities that something enforces there"),
    ("placement.mechanism", "object", "capability to the name of what enforces it"),
    ("host.taken", "list", "tool names already in use, the reserved ones among them"),
    ("catalog.capabilities", "list", "every capability that exists"),
    ("catalog.mediated", "list", "the capabilities that some primitive uses"),
    ("catalog.primitives", "list", "every primitive"),
    ("catalog.abis", "list", "every binary layout of a primitive"),
)


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Term(NamedTuple):
    """One place in the vocabulary.

    Attributes:
        origin: how a value is found: ``submitted`` (in the descriptor), ``derived`` (worked out by the
            gate, under the name `fact`), ``constant`` (fixed once the placement is known), ``plugin``,
            or ``group`` (a prefix, no value).
        fact: for what is not submitted, its name.
        type: the type that a value is certain to have, if it is certain.
        members: what lies below, by name.
        open: whether any other name may follow, too.
        element: what a loop over it walks.
        place: where it stands, relative to the subject or to the loop's element, for messages.
    """

    origin: str
    fact: str = ""
    type: str | None = None
    members: Mapping[str, Term] = _NOTHING
    open: bool = False
    element: Term | None = None
    place: Path = ()


class Reference(NamedTuple):
    """A resolved path.

    Attributes:
        text: as the rule wrote it.
        root: its first word: one of `ROOTS` or a loop variable.
        steps: the keys after the term's own place, for submitted values.
        term: what it names.
        looped: whether the first word is a loop variable.
    """

    text: str
    root: str
    steps: tuple[str, ...]
    term: Term
    looped: bool


class UnknownPath(Exception):
    """A path that is not in the vocabulary; `known` are the names possible at the first odd word."""

    def __init__(self, prefix: str, word: str, known: tuple[str, ...]):
        super().__init__(prefix, word)
        self.prefix, self.word, self.known = prefix, word, known


_SUBMITTED = Term("submitted")
_CONSTANT_LIST = Term("constant", type="list", element=Term("submitted", type="string"))


class Vocabulary:
    """The paths that rules may use with a given catalog."""

    def __init__(self, catalog: Catalog):
        descriptor = _submitted(DESCRIPTOR)
        tool = descriptor.members["tools"].element
        assert tool is not None
        text = Term("submitted", type="string")
        layout = Term("submitted", members={"name": text, "value": _SUBMITTED}, fact="layout")
        destination = Term("submitted", members={"name": _SUBMITTED, "port": _SUBMITTED})
        fault = Term("submitted", members={"path": text, "expected": text, "found": text}, fact="fault")
        derived = {
            "known": Term("derived", "tool.known", "boolean", place=("primitive",)),
            "needs": Term("derived", "tool.needs", "list", element=text, place=("primitive",)),
            "undeclared": Term("derived", "tool.undeclared", "list", element=text, place=("primitive",)),
            "layout": Term("derived", "tool.layout", "list", element=layout, place=("wasm",)),
            "first_use": Term("derived", "tool.first_use", place=("name",)),
        }
        tool = tool._replace(members={**tool.members, **derived}, fact="tool")
        self._roots: dict[str, Term] = {
            "descriptor": descriptor,
            "subject": Term(
                "group",
                members={
                    "capabilities": Term(
                        "derived", "subject.capabilities", "list", element=_SUBMITTED, place=("capabilities",)
                    ),
                    "tools": Term("derived", "subject.tools", "list", element=tool, place=("tools",)),
                    "hosts": Term("derived", "subject.hosts", "list", element=text, place=("bounds", "hosts")),
                    "destinations": Term(
                        "derived", "subject.destinations", "list", element=destination, place=("bounds", "hosts")
                    ),
                    "faults": Term("derived", "subject.faults", "list", element=fault),
                },
            ),
            "placement": Term(
                "group",
                members={
                    "name": Term("constant", "placement.name", "string"),
                    "mechanisms": _CONSTANT_LIST._replace(fact="placement.mechanisms"),
                    "mechanism": Term(
                        "constant",
                        "placement.mechanism",
                        "object",
                        members={
                            name: Term("constant", f"placement.mechanism.{name}") for name in catalog.capabilities
                        },
                    ),
                },
            ),
            "host": Term("group", members={"taken": Term("derived", "host.taken", "list", element=text)}),
            "catalog": Term(
                "group",
                members={
                    word: _CONSTANT_LIST._replace(fact=f"catalog.{word}")
                    for word in ("capabilities", "mediated", "primitives", "abis")
                },
            ),
            "plugin": _plugin_terms(catalog),
        }

    def resolve(self, text: str, loops: Mapping[str, Term]) -> Reference:
        """Finds what `text` names, with `loops` as the variables in scope.

        Raises:
            UnknownPath: some word of it is not in the vocabulary.
        """
        words = text.split(".")
        loop, root = loops.get(words[0]), self._roots.get(words[0])
        # A loop variable may be called `host`; `host.taken` is a fact all the same.
        looped = loop is not None and (root is None or len(words) == 1 or words[1] not in root.members)
        term = loop if looped else root
        if term is None:
            raise UnknownPath("", words[0], (*loops, *self._roots))
        steps: list[str] = []
        for number, word in enumerate(words[1:], start=1):
            below = term.members.get(word)
            if below is None and not term.open:
                raise UnknownPath(".".join(words[:number]), word, tuple(term.members))
            term = below or _SUBMITTED
            if term.origin == "submitted":
                steps.append(word)
        if term.origin == "group":
            raise UnknownPath(text, "", tuple(term.members))
        return Reference(text, words[0], tuple(steps), term, looped)


def constant_value(fact: str, catalog: Catalog, placement: PlacementTerms) -> Any:
    """The value of a constant term on a placement; raises KeyError where it is absent there."""
    values: dict[str, Any] = {
        "placement.name": placement.name,
        "placement.mechanisms": list(placement.mechanisms),
        "placement.mechanism": dict(placement.mechanisms),
        "catalog.capabilities": list(catalog.capabilities),
        "catalog.mediated": list(catalog.mediated),
        "catalog.primitives": list(catalog.primitives),
        "catalog.abis": list(catalog.abis),
    }
    if fact in values:
        return values[fact]
    return placement.mechanisms[fact.removeprefix("placement.mechanism.")]


def _submitted(schema: Schema) -> Term:
    for option in schema.get("anyof", ()):
        if option["type"] == "list":
            schema = option
    known, open_ = members(schema)
    element = None
    if schema.get("type") == "list":
        element = _submitted(schema.get("schema", {}))
    return Term(
        "submitted", members={key: _submitted(member) for key, member in known.items()}, open=open_, element=element
    )


def _plugin_terms(catalog: Catalog) -> Term:
    plugins: dict[str, dict[str, Term]] = {}
    for path, terms in catalog.facts.items():
        _, plugin, fact = path.split(".", 2)
        element = _SUBMITTED if terms.type == "list" else None
        kept = terms.type if terms.type in ("list", "string", "boolean") else None
        plugins.setdefault(plugin, {})[fact] = Term("plugin", path, kept, element=element)
    return Term("group", members={plugin: Term("group", members=facts) for plugin, facts in plugins.items()})
