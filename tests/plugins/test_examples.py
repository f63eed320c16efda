"""The example plugins of the documentation, built as wheels, installed, pinned, and tested by their own tests."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from capgate.policy.documents import load_yaml
from plugin_samples.environment import Ended, Environment
from tree import ROOT

EXAMPLES = sorted(path.name for path in (ROOT / "docs" / "examples").iterdir())


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of the examples, so that builds leave nothing in the tree."""
    home = tmp_path_factory.mktemp("projects")
    for name in EXAMPLES:
        left_over = shutil.ignore_patterns("__pycache__", "build", "*.egg-info", ".*")
        shutil.copytree(ROOT / "docs" / "examples" / name, home / name, ignore=left_over)
    return home


@pytest.fixture(scope="module")
def wheels(projects: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    builder = Environment(tmp_path_factory.mktemp("builder"))
    done = builder.run("pip", "wheel", "--wheel-dir", "dist", *(f"./{name}" for name in EXAMPLES), cwd=projects)
    assert done.code == 0, done
    return {path.name.split("-")[0].replace("_", "-"): path for path in (projects / "dist").iterdir()}


@pytest.fixture(scope="module")
def environment(wheels: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.install(*wheels.values(), cwd=made.packages)
    return made


@pytest.fixture(scope="module")
def digests(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What `capgate plugins` says the examples can be pinned with, before any of them is allowed."""
    done = environment.run("capgate", "plugins", "--format", "json", cwd=tmp_path_factory.mktemp("nowhere"))
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert [plugin["name"] for plugin in found["plugins"]] == ["capgate"]
    return {one["distribution"]: one["digest"] for one in found["notAllowed"] if one["distribution"] in EXAMPLES}


@pytest.fixture
def folder(projects: Path, digests: Mapping[str, str], tmp_path: Path) -> Path:
    """A folder with the descriptors of the examples, and a config that pins all three plugins."""
    for name in EXAMPLES:
        shutil.copytree(projects / name / "examples", tmp_path / "descriptors", dirs_exist_ok=True)
    pins = [{"name": name, "version": "==1.0.0", "digest": digests[name]} for name in EXAMPLES]
    write_config(tmp_path, pins)
    return tmp_path


def write_config(folder: Path, pins: list[dict[str, Any]]) -> None:
    (folder / "capgate.yaml").write_text(json.dumps({"plugins": pins}), encoding="utf-8")


def problems(done: Ended) -> list[dict[str, Any]]:
    """What is wrong with the policy, as a check with JSON output says that it could not judge anything."""
    assert done.code == 3
    report = json.loads(done.out)
    assert report["results"] == []
    found: list[dict[str, Any]] = report["policy"]["problems"]
    return found


def check(environment: Environment, folder: Path, *arguments: str) -> Ended:
    return environment.run("capgate", "check", "--format", "json", *arguments, "descriptors", cwd=folder)


def decisions(done: Ended) -> dict[str, str | None]:
    return {result["id"]: result["rule"] for result in json.loads(done.out)["results"]}


def test_there_are_three_examples() -> None:
    assert EXAMPLES == ["capgate-clipboard", "capgate-container", "capgate-mcp-call"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_wheel_has_the_modules_and_the_rules(name: str, projects: Path, wheels: Mapping[str, Path]) -> None:
    with zipfile.ZipFile(wheels[name]) as archive:
        packed = {file for file in archive.namelist() if ".dist-info/" not in file}
    source = projects / name / "src"
    assert packed == {
        path.relative_to(source).as_posix() for path in source.rglob("*.*") if path.suffix in (".py", ".yaml")
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tests_of_an_example_pass_on_its_wheel(name: str, environment: Environment, projects: Path) -> None:
    done = environment.run("pytest", "-p", "no:cacheprovider", "-W", "error", cwd=projects / name)
    assert done.code == 0, done
    assert re.search(r"^=+ \d+ passed in ", done.out, re.MULTILINE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_its_rule_are_true(name: str, environment: Environment, folder: Path) -> None:
    rules = environment.packages / name.replace("-", "_") / "rules"
    done = environment.run("capgate", "rules", "test", rules, cwd=folder)
    assert re.fullmatch(r"1 rule: \d passed, 0 failed, 0 errors\n", done.out), done


def test_pinned_plugins_are_loaded_with_what_they_add(
    environment: Environment, folder: Path, digests: Mapping[str, str]
) -> None:
    done = environment.run("capgate", "plugins", "--format", "json", cwd=folder)
    assert (done.code, done.err) == (0, "")
    shown = json.loads(done.out)
    plugins = {plugin["distribution"]: plugin for plugin in shown["plugins"]}
    assert plugins["capgate-clipboard"]["adds"] == {
        "capabilities": ["clipboard"],
        "primitives": ["clipboard-read"],
        "placements": ["machine", "browser"],
        "rules": ["clipboard-offline"],
    }
    assert plugins["capgate-container"]["adds"] == {
        "primitives": ["run-program"],
        "placements": ["container"],
        "operators": ["in_network"],
        "rules": ["container-internal-host"],
    }
    assert plugins["capgate-mcp-call"]["adds"] == {"primitives": ["mcp-call"], "rules": ["mcp-call-server"]}
    for name in EXAMPLES:
        package = name.replace("-", "_")
        assert plugins[name]["location"] == str(environment.packages / package / "plugin.py")
        assert plugins[name]["digest"] == digests[name]
    given = {primitive["name"]: primitive["given"] for primitive in shown["primitives"]}
    assert [(one["placement"], one["mechanism"]) for one in given["run-program"]] == [
        ("machine", None),
        ("browser", None),
        ("container", "container"),
    ]
    assert given["clipboard-read"][0] == {
        "placement": "machine",
        "capability": "clipboard",
        "mechanism": "clipboard-prompt",
        "gives": "the text on the clipboard, once for each time that the person says yes",
    }
    assert not {one["distribution"] for one in shown["notAllowed"]} & set(EXAMPLES)


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ("machine", {"word-count": None, "word-list": "exec-absent", "tide-server": None}),
        ("container", {"word-count": "absent-capability", "word-list": None, "tide-server": None}),
    ],
)
def test_descriptors_are_judged_with_the_plugins(
    placement: str, expected: dict[str, str | None], environment: Environment, folder: Path
) -> None:
    done = check(environment, folder, "--placement", placement)
    assert (done.code, done.err) == (1, "")
    assert decisions(done) == expected


def test_without_a_config_an_installed_plugin_counts_for_nothing(environment: Environment, folder: Path) -> None:
    (folder / "capgate.yaml").unlink()
    assert decisions(check(environment, folder)) == {
        "word-count": "unknown-capability",
        "word-list": "exec-absent",
        "tide-server": "unknown-primitive",
    }


def test_the_config_may_be_anywhere(environment: Environment, folder: Path, tmp_path_factory: Any) -> None:
    elsewhere = tmp_path_factory.mktemp("config") / "plugins.yaml"
    shutil.move(folder / "capgate.yaml", elsewhere)
    arguments = ("capgate", "check", "--format", "json", "descriptors")
    done = environment.run(*arguments, cwd=folder, CAPGATE_CONFIG=str(elsewhere))
    assert decisions(done)["word-count"] is None


def test_the_order_of_the_config_changes_no_fingerprint(environment: Environment, folder: Path) -> None:
    first = json.loads(check(environment, folder).out)
    pins = load_yaml((folder / "capgate.yaml").read_bytes()).data["plugins"]
    write_config(folder, pins[::-1])
    assert json.loads(check(environment, folder).out) == first
    write_config(folder, pins[:1])
    assert json.loads(check(environment, folder).out)["policy"] != first["policy"]


@pytest.fixture
def tampered(environment: Environment, request: pytest.FixtureRequest) -> Iterator[str]:
    """Changes an installed file of capgate-clipboard for the time of a test."""
    file = environment.packages / request.param
    sound = file.read_bytes()
    file.write_bytes(sound + b"\n")
    yield request.param
    file.write_bytes(sound)


@pytest.mark.parametrize(
    "tampered",
    ["capgate_clipboard/plugin.py", "capgate_clipboard/rules/clipboard-offline.yaml"],
    indirect=True,
)
def test_a_tampered_file_is_refused(
    tampered: str, environment: Environment, folder: Path, digests: Mapping[str, str]
) -> None:
    (found,) = problems(check(environment, folder))
    assert found["id"] == "plugin-digest"
    assert found["message"].startswith(
        "plugin 'capgate-clipboard' (capgate-clipboard 1.0.0): its files have the digest"
    )
    assert digests["capgate-clipboard"] in found["message"]
    assert (found["file"], found["line"]) == ("capgate.yaml", 1)


def test_another_version_is_refused(environment: Environment, folder: Path) -> None:
    write_config(folder, [{"name": "capgate-container", "version": "==1.1.*"}])
    (found,) = problems(check(environment, folder))
    assert found["id"] == "plugin-version"
    assert "version 1.0.0 is installed, and the config allows ==1.1.*" in found["message"]


def test_a_config_that_cannot_be_used_is_a_problem_of_the_policy(environment: Environment, folder: Path) -> None:
    done = check(environment, folder)
    assert done.code == 1
    (folder / "capgate.yaml").write_text("plugins:\n  - nmae: capgate-clipboard\n", encoding="utf-8")
    done = check(environment, folder)
    assert [(found["id"], found["line"], found["column"]) for found in problems(done)] == [
        ("config-invalid", 2, 5),
        ("config-invalid", 2, 5),
    ]
    assert "unknown key 'nmae'" in done.err
