"""``capgate rules diff`` where what differs is a port, what a fact is read from, or a length."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.authoring import difference
from capgate.policy.authoring.difference import Difference, Sides, compare, shrink
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.judging import Judge
from capgate.policy.authoring.lengths import LONGEST
from capgate.policy.authoring.settle import Subject
from overlays import overlay, rule

Rules = Callable[..., Any]
Pair = Callable[..., tuple[str, str]]
Found = Callable[..., Any]

TOOL = {"name": "a", "primitive": "now"}
#: So many descriptors are enough for what is looked for here.
LIMIT = 8_000
TO = {"for_each": {"to": "subject.destinations"}}
NEVER = {"descriptor.id": {"equals": 0}}


@pytest.fixture
def sides(folder: Path) -> Pair:
    """Writes a rule with one condition into ``old``, and with another one into ``new``."""

    def sides(old: Any, new: Any = NEVER, stage: str = "bounds", **more: Any) -> tuple[str, str]:
        for name, when in (("old", old), ("new", new)):
            overlay(folder / name, mine=rule("mine", when, stage=stage, **(more if when is not NEVER else {})))
        return "old", "new"

    return sides


@pytest.fixture
def loosened(sides: Pair) -> Found:
    """The descriptor that is shown to be loosened, with what it is judged against."""

    def loosened(*whens: Any, **more: Any) -> Subject:
        found, pair = compared(sides, *whens, **more)
        assert found.loosened is not None, found.bounds
        subject = found.loosened.subject
        verdicts = [Judge(side.rules, side).decide(*subject) for side in pair]
        assert (verdicts[0] is None, verdicts[1] is None) == (False, True)
        return subject

    return loosened


def compared(sides: Pair, *whens: Any, **more: Any) -> tuple[Difference, Sides]:
    """What a few descriptors say of two conditions."""
    pair = Sides(*(Gates(capgate.open_gate(rules=[side])) for side in sides(*whens, **more)))
    return compare(pair, limit=LIMIT), pair


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [
        ({"to.port": {"equals": 25}}, NEVER, (":25",)),
        ({"to.port": {"min": 1, "max": 1023}}, NEVER, (":443", ":1", ":1023")),
        ({"to.port": {"in": [25, 465, 587]}}, {"to.port": {"in": [25, 587]}}, (":465",)),
        ({"to.port": {"min": 1024}}, {"to.port": {"min": 1025}}, (":1024",)),
        ({"to.port": {"max": 1024.5}}, {"to.port": {"max": 1023}}, (":1024",)),
        ({"to.port": {"exists": True}}, {"to.port": {"min": 444}}, (":443", ":1")),
        ({"not": {"to.port": {"equals": 65535}}}, {"not": {"to.port": {"min": 65534}}}, (":65534",)),
        # A name and a port in one condition, and the one without the other.
        ({"all": [{"to.name": {"equals": "smtp.test"}}, {"to.port": {"equals": 25}}]}, NEVER, ("smtp.test:25",)),
        (
            {"to.name": {"equals": "smtp.test"}},
            {"all": [{"to.name": {"equals": "smtp.test"}}, {"not": {"to.port": {"equals": 25}}}]},
            ("smtp.test:25",),
        ),
        ({"all": [{"to.name": {"matches": "[0-9:.]+"}}, {"to.port": {"equals": 22}}]}, NEVER, ("]:22", "0:22", "1:22")),
        ({"all": [{"to.name": {"equals": "::1"}}, {"to.port": {"equals": 22}}]}, NEVER, ("[::1]:22",)),
        ({"to.name": {"equals": "fe80::1"}}, NEVER, ("fe80::1",)),
        ({"to": {"equals": {"name": "a.test", "port": 25}}}, NEVER, ("a.test:25",)),
        (
            {"to": {"in": [{"name": "a.test", "port": 25}, {"name": "b.test"}]}},
            {"to": {"in": [{"name": "b.test"}]}},
            ("a.test:25",),
        ),
        ({"subject.destinations": {"contains": {"name": "b.test", "port": 25}}}, NEVER, ("b.test:25",)),
        ({"subject.destinations": {"each": {"in": [{"name": "b.test", "port": 25}]}, "empty": False}}, NEVER, (":25",)),
        ({"subject.destinations": {"equals": [{"name": "b.test", "port": 25}]}}, NEVER, ("b.test:25",)),
        (
            {"not": {"subject.destinations": {"subset_of": [{"name": "b.test", "port": 25}, {"name": "b.test"}]}}},
            {"not": {"subject.destinations": {"subset_of": [{"name": "b.test", "port": 26}, {"name": "b.test"}]}}},
            ("b.test:26",),
        ),
    ],
)
def test_a_port_that_only_one_side_refuses_is_found(loosened: Found, old: Any, new: Any, ends: tuple[str, ...]) -> None:
    (host,) = loosened(old, new, **TO).descriptor["bounds"]["hosts"]
    assert host.endswith(ends)


@pytest.mark.parametrize("pattern", ["[^:]*:25", "[0-9.]+", r"\[.*\]:22", "[0-9.]+:80"])
def test_a_host_that_a_pattern_matches_is_found_with_a_port_or_an_address(loosened: Found, pattern: str) -> None:
    (host,) = loosened({"host": {"matches": pattern}}, stage="hosts").descriptor["bounds"]["hosts"]
    assert re.fullmatch(pattern, host)


def test_ports_are_no_texts_and_other_rules_may_look_at_the_text(loosened: Found) -> None:
    port = {"to.port": {"equals": 25}}
    hosts = {"descriptor.bounds.hosts": {"each": {"matches": r"[a-z.]+\.corp\.test(?::\d+)?"}}}
    (host,) = loosened({"any": [port, {"not": hosts}]}, {"not": hosts}, **TO).descriptor["bounds"]["hosts"]
    assert host.endswith(".corp.test:25")


def test_too_many_hosts_with_ports_are_left_out_by_name(rules: Rules, sides: Pair) -> None:
    names = {"to.name": {"in": ["b.test"]}}
    hosts = [{"name": "b.test", "port": port} for port in range(1, 1200, 3)]
    whens = [{"all": [names, {"to": {"in": some}}]} for some in (hosts, hosts[:-1])]
    done = rules("diff", *sides(*whens, **TO))
    assert "\nnot tightened: " in done.out
    assert "hosts with ports over 1,024 in number were left out at $.bounds.hosts" in " ".join(done.out.split())


def fact(path: str) -> dict[str, str]:
    return {"fact": path}


@pytest.mark.parametrize(
    ("old", "new", "stage", "more"),
    [
        ({"descriptor.id": {"equals": fact("descriptor.name")}}, fact("descriptor.source"), "bounds", {}),
        ({"tool.name": {"equals": fact("tool.description")}}, fact("tool.promptSnippet"), "tools", {}),
        (
            {"descriptor.bounds.maxRequests": {"min": fact("descriptor.bounds.maxBytes")}},
            fact("descriptor.bounds.hosts"),
            "bounds",
            {},
        ),
        ({"descriptor.id": {"in": fact("descriptor.bounds.hosts")}}, None, "bounds", {}),
        (
            {"not": {"descriptor.bounds.hosts": {"subset_of": fact("descriptor.bounds.maxRequests")}}},
            None,
            "bounds",
            {},
        ),
        ({"descriptor.bounds.hosts": {"contains": fact("descriptor.id")}}, None, "bounds", {}),
        ({"descriptor.bounds.maxRequests": {"max": fact("descriptor.bounds.maxBytes")}}, None, "bounds", {}),
        ({"descriptor.name": {"minlength": fact("descriptor.bounds.maxBytes")}}, None, "bounds", {}),
        ({"descriptor.bounds.hosts": {"each": {"equals": fact("descriptor.id")}, "empty": False}}, None, "bounds", {}),
        ({"host": {"equals": fact("descriptor.id")}}, None, "hosts", {}),
        ({"to.name": {"equals": fact("descriptor.id")}}, None, "bounds", TO),
        ({"to.port": {"equals": fact("descriptor.bounds.maxRequests")}}, None, "bounds", TO),
        ({"descriptor.bounds.maxRequests": {"min": fact("to.port")}}, None, "bounds", TO),
        ({"descriptor.id": {"equals": fact("to.name")}}, None, "bounds", TO),
        ({"tool.needs": {"contains": fact("tool.params.what")}}, None, "tools", {}),
        ({"tool.params.what": {"in": fact("tool.needs")}}, None, "tools", {}),
        ({"descriptor.name": {"equals": fact("placement.name")}}, None, "bounds", {}),
        ({"descriptor.name": {"in": fact("host.taken")}}, None, "bounds", {}),
        ({"placement.mechanisms": {"contains": fact("descriptor.name")}}, None, "bounds", {}),
        # What is compared is what patterns and literals tell apart besides.
        (
            {"all": [{"descriptor.id": {"equals": fact("descriptor.name"), "matches": "[0-9]{3}"}}]},
            None,
            "bounds",
            {},
        ),
    ],
)
def test_what_a_fact_is_read_from_is_varied_too(
    loosened: Found, old: dict[str, Any], new: dict[str, str] | None, stage: str, more: dict[str, Any]
) -> None:
    other = NEVER
    if new:
        ((path, operators),) = old.items()
        other = {path: dict.fromkeys(operators, new)}
    # With what is absent on both sides nothing is compared.
    there = next(iter(old)) if new is None and "." in next(iter(old)) else None
    if there:
        old = {"all": [old, {there: {"exists": True}}]}
    assert loosened(old, other, stage=stage, **more)


def test_a_placement_that_an_operand_is_read_from_is_varied(loosened: Found) -> None:
    enforced = {"descriptor.name": {"in": fact("placement.mechanisms")}}
    assert "exec" not in capgate.open_gate().catalog.placements["machine"].mechanisms
    found = loosened({"all": [{"descriptor.name": {"equals": "exec"}}, enforced]})
    assert "exec" in (found.given.mechanisms or ())


@pytest.mark.parametrize(
    ("old", "new", "stage"),
    [
        ({"tool.name": {"matches": "[a-z]{900}[0-9]{200}"}}, NEVER, "tools"),
        ({"tool.description": {"matches": "[ab]{1000}[cd]{1000}[ab]{1000}"}}, NEVER, "tools"),
        ({"tool.description": {"minlength": LONGEST}}, NEVER, "tools"),
        ({"tool.description": {"maxlength": LONGEST - 1}}, {"tool.description": {"maxlength": LONGEST - 2}}, "tools"),
        ({"tool.description": {"equals": "x" * 3000}}, NEVER, "tools"),
        ({"descriptor.tools": {"minlength": 10}}, NEVER, "bounds"),
        ({"subject.tools": {"minlength": 256}}, NEVER, "bounds"),
        ({"not": {"descriptor.tools": {"maxlength": 20}}}, {"not": {"descriptor.tools": {"maxlength": 21}}}, "bounds"),
        ({"descriptor.bounds.hosts": {"minlength": LONGEST}}, NEVER, "bounds"),
        ({"subject.hosts": {"minlength": 12}}, NEVER, "bounds"),
        ({"subject.capabilities": {"minlength": 30}}, NEVER, "bounds"),
        ({"descriptor.bounds.maxRequests": {"type": "object", "minlength": 400}}, NEVER, "bounds"),
        (
            {"subject.hosts": {"minlength": 9, "each": {"matches": r"[a-z]+\.corp\.test"}}},
            NEVER,
            "bounds",
        ),
    ],
)
def test_what_is_as_long_as_rules_name_is_found(loosened: Found, old: Any, new: Any, stage: str) -> None:
    assert loosened(old, new, stage=stage)


@pytest.mark.parametrize(
    ("when", "place"),
    [
        ({"descriptor.bounds.hosts": {"minlength": LONGEST + 1}}, "$.bounds.hosts"),
        ({"descriptor.bounds.hosts": {"type": "list", "maxlength": LONGEST}}, "$.bounds.hosts"),
        ({"descriptor.bounds.hosts": {"each": {"minlength": 500_000}, "empty": False}}, "$.bounds.hosts"),
        ({"descriptor.bounds.maxRequests": {"equals": {"a": ["x" * (LONGEST + 1)]}}}, "$.bounds.maxRequests"),
        ({"tool.description": {"matches": "(?:a{64})+", "minlength": LONGEST + 1}}, "$.tools[0].description"),
        (
            {"all": [{"tool.description": {"matches": f"(?:a{{{size}}})+"}} for size in (64, 67)]},
            "$.tools[0].description",
        ),
        ({"all": [{"host": {"minlength": LONGEST + 1}}, {"descriptor.id": {"equals": "a"}}]}, "$.bounds.hosts"),
    ],
)
def test_what_is_longer_than_is_tried_is_left_out_by_name(rules: Rules, sides: Pair, when: Any, place: str) -> None:
    stage = "tools" if "tools" in place else "hosts" if "host" in str(when)[:20] else "bounds"
    pair = sides({"all": [NEVER, when]}, {"all": [{"descriptor.id": {"equals": 1}}, when]}, stage=stage)
    lines = rules("diff", *pair).out
    words = f"were left out at {place}"
    assert (
        f"not loosened: no descriptor was found that was refused and is admitted; lengths over 4,096 {words}" in lines
    )
    assert (
        f"not tightened: no descriptor was found that was admitted and is refused; lengths over 4,096 {words}" in lines
    )
    bounds = rules("diff", *pair, "--format", "json").json["bounds"]
    assert bounds["left_out"] == {place: ["lengths over 4,096"]}


@pytest.mark.parametrize(
    "when",
    [
        # No such thing can stand there, or in any document.
        {"descriptor.id": {"minlength": LONGEST + 1}},
        {"descriptor.bounds.hosts": {"minlength": 2_000_000}},
        {"descriptor.bounds.hosts": {"minlength": LONGEST}},
        {"descriptor.bounds.hosts": {"contains": "x" * LONGEST}},
    ],
)
def test_nothing_is_said_to_be_left_out_that_could_not_be_there_or_was_tried(
    rules: Rules, sides: Pair, when: Any
) -> None:
    pair = sides({"all": [NEVER, when]}, {"all": [{"descriptor.name": {"equals": 1}}, when]})
    assert "left out" not in rules("diff", *pair).out
    assert rules("diff", *pair, "--format", "json").json["bounds"]["left_out"] == {}


def test_long_lists_count_as_several_descriptors(sides: Pair) -> None:
    hosts = {"descriptor.bounds.hosts": {"minlength": 4000}}
    names = [{f"descriptor.{name}": {"equals": "b"}} for name in ("id", "name", "description", "source")]
    found, _ = compared(sides, {"all": [hosts, NEVER, *names]}, NEVER)
    assert found.bounds is not None
    assert not found.bounds.whole
    assert found.bounds.tried < LIMIT / 2


def test_what_is_large_is_tried_as_it_is(sides: Pair) -> None:
    # The example is what it is begun with, and far too large to be varied.
    large = {"bounds": {str(number): 0 for number in range(20_000)}, "tools": [TOOL]}
    sides({"descriptor.bounds": {"minlength": 20_000}}, {"descriptor.bounds": {"minlength": 20_001}})
    for name in ("old", "new"):
        text = Path(name, "mine.yaml").read_text(encoding="utf-8")
        Path(name, "mine.yaml").write_text(
            text[:-1] + f', "examples": {{"refused": [{{"descriptor": {large}}}]}}}}'.replace("'", '"'),
            encoding="utf-8",
        )
    pair = Sides(*(Gates(capgate.open_gate(rules=[side])) for side in ("old", "new")))
    found = compare(pair)
    assert found.loosened is not None
    assert len(found.loosened.subject.descriptor["bounds"]) == 20_000
    assert found.bounds is not None
    assert found.bounds.tried < 1000


@pytest.mark.parametrize("least", [0, 1, 40, 400])
def test_what_is_long_is_made_as_short_as_can_be(least: int) -> None:
    asked: list[int] = []

    def keeps(subject: Subject) -> bool:
        asked.append(1)
        return len(subject.descriptor.get("a", ())) >= least

    shrunk = shrink(Subject({"a": {str(number): 0 for number in range(800)}, "b": [[1], [1], [2]] * 50}), keeps)
    assert len(shrunk.descriptor.get("a", ())) == least
    assert "b" not in shrunk.descriptor
    assert len(asked) < 2000


def test_equal_items_are_left_out_once() -> None:
    seen: list[Any] = []

    def keeps(subject: Subject) -> bool:
        seen.append(subject.descriptor)
        return False

    shrink(Subject({"a": ["x", "x", 1, True, "x"]}), keeps)
    left = [["x", "x", 1, "x"], ["x", "x", 1, True], ["x", "x", True, "x"], ["x", 1, True, "x"]]
    assert sorted(map(str, seen)) == sorted(map(str, [{}, *({"a": items} for items in left)]))


def test_so_much_is_tried_and_no_more_to_make_something_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(difference, "_EFFORT", 50 * 110)
    counted: list[Subject] = []

    def keeps(subject: Subject) -> bool:
        counted.append(subject)
        return False

    shrink(Subject({str(number): 0 for number in range(10, 99)}), keeps)
    assert 1 <= len(counted) <= 50


def test_what_a_rule_compares_that_did_not_change_counts_beside_one_that_did(folder: Path) -> None:
    beside = rule("beside", {"descriptor.id": {"equals": {"fact": "descriptor.name"}}}, stage="bounds")
    for name, when in (("old", {"descriptor.id": {"equals": "x"}}), ("new", NEVER)):
        overlay(folder / name, mine=rule("mine", when, stage="bounds"), beside=beside)
    pair = Sides(*(Gates(capgate.open_gate(rules=[side])) for side in ("old", "new")))
    found = compare(pair, limit=LIMIT)
    assert found.loosened is not None
    assert found.loosened.subject.descriptor["id"] == "x"
