"""What a user installs: the wheel holds every file, and a fresh environment can run it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path, PurePosixPath

import pytest

from tree import PACKAGE, ROOT, installed_files, listed, modules, package_folders, setup_cfg

#: What a build reads beside the package folders.
BUILD_FILES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")


def run(*command: str | Path, cwd: Path) -> str:
    """Runs `command` with none of the caller's Python and pip settings; returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "COV_"))}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def pip(*arguments: str | Path, python: Path, cwd: Path) -> str:
    """Runs pip for the environment of `python`, with nothing fetched."""
    offline = ("--isolated", "--disable-pip-version-check")
    return run(sys.executable, "-m", "pip", "--python", python, *offline, *arguments, cwd=cwd)


def copy_project(target: Path) -> Path:
    """Copies what a build needs, so that builds leave nothing in the working tree and find nothing old there."""
    for name in BUILD_FILES:
        shutil.copy(ROOT / name, target / name)
    for folder in package_folders().values():
        inside = folder.relative_to(ROOT)
        shutil.copytree(folder, target / inside, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return target


def build_wheel(project: Path) -> Path:
    """Builds the wheel of `project` with the setuptools of this environment."""
    quietly = ("--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", project / "dist")
    pip("wheel", *quietly, project, python=Path(sys.executable), cwd=project)
    (wheel,) = (project / "dist").glob("*.whl")
    return wheel


def imported(module: Path) -> Iterator[str]:
    """The names of the modules that `module` imports, wherever in it."""
    for node in ast.walk(ast.parse(module.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def files_of(wheel: Path) -> set[PurePosixPath]:
    with zipfile.ZipFile(wheel) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    return {name for name in names if not name.parts[0].endswith(".dist-info")}


def fresh_environment(home: Path) -> Path:
    """Makes a virtual environment that sees the dependencies of this one, but no capgate; returns its python."""
    venv.create(home / "venv", with_pip=False, symlinks=True)
    dependencies = home / "dependencies"
    dependencies.mkdir()
    for site_packages in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(site_packages).iterdir():
            if not re.match(r"capgate|__editable__|.*\.pth$", entry.name):
                (dependencies / entry.name).symlink_to(entry)
    python = home / "venv" / "bin" / "python"
    found = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip()
    Path(found, "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    return python


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def wheel(project: Path) -> Path:
    return build_wheel(project)


def test_the_wheel_holds_every_file_of_every_package(wheel: Path) -> None:
    assert files_of(wheel) == set(installed_files())


def test_an_unlisted_package_and_unnamed_data_are_missing_from_the_wheel(tmp_path: Path) -> None:
    project = copy_project(tmp_path)
    forgotten = {"policy/forgotten/__init__.py", "rules/forgotten/rule.yaml", "catalogue/forgotten.toml"}
    for name in forgotten:
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).touch()
    missing = set(installed_files(project)) - files_of(build_wheel(project))
    assert missing == {PurePosixPath("capgate", name) for name in forgotten}


@pytest.mark.parametrize("how", ["wheel", "editable"])
def test_a_fresh_environment_runs_what_is_installed(how: str, project: Path, wheel: Path, tmp_path: Path) -> None:
    python = fresh_environment(tmp_path)
    source = [wheel] if how == "wheel" else ["--editable", project]
    pip("install", "--no-deps", "--no-index", "--no-build-isolation", *source, python=python, cwd=tmp_path)

    version = setup_version()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert version in run(python, "-m", "capgate", "--version", cwd=elsewhere)
    assert version in run(python.with_name("capgate"), "--version", cwd=elsewhere)
    show = "import capgate, capgate.policy.errors as e; print(capgate.__version__, capgate.__file__, e.__file__)"
    printed, root, errors = run(python, "-c", show, cwd=elsewhere).split()
    assert printed == version
    if how == "wheel":
        assert {Path(file).parents[1].name for file in (root, errors)} == {"site-packages", "capgate"}
    else:
        assert (Path(root), Path(errors)) == (project / "src/capgate/__init__.py", project / "policy/errors.py")


def setup_version() -> str:
    """The version as the source states it, read without importing it."""
    text = (ROOT / "src/capgate/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_wheel_carries_the_version_that_the_source_states(wheel: Path) -> None:
    assert wheel.name.split("-")[:2] == ["capgate", setup_version()]


def bounds() -> list[str]:
    """What the package needs, and what each of its extras needs to run, with lower bounds."""
    extras = setup_cfg()["options.extras_require"]
    return listed(setup_cfg()["options"]["install_requires"]) + [
        bound for extra in ("host", "mcp", "postgres") for bound in listed(extras[extra])
    ]


def test_the_dependencies_are_what_the_packages_import() -> None:
    roots = {name.partition(".")[0] for module in modules() for name in imported(module)}
    distributions = packages_distributions()
    needed = {distributions[root][0].lower() for root in roots - sys.stdlib_module_names - {PACKAGE}}
    # Nobody imports these by name: they are what uvicorn and SQLAlchemy drive.
    driven = {"httptools", "uvloop", "psycopg[binary]"}
    named = {name.lower().replace("_", "-") for name in needed} | driven
    assert named == {bound.partition(">=")[0] for bound in bounds()}


def test_the_lowest_environment_pins_every_lower_bound() -> None:
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    lowest = tox.partition("[testenv:lowest]")[2].partition("\n[")[0]
    assert [line.strip() for line in lowest.splitlines() if "==" in line] == [
        bound.replace(">=", "==") for bound in bounds()
    ]
