"""The pages say what is so: their commands and Python are run, their links lead somewhere, their lists are whole."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path

import click
import pytest

import capgate
from capgate.host.checking import Finding, Result, Summary
from capgate.host.cli.check import command
from capgate.host.cli.exits import Exit
from capgate.host.cli.main import cli
from capgate.host.cli.output import OutputError
from capgate.host.inputs import InputError
from capgate.policy.documents.json_strict import MAX_DEPTH
from capgate.policy.documents.numbers import MAX_INTEGER
from capgate.policy.documents.source import MAX_BYTES
from capgate.policy.errors import CapgateError
from capgate.policy.ruleset import RESERVED_IDS
from pages import DOCS, PAGES, Block, anchors, blocks, code, commands, prose, shows, table
from tree import ROOT, modules

CHECK = DOCS / "check.md"
README = ROOT / "README.md"
ADMISSION = DOCS / "admission.md"
ARCHITECTURE = DOCS / "architecture.md"
#: Pages with a tutorial that changes files and folders; a test of their own follows it.
WALKED = {"plugins.md"}
#: A fenced block is one of these, and something is done with it.
LANGUAGES = {"console", "pycon", "yaml", "json", "python"}


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# Examples


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a page's examples run: with the catalogue, and `capgate` and `make` on the path."""
    here, bin_folder = tmp_path / "here", tmp_path / "bin"
    shutil.copytree(ROOT / "catalogue", here / "catalogue", ignore=shutil.ignore_patterns("__*"))
    bin_folder.mkdir()
    # The recipe of the real Makefile; what it sets up is there.
    make = f"exec {shutil.which('make')} --file {ROOT / 'Makefile'} BIN={bin_folder} --assume-old .venv/.project"
    for name, line in {"capgate": f"exec {sys.executable} -m capgate", "make": make}.items():
        (bin_folder / name).write_text(f'#!/bin/sh\n{line} "$@"\n', encoding="utf-8")
        (bin_folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    for name in ("CAPGATE_CONFIG", "CAPGATE_DEBUG", "COLUMNS", "FORCE_COLOR", "MAKEFLAGS", "MAKELEVEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(here)
    return here


def write_file(block: Block) -> bool:
    """Writes the file that a block shows, if its first line is a comment with a path."""
    found = re.match(r"# (\S+/\S+\.\w+)\n", block.text)
    if found:
        path = Path(found[1])
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    return bool(found)


def output_of(line: str) -> str:
    done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    code = f"[exit code {done.returncode}]\n" if done.returncode else ""
    return done.stdout.decode() + code


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("a…\n", "abc\n", True),
        ("a…\n", "ab\nc\n", False),
        ("…\nc\n", "a\nb\nc\n", True),
        ("…\nc\n", "c\n", True),
        ("…\nc\n", "c\nd\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_shown_output_is_the_real_one_but_for_the_dots(shown: str, real: str, same: bool) -> None:
    assert shows(shown, real) is same


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in WALKED], ids=named)
def test_the_commands_and_the_python_of_a_page_do_what_it_shows(page: Path, place: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(page):
        assert block.language in LANGUAGES, block.place
        if block.language == "yaml":
            write_file(block)
        elif block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(block.text, names, block.place, None, None)
            report: list[str] = []
            doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
            assert not report, "".join(report)
            names = test.globs
        elif block.language == "console":
            for line, shown in commands(block):
                if line == "make test":
                    continue  # this is a part of it
                real = output_of(line)
                assert shows(shown, real), f"{block.place}: $ {line}\n{real}"


def test_the_shown_output_of_make_test_has_every_environment() -> None:
    (shown,) = [shown for block in blocks(README) for line, shown in commands(block) if line == "make test"]
    (environments,) = re.findall(r"^env_list = (.+)$", (ROOT / "tox.ini").read_text(encoding="utf-8"), re.MULTILINE)

    assert re.findall(r"^  (\w+): OK …$", shown, re.MULTILINE) == environments.split(", ")


@pytest.mark.parametrize("page", [README, CHECK], ids=named)
def test_a_page_shows_commands(page: Path) -> None:
    assert [line for block in blocks(page) if block.language == "console" for line, _ in commands(block)]


# Links and names


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_to_a_file_or_a_heading(page: Path) -> None:
    dead = []
    for target in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    real = cli.list_commands(click.Context(cli))
    known = {word for text in code(prose(page)) for word in re.findall(r"^capgate ([a-z][a-z-]*)", text)}

    assert known - set(real) == set()


def test_the_readme_lists_every_command() -> None:
    assert [code(row[0])[0] for row in table(README, "Commands", "command")] == [
        f"capgate {name}" for name in cli.list_commands(click.Context(cli))
    ]


def test_the_readme_names_what_the_package_offers() -> None:
    text = README.read_text(encoding="utf-8")
    names = {*capgate.__all__, *(name for name in vars(capgate.Gate) if name in ("decide", "admit", "plan"))}

    assert {name for name in names if not re.search(rf"\b{name}\b", text)} == set()


def test_the_architecture_has_every_module_in_its_tables() -> None:
    folders = ("`policy/`", "`plugins/`", "`host/`")
    listed = {name for folder in folders for row in table(ARCHITECTURE, folder, "module") for name in code(row[0])}
    real = set()
    for path in modules():
        folder, *rest = path.relative_to(ROOT).parts
        if folder in ("policy", "plugins", "host") and rest != ["__init__.py"]:
            real.add(rest[0] if len(rest) == 1 else f"{rest[0]}/")
    assert listed == real


def test_the_architecture_has_every_folder_in_its_table() -> None:
    listed = {name for row in table(ARCHITECTURE, "Folders") for name in code(row[0])}
    tracked = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}

    assert listed - {"src/capgate/"} <= {f"{name}/" for name in tracked}
    assert {"policy/", "plugins/", "host/", "rules/", "catalogue/", "tests/", "docs/"} <= listed


# Lists


def test_the_table_of_refusals_has_every_id_that_a_verdict_can_carry() -> None:
    rules = {
        file.name.removesuffix(".yaml") for file in files("capgate.rules").iterdir() if file.name.endswith(".yaml")
    }
    listed = [row[0] for row in table(DOCS / "refusals.md", "Refusals", "id")]

    assert sorted(listed) == sorted(f"[{id}](#{id})" for id in {*rules, *RESERVED_IDS} - {"ruleset"})


def test_every_option_of_check_is_documented() -> None:
    listed = {name for row in table(CHECK, "Options") for name in re.findall(r"`(--?[a-z]+)", row[0])}
    real = {name for parameter in command.params if isinstance(parameter, click.Option) for name in parameter.opts}

    assert listed == real | {"-h", "--help"}


def test_the_documented_defaults_of_check_are_the_real_ones() -> None:
    listed = {row[0].split()[0].strip("`"): row[2].strip("`") for row in table(CHECK, "Options")}
    real = {parameter.opts[0]: parameter.default for parameter in command.params if isinstance(parameter.default, str)}

    assert {name: listed[name] for name in real} == real
    assert real.keys() == {"--placement", "--format"}


def test_every_format_of_check_is_documented() -> None:
    (formats,) = [parameter.type for parameter in command.params if parameter.name == "form"]
    assert isinstance(formats, click.Choice)
    assert [code(row[0])[0] for row in table(CHECK, "Other formats", "format")] == list(formats.choices)


def test_every_exit_code_is_documented() -> None:
    assert [int(row[0]) for row in table(CHECK, "Exit codes")] == [code.value for code in Exit]


@pytest.mark.parametrize(
    ("sentence", "real"),
    [
        ("Keys of a result:", Result("x", None, None, "error").to_json()),
        ("Keys of a refusal:", Finding._fields),
        ("Keys of the summary:", Summary().to_json()),
    ],
)
def test_every_key_of_the_json_report_is_documented(sentence: str, real: object) -> None:
    listed = [name for row in table(CHECK, sentence) for name in code(row[0])]

    assert sorted(listed) == sorted(real)  # type: ignore[call-overload]


def test_every_environment_variable_is_documented() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in modules())
    real = set(re.findall(r"""environ(?:\.get\(|\[)"([A-Z_]+)\"""", source))

    tables = (table(CHECK, "Environment"), table(ADMISSION, "Environment"))
    assert {name for rows in tables for row in rows for name in code(row[0])} == real


@pytest.mark.parametrize(
    ("heading", "family"),
    [
        ("Inputs", InputError),
        ("The report", OutputError),
    ],
)
def test_every_error_id_is_documented_with_what_to_do(heading: str, family: type[CapgateError]) -> None:
    listed = {row[0].strip("`"): row[2].replace(r"\|", "|") for row in table(CHECK, heading, "id")}

    assert listed == family.ids


@cache
def limits() -> dict[str, int]:
    return {row[0]: int(row[1]) for row in table(CHECK, "Limits")}


@pytest.mark.parametrize(
    ("limit", "real"),
    [
        ("bytes of a document", MAX_BYTES),
        ("levels of lists and objects in a document", MAX_DEPTH),
        ("largest number, and its negative", MAX_INTEGER),
    ],
)
def test_a_documented_limit_is_the_real_one(limit: str, real: int) -> None:
    assert limits()[limit] == real


def test_the_changelog_begins_with_what_is_not_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[0] == "Unreleased"
