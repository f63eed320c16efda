"""The whole plugin contract: the hooks, what they return, and the version of it all.

A plugin is a module, or an object, with functions marked ``@hookimpl`` and named as the hooks below:

    from capgate.plugins.api import HookContext, Primitive, hookimpl

    requires_capgate = ">=0.1,<0.2"

    @hookimpl
    def capgate_primitives(context: HookContext) -> list[Primitive]:
        return [Primitive("read-file-length", needs=("read",))]

Hooks return lists of the value types below. Every name a plugin brings must be new. Hooks, facts and
operators run in threads of their own, have a deadline, and get frozen values or copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pluggy

if TYPE_CHECKING:
    import os

__all__ = [
    "API_VERSION",
    "TAKES",
    "Call",
    "Clock",
    "Fact",
    "Fetcher",
    "Given",
    "Grant",
    "HookContext",
    "Hooks",
    "Mechanism",
    "Modules",
    "Operator",
    "Param",
    "Placement",
    "Primitive",
    "Reader",
    "Refused",
    "Response",
    "Writer",
    "hookimpl",
]

#: Grows by one whenever a hook or a value type changes so that plugins must follow.
API_VERSION = 1
#: What a primitive may take without a capability.
TAKES = ("clock", "wasm")

hookimpl = pluggy.HookimplMarker("capgate")
_hookspec = pluggy.HookspecMarker("capgate")

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class HookContext(NamedTuple):
    """What every hook is given; new attributes may come, none goes.

    Attributes:
        capgate_version: version of capgate that calls.
        api_version: its `API_VERSION`.
        config: what ``capgate.yaml`` says under ``config`` of this plugin; a copy, empty by default.
    """

    capgate_version: str
    api_version: int = API_VERSION
    config: Mapping[str, Any] = _NOTHING


class Refused(Exception):
    """A call was refused, by an interface or by the primitive itself; the caller is told so.

    Args:
        id: stable id, lower-case words joined by ``-``, such as ``host-not-allowed``.
        why: one sentence.
        details: what else the result carries, as JSON data.
    """

    def __init__(self, id: str, why: str, details: Mapping[str, Any] = _NOTHING):
        super().__init__(id, why)
        self.id = id
        self.why = why
        self.details = dict(details)


class Call(NamedTuple):
    """One call of a tool.

    Attributes:
        tool: name of the tool.
        arguments: what the caller said: the primitive's params that may come from a caller, as texts.
        params: what the descriptor sets; call-time defaults.
        settings: the tool's part of the descriptor, as admitted.
        bounds: the extension's bounds, as admitted.
    """

    tool: str
    arguments: Mapping[str, str]
    params: Mapping[str, Any] = _NOTHING
    settings: Mapping[str, Any] = _NOTHING
    bounds: Mapping[str, Any] = _NOTHING

    def value(self, name: str) -> Any:
        """What the caller said, else what the descriptor sets, else None."""
        return self.arguments.get(name, self.params.get(name))


class Given:
    """What a call may use: one attribute for each capability that the primitive needs, and no other.

    For the built-in capabilities these are `Reader`, `Writer` and `Fetcher`; for others what the
    mechanism's `provide` gave. What the primitive `takes` is there too: `Clock` and `Modules`.
    """

    def __init__(self, interfaces: Mapping[str, Any]):
        self.__dict__.update(interfaces)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"nothing called {name!r} was handed over: the primitive neither needs nor takes it")


class Grant(NamedTuple):
    """For whom an interface is made.

    Attributes:
        extension: id of the extension.
        tool: name of the tool.
        bounds: the extension's bounds, as admitted.
    """

    extension: str
    tool: str
    bounds: Mapping[str, Any]


class Reader(Protocol):
    """What ``read`` hands over: files under the active root."""

    def text(self, path: str) -> str:
        """The text of a file; raises Refused."""
        ...

    def names(self) -> list[str]:
        """The names in the top level of the root; raises Refused."""
        ...


class Writer(Protocol):
    """What ``write`` hands over: files under the active root, up to ``bounds.maxBytes`` each."""

    def text(self, path: str, content: str) -> int:
        """Writes a file, whole or not at all, and says how many bytes; raises Refused."""
        ...


class Response(NamedTuple):
    """What a request came to.

    Attributes:
        status: of the last answer.
        host: the host that was asked first.
        served_by: the origin that answered last: ``https://api.test``, with the port unless it is the scheme's own.
        via: every URL that was asked, in order.
        used: how much of the budget is used, ``3/4``.
        headers: of the last answer, names in lower case.
        body: of the last answer, decompressed.
    """

    status: int
    host: str
    served_by: str
    via: tuple[str, ...]
    used: str
    headers: Mapping[str, str]
    body: bytes


class Fetcher(Protocol):
    """What ``network`` hands over: requests to ``bounds.hosts``, at most ``bounds.maxRequests`` in a window."""

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = _NOTHING,
        body: bytes | None = None,
        secret_headers: Mapping[str, str] = _NOTHING,
    ) -> Response:
        """Sends a request and follows redirects within the bounds.

        Args:
            method: ``GET`` or ``POST``.
            url: ``http`` or ``https``.
            headers: what to send besides.
            body: what to send.
            secret_headers: header to ``$VARIABLE``; filled from the environment where the operator allows it,
                and sent to the host of `url` alone.

        Raises:
            Refused: what the host does not allow, or what the network did not do.
        """
        ...


class Clock(Protocol):
    """What a primitive that takes ``clock`` is handed."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...


class Modules(Protocol):
    """What a primitive that takes ``wasm`` is handed: WebAssembly modules, run apart and without imports."""

    def run(self, settings: Mapping[str, Any], inputs: Mapping[str, bytes]) -> Mapping[str, Any]:
        """Runs the function that the settings of a tool name; raises Refused.

        Args:
            settings: ``path``, ``digest``, ``abi``, ``call.export`` and the layout (contract 1).
            inputs: ``input``, or ``a`` and ``b``.

        Returns:
            ``returned``, ``output`` (hex), ``digest``, ``inputBytes``, and ``blocks`` for a diff.
        """
        ...


class Param(NamedTuple):
    """One parameter of a primitive.

    Attributes:
        name: the key in ``tools[].params``.
        type: ``string``, ``number``, ``boolean``, or ``headers`` (an object of strings).
        from_caller: whether a call may give it too; otherwise only the descriptor sets it.
    """

    name: str
    type: str = "string"
    from_caller: bool = True


class Primitive(NamedTuple):
    """One thing that a tool can do.

    Attributes:
        name: the word in ``tools[].primitive``, such as ``read-file``.
        needs: capabilities that the descriptor must declare; only their interfaces are handed over.
        params: its parameters, in the order in which the inventory lists them.
        abis: binary layouts it takes: ABI name to the dotted paths of the whole numbers that must be set.
        discloses: what the person who admits it should know beyond its capabilities; one phrase.
        invoke: does it: (call, given) to the parts of the result, as JSON data. Without one, tools over the
            primitive can be judged and not called.
        takes: what it is handed that needs no capability: ``clock``, ``wasm``.
    """

    name: str
    needs: Sequence[str] = ()
    params: Sequence[Param] = ()
    abis: Mapping[str, Sequence[str]] = _NOTHING
    discloses: str = ""
    invoke: Callable[[Call, Given], Mapping[str, Any]] | None = None
    takes: Sequence[str] = ()


class Mechanism(NamedTuple):
    """What enforces a capability on a placement.

    Attributes:
        name: for example ``mediated-fetch``.
        gives: what the host hands over for the capability; one phrase.
        provide: makes what is handed over, for one call. The built-in mechanisms need none: the host makes it.
    """

    name: str
    gives: str
    provide: Callable[[Grant], Any] | None = None


class Placement(NamedTuple):
    """Where an extension may run.

    Attributes:
        name: for example ``machine``.
        mechanisms: capability to what enforces it here.
        absent: capability to the reason why nothing enforces it here; one phrase.
        extends: adds to a placement of another plugin. Only capabilities of which that placement
            says nothing may be added: no plugin changes what another has said.
    """

    name: str
    mechanisms: Mapping[str, Mechanism] = _NOTHING
    absent: Mapping[str, str] = _NOTHING
    extends: bool = False


class Operator(NamedTuple):
    """A condition operator for rules.

    Attributes:
        name: the word in rules.
        accepts: (operand) to None where a rule may use it, else to a text that says what is wrong.
        holds: (value, operand) to True or False, or None where the operator is not for such a value;
            a trigger that ends with None refuses.
        absent: what the operator says of a path that is not there.
    """

    name: str
    accepts: Callable[[Any], str | None]
    holds: Callable[[Any, Any], bool | None]
    absent: bool = False


class Fact(NamedTuple):
    """A fact for rules, under ``plugin.<plugin>.<name>``.

    Attributes:
        name: letters, digits, ``_`` and ``-``.
        type: string, boolean, null, list, object, number, whole or host.
        meaning: one line for the documentation.
        read: (descriptor, placement name) to the value, which must be of `type` and plain JSON data.
    """

    name: str
    type: str
    meaning: str
    read: Callable[[Any, str], Any]


class Hooks(Protocol):
    """The hooks. Each is optional; a plugin's own functions may leave out arguments they do not need."""

    @_hookspec
    def capgate_capabilities(self, context: HookContext) -> Mapping[str, str]:
        """New capabilities: name to a one-line meaning."""

    @_hookspec
    def capgate_primitives(self, context: HookContext) -> Sequence[Primitive]:
        """New primitives; they may need any capability that some plugin defines."""

    @_hookspec
    def capgate_placements(self, context: HookContext) -> Sequence[Placement]:
        """New placements, and additions to those of others (`Placement.extends`)."""

    @_hookspec
    def capgate_operators(self, context: HookContext) -> Sequence[Operator]:
        """New condition operators."""

    @_hookspec
    def capgate_facts(self, context: HookContext) -> Sequence[Fact]:
        """New facts."""

    @_hookspec
    def capgate_rules(self, context: HookContext) -> Sequence[str | os.PathLike[str]]:
        """Absolute paths of folders with rules; they are read like any ``--rules`` folder."""

    @_hookspec
    def capgate_decided(self, context: HookContext, descriptor: Any, verdict: Mapping[str, Any]) -> None:
        """Told of each verdict and what it is about, as JSON data; an error here is logged and changes nothing."""
