"""An installed plugin, the pins for it, and what loading them ends with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from capgate.plugins.config import Config, Pin
from capgate.plugins.errors import PluginError
from capgate.plugins.loading import distribution_digest
from capgate.plugins.manager import LoadedPlugins, load
from capgate.policy.errors import PolicyInvalid, Span

#: Installs the distribution capgate-tides, changed as the arguments say; the folder it is in.
Install: TypeAlias = "Callable[..., Path]"

SOURCE = """
from capgate.plugins.api import Primitive, hookimpl
from capgate_tides.names import NAME

@hookimpl
def capgate_primitives(context):
    return [Primitive(NAME, needs=("read",), discloses=context.config.get("station", ""))]
"""


def loaded(*pins: Pin) -> LoadedPlugins:
    return load(config=Config(pins))


def problem(*pins: Pin) -> PluginError:
    with pytest.raises(PolicyInvalid) as caught:
        loaded(*pins)
    (only,) = caught.value.problems
    assert isinstance(only, PluginError)
    return only


TIDES = Pin("capgate-tides", span=Span("capgate.yaml", 2, 11))


def pinned() -> Pin:
    return TIDES._replace(digest=distribution_digest("capgate-tides"))
