"""What capgate declares of itself: the tables of contract section 2."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from capgate.plugins.config import Config
from capgate.plugins.manager import LoadedPlugins, load


@pytest.fixture(scope="module")
def built_in() -> LoadedPlugins:
    return load(config=Config())


def test_the_vocabulary_has_seven_words(built_in: LoadedPlugins) -> None:
    assert list(built_in.catalog.capabilities) == ["read", "write", "delete", "network", "exec", "eval", "import"]


def test_three_capabilities_are_mediated(built_in: LoadedPlugins) -> None:
    assert built_in.catalog.mediated == ("read", "write", "network")


@pytest.mark.parametrize(
    ("name", "needs", "arguments"),
    [
        ("now", (), ()),
        ("read-file", ("read",), ("path",)),
        ("write-file", ("write",), ("path", "content")),
        ("list-files", ("read",), ()),
        ("http-get", ("network",), ("url",)),
        ("wasm", (), ()),
    ],
)
def test_primitives_need_and_take(
    built_in: LoadedPlugins, name: str, needs: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    primitive = built_in.catalog.primitives[name]
    assert (primitive.needs, primitive.arguments, primitive.plugin) == (needs, arguments, "capgate")


def test_primitives_come_in_the_order_of_the_contract(built_in: LoadedPlugins) -> None:
    names = ["now", "read-file", "write-file", "list-files", "http-get", "wasm"]
    assert list(built_in.catalog.primitives) == names


@pytest.mark.parametrize(
    ("placement", "mechanisms"),
    [
        (
            "machine",
            {
                "read": "host-primitive-scope",
                "write": "host-primitive-scope",
                "delete": "host-primitive-scope",
                "network": "mediated-fetch",
            },
        ),
        (
            "browser",
            {
                "read": "handle-scope",
                "write": "handle-scope",
                "delete": "handle-scope",
                "network": "csp-connect-src",
                "import": "csp-script-src",
            },
        ),
    ],
)
def test_placements_enforce(built_in: LoadedPlugins, placement: str, mechanisms: dict[str, str]) -> None:
    terms = built_in.catalog.placements[placement]
    assert terms.mechanisms == mechanisms
    assert terms.gives.keys() == mechanisms.keys()
    assert "root-scoped read function" in terms.gives["read"]


@pytest.mark.parametrize(
    ("placement", "absent"), [("machine", ["exec", "eval", "import"]), ("browser", ["exec", "eval"])]
)
def test_placements_say_what_they_lack(built_in: LoadedPlugins, placement: str, absent: list[str]) -> None:
    assert list(built_in.catalog.placements[placement].absent) == absent


def test_wasm_names_the_whole_numbers_of_its_two_layouts(built_in: LoadedPlugins) -> None:
    assert built_in.catalog.abis == {
        "buffer-abi/1": ("input.addr", "input.maxBytes", "output.addr", "output.bytes"),
        "buffer-abi/diff": (
            "inputA.addr",
            "inputA.maxBytes",
            "inputB.addr",
            "inputB.maxBytes",
            "output.addr",
            "output.maxBytes",
        ),
    }


def test_wasm_discloses_what_its_digest_does_not_bind(built_in: LoadedPlugins) -> None:
    text = built_in.catalog.primitives["wasm"].discloses
    assert "binds which module" in text
    assert "does not bind" in text


def test_nobody_listens_and_no_rules_come_along(built_in: LoadedPlugins) -> None:
    assert built_in.decided is None
    assert built_in.rule_folders == ()


def test_the_catalog_cannot_be_changed(built_in: LoadedPlugins) -> None:
    with pytest.raises(TypeError):
        built_in.catalog.placements["machine"].mechanisms["exec"] = "sandbox"  # type: ignore[index]


def test_the_listing_names_what_is_built_in(built_in: LoadedPlugins) -> None:
    (entry,) = [one.to_json() for one in built_in.listing]
    assert entry["name"] == "capgate"
    assert entry["kind"] == "built-in"
    assert entry["adds"]["placements"] == ["machine", "browser"]
    assert entry["hooks"] == ["capgate_capabilities", "capgate_primitives", "capgate_placements"]


def test_a_start_without_plugins_imports_nothing_slow(tmp_path: object) -> None:
    code = "import json, sys; from capgate.plugins.manager import load; load();print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=str(tmp_path))
    loaded = set(json.loads(done.stdout))
    slow = {"importlib.metadata", "threading", "yaml", "capgate.plugins.loading", "capgate.plugins.config", "pathlib"}
    assert loaded & slow == set()
