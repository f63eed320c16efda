"""Calls the tools of extensions: looks up, checks, hands over, runs, counts and audits (contract 6, 7 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple
from uuid import uuid4

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.registry import PLACEMENT, Tool
from capgate.host.admission.store import Actor
from capgate.host.calls.arguments import CALL_ARGUMENTS, checked_texts, compact, shown, tool_name
from capgate.host.calls.errors import ToolError
from capgate.host.calls.handing import Interfaces, Loan, Writing, lend
from capgate.host.calls.recording import Act, Recorder
from capgate.host.calls.roots import Root, Roots
from capgate.host.calls.running import run
from capgate.host.mediation.budgets import Account, Budgets
from capgate.host.mediation.console import Console
from capgate.host.mediation.redaction import Redactor
from capgate.plugins.api import Call, Given, Grant, Primitive, Refused
from capgate.plugins.calls import Direct
from capgate.plugins.manager import LoadedPlugins
from capgate.policy.text import show

__all__ = ["Caller", "Outcome"]

_NOTHING: Final[Mapping[str, Any]] = {}
#: For whom the host writes by itself.
_HOST: Final = Grant("host", "create_file", _NOTHING)


class Outcome(NamedTuple):
    """What came of a call.

    Attributes:
        result: ``{ok: True, ...}`` or ``{ok: False, refused, why, ...}``, and ``correlationId``; JSON data.
        budget: how much of the extension's requests is used, ``3/4``; None where the call asked for none.
        audited: the file that the call was written into; None where it could not be.
    """

    result: dict[str, Any]
    budget: str | None
    audited: str | None


class Caller:
    """Calls tools; any number of threads may use it.

    Args:
        host: knows what runs.
        plugins: bring what does a primitive.
        roots: the folder that file tools see.
        interfaces: makes what calls are handed.
        budgets: counts requests.
        recorder: writes the audit.
        console: where calls and refusals are told of.
        redactor: takes secrets out of what is told, and out of refusals.
    """

    def __init__(
        self,
        host: AdmissionHost,
        plugins: LoadedPlugins,
        *,
        roots: Roots,
        interfaces: Interfaces,
        budgets: Budgets,
        recorder: Recorder,
        console: Console,
        redactor: Redactor,
    ):
        self._host = host
        self._plugins = plugins
        self._roots = roots
        self._interfaces = interfaces
        self._budgets = budgets
        self._recorder = recorder
        self._console = console
        self._redactor = redactor

    def call(self, name: object, args: object, *, actor: Actor) -> dict[str, Any]:
        """Calls a tool; a refusal is a result.

        Args:
            name: name of the tool, whatever was sent as one.
            args: its arguments, whatever was sent as them: an object of texts.
            actor: who calls.

        Returns:
            ``{ok: True, ...}`` or ``{ok: False, refused, why, ...}``, with ``correlationId``; JSON data. The same
            id stands in the audit.
        """
        return self.outcome(name, args, actor=actor).result

    def outcome(self, name: object, args: object, *, actor: Actor) -> Outcome:
        """As `call`, with what is worth to know besides."""
        act = Act(name if type(name) is str else "", str(uuid4()), actor, self._roots.active)
        return self._recorded(act, lambda loan: self._called(act, name, args, loan))

    def create_file(self, path: str, content: str, *, actor: Actor) -> dict[str, Any]:
        """Writes a file below the active root, as the host's own tool ``create_file`` (contract 4).

        Returns:
            As `call`.
        """
        act = Act("create_file", str(uuid4()), actor, self._roots.active)
        act.on_file(path)

        def create(loan: Loan) -> dict[str, Any]:
            size = Writing(loan, lambda: self._interfaces.writer(act.active, _HOST)).text(path, content)
            return {"action": f"wrote {path} ({size} bytes)"}

        return self._recorded(act, create).result

    def _recorded(self, act: Act, do: Callable[[Loan], dict[str, Any]]) -> Outcome:
        """Does it, and writes into the audit what came of it, whatever that is."""
        loan = Loan(self._redactor.text)
        failed = True
        try:
            result = {"ok": True} | do(loan) | {"ok": True, "correlationId": act.call}
            failed = False
        except (Refused, AdmissionError) as error:
            result = self._refused(act, error) | {"correlationId": act.call}
            failed = False
        finally:
            loan.end()
            if failed:  # A defect of capgate; whoever asked hears of it, and the audit too.
                act.fail("capgate failed")
            act.observed = loan.observed(refused=not act.allowed)
            audited = self._recorder.write(act)
        return Outcome(result, loan.budget, str(audited) if audited else None)

    def _called(self, act: Act, name: object, args: object, loan: Loan) -> dict[str, Any]:
        tool_id = tool_name(name)
        tool = self._host.registry.tools.get(tool_id)
        primitive = self._plugins.primitives.get(tool.tool["primitive"]) if tool else None
        said = checked_texts(args, _known(primitive))
        act.about(tool, primitive, said)
        words = compact(self._redactor.value(shown(said)))
        self._console.say(f"[extension] calling '{self._redactor.text(show(tool_id))}' args={words}")
        if tool is None:
            raise ToolError(*self._host.why_not_loaded(tool_id))
        if primitive is None:
            raise ToolError("not-callable", f"no plugin brings the primitive {tool.tool['primitive']!r} any more")
        return self._run(tool, primitive, said, loan, act.active)

    def _run(
        self, tool: Tool, primitive: Primitive, said: Mapping[str, str], loan: Loan, root: Root | None
    ) -> dict[str, Any]:
        extension, settings = tool.extension, tool.tool
        bounds = extension.descriptor.get("bounds") or _NOTHING
        calls = self._plugins.callers.get(primitive.name, Direct())
        account = Account.of(extension.id, bounds, extension.entry.since)

        def given() -> Given:
            return lend(
                primitive,
                Grant(extension.id, settings["name"], bounds if isinstance(calls, Direct) else deepcopy(bounds)),
                loan,
                self._interfaces,
                root=root,
                providers={need: make for (place, need), make in self._plugins.providers.items() if place == PLACEMENT},
                charge=lambda: self._budgets.charge(account),
            )

        call = Call(settings["name"], said, settings.get("params") or _NOTHING, settings, bounds)
        return run(primitive, call, given, calls)

    def _refused(self, act: Act, error: Refused | AdmissionError) -> dict[str, Any]:
        id, why = (error.id, error.why) if isinstance(error, Refused) else (error.refused, error.message)
        # What a refusal tells of a request, its chain for one, may hold what must not be shown (contract 11.2).
        why, details = self._redactor.text(why), dict(self._redactor.value(error.details))
        if id == "primitive-failed":
            act.fail(why)
        else:
            act.refuse(id, why)
        self._console.warn(f"[extension:refused] {id}: {why}")
        return {"ok": False, "refused": id, "why": why} | details | {"ok": False, "refused": id, "why": why}


def _known(primitive: Primitive | None) -> tuple[str, ...]:
    own = () if primitive is None else tuple(param.name for param in primitive.params if param.from_caller)
    return tuple(dict.fromkeys((*CALL_ARGUMENTS, *own)))
