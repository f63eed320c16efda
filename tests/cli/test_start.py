"""What a start costs, and what ``import capgate`` gives."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate as package

Run = Callable[..., Any]
Write = Callable[..., Path]

#: Slow to import, and of no use to a plain check.
HEAVY = ["cerberus", "rich", "requests", "importlib.metadata", "asyncio", "idna", "pathlib", "unittest"]


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after `code`."""
    shown = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_capgate_imports_nothing_heavy() -> None:
    loaded = loaded_by("import capgate")
    assert loaded.isdisjoint({*HEAVY, "click", "pluggy", "yaml", "json"})
    assert {name for name in loaded if name.startswith("capgate")} == {"capgate"}


def test_a_check_imports_nothing_heavy(write: Write, launcher: Any) -> None:
    write("x.json", launcher)
    loaded = loaded_by("from capgate.host.cli.main import main\nassert main(['check', 'x.json']) == 1")
    heavy = loaded.intersection(name for name in HEAVY if name != "pathlib")
    assert heavy == set()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["check", "--help"]])
def test_version_and_help_load_no_rules_and_no_plugins(arguments: list[str]) -> None:
    loaded = loaded_by(f"from capgate.host.cli.main import main\nassert main({arguments!r}) == 0")
    assert loaded.isdisjoint({*HEAVY, "pluggy", "capgate.host.assembly"} - {"pathlib"})


def test_the_version_is_shown(capgate: Run, process: Run) -> None:
    assert capgate("--version").out == f"capgate {package.__version__}\n"
    assert process("--version").out == f"capgate {package.__version__}\n"


def test_help_names_the_command_its_options_and_exit_codes(capgate: Run) -> None:
    assert re.search(r"^  check +Judge descriptors", capgate("--help").out, re.MULTILINE)
    done = capgate("check", "-h")
    assert done.code == 0
    for option in ("--placement", "--rules", "--taken", "--format", "--output", "--lines"):
        assert option in done.out
    assert "Hidden files and folders" in done.out
    assert "\n    3  the policy is invalid; nothing was judged\n" in done.out


def test_without_a_command_the_help_is_shown(capgate: Run) -> None:
    done = capgate()
    assert done.code == 2
    assert "Usage: capgate" in done.err


@pytest.mark.parametrize("name", package.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert name in dir(package)
    assert getattr(package, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'capgate' has no attribute 'nothing'"):
        _ = package.nothing


def test_the_readme_example_works() -> None:
    gate = package.open_gate()
    assert gate.decide({"tools": [{"name": "tide_now", "primitive": "now"}]}) is None
