"""How rules and folders of rules are named, and what is said to those who name them otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from capgate.host.cli.common import rule_of
from capgate.host.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from capgate.policy.gate import Gate
    from capgate.policy.rulefile import Rule

__all__ = ["RulesGroup", "rule_in"]

_OPTION = "--rules"


def rule_in(gate: Gate, id: str, folders: Sequence[str], usage: str, param_hint: str = "ID") -> Rule:
    """The rule with this id.

    Args:
        gate: whose rules to look through.
        id: the id.
        folders: the folders of rules that were named; where there are none, the rule may be in one that was not.
        usage: how the command is called with a folder.
        param_hint: what the id is called in messages.

    Raises:
        click.BadParameter: there is none.
    """
    try:
        return rule_of(gate, id, param_hint)
    except click.BadParameter as error:
        if folders:
            raise
        message = f"{error.message} Of rules of your own, name the folder, too: {usage}"
        raise click.BadParameter(message, param_hint=param_hint) from None


class RulesGroup(LazyGroup):
    """A group of which some commands take folders of rules as arguments, and some with ``--rules``.

    Where one is given as the other is, the message says how.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command.

        Raises:
            click.UsageError: the command line is wrong.
        """
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            said = _said(error)
            if said is None:
                raise
            raise click.UsageError(said, error.ctx) from None


def _said(error: click.UsageError) -> str | None:
    """What to say of an error that comes from a folder named as other commands want it; None of any other."""
    if error.ctx is None:
        return None
    params = error.ctx.command.params
    if isinstance(error, click.NoSuchOption):
        if error.option_name != _OPTION or not any(param.name == "folders" for param in params):
            return None
        name = error.ctx.command.name
        return f"No such option: {_OPTION}. Folders of rules are arguments here: capgate rules {name} DIR"
    # click has no kind of its own for this.
    if error.message.startswith("Got unexpected extra argument") and any(_OPTION in param.opts for param in params):
        return f"{error.message.removesuffix('.')}. Folders of rules are named with an option here: {_OPTION} DIR"
    return None
