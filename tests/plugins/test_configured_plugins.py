"""Installed plugins that the config names: found, pinned, imported, and refused by name."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from capgate.plugins.config import Config, Pin
from capgate.plugins.errors import PluginError
from capgate.plugins.loading import distribution_digest, installed
from capgate.plugins.manager import LoadedPlugins, load
from capgate.policy.errors import PolicyInvalid, Span

SOURCE = """
from capgate.plugins.api import Primitive, hookimpl
from capgate_tides.names import NAME

@hookimpl
def capgate_primitives(context):
    return [Primitive(NAME, needs=("read",), discloses=context.config.get("station", ""))]
"""

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution into a folder on the import path, as an installer would."""
    modules, finders = set(sys.modules), list(sys.meta_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(
        name: str = "capgate-tides",
        version: str = "1.2",
        entry_points: str = "[capgate]\ntides = capgate_tides.plugin\n",
        record: str | None = None,
        raw: Mapping[str, str] = MappingProxyType({}),
        **files: str,
    ) -> Path:
        package = {
            "capgate_tides/__init__.py": "",
            "capgate_tides/plugin.py": SOURCE,
            "capgate_tides/names.py": "NAME = 'tide'\n",
            "capgate_tides/tables/high.txt": "12:30\n",
        }
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        package |= {path.replace("__", "/", 1) + ".py": text for path, text in files.items()}
        package |= raw
        package[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        package[f"{info}/entry_points.txt"] = entry_points
        package[f"{info}/INSTALLER"] = "pip\n"
        lines = [f"{path},sha256=x,1" for path in package]
        lines += [f"{info}/RECORD,,", "capgate_tides/__pycache__/names.cpython-311.pyc,,", "../../bin/tides,,"]
        package[f"{info}/RECORD"] = "\n".join(lines) + "\n" if record is None else record
        for path, text in package.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        importlib.invalidate_caches()
        return tmp_path

    yield install
    sys.meta_path[:] = finders
    for module in set(sys.modules) - modules:
        if module.startswith("capgate_tides"):
            del sys.modules[module]


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


# Digests


def test_a_plugin_with_the_pinned_digest_is_loaded(install: Install) -> None:
    install()
    assert loaded(pinned()).catalog.primitives["tide"].plugin == "tides"
    assert loaded(pinned()).catalog.primitives["tide"].plugin == "tides"


def test_the_digest_is_that_of_the_files(install: Install) -> None:
    install()
    first = distribution_digest("capgate-tides")
    install()
    assert distribution_digest("capgate-tides") == first
    install(capgate_tides__names="NAME = 'ebb'\n")
    assert distribution_digest("capgate-tides") != first


@pytest.mark.parametrize(
    "path",
    [
        "capgate_tides/plugin.py",
        "capgate_tides/tables/high.txt",
        "capgate_tides-1.2.dist-info/entry_points.txt",
        "capgate_tides-1.2.dist-info/METADATA",
    ],
)
def test_a_changed_file_is_refused_before_anything_is_imported(install: Install, path: str) -> None:
    folder = install()
    pin = pinned()
    with (folder / path).open("a") as file:
        file.write("\n")
    found = problem(pin)
    assert found.id == "plugin-digest"
    assert pin.digest in found.message
    assert "capgate_tides.plugin" not in sys.modules


@pytest.mark.parametrize("path", ["INSTALLER", "REQUESTED"])
def test_what_the_installer_writes_is_not_covered(install: Install, path: str) -> None:
    folder = install()
    pin = pinned()
    (folder / "capgate_tides-1.2.dist-info" / path).write_text("other\n")
    assert "tide" in loaded(pin).catalog.primitives


def test_a_missing_file_is_refused(install: Install) -> None:
    folder = install()
    pin = pinned()
    (folder / "capgate_tides" / "names.py").unlink()
    found = problem(pin)
    assert found.id == "plugin-not-pinnable"
    assert "its file capgate_tides/names.py cannot be read" in found.message


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ("", "it has no RECORD that can be read"),
        ("a" * 200_000, "it has no RECORD that can be read"),
        ("__editable__.capgate_tides-1.2.pth,,\n", "it is an editable install"),
        ("capgate_tides.pth,,\n", "it is an editable install"),
        ("other.py,,\n", "its file other.py cannot be read"),
        (
            "capgate_tides/tables/high.txt,,\n",
            "its entry point 'tides' is in capgate_tides.plugin, which is none of its",
        ),
    ],
)
def test_an_install_whose_files_are_not_known_cannot_be_pinned(install: Install, record: str, text: str) -> None:
    install(record=record)
    digest = "sha256:" + "0" * 64
    if "none of" in text:
        digest = distribution_digest("capgate-tides")
    found = problem(TIDES._replace(digest=digest))
    assert found.id == "plugin-not-pinnable"
    assert text in found.message


def test_a_compiled_file_is_not_trusted(install: Install) -> None:
    folder = install()
    pin = pinned()
    names = folder / "capgate_tides" / "names.py"
    sound = names.read_text()
    stamp = names.stat()
    names.write_text(sound.replace("tide", "evil"))
    os.utime(names, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    importlib.import_module("capgate_tides.names")  # Leaves a compiled file that passes for the sound source.
    del sys.modules["capgate_tides.names"], sys.modules["capgate_tides"]
    names.write_text(sound)
    os.utime(names, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert "evil" in loaded(TIDES).catalog.primitives
    for name in [name for name in sys.modules if name.startswith("capgate_tides")]:
        del sys.modules[name]
    assert "tide" in loaded(pin).catalog.primitives


def test_a_module_imported_before_the_check_is_refused(install: Install) -> None:
    install()
    importlib.import_module("capgate_tides.names")
    found = problem(pinned())
    assert found.id == "plugin-digest"
    assert "was imported before its files were checked" in found.message


def test_a_file_changed_between_check_and_import_is_refused(install: Install) -> None:
    folder = install(capgate_tides__late="")
    loaded(pinned())
    (folder / "capgate_tides" / "late.py").write_text("x = 1")
    with pytest.raises(ImportError, match="has changed since its digest was checked"):
        importlib.import_module("capgate_tides.late")


@pytest.mark.parametrize("name", ["extra.py", "extra/__init__.py", "names/__init__.py"])
def test_a_module_that_was_not_pinned_is_not_imported(install: Install, name: str) -> None:
    folder = install(capgate_tides__plugin=SOURCE + "import capgate_tides.extra\n" * name.startswith("extra"))
    pin = pinned()
    (folder / "capgate_tides" / name).parent.mkdir(exist_ok=True)
    (folder / "capgate_tides" / name).write_text("NAME = 'evil'")
    found = problem(pin)
    assert found.id == "plugin-raised"
    assert "is not among the files that were pinned" in found.message


def test_a_pinned_plugin_may_look_for_what_is_not_there(install: Install) -> None:
    source = "try:\n    import capgate_tides.gone\nexcept ModuleNotFoundError:\n    pass\nimport capgate_tides.tables\n"
    install(capgate_tides__plugin=source + SOURCE)
    assert "tide" in loaded(pinned()).catalog.primitives


NATIVE = "capgate_tides/native" + EXTENSION_SUFFIXES[0]


@pytest.mark.parametrize(("change", "text"), [(False, "native"), (True, "has changed since its digest was checked")])
def test_a_compiled_extension_is_checked_before_it_is_loaded(install: Install, change: bool, text: str) -> None:
    folder = install(raw={NATIVE: "no real extension", "capgate-tides/not a module.py": ""})
    loaded(pinned())
    if change:
        (folder / NATIVE).write_text("another")
    with pytest.raises(ImportError, match=text):
        importlib.import_module("capgate_tides.native")


def test_other_modules_are_imported_as_ever(install: Install) -> None:
    folder = install()
    loaded(pinned())
    (folder / "capgate_tides_of_another.py").write_text("")
    importlib.invalidate_caches()
    assert importlib.import_module("capgate_tides_of_another").__name__ == "capgate_tides_of_another"


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


def test_a_pin_of_other_files_replaces_the_first(install: Install) -> None:
    install()
    loaded(pinned())
    install(capgate_tides__names="NAME = 'ebb'\n")
    assert "was imported before" in problem(pinned()).message


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
