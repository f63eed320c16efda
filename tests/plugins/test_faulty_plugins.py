"""Plugins that are wrong at the start: each is a named error, and the process goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from capgate.plugins import guard
from capgate.plugins.api import Fact, HookContext, Mechanism, Operator, Param, Placement, Primitive, hookimpl
from capgate.plugins.config import Config
from capgate.plugins.errors import PluginError
from capgate.plugins.manager import LoadedPlugins, load
from capgate.policy.errors import PolicyInvalid


class Plugin:
    """A plugin whose hooks return, or do, what the test says."""

    def __init__(self, name: str = "tides", version: str | None = "1.2", /, **hooks: Any):
        self.name = name
        self.version = version
        for hook, result in hooks.items():
            setattr(self, hook, self._implementation(result))

    @staticmethod
    def _implementation(result: Any) -> Callable[..., Any]:
        def implementation(context: HookContext) -> Any:
            return result(context) if callable(result) else result

        return hookimpl(implementation)


def problems(*plugins: object, deadline: float = 5) -> list[PluginError]:
    with pytest.raises(PolicyInvalid) as caught:
        load(plugins, config=Config(), deadline=deadline)
    found = [problem for problem in caught.value.problems if isinstance(problem, PluginError)]
    assert len(found) == len(caught.value.problems)
    return found


def problem(*plugins: object, deadline: float = 5) -> PluginError:
    (only,) = problems(*plugins, deadline=deadline)
    return only


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that nobody sets before the test is over."""
    event = threading.Event()
    yield event
    event.set()


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


@pytest.mark.parametrize(
    ("hook", "result", "text"),
    [
        ("capgate_capabilities", ["tide"], "returned a list ('tide'), expected a dict of capability names to meanings"),
        ("capgate_capabilities", {"Tide": "x"}, "returned a dict ('Tide'), expected"),
        ("capgate_capabilities", {"tide": ""}, "returned a dict ('tide'), expected"),
        ("capgate_primitives", None, "returned None, expected a list or tuple of Primitive"),
        ("capgate_primitives", "read", "returned 'read', expected"),
        ("capgate_primitives", [("a", (), (), {}, "")], "returned a list (a tuple), expected"),
        ("capgate_primitives", Primitive("a"), "returned a Primitive, expected"),
        ("capgate_primitives", {Primitive: 1}, "returned a dict (a type), expected"),
        ("capgate_primitives", [10**30], "returned a list (an int), expected"),
        ("capgate_primitives", list(range(9)), "returned a list (0, 1, 2, 3, 4, …), expected"),
        ("capgate_placements", 5, "returned 5, expected"),
        ("capgate_operators", [], None),
        ("capgate_operators", [Fact("a", "string", "b", len)], "returned a list (a Fact), expected"),
        ("capgate_facts", True, "returned True, expected"),
        ("capgate_rules", "/tmp", "returned '/tmp', expected a list or tuple of paths"),
        ("capgate_rules", [5], "returned a list (5), expected"),
        ("capgate_rules", [b"/"], "returned a list (a bytes), expected"),
    ],
)
def test_a_result_of_the_wrong_type_is_named(hook: str, result: Any, text: str | None) -> None:
    plugin = Plugin(**{hook: lambda context: result})
    if text is None:
        assert load([plugin], config=Config())
        return
    found = problem(plugin)
    assert found.id == "plugin-type"
    assert found.hook == hook
    assert text in found.message


def test_a_generator_is_no_list() -> None:
    assert "returned a generator" in problem(Plugin(capgate_primitives=lambda context: (x for x in ()))).message


def mechanism(**fields: Any) -> Placement:
    return Placement("moon", mechanisms={"read": Mechanism(**{"name": "lens", "gives": "light", **fields})})


@pytest.mark.parametrize(
    ("hook", "value", "text"),
    [
        ("capgate_primitives", Primitive("Tide"), "Primitive 'Tide': name is 'Tide', expected a name of lower-case"),
        ("capgate_primitives", Primitive(5), "Primitive 5: name is 5"),  # type: ignore[arg-type]
        ("capgate_primitives", Primitive("a", needs="read"), "Primitive 'a': needs is 'read', expected a list"),
        ("capgate_primitives", Primitive("a", needs=["read", "read"]), "needs is a list ('read', 'read'), expected"),
        ("capgate_primitives", Primitive("a", needs=[["read"]]), "needs is a list (a list)"),  # type: ignore[list-item]
        ("capgate_primitives", Primitive("a", params=["path"]), "params is a list"),  # type: ignore[list-item]
        ("capgate_primitives", Primitive("a", params=[Param("a"), Param("a")]), "two params have one name"),
        ("capgate_primitives", Primitive("a", params=[Param("a b")]), "Param 'a b': name is 'a b'"),
        ("capgate_primitives", Primitive("a", params=[Param("a", "text")]), "type is 'text', expected one of string"),
        ("capgate_primitives", Primitive("a", params=[Param("a", from_caller=1)]), "from_caller is 1"),  # type: ignore[arg-type]
        ("capgate_primitives", Primitive("a", abis={"x": ["1"]}), "abis is a dict ('x'), expected a dict of ABI"),
        ("capgate_primitives", Primitive("a", abis=[]), "abis is an empty list"),  # type: ignore[arg-type]
        ("capgate_primitives", Primitive("a", discloses="a\nb"), "discloses is 'a\\nb', expected one line"),
        ("capgate_placements", Placement("moon", absent={"read": ""}), "absent is a dict"),
        ("capgate_placements", Placement("moon", mechanisms={"read": "x"}), "mechanisms is a dict"),  # type: ignore[dict-item]
        ("capgate_placements", Placement("moon", extends="yes"), "extends is 'yes'"),  # type: ignore[arg-type]
        ("capgate_placements", mechanism(name="x y"), "Mechanism 'x y': name is 'x y'"),
        ("capgate_placements", mechanism(gives=" "), "Mechanism 'lens': gives is ' '"),
        (
            "capgate_placements",
            mechanism()._replace(absent={"read": "dark"}),
            "'read' has a mechanism and is absent; it can only be one",
        ),
        ("capgate_operators", Operator("Near", repr, bool), "Operator 'Near': name is"),  # type: ignore[arg-type]
        ("capgate_operators", Operator("near", None, bool), "accepts is None"),  # type: ignore[arg-type]
        ("capgate_operators", Operator("near", repr, 5), "holds is 5, expected a function"),  # type: ignore[arg-type]
        ("capgate_operators", Operator("near", repr, bool, None), "absent is None"),  # type: ignore[arg-type]
        ("capgate_facts", Fact("a.b", "string", "c", len), "Fact 'a.b': name is 'a.b'"),  # type: ignore[arg-type]
        ("capgate_facts", Fact("a", "text", "c", len), "type is 'text', expected one of string, boolean"),  # type: ignore[arg-type]
        ("capgate_facts", Fact("a", "string", "", len), "meaning is ''"),  # type: ignore[arg-type]
        ("capgate_facts", Fact("a", "string", "c", "read"), "read is 'read'"),  # type: ignore[arg-type]
    ],
)
def test_a_value_that_is_wrong_is_named(hook: str, value: Any, text: str) -> None:
    found = problem(Plugin(**{hook: lambda context: [value]}))
    assert (found.id, found.hook) == ("plugin-value", hook)
    assert text in found.message


TIDE = Primitive("tide", needs=("read",))
NEAR = Operator("near", lambda operand: None, lambda value, operand: True)


@pytest.mark.parametrize(
    ("hook", "value", "text"),
    [
        ("capgate_primitives", Primitive("now"), "primitive 'now' is already defined by capgate"),
        ("capgate_primitives", Primitive("a", abis={"buffer-abi/1": []}), "ABI 'buffer-abi/1' is already defined by"),
        ("capgate_placements", Placement("machine"), "placement 'machine' is already defined by capgate"),
        (
            "capgate_placements",
            Placement("machine", mechanisms={"exec": Mechanism("jail", "a shell")}, extends=True),
            "capability on machine 'exec' is already defined by capgate",
        ),
        (
            "capgate_placements",
            Placement("browser", absent={"read": "no"}, extends=True),
            "capability on browser 'read' is already defined by capgate",
        ),
    ],
)
def test_a_name_of_capgate_is_taken(hook: str, value: Any, text: str) -> None:
    found = problem(Plugin(**{hook: lambda context: [value]}))
    assert (found.id, found.hook) == ("plugin-clash", hook)
    assert text in found.message


def test_a_capability_of_capgate_is_taken() -> None:
    found = problem(Plugin(capgate_capabilities={"exec": "harmless"}))
    assert found.id == "plugin-clash"
    assert "capability 'exec' is already defined by capgate" in found.message


@pytest.mark.parametrize(
    ("hook", "value"),
    [
        ("capgate_capabilities", {"tide": "the sea"}),
        ("capgate_primitives", [TIDE]),
        ("capgate_primitives", [TIDE._replace(name="other", abis={"tide/1": ()}), TIDE._replace(abis={"tide/1": ()})]),
        ("capgate_placements", [Placement("moon")]),
        ("capgate_operators", [NEAR]),
    ],
)
def test_two_plugins_cannot_define_one_name(hook: str, value: Any) -> None:
    found = problems(Plugin("a", **{hook: lambda c: value}), Plugin("b", "3", **{hook: lambda c: value}))
    assert {one.id for one in found} == {"plugin-clash"}
    assert found[-1].message.startswith(f"plugin 'b' (3), {hook}: ")
    assert found[-1].message.endswith("is already defined by plugin 'a' (1.2)")


def test_one_plugin_cannot_define_one_fact_twice() -> None:
    fact = Fact("level", "number", "height", lambda descriptor, placement: 1)
    found = problem(Plugin(capgate_facts=lambda context: [fact, fact]))
    assert found.message.endswith("fact 'plugin.tides.level' is already defined by itself")


@pytest.mark.parametrize("name", ["equals", "in", "empty", "each", "exists", "all", "not", "fact"])
def test_an_operator_cannot_shadow_a_built_in_word(name: str) -> None:
    found = problem(Plugin(capgate_operators=lambda context: [NEAR._replace(name=name)]))
    assert (found.id, found.hook) == ("plugin-shadow", "capgate_operators")


@pytest.mark.parametrize(
    ("hook", "value"),
    [
        ("capgate_primitives", Primitive("tide", needs=["sea"])),
        ("capgate_placements", Placement("moon", mechanisms={"sea": Mechanism("lens", "light")})),
        ("capgate_placements", Placement("moon", absent={"sea": "dry"})),
        ("capgate_placements", Placement("machine", absent={"sea": "dry"}, extends=True)),
    ],
)
def test_a_capability_that_nobody_defines_is_named(hook: str, value: Any) -> None:
    found = problem(Plugin(**{hook: lambda context: [value]}))
    assert (found.id, found.hook) == ("plugin-unknown-capability", hook)
    assert "the capability 'sea', which no plugin defines; there are read, write" in found.message


def test_a_placement_that_nobody_defines_cannot_be_extended() -> None:
    found = problem(Plugin(capgate_placements=lambda context: [Placement("mars", extends=True)]))
    assert found.id == "plugin-unknown-placement"


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
