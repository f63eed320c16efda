"""What can be wrong with a plugin, and how a plugin is named in an error."""

from __future__ import annotations

from typing import NamedTuple

from capgate.policy.errors import CapgateError, Span

__all__ = ["Origin", "PluginError"]


class Origin(NamedTuple):
    """Which plugin it is, and where it comes from.

    Attributes:
        name: name of the plugin; unique among those loaded.
        version: its version; empty where it states none.
        distribution: name of the installed distribution; empty for an object given in Python.
        kind: ``built-in``, ``given`` (as an object, in Python) or ``configured`` (named in ``capgate.yaml``).
    """

    name: str
    version: str = ""
    distribution: str = ""
    kind: str = "given"

    def __str__(self) -> str:
        known_by = " ".join(part for part in (self.distribution, self.version or "without a version") if part)
        return f"plugin '{self.name}' ({known_by})"


class PluginError(CapgateError):
    """A plugin cannot be used; the message names the plugin, its distribution, its version and the hook.

    Attributes:
        origin: the plugin, or None where no plugin could be told.
        hook: name of the hook, or empty.
    """

    ids = {
        "plugin-not-installed": "Install the distribution, or take it out of capgate.yaml.",
        "plugin-without-entry-point": "Name a distribution that has entry points in the group 'capgate'.",
        "plugin-version": "Install a version that the pin allows, or change the pin after reading what changed.",
        "plugin-digest": "Install the files that were reviewed, or review these and pin their digest.",
        "plugin-not-pinnable": "Install the distribution from a wheel, or take the digest out of capgate.yaml.",
        "plugin-name": "Give the plugin a name of its own: a letter or '_', then letters, digits, '_' and '-'.",
        "plugin-twice": "Name and give each plugin once.",
        "plugin-api": "Install versions of capgate and of the plugin that fit each other.",
        "plugin-hook": "Write the hook as capgate.plugins.api declares it.",
        "plugin-raised": "Mend the plugin or remove it.",
        "plugin-hung": "Mend the plugin, remove it, or give it a longer deadline in capgate.yaml.",
        "plugin-type": "Return what capgate.plugins.api says for this hook.",
        "plugin-value": "Use a value that capgate.plugins.api allows here.",
        "plugin-clash": "Remove one of the two, or rename what it defines.",
        "plugin-shadow": "Choose another name: rules must mean the same with and without the plugin.",
        "plugin-unknown-capability": "Define the capability in a plugin, or use one that exists.",
        "plugin-unknown-placement": "Extend a placement that some loaded plugin defines.",
        "plugin-rule-folder": "Return absolute paths of folders that the plugin ships.",
    }
    status = 503

    def __init__(
        self,
        id: str,
        message: str,
        *,
        origin: Origin | None = None,
        hook: str = "",
        hint: str | None = None,
        span: Span | None = None,
    ):
        where = f"{origin}{f', {hook}' if hook else ''}: " if origin else ""
        super().__init__(id, where + message, hint=hint, span=span)
        self.origin = origin
        self.hook = hook
