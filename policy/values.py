"""Expressions that read facts: what a path of a rule becomes in the compiled code.

The code knows these names: ``descriptor`` (as submitted), ``document`` (the same, or an empty object
where it is none), ``taken`` (tool names in use), ``facts`` (what plugins say), one local for each
derived fact of the subject, and for each loop variable its element, index, record and derived facts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, Final

from capgate.policy.catalog import RESERVED_TOOL_NAMES, Catalog, PlacementTerms
from capgate.policy.codegen import constant, expression, in_passing, name, statements
from capgate.policy.hosts import normalise_host
from capgate.policy.kinds import ANY, Kinds, of_document, of_tool
from capgate.policy.layouts import NO_FIELDS, layout_reader
from capgate.policy.operators import ABSENT
from capgate.policy.paths import ROOT, format_path, parse_path
from capgate.policy.rulefile import Loop
from capgate.policy.vocabulary import Reference, constant_value

__all__ = ["RUNTIME", "Frame", "Values", "subject_locals", "with_needs"]

_EMPTY_LIST = NO_FIELDS

_SUBJECT: Final = {
    "subject.capabilities": (
        "capabilities",
        (),
        "capabilities = D\nif type(capabilities) is not list: capabilities = EMPTY_LIST",
    ),
    "subject.tools": (
        "tools",
        (),
        "tools = D\nif type(tools) is not list: tools = EMPTY_LIST",
    ),
    "subject.hosts": (
        "hosts",
        ("subject.capabilities",),
        (
            "hosts = EMPTY_LIST\n"
            "if 'network' in capabilities:\n"
            "    bounds = B\n"
            "    held = bounds.get('hosts') if type(bounds) is dict else None\n"
            "    if type(held) is list and TEXTS.issuperset(map(type, held)): hosts = held"
        ),
    ),
    "subject.destinations": ("destinations", ("subject.hosts",), "destinations = DESTINATIONS(hosts)"),
    "subject.faults": ("faults", (), "faults = EMPTY_LIST if WELL_FORMED(descriptor) else FAULTS(descriptor)"),
}
#: The lists whose elements stand in the descriptor, each at the same index.
_COUNTED: Final = ("subject.capabilities", "subject.tools", "subject.hosts", "subject.destinations")
#: The lists that the gate makes, of objects.
_OBJECTS: Final = ("subject.faults", "subject.destinations", "tool.layout")
_TOOL: Final = {
    "tool.known": ("known", (), "X = P in NEEDS"),
    "tool.needs": ("needs", (), "X = NEEDS.get(P, EMPTY_LIST)"),
    "tool.undeclared": (
        "undeclared",
        ("tool.needs", "subject.capabilities"),
        (
            "X = EMPTY_LIST\n"
            "for need in N:\n"
            "    if need not in capabilities:\n"
            "        X = [need for need in N if need not in capabilities]\n"
            "        break"
        ),
    ),
    "tool.first_use": (
        "first_use",
        (),
        ("X = ABSENT\nif type(V) is str and SEEN.setdefault(V, I) != I:\n    X = f'$.tools[{SEEN[V]}].name'"),
    ),
}


class Frame:
    """A loop variable in scope, with the names of its locals.

    Attributes:
        loop: variable and list.
        path: the expression of the element's path in the document.
        members: keys of the element that have a local of their own.
        needs: which of the locals ``index``, ``record`` and ``seen`` some code reads.
        ready: the derived facts of the element that are worked out.
    """

    def __init__(self, loop: Loop, path: ast.expr):
        self.loop = loop
        self.path = path
        self.members: dict[str, str] = {}
        self.needs: set[str] = set()
        self.ready: set[str] = set()

    def local(self, what: str) -> str:
        """The local that holds `what` of this loop: element, index, record, primitive, a derived fact."""
        return f"{what}_of_{self.loop.variable}"


def with_needs(facts: Iterable[str]) -> set[str]:
    """The derived facts, with those that they are worked out from."""
    found: set[str] = set()
    for fact in facts:
        found.add(fact)
        found |= with_needs((_SUBJECT.get(fact) or _TOOL.get(fact) or ("", (), ""))[1])
    return found


def subject_locals(ready: Iterable[str]) -> list[str]:
    """The locals that hold facts of the subject."""
    return [_SUBJECT[fact][0] for fact in _SUBJECT if fact in ready]


class Values:
    """Emits reads for one catalog and placement.

    Args:
        constants: gets what the code needs by name, besides `RUNTIME`.

    Attributes:
        members: keys of the document that have a local of their own.
        shaped: whether what is malformed does not come this far.
        kinds: the types that a local can have, so far as they are known whenever it is assigned.
    """

    def __init__(self, catalog: Catalog, placement: PlacementTerms, constants: dict[str, Any]):
        self.catalog = catalog
        self.placement = placement
        self.constants = constants
        self.members: dict[str, str] = {}
        self.shaped = False
        self.kinds: dict[str, Kinds] = {}
        constants["NEEDS"] = {name: list(terms.needs) for name, terms in catalog.primitives.items()}
        constants["LAYOUT"] = layout_reader(catalog)
        constants["LAID_OUT"] = frozenset(name for name, terms in catalog.primitives.items() if terms.abis)

    def keep(self, value: Any) -> ast.Name:
        """A name for a Python value that is no literal."""
        identifier = f"K{len(self.constants)}"
        self.constants[identifier] = value
        return name(identifier)

    def constant_of(self, reference: Reference) -> Any:
        """The value of a constant reference on this placement; `ABSENT` where there is none."""
        try:
            return constant_value(reference.term.fact, self.catalog, self.placement)
        except KeyError:
            return ABSENT

    def read(self, reference: Reference, frames: Iterable[Frame]) -> ast.expr:
        """The expression of a reference's value, `ABSENT` where it has none."""
        term = reference.term
        frame = _frame_of(reference, frames)
        if term.origin == "constant":
            value = self.constant_of(reference)
            return name("ABSENT") if value is ABSENT else self.keep(value)
        if term.origin == "plugin":
            return expression("facts.read(PATH)", PATH=constant(term.fact))
        if term.fact in _SUBJECT:
            return name(_SUBJECT[term.fact][0])
        if term.fact == "host.taken":
            return expression("TAKEN(taken)")
        if frame is None:
            return self._of_document(reference.steps) if reference.steps else name("descriptor")
        if term.fact == "tool.layout":
            frame.needs.add("record")
            return expression(
                "LAYOUT(R) if P in LAID_OUT else EMPTY_LIST", R=frame.local("record"), P=frame.local("primitive")
            )
        if term.fact in _TOOL:
            return name(frame.local(_TOOL[term.fact][0]))
        if not reference.steps:
            return name(frame.local("element"))
        first, *rest = reference.steps
        if first in frame.members:
            return self._steps(name(frame.members[first]), rest, is_record=False)
        frame.needs.add("record")
        return self._steps(name(frame.local("record")), reference.steps)

    def _of_record(self, frame: Frame, member: str) -> ast.expr:
        held = frame.members.get(member)
        return name(held) if held else self._steps(name(frame.local("record")), [member])

    def _of_document(self, steps: Sequence[str]) -> ast.expr:
        first, *rest = steps
        if first in self.members:
            return self._steps(name(self.members[first]), rest, is_record=False)
        return self._steps(name("document"), steps)

    def _steps(self, start: ast.expr, steps: Iterable[str], *, is_record: bool = True) -> ast.expr:
        """`start` followed by keys; a record is known to be an object, other values may be anything."""
        found = start
        for number, step in enumerate(steps):
            if number == 0 and is_record:
                found = expression("R.get(KEY, ABSENT)", R=found, KEY=constant(step))
            elif isinstance(found, ast.Name):
                found = expression("V.get(KEY, ABSENT) if type(V) is dict else ABSENT", V=found.id, KEY=constant(step))
            else:
                # The bound name is read again at once, so every such step can share one name.
                held = expression(
                    "(HELD.get(KEY, ABSENT) if type(VALUE) is dict else ABSENT)",
                    HELD=in_passing("held"),
                    VALUE=ast.NamedExpr(ast.Name(in_passing("held"), ast.Store()), found),
                    KEY=constant(step),
                )
                found = held
        return found

    def prepare_document(self, members: Iterable[str]) -> list[ast.stmt]:
        """Statements that give members of the document a local of their own."""
        made: list[ast.stmt] = []
        for member in members:
            local = f"document_{len(self.members)}"
            made += statements("M = document.get(KEY, ABSENT)", M=local, KEY=constant(member))
            self.members[member] = local
            self._note(local, of_document(member) if self.shaped else ANY)
        return made

    def prepare_subject(self, facts: set[str], ready: set[str]) -> list[ast.stmt]:
        """Statements that work out facts of the subject which are not ready yet."""
        made: list[ast.stmt] = []
        for fact, (_, _, template) in _SUBJECT.items():
            if fact in facts and fact not in ready:
                submitted = self._of_document([fact.removeprefix("subject.")])
                made += statements(template, D=submitted, B=self._of_document(["bounds"]))
                ready.add(fact)
        return made

    def prepare_members(self, frame: Frame, members: Iterable[str]) -> list[ast.stmt]:
        """Statements that give members of a loop's element a local of their own."""
        made: list[ast.stmt] = []
        for member in members:
            frame.needs.add("record")
            local = frame.local(f"member_{len(frame.members)}")
            made += statements("M = R.get(KEY, ABSENT)", M=local, R=frame.local("record"), KEY=constant(member))
            frame.members[member] = local
            self._note(local, of_tool(member) if self._is_shaped_tool(frame) else ANY)
        return made

    def note_element(self, frame: Frame) -> None:
        """Notes which types the elements of a loop can have."""
        kinds = ANY
        if frame.loop.over.term.fact in _OBJECTS:
            kinds = frozenset(["dict"])
        elif self._is_shaped_tool(frame):
            kinds = of_tool(None)
        self._note(frame.local("element"), kinds)

    def _is_shaped_tool(self, frame: Frame) -> bool:
        return self.shaped and frame.loop.over.term.fact == "subject.tools"

    def _note(self, local: str, kinds: Kinds) -> None:
        """Notes what a local can be assigned; loops of several stages may have a variable of the same name."""
        self.kinds[local] = self.kinds.get(local, kinds) | kinds

    def prepare_facts(self, frame: Frame, facts: set[str]) -> list[ast.stmt]:
        """Statements that work out those derived facts of a tool that are not ready yet."""
        made: list[ast.stmt] = []
        wanted = [fact for fact in _TOOL if fact in facts and fact not in frame.ready]
        if "tool.layout" in facts or wanted:
            frame.needs.add("record")
            if "tool.layout" not in frame.ready:  # by which it is known that the primitive is at hand
                primitive = self._of_record(frame, "primitive")
                template = "P = V" if self.shaped else "P = V\nif type(P) is not str: P = None"
                made += statements(template, P=frame.local("primitive"), V=primitive)
        if "tool.first_use" in wanted:
            frame.needs |= {"index", "seen"}
            made += self.prepare_members(frame, [] if "name" in frame.members else ["name"])
        for fact in wanted:
            local, _, template = _TOOL[fact]
            made += statements(
                template,
                X=frame.local(local),
                V=self._of_record(frame, "name"),
                P=frame.local("primitive"),
                N=frame.local("needs"),
                I=frame.local("index"),
                SEEN=frame.local("seen"),
            )
        if made:
            frame.ready |= {"tool.layout", *wanted}
        return made

    def locals_of(self, frame: Frame, facts: set[str]) -> list[str]:
        """The locals of a loop that code inside it may read."""
        derived = [frame.local(local) for fact, (local, _, _) in _TOOL.items() if fact in facts]
        primitive = [frame.local("primitive")] if any(fact.startswith("tool.") for fact in facts) else []
        return [
            frame.local("element"),
            frame.local("index"),
            frame.local("record"),
            *primitive,
            *derived,
            *frame.members.values(),
        ]

    def path(self, reference: Reference, frames: Iterable[Frame]) -> ast.expr:
        """The expression of the path in the document that a reference points at."""
        frame = _frame_of(reference, frames)
        rest = [constant(step) for step in (*reference.steps, *reference.term.place)]
        if frame is None:
            return ast.Tuple([*rest] if reference.root in ("descriptor", "subject") else [], ast.Load())
        if isinstance(frame.path, ast.Tuple):
            return ast.Tuple([*frame.path.elts, *rest], ast.Load())
        return ast.Tuple([ast.Starred(frame.path, ast.Load()), *rest], ast.Load())

    def element_path(self, loop: Loop, frames: Iterable[Frame]) -> ast.expr:
        """The expression of the path of a loop's element."""
        frame = Frame(loop, ast.Tuple([], ast.Load()))
        over = loop.over.term
        element = over.element.fact if over.element else ""
        if element == "fault":
            return expression("PARSE(E['path']) or ROOT", E=frame.local("element"))
        base = self.path(loop.over, frames)
        assert isinstance(base, ast.Tuple)
        if element == "layout":
            steps = expression("FIELD(E)", E=frame.local("element"))
            return ast.Tuple([*base.elts, ast.Starred(steps, ast.Load())], ast.Load())
        if over.origin == "submitted" or over.fact in _COUNTED:
            return ast.Tuple([*base.elts, name(frame.local("index"))], ast.Load())
        return base


def _frame_of(reference: Reference, frames: Iterable[Frame]) -> Frame | None:
    """The loop whose variable a reference begins with, if it begins with one."""
    return next((frame for frame in frames if reference.looped and frame.loop.variable == reference.root), None)


def _destinations(hosts: list[str]) -> list[dict[str, Any]]:
    """Each host as it is compared at call time; an empty object for what is no host."""
    found = [normalise_host(host) for host in hosts]
    return [
        {} if host is None else {"name": host.name} | ({} if host.port is None else {"port": host.port})
        for host in found
    ]


def _taken(names: Iterable[str]) -> list[str]:
    return sorted(RESERVED_TOOL_NAMES.union(names))


def _field(element: dict[str, Any]) -> list[str]:
    return list(element["name"].split("."))


#: What compiled code calls, by the names it uses.
RUNTIME: Final[dict[str, Any]] = {
    "ABSENT": ABSENT,
    "DESTINATIONS": _destinations,
    "EMPTY_LIST": _EMPTY_LIST,
    "EMPTY_OBJECT": {},
    "FIELD": _field,
    "PARSE": parse_path,
    "RESERVED": RESERVED_TOOL_NAMES,
    "ROOT": ROOT,
    "TAKEN": _taken,
    "TEXTS": frozenset([str]),
    "format_path": format_path,
}
