"""Whatever rule files hold, they load, and the gate then judges with them, or they are refused with a place."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capgate
from capgate.policy.catalog import Catalog
from capgate.policy.documents import load_yaml
from capgate.policy.errors import CapgateError, PolicyInvalid
from capgate.policy.gate import Gate
from capgate.policy.ruleset import RuleFolder, load_ruleset

RULES = Path(capgate.__path__[0]) / "rules"
IN_CI = settings(deadline=None, derandomize=True)
#: Problems that are a folder's, so that they have no line.
OF_FOLDERS = {"rules-empty", "rules-foreign", "rules-unreadable"}


# Rule files as trees in which a key may come twice: ("map", [(key, tree), ...]), ("list", [tree, ...]), or a scalar.


def tree(data: Any) -> Any:
    if isinstance(data, dict):
        return ("map", [(key, tree(value)) for key, value in data.items()])
    if isinstance(data, list):
        return ("list", [tree(value) for value in data])
    return data


def written(node: Any) -> str:
    """A tree as flow YAML."""
    if not isinstance(node, tuple):
        return json.dumps(node)
    kind, parts = node
    if kind == "list":
        return f"[{', '.join(written(part) for part in parts)}]"
    return "{" + ", ".join(f"? {json.dumps(key)} : {written(value)}" for key, value in parts) + "}"


def holders(node: Any) -> Iterator[list[Any]]:
    """The parts of every list and map of a tree."""
    if isinstance(node, tuple):
        yield node[1]
        for part in node[1]:
            yield from holders(part[1] if node[0] == "map" else part)


def shipped(name: str) -> Any:
    return tree(load_yaml((RULES / name).read_bytes(), name).data)


SHIPPED = {path.stem: shipped(path.name) for path in sorted(RULES.glob("*.yaml")) if path.stem != "ruleset"}
STAGES = tree(
    {
        "language": 1,
        "stages": [
            {"name": "early", "after": "shape"},
            {"name": "parts", "after": "early", "for_each": {"part": "subject.tools"}},
            {"name": "late", "after": "tools", "for_each": {"granted": "descriptor.capabilities"}},
        ],
    }
)
KEYS = """all any none not equals in not_in matches contains lacks subset_of empty min max minlength maxlength type each
exists fact stage when reason at for_each remedy id title severity examples refused descriptor given placement taken
subject.tools tool.name tool tool.layout descriptor.bounds.hosts placement.mechanisms host.taken field value enabled
after name language stages rules unless 0 tool..name {tool}""".split()
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2.5, 2**53, "", "a", "{", "{{", "{tool.name}", "{a!r}", "[a-z]+", "(?=a)", "(a*)*b"),
    *("string", "null", "whole", "host", "tools", "bounds", "early", "parts", "shape", "warn", "refuse", "machine"),
    *("tool.name", "subject.capabilities", "descriptor", "catalog", "descriptor.params.x", "$.tools[0]", "no", "é\n"),
    *(("map", []), ("list", []), ("list", ["a", 1, None]), ("map", [("fact", "host.taken")]), ("map", [("equals", 1)])),
    *(("map", [("all", ("list", []))]), ("map", [("not", ("map", [("descriptor", ("map", [("exists", True)]))]))])),
)


def mutated(random: Random, node: Any) -> Any:
    """A tree with a few things changed: removed, doubled, replaced, renamed, swapped or put in from another rule."""
    node = copy.deepcopy(node)
    for _ in range(random.choice((1, 1, 2, 3))):
        places = [(parts, at) for parts in holders(node) for at in range(len(parts))]
        if not places:
            break
        parts, at = random.choice(places)
        others, other = random.choice(places)
        named = isinstance(parts[at], tuple) and parts[at][0] not in ("map", "list")
        match random.randrange(6):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, copy.deepcopy(parts[at]))
            case 2:
                value = copy.deepcopy(random.choice(VALUES))
                parts[at] = (parts[at][0], value) if named else value
            case 3 if named:
                parts[at] = (random.choice(KEYS), parts[at][1])
            case 4 if type(parts[at]) is type(others[other]) and others is parts:
                parts[at], others[other] = others[other], parts[at]
            case _:
                donor = random.choice([found for found in holders(random.choice(list(SHIPPED.values()))) if found])
                given = copy.deepcopy(random.choice(donor))
                if named is (isinstance(given, tuple) and given[0] not in ("map", "list")):
                    parts[at] = given
    return node


def renamed(node: Any, id: str) -> Any:
    """The tree with its id, as far as it has one, changed."""
    return (node[0], [(key, id if key == "id" else value) for key, value in node[1]])


def reworded(node: Any, change: Callable[[str], str]) -> Any:
    """The tree with every text and key changed."""
    if not isinstance(node, tuple):
        return change(node) if isinstance(node, str) else node
    kind, parts = node
    if kind == "list":
        return (kind, [reworded(part, change) for part in parts])
    return (kind, [(change(key), reworded(value, change)) for key, value in parts])


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return capgate.open_gate().catalog


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> RuleFolder:
    """The shipped rules without their examples, which load quickly."""
    folder = tmp_path_factory.mktemp("base")
    for path in RULES.glob("*.yaml"):
        data = load_yaml(path.read_bytes()).data
        rest = {key: value for key, value in data.items() if key not in ("examples", "references")}
        (folder / path.name).write_text(json.dumps(rest), encoding="utf-8")
    return RuleFolder(folder, "capgate")


def loaded(catalog: Catalog, base: RuleFolder, files: dict[str, bytes]) -> Gate | None:
    """A gate with an overlay; None, once every problem was seen to have a place, where it is refused."""
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        try:
            return Gate(catalog, load_ruleset(catalog, base, [RuleFolder(Path(folder), "overlay")]))
        except PolicyInvalid as invalid:
            assert invalid.problems
            for problem in invalid.problems:
                assert problem.span is not None
                assert Path(problem.span.file).parent == Path(folder) or problem.id == "rules-empty"
                assert (problem.span.line is not None) is (problem.id not in OF_FOLDERS)
                assert problem.message
                assert problem.hint
                assert str(problem) in str(invalid)
                assert json.dumps(problem.to_json())
            return None


WASM = {
    "path": "hash.wasm",
    "digest": "0" * 64,
    "abi": "buffer-abi/1",
    "call": {"export": "run"},
    "input": {"addr": 0, "maxBytes": 8},
    "output": {"addr": 8, "bytes": 8},
}
SUBJECTS: tuple[Any, ...] = (
    {
        "capabilities": ["network", "read"],
        "bounds": {"hosts": ["buoys.test"], "maxRequests": 12},
        "tools": [{"name": "get", "primitive": "http-get"}, {"name": "hash", "primitive": "wasm", "wasm": WASM}],
    },
    {"tools": [{"name": "a", "primitive": "now"}]},
    {"capabilities": ["exec", 5, None, ["read"]], "runsIn": "process", "tools": [{}]},
    {"capabilities": "read", "bounds": 5, "tools": {"name": "a"}},
    {},
    None,
)


def test_the_mutations_are_of_rules_that_load(catalog: Catalog, base: RuleFolder) -> None:
    files = {f"x-{id}.yaml": written(renamed(node, f"x-{id}")).encode() for id, node in SHIPPED.items()}
    gate = loaded(catalog, base, {**files, "ruleset.yaml": written(STAGES).encode()})
    assert gate is not None
    for subject in SUBJECTS:
        ids = [refusal.rule for refusal in gate.admit(subject).refusals]
        assert sorted(id for id in ids if id.startswith("x-")) == sorted(f"x-{id}" for id in ids if id[:2] != "x-")


@settings(parent=IN_CI, max_examples=100)
@given(files=st.lists(st.binary(max_size=80) | st.text(max_size=60).map(str.encode), min_size=1, max_size=8))
def test_any_bytes_as_rule_files_are_refused_with_a_place(
    catalog: Catalog, base: RuleFolder, files: list[bytes]
) -> None:
    assert loaded(catalog, base, {f"a{number}.yaml": content for number, content in enumerate(files)}) is None


@settings(parent=IN_CI, max_examples=100)
@given(content=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_as_a_ruleset_are_refused_with_a_place(catalog: Catalog, base: RuleFolder, content: bytes) -> None:
    rule = written(renamed(SHIPPED["no-tools"], "fine")).encode()
    assert loaded(catalog, base, {"ruleset.yaml": content, "fine.yaml": rule}) is None


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(5))
def test_a_changed_rule_loads_and_judges_or_is_refused_with_a_place(
    chunk: int, catalog: Catalog, base: RuleFolder
) -> None:
    took = 0
    for number in range(30):
        random = Random(f"rule/{chunk}/{number}")
        node = renamed(random.choice(list(SHIPPED.values())), "changed")
        gate = loaded(catalog, base, {"changed.yaml": written(mutated(random, node)).encode()})
        if gate is not None:
            took += 1
            for subject in SUBJECTS:
                judge_with_any_rules(gate, subject)
    assert 0 < took < 30


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(4))
def test_a_changed_overlay_loads_and_judges_or_is_refused_with_a_place(
    chunk: int, catalog: Catalog, base: RuleFolder
) -> None:
    homes = {"capabilities": "late", "tools": "parts"}
    moved = {"capability": "granted", "tool": "part"}

    def move(text: str) -> str:
        text = re.sub(r"\b(capability|tool)\b(?=\.|\}|$)", lambda found: moved[found[0]], text)
        return homes.get(text, text)

    took = 0
    for number in range(20):
        random = Random(f"overlay/{chunk}/{number}")
        chosen = random.sample(["bad-tool-name", "unknown-capability", "unknown-primitive", "no-tools"], 2)
        stages = mutated(random, STAGES) if random.random() < 0.7 else STAGES
        files = {"ruleset.yaml": written(stages).encode()}
        for id in chosen:
            files[f"x-{id}.yaml"] = written(renamed(reworded(SHIPPED[id], move), f"x-{id}")).encode()
        gate = loaded(catalog, base, files)
        if gate is not None:
            took += 1
            for subject in SUBJECTS:
                judge_with_any_rules(gate, subject)
    assert 0 < took < 20


def judge_with_any_rules(gate: Gate, subject: Any) -> None:
    """The rules here may admit anything: two entries have to agree, and to raise nothing that is not ours."""
    try:
        verdict = gate.admit(subject)
        assert gate.decide(subject) == verdict.rule
        assert json.dumps(verdict.to_json())
    except CapgateError as error:
        pytest.fail(f"{error}")
