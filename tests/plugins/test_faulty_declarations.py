"""Plugins that declare what cannot be: each mistake is a named error that says where it is."""

from __future__ import annotations

from typing import Any

import pytest

from capgate.plugins.api import Fact, Mechanism, Operator, Param, Placement, Primitive, hookimpl
from capgate.plugins.config import Config
from capgate.plugins.manager import load
from plugin_samples.faulty import Plugin, problem, problems


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
        ("capgate_operators", [Fact("a", "string", "b", max)], "returned a list (a Fact), expected"),
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
    assert "returned a generator" in problem(Plugin(capgate_primitives=lambda context: (name for name in "ab"))).message


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


def test_two_functions_of_one_hook_cannot_define_one_capability() -> None:
    class Twice:
        name = "tides"

        @hookimpl
        def capgate_capabilities(self) -> dict[str, str]:
            return {"tide": "the sea"}

        @hookimpl(specname="capgate_capabilities")
        def again(self) -> dict[str, str]:
            return {"tide": "the moon"}

    assert problem(Twice()).message.endswith("capability 'tide' is already defined by itself")


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
