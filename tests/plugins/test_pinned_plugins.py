"""Plugins pinned by the digest of their files: what it covers, and that nothing else is imported."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from capgate.plugins.loading import distribution_digest
from plugin_samples.installation import SOURCE, TIDES, Install, loaded, pinned, problem


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


def test_a_pin_of_other_files_replaces_the_first(install: Install) -> None:
    install()
    loaded(pinned())
    install(capgate_tides__names="NAME = 'ebb'\n")
    assert "was imported before" in problem(pinned()).message
