"""Plugins that fail when they are called or looked at: each is a named error, and the process goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from capgate.plugins import guard
from capgate.plugins.api import HookContext, Primitive, hookimpl
from capgate.plugins.config import Config
from capgate.plugins.manager import LoadedPlugins, load
from plugin_samples.faulty import Plugin, problem, problems

TIDE = Primitive("tide", needs=("read",))


def raising(error: BaseException) -> Callable[[HookContext], Any]:
    def hook(context: HookContext) -> Any:
        raise error

    return hook


def recursing(context: HookContext) -> Any:
    return recursing(context)


def writing(context: HookContext) -> Any:
    context.config["station"] = "mine"  # type: ignore[index]


def assigning(context: HookContext) -> Any:
    context.api_version = 7  # type: ignore[misc]


class Unreadable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        (raising(ZeroDivisionError("by zero")), "raised ZeroDivisionError: by zero (test_faulty_plugins.py, line "),
        (raising(SystemExit(3)), "raised SystemExit: 3"),
        (raising(KeyboardInterrupt()), "raised KeyboardInterrupt"),
        (raising(GeneratorExit()), "raised GeneratorExit"),
        (raising(MemoryError()), "raised MemoryError"),
        (raising(Unreadable()), "raised Unreadable: its text cannot be read"),
        (raising(ValueError("two\nlines \x1b[2J \u202e")), "raised ValueError: two lines ?[2J ?"),
        (recursing, "raised RecursionError"),
        (writing, "raised TypeError: 'mappingproxy' object does not support item assignment"),
        (assigning, "raised AttributeError"),
    ],
)
def test_a_hook_that_fails_is_named(hook: Callable[[HookContext], Any], text: str) -> None:
    found = problem(Plugin(capgate_primitives=hook))
    assert found.id == "plugin-raised"
    assert found.message.startswith(f"plugin 'tides' (1.2), capgate_primitives: {text}")


def test_a_hook_that_hangs_is_named_and_the_process_goes_on(never: threading.Event) -> None:
    found = problem(Plugin(capgate_facts=lambda context: never.wait()), deadline=0.05)
    assert found.id == "plugin-hung"
    assert found.message == "plugin 'tides' (1.2), capgate_facts: did not return within 0.05 seconds"
    assert load(config=Config()).catalog.plugins


def test_a_plugin_that_hangs_is_not_called_again(never: threading.Event) -> None:
    calls = []

    def hang(context: HookContext) -> None:
        calls.append(context)
        never.wait()

    found = problems(Plugin(capgate_primitives=hang, capgate_rules=hang), deadline=0.05)
    assert [one.id for one in found] == ["plugin-hung", "plugin-hung"]
    assert "still busy" in found[1].message
    assert len(calls) == 1


def test_what_only_follows_from_a_failed_hook_is_left_out() -> None:
    fails = Plugin("a", capgate_capabilities=raising(OSError()))
    needs = Plugin("b", capgate_primitives=lambda context: [Primitive("tide", needs=["sea"])])
    assert problem(fails, needs).id == "plugin-raised"


@pytest.mark.parametrize(
    ("specifier", "id"),
    [(">=99", "plugin-api"), ("<0.1", "plugin-api"), ("0.1", "plugin-value"), (7, "plugin-value")],
)
def test_a_plugin_for_another_capgate_is_named(specifier: Any, id: str) -> None:
    plugin = Plugin(capgate_primitives=[])
    plugin.requires_capgate = specifier  # type: ignore[attr-defined]
    found = problem(plugin)
    assert found.id == id
    assert found.message.startswith("plugin 'tides' (1.2): ")


def test_a_plugin_for_this_capgate_is_loaded() -> None:
    plugin = Plugin(capgate_primitives=lambda context: [TIDE])
    plugin.requires_capgate = ">=0.1"  # type: ignore[attr-defined]
    assert load([plugin], config=Config()).catalog.primitives["tide"].plugin == "tides"


@pytest.mark.parametrize("name", ["", "a.b", "1a", "capgate", 5, "ä"])
def test_a_plugin_has_a_fit_name(name: Any) -> None:
    assert problem(Plugin(name, capgate_primitives=[])).id == "plugin-name"


def test_two_plugins_cannot_have_one_name() -> None:
    found = problems(Plugin(capgate_primitives=[]), Plugin("tides", "1.3", capgate_rules=[]))
    assert [one.id for one in found] == ["plugin-twice", "plugin-twice"]


class Odd:
    @property
    def name(self) -> str:
        raise SystemExit("bye")


def test_a_property_that_exits_is_named() -> None:
    assert "raised SystemExit: bye" in problem(Odd()).message


class Unlistable:
    name = "tides"

    def __dir__(self) -> list[str]:
        raise RuntimeError("no attributes today")


class Incomparable(Unlistable):
    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return []

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not today")


@pytest.mark.parametrize(("plugin", "text"), [(Unlistable(), "no attributes today"), (Incomparable(), "not today")])
def test_a_plugin_that_cannot_be_looked_at_is_named(plugin: object, text: str) -> None:
    found = problem(plugin)
    assert found.id == "plugin-raised"
    assert f"plugin 'tides' (without a version): raised RuntimeError: {text}" in found.message


class Misspelt:
    @hookimpl
    def capgate_primitves(self, context: HookContext) -> list[Primitive]:
        return []


class Later:
    @hookimpl(optionalhook=True)
    def capgate_newer(self, context: HookContext) -> list[Primitive]:
        return []


class Wrapping:
    @hookimpl(wrapper=True)
    def capgate_primitives(self, context: HookContext) -> Iterator[None]:
        yield


class Demanding:
    @hookimpl
    def capgate_primitives(self, context: HookContext, catalog: object) -> list[Primitive]:
        return []


class Empty:
    def capgate_primitives(self, context: HookContext) -> list[Primitive]:
        return []


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        (Misspelt(), "capgate_primitves: no such hook; there are capgate_capabilities, capgate_primitives"),
        (Wrapping(), "capgate_primitives: wraps the hook"),
        (Demanding(), "Argument(s) {'catalog'} are declared in the hookimpl but"),
        (Empty(), "implements no hook; are its functions marked @hookimpl?"),
    ],
)
def test_a_hook_that_is_not_as_declared_is_named(plugin: object, text: str) -> None:
    found = problem(plugin)
    assert found.id == "plugin-hook"
    assert text in found.message


def test_a_hook_of_a_later_capgate_may_be_optional() -> None:
    assert load([Later()], config=Config()).listing[1].hooks == ()


class Brief:
    @hookimpl
    def capgate_primitives(self) -> list[Primitive]:
        return [TIDE]


def test_a_hook_may_leave_out_its_argument() -> None:
    assert "tide" in load([Brief()], config=Config()).catalog.primitives


@pytest.mark.parametrize(
    ("path", "text"),
    [("rules", "is no absolute path"), ("/no/such/folder", "is no folder"), (__file__, "is no folder")],
)
def test_a_rule_folder_must_be_there(path: str, text: str) -> None:
    found = problem(Plugin(capgate_rules=lambda context: [path]))
    assert (found.id, found.hook) == ("plugin-rule-folder", "capgate_rules")
    assert text in found.message


def test_what_a_hook_prints_does_not_reach_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    def hook(context: HookContext) -> list[Primitive]:
        print("hello from a plugin")
        return [TIDE]

    before = sys.stdout
    load([Plugin(capgate_primitives=hook)], config=Config())
    assert sys.stdout is before
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "hello from a plugin\n"


def test_a_thread_that_cannot_be_started_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(guard, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", start)
    assert "could not be called, as no thread can be started" in problem(Plugin(capgate_primitives=[])).message


def test_every_problem_of_every_plugin_is_reported() -> None:
    found = problems(
        Plugin("a", capgate_primitives=raising(OSError())),
        Plugin("b", capgate_facts=lambda context: 5),
        Plugin("c", capgate_capabilities={"read": "again"}),
        Plugin("d", capgate_primitives=lambda context: [TIDE]),
    )
    assert [(one.id, one.origin and one.origin.name) for one in found] == [
        ("plugin-raised", "a"),
        ("plugin-type", "b"),
        ("plugin-clash", "c"),
    ]


def test_others_are_untouched_by_what_a_plugin_does_to_what_it_gave() -> None:
    meanings = {"sea": "the sea"}
    needs = ["read"]
    plugin = Plugin(
        capgate_capabilities=lambda context: meanings,
        capgate_primitives=lambda context: [Primitive("tide", needs=needs)],
    )
    loaded: LoadedPlugins = load([plugin], config=Config())
    meanings["exec"] = "mine"
    needs.append("exec")
    assert loaded.catalog.capabilities["exec"] == "start other programs"
    assert loaded.catalog.primitives["tide"].needs == ("read",)
