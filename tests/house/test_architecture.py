"""The shape of the house: which package may import which, how long a module is, and what it says of itself."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tree import PACKAGE, ROOT, installed_files, link_packages, listed, modules, package_folders, setup_cfg

LONGEST = 400


def lint_imports(packages: Path) -> subprocess.CompletedProcess[str]:
    """Holds the `capgate` that lies under `packages` against the import contracts of setup.cfg."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", ROOT / "setup.cfg"],
        env={**os.environ, "PYTHONPATH": str(packages)},
        cwd=packages,
        capture_output=True,
        text=True,
        check=False,
    )


def too_long(paths: Iterable[Path]) -> list[str]:
    counts = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    return [f"{path}: {count} lines" for path, count in counts.items() if count >= LONGEST]


def without_docstring(paths: Iterable[Path]) -> list[str]:
    return [str(path) for path in paths if not ast.get_docstring(ast.parse(path.read_bytes()))]


def importing(paths: Iterable[Path]) -> list[str]:
    """The modules that import anything at all, a ``__future__`` feature apart."""
    return [
        str(path)
        for path in paths
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__")
    ]


def taken_from_root(paths: Iterable[Path]) -> list[str]:
    """What the modules use of the root package, its version and the names of its subpackages apart.

    The root offers names of the host, loaded on first use, so they are no imports that a linter sees.
    """
    free = {"__version__", *(package.split(".")[1] for package in package_folders() if "." in package)}
    taken = []
    for path in paths:
        tree = ast.parse(path.read_bytes())
        names: list[str] = []
        by_attribute = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
                names += (alias.name for alias in node.names)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == PACKAGE:
                names.append(node.attr)
                by_attribute.add(node.value)
        bare = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == PACKAGE)
        names += (node.id for node in bare if node not in by_attribute)
        taken += [f"{path}: {name}" for name in names if name not in free]
    return taken


#: Where something happens, and what only `host/mediation` may use there: modules, and calls on anything but a `Disk`.
ACTING = ("host/admission", "host/calls", "host/web", "host/mcp", "plugins/primitives", "plugins/placements")
WORLD_MODULES = {
    *("fcntl", "glob", "http.client", "multiprocessing", "requests", "shutil", "socket", "socketserver", "ssl"),
    *("subprocess", "tempfile", "time", "urllib.request", "wasmtime"),
}
WORLD_CALLS = {
    *("open", "read_bytes", "read_text", "write_bytes", "write_text", "unlink", "rename", "mkdir", "rmdir", "listdir"),
    *("scandir", "iterdir", "glob", "rglob", "stat", "lstat", "exists", "is_file", "is_dir", "touch", "readlink"),
    *("fsync", "popen", "system", "fork", "kill", "now", "utcnow"),
}
#: What may be used all the same, and why.
WORLD_ALLOWED = {
    ("host/web/serving.py", "socket"): "it listens; nothing is dialled",
    ("host/web/openapi.py", "files(__package__).joinpath"): "a file of the package itself",
    ("host/mcp/stdio.py", "os.open"): "the null device, in place of standard input",
}
#: What calls go through that are mediated: a Disk, an entry of its listing, a clock, an interface that was lent.
_MEDIATED = re.compile(r"(self\.)?(_?disk|entry)$|Disk\(\)$|.*clock(\(\))?$|self\.__real\(\)$")


def touching_the_world(root: Path, folders: Iterable[str] = ACTING) -> list[str]:
    """What the modules of `folders` use of files, sockets, clocks and children, other than through mediation."""
    found = []
    for path in (path for folder in folders for path in sorted((root / folder).rglob("*.py"))):
        name = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_bytes())):
            used = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                used = [node.module]
            used = [one for one in used if one in WORLD_MODULES]
            if isinstance(node, ast.Call):
                function = node.func
                if isinstance(function, ast.Name) and function.id == "open":
                    used = ["open"]
                elif isinstance(function, ast.Attribute) and function.attr in WORLD_CALLS:
                    of = ast.unparse(function.value)
                    used = [] if _MEDIATED.match(of) else [f"{of}.{function.attr}"]
            found += [
                f"{name}:{node.lineno}: {one}"  # type: ignore[attr-defined]
                for one in used
                if not any(name == place and one.startswith(start) for place, start in WORLD_ALLOWED)
            ]
    return found


def unlisted(root: Path) -> set[str]:
    """The packages whose folders hold modules and that setup.cfg does not list."""
    found = set()
    for package, folder in package_folders(root).items():
        for module in folder.rglob("*.py"):
            found.add(".".join([package, *module.relative_to(folder).parent.parts]))
    return found - set(listed(setup_cfg(root)["options"]["packages"]))


def house(root: Path, files: dict[str, str]) -> Path:
    """Writes a small `capgate` package under `root`: every package of the real one, and `files`."""
    for package in listed(setup_cfg()["options"]["packages"]):
        folder = root.joinpath(*package.split("."))
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    for name, text in {
        "__main__.py": "import capgate.host\n",
        "policy/gate.py": "",
        "plugins/api.py": "",
        **files,
    }.items():
        (root / "capgate" / name).write_text(text, encoding="utf-8")
    return root


def test_the_imports_keep_to_the_contracts(tmp_path: Path) -> None:
    result = lint_imports(link_packages(ROOT, tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_import_linter_sees_every_module(tmp_path: Path) -> None:
    home = link_packages(ROOT, tmp_path)
    listing = "import grimp; print(*grimp.build_graph('capgate', cache_dir=None).modules)"
    seen = subprocess.run(
        [sys.executable, "-c", listing],
        env={**os.environ, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [path.with_suffix("") for path in installed_files() if path.suffix == ".py"]
    assert set(seen.stdout.split()) == {".".join(path.parts).removesuffix(".__init__") for path in paths}


def test_a_house_whose_arrows_go_down_keeps_the_contracts(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import capgate.host.cli.main\n",
        "policy/gate.py": "import json\n",
        "plugins/api.py": "import pluggy\nimport capgate\nfrom capgate.policy import gate\n",
        "host/cli/main.py": "import click\nimport capgate\nfrom capgate.plugins import api\nimport capgate.policy\n",
        "__main__.py": "from capgate.host.cli import main\n",
    }
    result = lint_imports(house(tmp_path, files))
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("policy/gate.py", "from capgate.plugins import api"),
        ("policy/gate.py", "import capgate.host.cli"),
        ("policy/gate.py", "def load():\n    from capgate.plugins.api import Primitive"),
        ("policy/gate.py", "import capgate.__main__"),
        ("policy/gate.py", "import socket"),
        ("policy/gate.py", "import subprocess"),
        ("policy/gate.py", "import pluggy"),
        ("plugins/api.py", "import capgate.host"),
        ("plugins/primitives/__init__.py", "from capgate import host"),
        ("rules/__init__.py", "from capgate.policy import gate"),
        ("catalogue/__init__.py", "from capgate.plugins import api"),
    ],
)
def test_an_import_against_the_arrows_is_found(module: str, statement: str, tmp_path: Path) -> None:
    result = lint_imports(house(tmp_path, {module: statement + "\n"}))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "BROKEN" in result.stdout


def test_policy_and_plugins_take_nothing_from_the_root_but_its_version() -> None:
    folders = package_folders()
    below = [path for name in ("capgate.policy", "capgate.plugins") for path in folders[name].rglob("*.py")]
    assert below
    assert taken_from_root(below) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from capgate import open_gate", "open_gate"),
        ("from capgate import __version__, Gate as G", "Gate"),
        ("def f():\n    import capgate\n    return capgate.open_gate()", "open_gate"),
        ("import capgate\ngetattr(capgate, 'open_gate')", "capgate"),
        ("import capgate.policy\nroot = capgate", "capgate"),
    ],
)
def test_a_name_taken_from_the_root_is_found(source: str, name: str, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(f"import capgate\nfrom capgate import policy\ncapgate.__version__\n{source}\n", encoding="utf-8")
    assert taken_from_root([module]) == [f"{module}: {name}"]


def test_rules_and_catalogue_import_nothing() -> None:
    folders = package_folders()
    data = [path for name in ("capgate.rules", "capgate.catalogue") for path in folders[name].rglob("*.py")]
    assert data
    assert importing(data) == []


def test_no_module_is_too_long() -> None:
    assert too_long([*modules(), *sorted(ROOT.glob("tests/**/*.py"))]) == []


def test_every_module_says_what_it_is() -> None:
    assert without_docstring(modules()) == []


def test_every_package_folder_is_listed() -> None:
    assert unlisted(ROOT) == set()


def test_the_checks_of_a_module_find_what_they_look_for(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("x = 1\n" * LONGEST + "import json\n", encoding="utf-8")
    assert too_long([module]) == [f"{module}: {LONGEST + 1} lines"]
    assert without_docstring([module]) == [str(module)]
    assert importing([module]) == [str(module)]


def test_an_unlisted_package_is_found(tmp_path: Path) -> None:
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    for name in ("policy/__init__.py", "policy/forgotten/deep.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    assert unlisted(tmp_path) == {"capgate.policy.forgotten"}


def test_only_mediation_touches_the_world() -> None:
    assert touching_the_world(ROOT) == []


@pytest.mark.parametrize(
    "code",
    [
        "import socket",
        "from time import time",
        "import subprocess as s",
        "open('x')",
        "Path('x').read_text()",
        "os.listdir('.')",
        "datetime.now()",
        "path.unlink()",
    ],
)
def test_whatever_touches_the_world_beside_mediation_is_found(tmp_path: Path, code: str) -> None:
    (tmp_path / "host/calls").mkdir(parents=True)
    (tmp_path / "host/calls/odd.py").write_text(f"{code}\n", encoding="utf-8")
    assert len(touching_the_world(tmp_path)) == 1
