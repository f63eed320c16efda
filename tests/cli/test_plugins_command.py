"""`capgate plugins`: what is loaded and what each adds, and what is installed but not allowed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from capgate.host.cli.main import cli
from capgate.plugins.placements.machine import MACHINE
from plugin_samples.distribution import lay_out

Run = Callable[..., Any]

SOURCE = """
import os
from capgate.plugins.api import Fact, Mechanism, Operator, Placement, Primitive, hookimpl

@hookimpl
def capgate_capabilities():
    return {"sea": "look at the sea"}

@hookimpl
def capgate_primitives():
    return [Primitive("tide", needs=("sea", "read"))]

@hookimpl
def capgate_placements():
    return [
        Placement("machine", mechanisms={"sea": Mechanism("gauge", "what the gauge says")}, extends=True),
        Placement("browser", absent={"sea": "no page can see it"}, extends=True),
        Placement("ship"),
    ]

@hookimpl
def capgate_operators():
    return [Operator("deeper", lambda operand: None, lambda value, operand: False)]

@hookimpl
def capgate_facts():
    return [Fact("level", "number", "how high the water is", lambda descriptor, placement: 1)]

@hookimpl
def capgate_rules():
    return [os.path.join(os.path.dirname(__file__), "tides_rules")]

@hookimpl
def capgate_decided():
    pass
"""
RULE = """
id: no-ebb
title: No ebb
applies_to: descriptor
triggers: [{stage: launch, when: {plugin.tides.level: {max: 0}}, reason: it is low}]
"""
TEXT = """\
tides 1.2 (capgate-tides)
  file: {packages}/capgate_tides.py
  capabilities: sea
  primitives: tide
  placements: machine, browser, ship
  operators: deeper
  facts: plugin.tides.level
  rules: no-ebb
  is told of each verdict
  digest: {digest}

What a primitive may be handed:
  now: nothing
"""
HANDED = """\
  tide
    sea on machine: what the gauge says (gauge)
    sea on browser: nothing: no page can see it
    sea on ship: nothing
    read on machine: {read}
    read on browser: a root-scoped read function over the folder handle that the person granted (handle-scope)
    read on ship: nothing

Installed, and not loaded, as no config names them:
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """What stands in for an installation: the plugins `tides` and `moon`."""
    folder = tmp_path / "packages"
    lay_out(folder, "tides", SOURCE)
    lay_out(folder, "moon", "raise SystemExit('was imported')")
    (folder / "tides_rules").mkdir()
    (folder / "tides_rules" / "no-ebb.yaml").write_text(RULE)
    return folder


@pytest.fixture
def run(packages: Path, process: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `capgate` in a process that has these plugins installed."""
    monkeypatch.delenv("CAPGATE_CONFIG", raising=False)
    path = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])

    def run(*arguments: str, **variables: str) -> Any:
        return process(*arguments, env={"PYTHONPATH": path, **variables})

    return run


def ours(shown: Any) -> list[Any]:
    """The plugins that are not allowed, of those in the test's own folder."""
    return [one for one in shown["notAllowed"] if one["distribution"] in ("capgate-tides", "capgate-moon")]


def test_without_a_config_the_built_in_plugins_are_loaded_and_the_rest_is_found(run: Run) -> None:
    done = run("plugins", "--format", "json")
    assert (done.code, done.err) == (0, "")
    (built_in,) = done.json["plugins"]
    assert (built_in["name"], built_in["kind"], built_in["digest"]) == ("capgate", "built-in", None)
    assert "read-file" in built_in["adds"]["primitives"]
    assert "exec-absent" in built_in["adds"]["rules"]
    assert [one["name"] for one in ours(done.json)] == ["moon", "tides"]
    assert [one["digest"][:7] for one in ours(done.json)] == ["sha256:", "sha256:"]
    assert done.json["policy"].keys() == {"fingerprint"}


def test_the_list_for_people(run: Run, write: Callable[..., Path], packages: Path) -> None:
    digests = {one["name"]: one["digest"] for one in ours(run("plugins", "--format", "json").json)}
    write("capgate.yaml", f"plugins: [{{name: capgate-tides, digest: '{digests['tides']}'}}]")
    done = run("plugins")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("capgate 0.1.0 (built-in)\n  capabilities: read, write, ")
    assert TEXT.format(packages=packages, digest=digests["tides"]) in done.out
    assert HANDED.format(read=MACHINE.mechanisms["read"].gives + " (host-primitive-scope)") in done.out
    rest = done.out.partition("no config names them:\n")[2]
    assert f"  moon 1.2 (capgate-moon)\n    digest: {digests['moon']}\n" in rest
    assert "tides" not in rest


def test_the_same_for_programs(run: Run, write: Callable[..., Path], packages: Path) -> None:
    config = write("plugins.yaml", "plugins: [{name: Capgate.Tides, version: '==1.*'}]")
    done = run("plugins", "--format", "json", CAPGATE_CONFIG=str(config))
    assert (done.code, done.err) == (0, "")
    _, tides = done.json["plugins"]
    assert tides["digest"].startswith("sha256:")
    assert tides == {
        "name": "tides",
        "version": "1.2",
        "distribution": "capgate-tides",
        "kind": "configured",
        "location": str(packages / "capgate_tides.py"),
        "hooks": [
            "capgate_capabilities",
            "capgate_primitives",
            "capgate_placements",
            "capgate_operators",
            "capgate_facts",
            "capgate_rules",
            "capgate_decided",
        ],
        "adds": {
            "capabilities": ["sea"],
            "primitives": ["tide"],
            "placements": ["machine", "browser", "ship"],
            "operators": ["deeper"],
            "facts": ["plugin.tides.level"],
            "rules": ["no-ebb"],
        },
        "digest": tides["digest"],
        "notPinnable": None,
    }
    (tide,) = [one for one in done.json["primitives"] if one["name"] == "tide"]
    assert tide["given"][:2] == [
        {"placement": "machine", "capability": "sea", "mechanism": "gauge", "gives": "what the gauge says"},
        {"placement": "browser", "capability": "sea", "mechanism": None, "gives": "no page can see it"},
    ]
    assert [one["name"] for one in ours(done.json)] == ["moon"]


def test_what_cannot_be_pinned_says_why(run: Run, packages: Path) -> None:
    (packages / "capgate_moon.py").unlink()
    done = run("plugins")
    assert done.code == 0
    assert "  moon 1.2 (capgate-moon)\n    no digest: its file capgate_moon.py cannot be read" in done.out
    (moon,) = [one for one in ours(run("plugins", "--format", "json").json) if one["name"] == "moon"]
    assert (moon["digest"], moon["notPinnable"][:8]) == (None, "its file")


def test_a_policy_that_is_invalid_says_so_and_the_rest_is_found_all_the_same(
    run: Run, write: Callable[..., Path]
) -> None:
    write("capgate.yaml", "plugins: [{name: capgate-sun}]")
    done = run("plugins", "--format", "json")
    assert done.code == 3
    assert "capgate.yaml:1:18: plugin-not-installed: no distribution 'capgate-sun' is installed\n" in done.err
    assert [problem["id"] for problem in done.json["policy"]["problems"]] == ["plugin-not-installed"]
    assert [one["name"] for one in ours(done.json)] == ["moon", "tides"]
    done = run("plugins")
    assert done.code == 3
    assert done.out.startswith("Installed, and not loaded, as no config names them:\n")


def test_a_config_that_cannot_be_read_allows_nothing(run: Run, write: Callable[..., Path]) -> None:
    write("capgate.yaml", "plugins: [")
    done = run("plugins", "--format", "json")
    assert done.code == 3
    assert done.json["plugins"] == []
    assert [one["name"] for one in ours(done.json)] == ["moon", "tides"]


def test_a_rule_of_a_plugin_that_does_not_load_is_a_problem_that_names_the_plugin(
    run: Run, write: Callable[..., Path], packages: Path
) -> None:
    (packages / "tides_rules" / "no-ebb.yaml").write_text(RULE.replace("level", "levle"))
    write("capgate.yaml", "plugins: [{name: capgate-tides}]")
    for command in ("plugins", "check"):
        done = run(command)
        assert done.code == 3
        assert f"{packages}/tides_rules/no-ebb.yaml:5:35: path-unknown: " in done.err
        named = "plugin-rule-folder: plugin 'tides' (capgate-tides 1.2), capgate_rules: its rules in"
        assert f"{named} {packages}/tides_rules do not load\n" in done.err


def test_an_installation_that_cannot_be_looked_through_is_an_error(run: Run, packages: Path) -> None:
    (packages / "capgate_moon-1.2.dist-info" / "entry_points.txt").write_bytes(b"\xff")
    done = run("plugins", "--format", "json")
    assert done.code == 4
    assert done.err.startswith("capgate: plugin-raised: looking for plugins in all that is installed raised Unicode")
    assert done.json["notAllowed"] is None
    assert [plugin["name"] for plugin in done.json["plugins"]] == ["capgate"]
    assert run("plugins").code == 4


def test_what_cannot_be_seen_is_shown_as_escapes(run: Run, packages: Path) -> None:
    entry = "[capgate]\nmoon\x1b[2J\u202e = capgate_moon\n"
    lay_out(packages, "moon", "", version="1.2\u200b", entry_points=entry)
    done = run("plugins")
    assert done.code == 0
    assert "  moon\\u001B[2J\\u202E 1.2\\u200B (capgate-moon)\n" in done.out
    assert "\x1b" not in run("plugins", "--format", "json").out


def test_only_this_command_looks_for_plugins(run: Run, packages: Path, write: Callable[..., Path], clock: Any) -> None:
    (packages / "capgate_moon-1.2.dist-info" / "entry_points.txt").write_bytes(b"\xff")
    write("clock.json", clock)
    assert run("check").code == 0
    write("capgate.yaml", "plugins: [{name: capgate-tides}]")
    assert run("check", "clock.json").code == 0


#: Each command that goes by the policy, with arguments.
JUDGING = {
    "admit": ["tide-clock", "--yes"],
    "call": ["tide_now"],
    "check": ["clock.json"],
    "create-extension": ["clock.json", "--stage"],
    "deny": ["tide-clock"],
    "inventory": [],
    "ledger import": ["old.jsonl"],
    "mcp": [],
    "plan": ["clock.json"],
    "plugins": [],
    "propose": ["clock.json"],
    "reconfigure": ["tide-clock", "--max-bytes", "3", "--yes"],
    "revoke": ["tide-clock", "--yes"],
    "rules coverage": [],
    "rules diff": ["-", "-"],
    "rules explain": ["no-tools", "clock.json"],
    "rules lint": [],
    "rules list": [],
    "rules mutate": [],
    "rules schema": [],
    "rules show": ["no-tools"],
    "rules test": [],
    "sideload": ["web-search", "--yes"],
}
#: Those that judge nothing; a server with a broken policy serves, to say so (tests/host/web/test_serve.py).
NOT_JUDGING = {
    "approval-code",
    "audit grep",
    "audit tail",
    "database import",
    "ledger checkpoint",
    "ledger show",
    "ledger verify",
    "serve",
}


def commands(group: click.Group, before: str = "") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name


def test_every_command_but_new_goes_by_the_policy() -> None:
    assert list(JUDGING) == [name for name in commands(cli) if not name.startswith("new ") and name not in NOT_JUDGING]


@pytest.mark.parametrize("by", ["the current folder", "the environment"])
@pytest.mark.parametrize("command", JUDGING)
def test_every_command_goes_by_the_config(
    by: str, command: str, capgate: Run, write: Callable[..., Path], clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAPGATE_CONFIG", raising=False)
    write("clock.json", clock)
    config = write("capgate.yaml" if by == "the current folder" else "plugins.yaml", "plugins: [{name: capgate-sun}]")
    if by == "the environment":
        monkeypatch.setenv("CAPGATE_CONFIG", str(config))
    shown = "capgate.yaml" if by == "the current folder" else config
    write("old.jsonl", "")
    done = capgate(*command.split(), *JUDGING[command])
    assert done.code == 3
    assert f"{shown}:1:18: plugin-not-installed: no distribution 'capgate-sun' is installed\n" in done.err


@pytest.mark.parametrize("name", ["missing.yaml", "capgate.yaml"])
def test_a_config_that_is_named_has_to_be_there(name: str, run: Run) -> None:
    done = run("check", CAPGATE_CONFIG=name)
    assert done.code == 3
    assert f"{name}: config-unreadable: cannot read it: No such file or directory\n" in done.err


def test_help_is_shown(capgate: Run) -> None:
    done = capgate("plugins", "--help")
    assert done.code == 0
    assert "what each primitive may be handed" in " ".join(done.out.split())


@pytest.mark.parametrize("arguments", [["--format", "xml"], ["extra"]])
def test_a_wrong_command_line_is_named(arguments: list[str], capgate: Run) -> None:
    done = capgate("plugins", *arguments)
    assert (done.code, done.out) == (2, "")


def test_the_policy_has_the_fingerprint_that_verdicts_carry(
    capgate: Run, write: Callable[..., Path], clock: Any
) -> None:
    write("clock.json", clock)
    shown = json.loads(capgate("plugins", "--format", "json").out)
    assert shown["policy"] == capgate("check", "--format", "json", "clock.json").json["policy"]
