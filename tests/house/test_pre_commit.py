"""The hooks for pre-commit, run by the real one in a scratch repository that installs capgate from wheels alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from test_packaging import copy_project
from tree import ROOT, listed, setup_cfg

# What is set up once is dear: one worker runs all of these.
pytestmark = pytest.mark.xdist_group("pre-commit")

HOOKS = ".pre-commit-hooks.yaml"
GOOD = {"id": "tide-clock", "tools": [{"name": "tide_now", "primitive": "now"}]}
BAD = '{\n  "capabilities": ["exec"],\n  "tools": [{"name": "launch", "primitive": "now"}]\n}\n'
RULE = """\
id: no-journals
title: No tool is called journal
applies_to: descriptor
triggers:
  - stage: tools
    when: {tool.name: {equals: journal}}
    reason: the tool is called journal
    remedy: Call it something else.
examples:
  refused:
    - {descriptor: {tools: [{name: journal, primitive: now}]}}
  admitted:
    - {descriptor: {tools: [{name: NAME, primitive: now}]}}
"""


def closure(requirements: Iterable[str]) -> dict[str, Distribution]:
    """The installed distributions that `requirements` lead to, by name."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        needed = waiting.pop()
        if needed.name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            found[needed.name] = distribution(needed.name)
            waiting += map(Requirement, found[needed.name].requires or ())
    return found


def pack(installed: Distribution, folder: Path) -> None:
    """Makes a wheel again of what was installed from one."""
    text = installed.read_text("WHEEL") or ""
    tags = [tag.split("-") for tag in re.findall(r"^Tag: (\S+)$", text, re.MULTILINE)]
    fits = "-".join(".".join(sorted(set(part))) for part in zip(*tags, strict=True))
    name = re.sub(r"[-_.]+", "_", installed.metadata["Name"])
    with zipfile.ZipFile(folder / f"{name}-{installed.version}-{fits}.whl", "w") as wheel:
        for file in installed.files or ():
            # Scripts are made of the entry points by whoever installs the wheel.
            made_here = file.suffix == ".pyc" or "__pycache__" in file.parts or not file.locate().exists()
            if ".." not in file.parts and not made_here and file.name not in ("INSTALLER", "REQUESTED"):
                wheel.write(str(file.locate()), file.as_posix())


@dataclass
class Scratch:
    """A repository whose commits go through the hooks."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def do(self, *command: str) -> str:
        done = self.run(*command)
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    def write(self, name: str, content: str | dict[str, Any]) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")

    def commit(self) -> subprocess.CompletedProcess[str]:
        self.do("git", "add", "--all")
        return self.run("git", "commit", "--quiet", "--message", "try")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """An empty repository with the hooks of this source installed, from a folder of wheels and with no index."""
    if shutil.which("git") is None and not os.environ.get("CI"):
        pytest.skip("git is not installed; `apt-get install git` or the like installs it")
    home = tmp_path_factory.mktemp("pre-commit")
    wheels, source, folder = home / "wheels", home / "source", home / "scratch"
    for made in (wheels, source, folder):
        made.mkdir()
    needed = [*listed(setup_cfg()["options"]["install_requires"]), "setuptools>=77"]
    for installed in closure(needed).values():
        pack(installed, wheels)

    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PIP_", "COV_", "GIT_", "VIRTUALENV_", "PRE_COMMIT", "SKIP"))
    }
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}",
        "HOME": str(home),
        "PRE_COMMIT_HOME": str(home / "cache"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "VIRTUALENV_NO_PERIODIC_UPDATE": "1",
        "VIRTUALENV_NO_DOWNLOAD": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "try@example.test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }

    copy_project(source)
    shutil.copy(ROOT / HOOKS, source / HOOKS)
    hooks = Scratch(source, environment)
    hooks.do("git", "init", "--quiet", ".")
    hooks.do("git", "add", "--all")
    hooks.do("git", "commit", "--quiet", "--message", "source")
    revision = hooks.do("git", "rev-parse", "HEAD").strip()

    made = Scratch(folder, environment)
    made.do("git", "init", "--quiet", ".")
    ids = "".join(f"\n      - id: {id}" for id in ("capgate-check", "capgate-rules-test"))
    made.write(".pre-commit-config.yaml", f"repos:\n  - repo: {source}\n    rev: {revision}\n    hooks:{ids}\n")
    made.do("pre-commit", "install", "--install-hooks")
    return made


@pytest.fixture(autouse=True)
def _empty(scratch: Scratch) -> None:
    """Leaves nothing of another test in the repository."""
    shutil.rmtree(scratch.folder / "extensions", ignore_errors=True)
    shutil.rmtree(scratch.folder / "rules", ignore_errors=True)


def test_a_commit_of_good_descriptors_and_rules_goes_through(scratch: Scratch) -> None:
    scratch.write("extensions/clock.json", GOOD)
    scratch.write("extensions/deeper/other clock.json", GOOD)
    scratch.write("rules/no-journals.yaml", RULE.replace("NAME", "diary"))
    done = scratch.commit()
    assert done.returncode == 0, done.stdout
    assert re.search(r"^capgate check\.+Passed$", done.stdout, re.MULTILINE)
    assert re.search(r"^capgate rules test\.+Passed$", done.stdout, re.MULTILINE)


def test_a_bad_descriptor_stops_the_commit_with_its_place_and_what_to_do(scratch: Scratch) -> None:
    scratch.write("extensions/launcher.json", BAD)
    done = scratch.commit()
    assert done.returncode != 0
    assert re.search(r"^capgate check\.+Failed$", done.stdout, re.MULTILINE)
    assert "exit code: 1" in done.stdout
    assert "extensions/launcher.json:2:20: exec-absent: " in done.stdout
    assert "fix: Take exec out of capabilities" in done.stdout


def test_a_descriptor_that_is_no_json_stops_the_commit(scratch: Scratch) -> None:
    scratch.write("extensions/broken.json", '{"tools": [],}\n')
    done = scratch.commit()
    assert done.returncode != 0
    assert "exit code: 4" in done.stdout
    assert "extensions/broken.json:1:13: json-syntax: " in done.stdout


def test_a_rule_that_does_otherwise_than_its_examples_say_stops_the_commit(scratch: Scratch) -> None:
    scratch.write("rules/no-journals.yaml", RULE.replace("NAME", "journal"))
    done = scratch.commit()
    assert done.returncode != 0
    assert re.search(r"^capgate rules test\.+Failed$", done.stdout, re.MULTILINE)
    assert "no-journals" in done.stdout


def test_other_files_are_left_alone(scratch: Scratch) -> None:
    scratch.write("package.json", {"name": "no descriptor"})
    scratch.write("settings.yaml", "a: 1\n")
    done = scratch.commit()
    assert done.returncode == 0, done.stdout
    assert len(re.findall(r"\(no files to check\)Skipped$", done.stdout, re.MULTILINE)) == 2
