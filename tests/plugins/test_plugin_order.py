"""Nothing depends on the order in which plugins are found."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from capgate.plugins.api import Fact, HookContext, Mechanism, Operator, Placement, Primitive, hookimpl
from capgate.plugins.config import Config
from capgate.plugins.manager import LoadedPlugins, load
from capgate.policy.errors import PolicyInvalid


class Printing:
    name = "printing"
    version = "1.0"

    @hookimpl
    def capgate_capabilities(self) -> dict[str, str]:
        return {"print": "put ink on paper"}

    @hookimpl
    def capgate_primitives(self) -> list[Primitive]:
        return [Primitive("print-page", needs=["print", "read"])]

    @hookimpl
    def capgate_placements(self) -> list[Placement]:
        paper = Mechanism("spool", "a print function of one page a call")
        return [
            Placement("machine", mechanisms={"print": paper}, extends=True),
            Placement("browser", absent={"print": "a page asks the person instead"}, extends=True),
        ]


class Vault:
    name = "vault"
    version = "2.0"

    @hookimpl
    def capgate_placements(self) -> list[Placement]:
        return [
            Placement(
                "vault", mechanisms={"read": Mechanism("sealed", "one sealed file"), "print": Mechanism("none", "x")}
            )
        ]

    @hookimpl
    def capgate_operators(self) -> list[Operator]:
        return [Operator("near", lambda operand: None, lambda value, operand: True)]


class Weather:
    name = "weather"

    @hookimpl
    def capgate_facts(self) -> list[Fact]:
        return [Fact("wind", "number", "in knots", lambda descriptor, placement: 7)]

    @hookimpl
    def capgate_rules(self, context: HookContext) -> list[str]:
        return ["/"]


def picture(loaded: LoadedPlugins) -> str:
    catalog = loaded.catalog
    parts: list[Any] = [
        catalog.to_json(),
        list(catalog.capabilities.items()),
        [str(part) for part in catalog.primitives.values()],
        [str(part) for part in catalog.placements.values()],
        list(catalog.operators),
        list(catalog.facts),
        [str(folder) for folder in loaded.rule_folders],
        [entry.to_json() for entry in loaded.listing],
    ]
    return json.dumps(parts)


@pytest.mark.parametrize("plugins", list(itertools.permutations([Printing(), Vault(), Weather()])))
def test_any_order_gives_the_same_catalog(plugins: tuple[object, ...]) -> None:
    ordered = load([Printing(), Vault(), Weather()], config=Config())
    assert picture(load(plugins, config=Config())) == picture(ordered)


@pytest.mark.parametrize("plugins", list(itertools.permutations([Printing(), Vault(), Weather(), Weather()])))
def test_any_order_gives_the_same_problems(plugins: tuple[object, ...]) -> None:
    other = Vault()
    other.name = "archive"
    with pytest.raises(PolicyInvalid) as caught:
        load([*plugins, other], config=Config())
    assert [str(problem).split(": ")[0:2] for problem in caught.value.problems] == [
        ["plugin-clash", "plugin 'vault' (2.0), capgate_operators"],
        ["plugin-clash", "plugin 'vault' (2.0), capgate_placements"],
        ["plugin-twice", "plugin 'weather' (without a version)"],
        ["plugin-twice", "plugin 'weather' (without a version)"],
    ]


def test_results_carry_the_name_of_their_plugin() -> None:
    loaded = load([Printing(), Vault(), Weather()], config=Config())
    catalog = loaded.catalog
    assert catalog.primitives["print-page"].plugin == "printing"
    assert catalog.placements["vault"].plugin == "vault"
    assert catalog.operators["near"].plugin == "vault"
    assert catalog.facts["plugin.weather.wind"].plugin == "weather"
    assert [(name, str(folder)) for name, folder in loaded.rule_folders] == [("weather", "/")]
    assert catalog.plugins == (
        ("capgate", loaded.listing[0].origin.version),
        ("printing", "1.0"),
        ("vault", "2.0"),
        ("weather", ""),
    )


def test_a_placement_is_extended_where_it_says_nothing() -> None:
    catalog = load([Printing()], config=Config()).catalog
    machine, browser = catalog.placements["machine"], catalog.placements["browser"]
    assert machine.mechanisms["print"] == "spool"
    assert machine.gives["print"] == "a print function of one page a call"
    assert machine.plugin == "capgate"
    assert "print" not in browser.mechanisms
    assert browser.absent["print"] == "a page asks the person instead"
    assert list(catalog.placements) == ["machine", "browser"]


def test_the_listing_says_what_each_plugin_adds() -> None:
    entries = {
        entry.origin.name: entry.to_json() for entry in load([Printing(), Vault(), Weather()], config=Config()).listing
    }
    assert entries["printing"]["adds"] == {
        "capabilities": ["print"],
        "primitives": ["print-page"],
        "placements": ["machine", "browser"],
    }
    assert entries["vault"]["adds"] == {"placements": ["vault"], "operators": ["near"]}
    assert entries["weather"]["adds"] == {"facts": ["plugin.weather.wind"], "rules": ["/"]}
    assert entries["weather"]["hooks"] == ["capgate_facts", "capgate_rules"]
    assert entries["printing"]["kind"] == "given"
