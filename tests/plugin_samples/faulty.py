"""Plugins built inside a test, and the problems that loading them ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from capgate.plugins.api import HookContext, hookimpl
from capgate.plugins.config import Config
from capgate.plugins.errors import PluginError
from capgate.plugins.manager import load
from capgate.policy.errors import PolicyInvalid


class Plugin:
    """A plugin whose hooks return, or do, what the test says."""

    def __init__(self, name: str = "tides", version: str | None = "1.2", /, **hooks: Any):
        self.name = name
        self.version = version
        for hook, result in hooks.items():
            setattr(self, hook, self._implementation(result))

    @staticmethod
    def _implementation(result: Any) -> Callable[..., Any]:
        def implementation(context: HookContext) -> Any:
            return result(context) if callable(result) else result

        return hookimpl(implementation)


def problems(*plugins: object, deadline: float = 5) -> list[PluginError]:
    with pytest.raises(PolicyInvalid) as caught:
        load(plugins, config=Config(), deadline=deadline)
    found = [problem for problem in caught.value.problems if isinstance(problem, PluginError)]
    assert len(found) == len(caught.value.problems)
    return found


def problem(*plugins: object, deadline: float = 5) -> PluginError:
    (only,) = problems(*plugins, deadline=deadline)
    return only
