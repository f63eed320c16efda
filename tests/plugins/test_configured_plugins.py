"""Installed plugins that the config names: found, imported, and refused by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from capgate.plugins.config import Config, Pin
from capgate.plugins.loading import installed
from capgate.plugins.manager import load
from capgate.policy.errors import PolicyInvalid, Span
from plugin_samples.installation import SOURCE, TIDES, Install, loaded, problem


@pytest.mark.parametrize("name", ["capgate-tides", "Capgate_Tides", "capgate.tides"])
def test_a_plugin_that_the_config_names_is_loaded(install: Install, name: str) -> None:
    folder = install()
    result = loaded(Pin(name, version="==1.2", config={"station": "harbour"}))
    assert result.catalog.primitives["tide"].discloses == "harbour"
    assert ("tides", "1.2") in result.catalog.plugins
    assert result.listing[1].to_json() == {
        "name": "tides",
        "version": "1.2",
        "distribution": "capgate-tides",
        "kind": "configured",
        "location": str(folder / "capgate_tides" / "plugin.py"),
        "hooks": ["capgate_primitives"],
        "adds": {"primitives": ["tide"]},
    }


def test_a_plugin_that_no_config_names_is_found_but_not_imported(install: Install) -> None:
    install()
    assert "tide" not in load(config=Config()).catalog.primitives
    assert "capgate_tides.plugin" not in sys.modules
    (found,) = [origin for origin in installed() if origin.distribution == "capgate-tides"]
    assert (found.name, found.version, found.kind) == ("tides", "1.2", "not allowed")
    assert installed(known={"capgate-tides"}) == tuple(one for one in installed() if one != found)


def test_without_configured_plugins_no_entry_point_is_scanned(install: Install) -> None:
    folder = install()
    code = (
        "import json, sys; from capgate.plugins.manager import load; load();"
        "print(json.dumps([name for name in sys.modules if name.startswith(('importlib.metadata', 'capgate_tides'))]))"
    )
    paths = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert json.loads(done.stdout) == []


def test_a_distribution_may_have_several_plugins(install: Install) -> None:
    moon = "from capgate.plugins.api import hookimpl\n@hookimpl\ndef capgate_rules():\n    return []\n"
    entries = "[console_scripts]\ntides = x:y\n[capgate]\ntides = capgate_tides.plugin\nmoon = capgate_tides.moon\n"
    install(entry_points=entries, capgate_tides__moon=moon)
    assert [entry.origin.name for entry in loaded(TIDES).listing] == ["capgate", "moon", "tides"]


def test_a_distribution_that_is_not_installed_is_named() -> None:
    found = problem(TIDES)
    assert found.id == "plugin-not-installed"
    assert str(found).startswith(
        "capgate.yaml:2:11: plugin-not-installed: no distribution 'capgate-tides' is installed"
    )


def test_a_distribution_without_plugins_is_named(install: Install) -> None:
    install(entry_points="[console_scripts]\ntides = x:y\n")
    assert problem(TIDES).id == "plugin-without-entry-point"


def test_another_version_than_the_pinned_one_is_refused(install: Install) -> None:
    install(version="1.3")
    found = problem(TIDES._replace(version="==1.2"))
    assert found.id == "plugin-version"
    assert found.message == (
        "plugin 'capgate-tides' (capgate-tides 1.3): version 1.3 is installed, and the config allows ==1.2"
    )
    assert "capgate_tides.plugin" not in sys.modules


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("1 / 0", "its import raised ZeroDivisionError: division by zero (plugin.py, line 1)"),
        ("import sys; sys.exit('bye')", "its import raised SystemExit: bye"),
        ("def", "its import raised SyntaxError"),
        ("import capgate_tides.gone", "its import raised ModuleNotFoundError"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_named(install: Install, source: str, text: str) -> None:
    install(capgate_tides__plugin=source)
    found = problem(TIDES)
    assert found.id == "plugin-raised"
    assert found.message.startswith(f"plugin 'tides' (capgate-tides 1.2): {text}")
    assert found.span == TIDES.span


def test_an_import_that_hangs_is_named(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(threading, "never", never, raising=False)
    install(capgate_tides__plugin="import threading; threading.never.wait()")
    assert problem(TIDES._replace(deadline=0.05)).id == "plugin-hung"
    never.set()


def test_what_an_import_prints_does_not_reach_stdout(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(capgate_tides__names="NAME = 'tide'\nprint('hello')\n")
    loaded(TIDES)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "hello\n")


@pytest.mark.parametrize("entry", ["capgate", "ti.des"])
def test_an_entry_point_has_a_fit_name(install: Install, entry: str) -> None:
    install(entry_points=f"[capgate]\n{entry} = capgate_tides.plugin\n")
    assert problem(TIDES).id == "plugin-name"


def test_a_plugin_for_another_capgate_is_refused(install: Install) -> None:
    install(capgate_tides__plugin="requires_capgate = '>=99'\n" + SOURCE)
    found = problem(TIDES)
    assert found.id == "plugin-api"
    assert "(capgate-tides 1.2): it requires capgate >=99, and this is" in found.message


def test_problems_of_all_plugins_come_in_the_order_of_the_config() -> None:
    with pytest.raises(PolicyInvalid) as caught:
        loaded(
            Pin("capgate-moon", span=Span("capgate.yaml", 10, 3)), Pin("capgate-sun", span=Span("capgate.yaml", 9, 3))
        )
    assert [one.span and one.span.line for one in caught.value.problems] == [9, 10]


@pytest.mark.parametrize(
    ("path", "content", "text"),
    [
        ("entry_points.txt", b"[capgate]\ntides", "reading its metadata raised"),
        ("entry_points.txt", b"[capgate]\ntides = -\n", "reading its metadata raised AttributeError"),
        ("entry_points.txt", b"\xff", "reading its metadata raised UnicodeDecodeError"),
        ("METADATA", b"", "version  is installed, and the config allows ==1.2"),
    ],
)
def test_broken_metadata_is_named(install: Install, path: str, content: bytes, text: str) -> None:
    folder = install()
    (folder / "capgate_tides-1.2.dist-info" / path).write_bytes(content)
    assert text in problem(TIDES._replace(version="==1.2")).message


def test_a_plugin_gets_its_own_config_anew_each_time(install: Install) -> None:
    install(
        capgate_tides__plugin="""
from capgate.plugins.api import hookimpl

@hookimpl
def capgate_capabilities(context):
    context.config["list"].append(1)
    return {}

@hookimpl
def capgate_rules(context):
    return context.config["list"]
"""
    )
    given: dict[str, Any] = {"list": []}
    assert loaded(TIDES._replace(config=given)).rule_folders == ()
    assert given == {"list": []}
