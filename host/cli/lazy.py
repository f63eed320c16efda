"""A group of commands that are imported when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group that imports a command when it is needed, so that no command pays for the others.

    Args:
        modules: each command, and the module that defines it as `command`.
    """

    def __init__(self, *arguments: Any, modules: Mapping[str, str], **options: Any):
        super().__init__(*arguments, **options)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, sorted."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        module = self._modules.get(cmd_name)
        command: click.Command | None = import_module(module).command if module else None
        return command
