"""The gate: facts in, verdict out.

A `Gate` is made once of a catalog and a rule set and then only read, so any number of threads may ask
it. Nothing here touches a file, a clock or a network.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from capgate.policy.catalog import Catalog, FactTerms
from capgate.policy.compiler import Asked, Program, Refusal, descriptor_shape, warns_by_plugin
from capgate.policy.errors import CapgateError, FactUnavailable
from capgate.policy.rule_errors import did_you_mean
from capgate.policy.rulefile import Rule
from capgate.policy.ruleset import RuleSet
from capgate.policy.text import show
from capgate.policy.verdict import Plan, Verdict, plan_of

__all__ = ["Facts", "Gate", "GateError", "Plan", "Refusal", "ToolNames", "Verdict"]


#: Makes a named tuple of a tuple: what its class would do, in a third of the time.
_made = tuple.__new__
_TEXT = frozenset([str])


class GateError(CapgateError, ValueError):
    """The gate was asked something that it cannot be asked."""

    ids = {
        "unknown-placement": "Ask for a placement that a plugin defines.",
        "bad-tool-names": "Give the names in use as a set of texts.",
    }


class ToolNames(set[str]):
    """Names of tools that a host keeps up to date; a gate takes it as it is, without a check or a copy.

    It must hold nothing but texts, and must not change while the gate is asked.
    """


class Gate:
    """Judges descriptors by a fixed set of rules.

    Args:
        catalog: what exists.
        rules: the rules, loaded with the same catalog.
        decided: told of each verdict, with the descriptor; what it raises is its own matter to prevent.

    Attributes:
        rules: the rule set.
        catalog: what exists.
        fingerprint: SHA-256 over all that decides, ``sha256:<hex>``.
    """

    def __init__(self, catalog: Catalog, rules: RuleSet, *, decided: Callable[[Any, Verdict], None] | None = None):
        self.catalog = catalog
        self.rules = rules
        self.fingerprint = rules.fingerprint
        self._decided = decided
        self._decides_by_admitting = decided is not None or warns_by_plugin(rules)
        # By placement, what decides there; empty where a decision takes more than that.
        self._deciding: dict[str, Callable[[Any, Any, Any], str | None]] = {}
        self._shape = descriptor_shape()
        self._programs: dict[str, Program] = {}
        self._plugin_facts = catalog.facts
        self._disclosing = {
            name: f"{name}: {terms.discloses}" for name, terms in catalog.primitives.items() if terms.discloses
        }
        # The names given last, checked: hosts give the same set again and again.
        self._names: Collection[str] = frozenset()

    @property
    def placements(self) -> tuple[str, ...]:
        """The names of the placements that can be asked for."""
        return tuple(self.catalog.placements)

    def rule(self, id: str) -> Rule | None:
        """The rule with this id, if there is one."""
        return self.rules.rules.get(id)

    def decide(
        self, descriptor: Any, placement: str = "machine", existing_tools: Collection[str] = frozenset()
    ) -> str | None:
        """The shortest answer: the id of the first refusing rule, None when admitted.

        Args:
            descriptor: parsed JSON; it is only read, and must not change meanwhile.
            placement: where it would run.
            existing_tools: names of the tools of other extensions. The reserved names count without being given.
                A host that asks with a large and changing set gives `ToolNames`.

        Raises:
            GateError: an unknown placement, or tool names that are no set of texts.
        """
        try:
            decide = self._deciding[placement]
        except (KeyError, TypeError):
            return self._decide(descriptor, placement, existing_tools)
        if existing_tools is not self._names and type(existing_tools) is not ToolNames:
            existing_tools = self._names = _names(existing_tools)
        return decide(descriptor, existing_tools, None)

    def _decide(self, descriptor: Any, placement: str, existing_tools: Collection[str]) -> str | None:
        """Decides where plugins may have a say, and where nobody asked before."""
        if self._decides_by_admitting:
            return self.admit(descriptor, placement, existing_tools).rule
        program = self._program(placement)
        if existing_tools is not self._names and type(existing_tools) is not ToolNames:
            existing_tools = self._names = _names(existing_tools)
        if not self._plugin_facts and not self.catalog.operators:
            self._deciding[placement] = program.decide
        facts = Facts(self._plugin_facts, descriptor, placement) if self._plugin_facts else None
        try:
            return program.decide(descriptor, existing_tools, facts)
        except FactUnavailable as error:
            return error.id

    def admit(
        self, descriptor: Any, placement: str = "machine", existing_tools: Collection[str] = frozenset()
    ) -> Verdict:
        """The whole answer; arguments and errors as for `decide`, contract section 3."""
        program = self._programs.get(placement) if type(placement) is str else None
        if program is None:
            program = self._program(placement)
        if existing_tools is not self._names and type(existing_tools) is not ToolNames:
            existing_tools = self._names = _names(existing_tools)
        facts = Facts(self._plugin_facts, descriptor, placement) if self._plugin_facts else None
        refusals: list[Refusal] = []
        try:
            program.admit_late(descriptor, existing_tools, facts, refusals)
        except FactUnavailable as error:
            refusals.append(Refusal(error.id, error.message, error.hint, "refuse", "$", None))
        verdict = self._verdict(descriptor, placement, refusals)
        if self._decided is not None:
            self._decided(descriptor, verdict)
        return verdict

    def plan(self, descriptor: Any, placement: str = "machine", existing_tools: Collection[str] = frozenset()) -> Plan:
        """What an admission would mean; arguments as for `decide`.

        Raises:
            GateError: as for `decide`.
            DocumentError: the descriptor is no JSON value.
        """
        return plan_of(descriptor, self.admit(descriptor, placement, existing_tools))

    def explain(
        self, descriptor: Any, placement: str = "machine", existing_tools: Collection[str] = frozenset()
    ) -> list[Asked]:
        """What every trigger answered, condition by condition; arguments and errors as for `decide`.

        The answers come from the same compiled questions as verdicts do.

        Raises:
            GateError: as for `decide`.
            FactUnavailable: a plugin could not say what a rule asked it.
        """
        program = self._program(placement)
        facts = Facts(self._plugin_facts, descriptor, placement) if self._plugin_facts else None
        asked: list[Asked] = []
        program.explain(descriptor, _names(existing_tools), facts, asked)
        return asked

    def _verdict(self, descriptor: Any, placement: str, refusals: list[Refusal]) -> Verdict:
        terms = self.catalog.placements[placement]
        for refusal in refusals:
            if refusal.severity == "refuse":
                rule, reason, *_ = refusal
                return _made(Verdict, ("refused", rule, reason, tuple(refusals), (), (), terms, self.fingerprint))
        # The shipped rules leave no room for an odd shape here; a set of somebody's own may.
        data = descriptor if type(descriptor) is dict else {}
        tools, declared = data.get("tools"), data.get("capabilities")
        disclosing = self._disclosing
        discloses: tuple[str, ...] = ()
        for tool in tools if type(tools) is list else ():
            primitive = tool.get("primitive") if type(tool) is dict else None
            if type(primitive) is str and primitive in disclosing and disclosing[primitive] not in discloses:
                discloses += (disclosing[primitive],)
        capabilities = tuple(declared) if type(declared) is list else ()
        if not _TEXT.issuperset(map(type, capabilities)):
            capabilities = tuple(name for name in capabilities if type(name) is str)
        return _made(
            Verdict, ("admitted", None, None, tuple(refusals), capabilities, discloses, terms, self.fingerprint)
        )

    def _program(self, placement: str) -> Program:
        terms = self.catalog.placements.get(placement) if isinstance(placement, str) else None
        if terms is None:
            message = f"no placement is called {placement!r}"
            raise GateError("unknown-placement", message, hint=did_you_mean(str(placement), self.placements))
        return self._programs.setdefault(placement, Program(self.rules, self.catalog, terms, self._shape))


class Facts:
    """What plugins say of one subject, asked at most once each."""

    __slots__ = ("_descriptor", "_known", "_placement", "_terms")

    def __init__(self, terms: Mapping[str, FactTerms], descriptor: Any, placement: str):
        self._terms = terms
        self._descriptor = descriptor
        self._placement = placement
        self._known: dict[str, Any] = {}

    def read(self, path: str) -> Any:
        """The value; raises FactUnavailable."""
        if path not in self._known:
            self._known[path] = self._terms[path].read(self._descriptor, self._placement)
        return self._known[path]

    def shown(self, path: str) -> str:
        """The value as a reason shows it."""
        try:
            return show(self.read(path))
        except FactUnavailable:
            return "‹unavailable›"


def _names(names: Collection[str]) -> frozenset[str]:
    is_text = isinstance(names, (str, bytes))
    if is_text or not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise GateError("bad-tool-names", "the names of existing tools are no set of texts")
    return frozenset(names)
