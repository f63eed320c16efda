"""docs/security.md says what is no boundary: it is true as long as nothing holds it up."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import capgate
from capgate.plugins.api import Primitive
from pages import DOCS, code, prose, table
from plugin_samples.distribution import lay_out
from plugin_samples.environment import Ended, Environment
from plugin_samples.faulty import Plugin

PAGE = DOCS / "security.md"
PLUGIN = """
import os, subprocess, sys, threading
import capgate.policy.gate
from capgate.plugins.api import hookimpl

@hookimpl
def capgate_rules():
    return []

"""


class Place(NamedTuple):
    """A folder with an admitted descriptor and a config that names the plugin `odd`."""

    folder: Path
    environment: Environment

    def check(self, source: str) -> Ended:
        """Judges the descriptor with a plugin that does what `source` says."""
        lay_out(self.environment.packages, "odd", PLUGIN + source + "\n")
        return self.environment.run("capgate", "check", "--format", "json", cwd=self.folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("folder")
    (folder / "capgate.yaml").write_text("plugins: [{name: capgate-odd}]")
    (folder / "clock.json").write_text(json.dumps({"tools": [{"name": "a", "primitive": "now"}]}))
    return Place(folder, Environment(tmp_path_factory.mktemp("environment")))


@pytest.mark.parametrize("shown", [code(row[0])[0] for row in table(PAGE, "Plugins", "code in a plugin")])
def test_what_is_said_not_to_be_caught_is_not(shown: str, place: Place) -> None:
    quiet = place.check("pass")
    assert (quiet.code, quiet.err) == (0, "")
    odd = place.check(shown)
    assert (odd.code, odd.out) != (quiet.code, quiet.out)
    assert odd.code != 3


@pytest.mark.parametrize("caught", ["print('noise')", "sys.stdout.write('noise')"])
def test_what_is_said_to_be_caught_is(caught: str, place: Place) -> None:
    quiet, odd = place.check("pass"), place.check(caught)
    assert (odd.code, odd.out) == (quiet.code, quiet.out)
    assert "noise" in odd.err


def test_a_plugin_can_loosen_as_the_page_says() -> None:
    descriptor = {"capabilities": ["delete"], "tools": [{"name": "a", "primitive": "remove"}]}
    assert "A primitive that needs `delete` makes `delete` a" in prose(PAGE)
    assert capgate.open_gate().decide(descriptor) == "capability-unmediated"
    remover = Plugin(capgate_primitives=lambda context: [Primitive("remove", needs=("delete",))])
    assert capgate.open_gate(plugins=[remover]).decide(descriptor) is None


def test_the_fingerprint_covers_the_config_of_plugins_and_not_their_code(place: Place) -> None:
    assert re.search(r"It does not cover the code of plugins", prose(PAGE))
    config = place.folder / "capgate.yaml"
    fingerprints = []
    for text in ("plugins: [{name: capgate-odd}]", "plugins: [{name: capgate-odd, config: {a: 1}}]"):
        config.write_text(text)
        for source in ("pass", "other = 1"):
            fingerprints.append(json.loads(place.check(source).out)["policy"]["fingerprint"])
    assert fingerprints[0] == fingerprints[1] != fingerprints[2] == fingerprints[3]
