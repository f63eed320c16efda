"""docs/plugins.md is the whole contract of plugins: its tutorial is followed, its tables are held against the code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from capgate.host.cli import new, plugins
from capgate.host.scaffolds.errors import ScaffoldError
from capgate.plugins import api
from capgate.plugins.config import _PIN_KEYS, Config, ConfigError, read_config
from capgate.plugins.errors import PluginError
from capgate.plugins.guard import DEADLINE
from capgate.plugins.manager import load
from capgate.policy.errors import CapgateError
from pages import DOCS, Block, blocks, code, commands, prose, shows, table
from plugin_samples.environment import Environment
from tree import ROOT

PAGE = DOCS / "plugins.md"
TUTORIAL = "A primitive of your own in 15 minutes"
VALUES = [
    api.Call,
    api.Fact,
    api.Grant,
    api.HookContext,
    api.Mechanism,
    api.Operator,
    api.Param,
    api.Placement,
    api.Primitive,
    api.Response,
]
HOOKS = [name for name in vars(api.Hooks) if name.startswith("capgate_")]


def sections() -> dict[str, list[Block]]:
    """The blocks below each heading of the second level, those of its own sub-headings among them."""
    found: dict[str, list[Block]] = {}
    main = re.findall(r"^## (.+)$", prose(PAGE), re.MULTILINE)
    heading = ""
    starts = {number: title for number, title in headings_by_line() if title in main}
    for block in blocks(PAGE):
        line = int(block.place.partition(":")[2])
        heading = [title for number, title in starts.items() if number < line][-1]
        found.setdefault(heading, []).append(block)
    return found


def headings_by_line() -> Iterator[tuple[int, str]]:
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            yield number, line.removeprefix("## ")


def line_above(block: Block) -> str:
    """The last line of text above a block."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()[: int(block.place.partition(":")[2]) - 1]
    return next(line for line in reversed(lines) if line)


# What is shown


@pytest.mark.parametrize(
    "heading", [name for name, found in sections().items() if any(block.language == "console" for block in found)]
)
def test_who_follows_the_page_gets_what_it_shows(heading: str, tmp_path: Path) -> None:
    """Does what a reader does: types the commands, and puts the other blocks into the files that are named."""
    environment = Environment(tmp_path / "environment")
    (tmp_path / "home").mkdir()
    here = tmp_path / "home"
    for block in sections()[heading]:
        if block.language != "console":
            (name,) = re.findall(r"`([\w./-]+)`:$", line_above(block))
            file = here / name
            assert file.parent.is_dir(), block.place
            file.write_text(block.text, encoding="utf-8")
            continue
        for line, shown in commands(block):
            script = f"exec 2>&1\n{line}\ncode=$?\npwd > {tmp_path}/where\nexit $code"
            done = environment.run("sh", "-c", script, cwd=here)
            here = Path((tmp_path / "where").read_text().strip())
            real = done.out + (f"[exit code {done.code}]\n" if done.code else "")
            assert shows(shown, real), f"{block.place}: $ {line}\n{real}"


def test_the_tutorial_leads_to_a_primitive_with_a_rule_of_its_own() -> None:
    texts = {block.language: block.text for block in sections()[TUTORIAL]}
    assert {"console", "python", "json", "yaml"} <= texts.keys()
    assert any("Primitive(" in block.text for block in sections()[TUTORIAL])
    assert any("\ntriggers:" in block.text for block in sections()[TUTORIAL])


def test_a_shown_module_is_a_plugin() -> None:
    (shown,) = [block for block in sections()["The hooks"] if block.language == "python"]
    module = ModuleType("shown")
    exec(compile(shown.text, shown.place, "exec"), vars(module))
    loaded = load([module], config=Config())
    assert set(loaded.catalog.operators) == {"begins"}
    assert set(loaded.catalog.facts) == {"plugin.shown.letters"}
    assert loaded.catalog.facts["plugin.shown.letters"].read({"id": "a"}, "machine") == len("{'id': 'a'}")
    begins = loaded.catalog.operators["begins"]
    assert [begins.holds(value, "tide-") for value in ("tide-clock", "clock", 5)] == [True, False, None]
    assert begins.accepts(5) == "expected a text"
    assert loaded.decided is not None


def test_a_shown_config_is_a_config_with_every_key(tmp_path: Path) -> None:
    (shown,) = [block for block in sections()["`capgate.yaml`"] if block.language == "yaml"]
    (tmp_path / "capgate.yaml").write_text(shown.text, encoding="utf-8")
    (pin,) = read_config(tmp_path / "capgate.yaml").plugins
    assert pin.name == "capgate-mail"
    assert all(re.search(rf"\b{key}:", shown.text) for key in _PIN_KEYS)


# Lists


def test_every_hook_is_documented_in_its_order() -> None:
    assert [code(row[0])[0] for row in table(PAGE, "The hooks", "hook")] == HOOKS


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_in_an_example(hook: str) -> None:
    sources = [block.text for block in blocks(PAGE)]
    sources += [path.read_text(encoding="utf-8") for path in (DOCS / "examples").rglob("plugin.py")]
    assert any(f"def {hook}(" in source for source in sources)


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_tested(hook: str) -> None:
    assert re.search(rf"\b{hook}\b", source_of_tests("plugins"))


def test_every_value_is_documented() -> None:
    public = {name for name in api.__all__ if isinstance(getattr(api, name), type)} - {"Given", "Hooks", "Refused"}
    interfaces = {code(row[0])[0]: code(row[2]) for row in table(PAGE, "The values", "interface")}
    assert {value.__name__ for value in VALUES} | set(interfaces) == public
    for name, methods in interfaces.items():
        real = {method for method in vars(getattr(api, name)) if not method.startswith("_")}
        assert {method.partition("(")[0] for method in methods if "(" in method} == real


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
def test_every_field_of_a_value_is_documented_with_its_default(value: type) -> None:
    rows = table(PAGE, f"Fields of `{value.__name__}`:", "field")
    defaults = {name: shown_default(default) for name, default in value._field_defaults.items()}  # type: ignore[attr-defined]
    assert {code(row[0])[0]: row[1] for row in rows} == {
        name: defaults.get(name, "")
        for name in value._fields  # type: ignore[attr-defined]
    }


def shown_default(default: object) -> str:
    if isinstance(default, str):
        return f'`"{default}"`'
    return f"`{default}`" if isinstance(default, bool | int | tuple) else "empty"


def test_every_key_of_the_config_is_documented() -> None:
    rows = table(PAGE, "Keys of a plugin:", "key")
    assert [code(row[0])[0] for row in rows] == list(_PIN_KEYS)
    assert [code(row[0])[0] for row in rows if row[1] == "yes"] == ["name"]
    assert any(f"{DEADLINE:g} by default" in row[2] for row in rows)


@pytest.mark.parametrize(
    ("heading", "family"),
    [
        ("About `capgate.yaml`:", ConfigError),
        ("About plugins:", PluginError),
        ("`capgate new`", ScaffoldError),
    ],
)
def test_every_error_id_is_documented_with_what_to_do(heading: str, family: type[CapgateError]) -> None:
    assert {code(row[0])[0]: row[2] for row in table(PAGE, heading, "id")} == family.ids


@pytest.mark.parametrize("id", [*ConfigError.ids, *PluginError.ids, *ScaffoldError.ids])
def test_every_error_id_is_tested(id: str) -> None:
    assert f'"{id}' in source_of_tests("plugins", "cli") or f": {id}: " in source_of_tests("plugins", "cli")


def source_of_tests(*areas: str) -> str:
    files = [path for area in areas for path in sorted((ROOT / "tests" / area).glob("*.py"))]
    return "".join(path.read_text(encoding="utf-8") for path in files)


def options(command: click.Command) -> set[str]:
    return {name for parameter in command.params if isinstance(parameter, click.Option) for name in parameter.opts}


@pytest.mark.parametrize(
    ("heading", "listed"),
    [("`capgate plugins`", [plugins.command]), ("`capgate new`", [new.command, *new.command.commands.values()])],
)
def test_every_option_is_documented(heading: str, listed: list[click.Command]) -> None:
    shown = {name for row in table(PAGE, heading, "option") for name in re.findall(r"`(--?[a-z]+)", row[0])}
    assert shown == {"-h", "--help"}.union(*map(options, listed))


def test_every_kind_of_scaffold_is_documented_and_tested() -> None:
    kinds = list(new.command.commands)
    shown = [code(row[0])[0].split()[2] for row in table(PAGE, "`capgate new`", "command")]
    assert sorted(shown) == sorted(kinds)
    tested = (ROOT / "tests" / "cli" / "test_new.py").read_text(encoding="utf-8")
    assert [kind for kind in kinds if f'"{kind}"' not in tested] == []


def test_the_exit_codes_of_the_list_are_those_of_its_help() -> None:
    assert plugins.command.help is not None
    said = {int(number) for number in re.findall(r"^ +(\d)  ", plugins.command.help, re.MULTILINE)} | {2}
    assert {int(row[0]) for row in table(PAGE, "`capgate plugins`", "exit code")} == said


def test_every_key_of_the_json_is_documented(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    shown = json.loads(environment.run("capgate", "plugins", "--format", "json", cwd=tmp_path).out)
    read_file = next(one for one in shown["primitives"] if one["given"])
    for heading, real in (
        ("Keys of the JSON:", shown),
        ("Keys of a plugin in the JSON:", shown["plugins"][0]),
        ("Keys of an entry of `given`:", read_file["given"][0]),
    ):
        assert {key for row in table(PAGE, heading, "key") for key in code(row[0])} == set(real)
