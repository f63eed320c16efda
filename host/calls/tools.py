"""The tools that a model has: those of the host itself, and those of all extensions that run (contract 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from capgate.host.admission.catalogue import load_catalogue
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.store import Actor
from capgate.host.calls.caller import Caller
from capgate.host.calls.declarations import Declaration, declarations, declared
from capgate.host.calls.errors import refusal
from capgate.host.calls.proposing import proposed_descriptor
from capgate.plugins.manager import LoadedPlugins

__all__ = ["COMMANDS", "ModelTools"]

#: Each of the host's own tools, and the verb of the action that a call of it is.
COMMANDS: Final[Mapping[str, str]] = {
    "list_extensions": "extensions",
    "call_extension": "extension",
    "propose_extension": "propose_extension",
}


class ModelTools:
    """Lists, calls and proposes extensions; every refusal is a result, ``{ok: False, refused, why, ...}``.

    Nothing here admits anything.

    Args:
        host: knows what there is.
        caller: calls what runs.
        plugins: bring the primitives.
    """

    def __init__(self, host: AdmissionHost, caller: Caller, plugins: LoadedPlugins):
        self._host = host
        self._caller = caller
        self._plugins = plugins

    def declared(self, form: str) -> dict[str, Any]:
        """All tools, as an API wants them declared: one of `capgate.host.calls.declarations.FORMATS`.

        Raises:
            AdmissionError: ``store-unavailable``.
        """
        return declared(form, list(self.declarations()))

    def declarations(self) -> Iterator[Declaration]:
        """The host's own tools, then every tool that runs; raises AdmissionError (``store-unavailable``)."""
        return declarations(self._host.registry, self._plugins.primitives)

    def call(self, name: object, args: object, *, actor: Actor) -> dict[str, Any]:
        """Calls a tool by its name: one of the host's own, or an extension's.

        Args:
            name: name of the tool, whatever was sent as one.
            args: its arguments, whatever was sent as them.
            actor: who calls.

        Returns:
            The result, as JSON data.
        """
        if name == "list_extensions":
            return self.list_extensions()
        if name == "call_extension":
            return self.call_extension(args, actor=actor)
        if name == "propose_extension":
            return self.propose_extension(args, actor=actor)
        return self.call_tool(name, args, actor=actor)

    def list_extensions(self) -> dict[str, Any]:
        """What runs, waits, lies there and failed, and the catalogue, as it is now."""
        try:
            return {"ok": True} | self._host.inventory()
        except AdmissionError as error:
            return refusal(error)

    def call_extension(self, args: object, *, actor: Actor) -> dict[str, Any]:
        """Calls the tool that ``args["name"]`` names, with the rest of `args`."""
        if type(args) is not dict:
            return self.call_tool(None, args, actor=actor)
        rest = dict(args)
        return self.call_tool(rest.pop("name", None), rest, actor=actor)

    def call_tool(self, name: object, args: object, *, actor: Actor) -> dict[str, Any]:
        """Calls the tool of an extension; see `Caller.call`."""
        return self._caller.call(name, args, actor=actor)

    def create_file(self, path: str, content: str, *, actor: Actor) -> dict[str, Any]:
        """Writes a file below the active root, as the host's own tool; see `Caller.create_file`."""
        return self._caller.create_file(path, content, actor=actor)

    def propose_extension(self, args: object, *, actor: Actor) -> dict[str, Any]:
        """Files what the arguments describe; it waits for the host's review."""
        needs = {name: terms.needs for name, terms in self._host.gate.catalog.primitives.items()}
        try:
            descriptor = proposed_descriptor(args, load_catalogue().entries, needs)
            filed = self._host.propose(descriptor, actor=actor)
        except AdmissionError as error:
            return refusal(error)
        return {
            "ok": True,
            "action": f"proposed extension {filed['id']}",
            "proposal": filed["proposal"],
            "descriptor": descriptor,
            "note": filed["note"],
        }
