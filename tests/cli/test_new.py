"""`capgate new`: what it writes passes the checks as it is, is whole or not there, and never replaces anything."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate as package
from plugin_samples.environment import Environment

Run = Callable[..., Any]

#: Arguments of a command, and the files that it writes in an empty folder.
WRITTEN = [
    (["rule", "few-tools"], ["my-rules/README.md", "my-rules/few-tools.yaml", "my-rules/tests/few-tools.yaml"]),
    (["descriptor", "tide-clock"], ["tide-clock.json"]),
    (
        ["plugin", "moon-phase"],
        [
            "capgate-moon-phase/README.md",
            "capgate-moon-phase/capgate.yaml",
            "capgate-moon-phase/examples/moon-phase.json",
            "capgate-moon-phase/pyproject.toml",
            "capgate-moon-phase/src/capgate_moon_phase/__init__.py",
            "capgate-moon-phase/src/capgate_moon_phase/plugin.py",
            "capgate-moon-phase/src/capgate_moon_phase/rules/moon-phase-offline.yaml",
            "capgate-moon-phase/tests/test_plugin.py",
        ],
    ),
]


def files(folder: Path) -> list[str]:
    """All that is in a folder, whole folders as their files."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or not any(path.iterdir())
    )


@pytest.mark.parametrize(("arguments", "expected"), WRITTEN)
def test_it_writes_files_and_names_them(arguments: list[str], expected: list[str], capgate: Run, folder: Path) -> None:
    done = capgate("new", *arguments)
    assert (done.code, done.err) == (0, "")
    assert files(folder) == expected
    assert sorted(re.findall(r"^wrote (.+)$", done.out, re.MULTILINE)) == expected
    assert not any("«" in (folder / name).read_text(encoding="utf-8") for name in expected)


@pytest.mark.parametrize(("arguments", "expected"), WRITTEN)
def test_it_takes_another_folder(arguments: list[str], expected: list[str], capgate: Run, folder: Path) -> None:
    (folder / "other").mkdir()
    target = "other/my-rules/" if arguments[0] == "rule" else "other"
    assert capgate("new", *arguments, "--dir", target).code == 0
    assert files(folder) == [f"other/{name}" for name in expected]


# Rules


def written_rule(capgate: Run, id: str, *options: str) -> package.Gate:
    """A gate with the rule that `capgate new rule` writes."""
    done = capgate("new", "rule", id, *options)
    assert done.code == 0, done.err
    return package.open_gate(rules=["my-rules"])


@pytest.mark.parametrize("id", ["a", "few-tools", "x1-", "tool", "r" * 100])
def test_a_rule_loads_and_its_examples_are_true(id: str, capgate: Run) -> None:
    gate = written_rule(capgate, id)
    rule = gate.rule(id)
    assert rule is not None
    assert {example.refused for example in rule.examples} == {True, False}
    assert capgate("rules", "test", "my-rules").code == 0
    for example in rule.examples:
        verdict = gate.admit(example.descriptor)
        assert (id in [refusal.rule for refusal in verdict.refusals]) is example.refused
        assert verdict.admitted is not example.refused


def test_a_rule_is_put_into_a_folder_that_is_there(capgate: Run, folder: Path) -> None:
    written_rule(capgate, "one")
    (folder / "my-rules" / "README.md").unlink()
    gate = written_rule(capgate, "two")
    assert files(folder) == [
        "my-rules/one.yaml",
        "my-rules/tests/one.yaml",
        "my-rules/tests/two.yaml",
        "my-rules/two.yaml",
    ]
    assert gate.rule("one")
    assert gate.rule("two")


def test_rules_of_one_folder_pass_every_check_together(capgate: Run) -> None:
    for id in ("one", "two-", "x1", "headers"):
        written_rule(capgate, id)
    assert capgate("rules", "lint", "my-rules").out == "4 rules: 0 findings\n"
    assert capgate("rules", "test", "my-rules").out == "4 rules: 16 passed, 0 failed, 0 errors\n"
    for command in ("coverage", "mutate"):
        done = capgate("rules", command, "my-rules")
        assert (done.code, done.out.rstrip()[-5:]) == (0, "100 %")


@pytest.mark.parametrize("there", ["one.yaml", "tests/one.yaml", "tests"])
def test_a_rule_of_which_a_file_is_there_is_not_written_in_part(there: str, capgate: Run, folder: Path) -> None:
    target = folder / "my-rules" / there
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    done = capgate("new", "rule", "one")
    assert (done.code, done.out) == (2, "")
    assert ": target-" in done.err
    assert (files(folder), target.read_text()) == ([f"my-rules/{there}"], "mine")


@pytest.mark.parametrize("number", [1, 2])
def test_nothing_of_a_rule_is_left_in_a_folder_when_a_file_cannot_be_written(
    number: int, capgate: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "my-rules").mkdir()
    monkeypatch.setattr(os, "fdopen", failing(number, OSError(errno.ENOSPC, "No space left on device")))
    assert capgate("new", "rule", "one").code == 2
    assert files(folder) == ["my-rules"]


def test_a_folder_of_cases_that_cannot_be_made_is_named(
    capgate: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mkdir(path: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (folder / "my-rules").mkdir()
    monkeypatch.setattr(os, "mkdir", mkdir)
    done = capgate("new", "rule", "one")
    assert done.code == 2
    assert "capgate: my-rules/tests/one.yaml: target-unwritable: cannot be written: Permission denied (" in done.err
    assert files(folder) == ["my-rules"]


def test_the_folders_above_are_made_for_a_rule(capgate: Run, folder: Path) -> None:
    done = capgate("new", "rule", "one", "--dir", "a b/c d/")
    assert (done.code, done.err) == (0, "")
    assert files(folder) == ["a b/c d/README.md", "a b/c d/one.yaml", "a b/c d/tests/one.yaml"]
    assert capgate("rules", "test", "a b/c d").code == 0


@pytest.mark.parametrize("there", ["", "a b"])
def test_folders_that_were_made_for_nothing_are_taken_away(
    there: str, capgate: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(source: str, target: str) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    (folder / there).mkdir(exist_ok=True)
    monkeypatch.setattr(os, "rename", rename)
    done = capgate("new", "rule", "one", "--dir", "a b/c d/e")
    assert (done.code, done.out) == (2, "")
    assert files(folder) == ([there] if there else [])


def test_a_file_above_a_folder_of_rules_is_left_alone(capgate: Run, folder: Path) -> None:
    (folder / "file").write_text("mine")
    done = capgate("new", "rule", "one", "--dir", "file/a/b")
    assert done.code == 2
    assert done.err.startswith("capgate: file/a/b: target-unwritable: cannot be written: Not a directory (")
    assert (files(folder), (folder / "file").read_text()) == (["file"], "mine")


def test_the_command_that_a_rule_ends_with_works(capgate: Run, write: Callable[..., Path], clock: Any) -> None:
    done = capgate("new", "rule", "says-why", "--dir", "our rules")
    assert "capgate check --rules 'our rules' PATH" in done.out
    clock["tools"][0]["promptSnippet"] = "says-why"
    write("clock.json", clock)
    done = capgate("check", "--rules", "our rules", "clock.json")
    assert done.code == 1
    assert "says-why: the tool 'tide_now' has the prompt snippet 'says-why'" in done.out


# Descriptors


@pytest.mark.parametrize("id", ["tide-clock", "a", "-", "__", "7", "task", "call-extension", "d" * 100])
def test_a_descriptor_is_admitted(id: str, capgate: Run) -> None:
    assert capgate("new", "descriptor", id).code == 0
    done = capgate("check", "--format", "json", f"./{id}.json")
    assert (done.code, done.results[0]["id"], done.results[0]["enforced"]) == (0, id, {"read": "host-primitive-scope"})
    written = json.loads(Path(f"{id}.json").read_text())
    assert written["name"]
    assert written["description"]


# Plugins


@pytest.mark.parametrize("name", ["moon-phase", "capgate-moon-phase"])
def test_a_plugin_is_called_by_its_name_with_and_without_the_prefix(name: str, capgate: Run, folder: Path) -> None:
    assert capgate("new", "plugin", name).code == 0
    assert [path.name for path in folder.iterdir()] == ["capgate-moon-phase"]
    entry = '[project.entry-points.capgate]\nmoon-phase = "capgate_moon_phase.plugin"\n'
    assert entry in (folder / "capgate-moon-phase" / "pyproject.toml").read_text()


@pytest.mark.parametrize("how", ["editable", "wheel"])
@pytest.mark.parametrize("name", ["moon-phase", "x"])
def test_a_plugin_passes_its_tests_once_it_is_installed(how: str, name: str, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    done = environment.run("capgate", "new", "plugin", name, cwd=tmp_path)
    assert done.code == 0, done
    home = tmp_path / f"capgate-{name}"
    if how == "editable":
        environment.install("--editable", ".[test]", cwd=home)
    else:
        done = environment.run("pip", "wheel", "--wheel-dir", "dist", ".", cwd=home)
        assert "Warning" not in done.err, done
        environment.install(*(home / "dist").iterdir(), cwd=tmp_path)

    done = environment.run("pytest", "-W", "error", cwd=home)
    assert re.search(r"^=+ 4 passed in ", done.out, re.MULTILINE), done
    done = environment.run("capgate", "check", "examples", cwd=home)
    assert f"examples/{name}.json: admitted with {name} ({name}-interface)\n" in done.out
    if how == "editable":
        done = environment.run("capgate", "rules", "test", f"src/capgate_{name.replace('-', '_')}/rules", cwd=home)
    else:
        (rules,) = environment.packages.glob("capgate_*/rules")
        done = environment.run("capgate", "rules", "test", rules, cwd=home)
    assert done.out == "1 rule: 3 passed, 0 failed, 0 errors\n", done


# What is refused


@pytest.mark.parametrize(
    ("kind", "name", "id"),
    [
        *[("rule", name, "name-unfit") for name in ("", "Few", "few_tools", "1st", "-a", "a.b", "../a", "a/b", "ü")],
        *[("rule", name, "name-unfit") for name in ("r" * 101, "a\n", "true", "false", "null")],
        *[("rule", name, "name-taken") for name in ("no-tools", "ruleset", "policy-invalid", "fact-unavailable")],
        *[("descriptor", name, "name-unfit") for name in ("", "Tide", "a.b", "../a", "a b", "ü", "d" * 101, "a\n")],
        *[
            ("plugin", name, "name-unfit")
            for name in ("", "Tides", "a_b", "1a", "a-", "a--b", "-a", "a.b", "../a", "ü")
        ],
        *[("plugin", name, "name-unfit") for name in ("p" * 61, "a\n", "true", "capgate-null", "capgate-")],
        *[("plugin", name, "name-taken") for name in ("capgate", "capgate-capgate", "network", "capgate-read")],
    ],
)
def test_an_unfit_name_is_refused_with_what_to_do(kind: str, name: str, id: str, capgate: Run, folder: Path) -> None:
    done = capgate("new", kind, "--", name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"capgate: {id}: ")
    assert "(Choose " in done.err
    assert files(folder) == []


@pytest.mark.parametrize(("arguments", "expected"), WRITTEN)
def test_what_is_there_is_never_replaced(arguments: list[str], expected: list[str], capgate: Run, folder: Path) -> None:
    capgate("new", *arguments)
    for name in expected:
        (folder / name).write_text("mine")
    done = capgate("new", *arguments)
    assert (done.code, done.out) == (2, "")
    assert ": target-exists: is there already (" in done.err
    assert files(folder) == expected
    assert {(folder / name).read_text() for name in expected} == {"mine"}


@pytest.mark.parametrize("there", ["file", "empty folder", "dangling link"])
@pytest.mark.parametrize(("arguments", "target"), [(["descriptor", "a"], "a.json"), (["plugin", "a"], "capgate-a")])
def test_nor_is_anything_else_of_that_name(
    there: str, arguments: list[str], target: str, capgate: Run, folder: Path
) -> None:
    if there == "file":
        (folder / target).touch()
    elif there == "empty folder":
        (folder / target).mkdir()
    else:
        (folder / target).symlink_to("nowhere")
    done = capgate("new", *arguments)
    assert done.code == 2
    assert f"capgate: {target}: target-exists" in done.err
    assert files(folder) == [target]


@pytest.mark.parametrize("kind", ["descriptor", "plugin"])
def test_a_folder_that_cannot_be_written_to_is_named(kind: str, capgate: Run, folder: Path) -> None:
    done = capgate("new", kind, "a", "--dir", "no/such")
    assert (done.code, done.out) == (2, "")
    assert re.match(
        r"capgate: no/such\S*: target-unwritable: cannot be written: No such file or directory \(", done.err
    )
    assert files(folder) == []


def failing(number: int, error: BaseException) -> Callable[..., Any]:
    """An `os.fdopen` whose file number `number`, counted from 1, fails when it is written to."""
    real = os.fdopen
    left = [number]

    def fdopen(*arguments: Any) -> Any:
        file = real(*arguments)
        left[0] -= 1
        if left[0] == 0:

            class Full:
                def __enter__(self) -> Any:
                    return self

                def __exit__(self, *details: object) -> None:
                    file.close()

                def write(self, content: bytes) -> None:
                    file.write(content[: len(content) // 2])
                    raise error

            return Full()
        return file

    return fdopen


@pytest.mark.parametrize(
    ("arguments", "number"),
    [(arguments, number) for arguments, expected in WRITTEN for number in range(1, len(expected) + 1)],
)
@pytest.mark.parametrize(
    ("error", "code"), [(OSError(errno.ENOSPC, "No space left on device"), 2), (KeyboardInterrupt(), 130)]
)
def test_when_a_file_cannot_be_written_nothing_is_left(
    arguments: list[str],
    number: int,
    error: BaseException,
    code: int,
    capgate: Run,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "fdopen", failing(number, error))
    done = capgate("new", *arguments)
    assert (done.code, done.out) == (code, "")
    assert ("target-unwritable: cannot be written: No space left on device (" in done.err) is (code == 2)
    assert list(folder.iterdir()) == []


def test_nothing_is_left_when_the_folder_cannot_be_moved_to_its_place(
    capgate: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(source: str, target: str) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    monkeypatch.setattr(os, "rename", rename)
    done = capgate("new", "plugin", "tides")
    assert done.code == 2
    assert "capgate: capgate-tides: target-unwritable: cannot be written: Directory not empty (" in done.err
    assert list(folder.iterdir()) == []


def test_what_cannot_be_seen_in_a_name_is_shown_as_escapes(capgate: Run) -> None:
    done = capgate("new", "rule", "a\x1b[2J\u202e")
    assert done.code == 2
    assert "'a\\u001B[2J\\u202E' cannot be the name" in done.err


@pytest.mark.parametrize("arguments", [[], ["rule"], ["descriptor"], ["plugin"]])
def test_help_is_shown(arguments: list[str], capgate: Run) -> None:
    done = capgate("new", *arguments, "--help")
    assert done.code == 0
    assert "Nothing is ever overwritten." in done.out
