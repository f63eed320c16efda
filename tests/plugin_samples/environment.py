"""A virtual environment of its own, as a user of plugins has one: with capgate, pip and pytest, and offline."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import capgate

#: What pip is told in place of the network. (Its setting NO_BUILD_ISOLATION is the wrong way round.)
_OFFLINE = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_BUILD_ISOLATION": "false",
    "PIP_NO_DEPS": "1",
    "PIP_NO_INDEX": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
#: What a caller's environment could change.
_SETTINGS = ("CAPGATE_", "COLUMNS", "COV_", "COVERAGE_", "FORCE_COLOR", "NO_COLOR", "PIP_", "PYTEST_", "PYTHON")


@dataclass(frozen=True)
class Ended:
    """A command that ended, with what it wrote to standard output and to standard error."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit code {self.code}\n{self.out}{self.err}"


class Environment:
    """A virtual environment in a folder; it sees every package of the one that the tests run in.

    Attributes:
        variables: the environment variables of commands in it.
        packages: the folder that packages are installed into.
    """

    def __init__(self, home: Path):
        venv.create(home, with_pip=False, symlinks=True)
        bin_folder = home / "bin"
        for module in ("capgate", "pip", "pytest"):
            script = bin_folder / module
            script.write_text(f'#!/bin/sh\nexec {bin_folder / "python"} -m {module} "$@"\n', encoding="utf-8")
            script.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
        path = f"{bin_folder}:{os.environ['PATH']}"
        self.variables: Mapping[str, str] = {**kept, **_OFFLINE, "PATH": path, "HOME": str(home)}
        shown = self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home)
        self.packages = Path(shown.out.strip())
        seen = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(Path(capgate.__file__).parents[1])}
        lines = "".join(f"import site; site.addsitedir({folder!r})\n" for folder in sorted(seen))
        (self.packages / "tests.pth").write_text(lines, encoding="utf-8")

    def run(self, *command: str | Path, cwd: Path, **variables: str) -> Ended:
        """Runs a command with these further environment variables."""
        done = subprocess.run(
            command, cwd=cwd, env={**self.variables, **variables}, capture_output=True, text=True, check=False
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def install(self, *sources: str | Path, cwd: Path) -> None:
        """Installs what `sources` name."""
        done = self.run("pip", "install", *sources, cwd=cwd)
        assert done.code == 0, done
