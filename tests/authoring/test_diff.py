"""``capgate rules diff``: what a change of rules loosens, and what it tightens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.plugins.api import Fact
from capgate.policy.authoring.difference import LIMIT, Sides, compare
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.settle import Subject
from overlays import overlay, rule
from plugin_samples.faulty import Plugin

Rules = Callable[..., Any]
Write = Callable[..., Path]

RULE = """\
id: few-requests
title: No more than 15 requests
applies_to: descriptor
triggers:
  - stage: bounds
    when:
      all:
        - subject.capabilities: {contains: network}
        - not: {descriptor.bounds.maxRequests: {max: 15}}
    reason: up to {descriptor.bounds.maxRequests} requests, and 15 are allowed
"""
SHIPPED = Path(next(iter(capgate.open_gate().rules.rules.values())).document.name).parent


def other_rule(id: str, when: str) -> str:
    return RULE.replace("few-requests", id).partition("    when")[0] + f"    when: {when}\n    reason: because\n"


def network(requests: int) -> dict[str, Any]:
    bounds = {"hosts": ["a.test"], "maxRequests": requests}
    return {"capabilities": ["network"], "bounds": bounds, "tools": [{"name": "a", "primitive": "now"}]}


@pytest.fixture
def sides(write: Write) -> Callable[..., tuple[str, str]]:
    """Writes the rule of this page into ``old``, and with something replaced into ``new``."""

    def sides(one: str, other: str) -> tuple[str, str]:
        assert one in RULE
        write("old/few-requests.yaml", RULE)
        write("new/few-requests.yaml", RULE.replace(one, other))
        return "old", "new"

    return sides


@pytest.fixture
def whole(folder: Path) -> Callable[..., Path]:
    """Copies the shipped rules into a folder, with something replaced in one of them."""

    def whole(file: str = "", one: str = "", other: str = "") -> Path:
        shutil.copytree(SHIPPED, folder / "whole", ignore=shutil.ignore_patterns("__*"))
        if file:
            path = folder / "whole" / file
            text = path.read_text(encoding="utf-8")
            assert one in text
            path.write_text(text.replace(one, other), encoding="utf-8")
        return Path("whole")

    return whole


def confirmed(old: str | None, new: str | None, change: dict[str, Any]) -> tuple[str, str]:
    """What both gates decide of a witness; None stands for the shipped rules alone."""
    given = change["given"]
    assert not given.keys() - {"placement", "taken"}
    verdicts = [
        capgate.open_gate(rules=[side] if side else []).admit(
            change["descriptor"], given.get("placement", "machine"), frozenset(given.get("taken", ()))
        )
        for side in (old, new)
    ]
    return verdicts[0].decision, verdicts[1].decision


def test_a_higher_limit_loosens(rules: Rules, sides: Callable[..., tuple[str, str]]) -> None:
    old, new = sides("max: 15", "max: 20")
    done = rules("diff", old, new, "--format", "json")
    assert done.code == 1
    assert done.json["loosened"] == {"descriptor": network(16), "given": {}, "rules": ["few-requests"]}
    assert done.json["tightened"] is None
    assert done.json["bounds"]["whole"] is True
    assert confirmed(old, new, done.json["loosened"]) == ("refused", "admitted")


def test_a_lower_limit_tightens_and_loosens_nothing(rules: Rules, sides: Callable[..., tuple[str, str]]) -> None:
    old, new = sides("max: 15", "max: 5")
    done = rules("diff", old, new, "--format", "json")
    assert done.code == 0
    assert done.json["loosened"] is None
    assert confirmed(old, new, done.json["tightened"]) == ("admitted", "refused")


def test_the_report_names_the_witness_and_the_bounds(rules: Rules, sides: Callable[..., tuple[str, str]]) -> None:
    done = rules("diff", *sides("max: 15", "max: 20"))
    lines = done.out.splitlines()
    assert lines[0] == "loosened: this was refused by few-requests and is admitted:"
    assert lines[1] == (
        "    {capabilities: [network], bounds: {hosts: [a.test], maxRequests: 16}, tools: [{name: a, primitive: now}]}"
    )
    assert lines[2] == "not tightened: no descriptor was found that was admitted and is refused"
    assert "descriptors tried" in lines[3]
    assert "$.bounds.maxRequests (" in lines[3]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("title: No more than 15 requests", "title: Something else"),
        ("requests, and 15 are allowed", "are too many"),
        ("id: few-requests", "id: few-requests\nreferences: [somewhere]"),
        ("max: 15", "max: 15.0"),
    ],
)
def test_what_does_not_decide_changes_nothing(
    rules: Rules, sides: Callable[..., tuple[str, str]], one: str, other: str
) -> None:
    done = rules("diff", *sides(one, other))
    assert done.code == 0
    assert "no rule differs in when it refuses" in done.out or done.out.startswith("not loosened")


def test_a_warning_loosens_what_was_refused(rules: Rules, sides: Callable[..., tuple[str, str]]) -> None:
    done = rules("diff", *sides("applies_to: descriptor", "applies_to: descriptor\nseverity: warn"), "--format", "json")
    assert done.code == 1
    assert done.json["loosened"]["rules"] == ["few-requests"]


@pytest.mark.parametrize(("one", "other", "code"), [("-", "old", 0), ("old", "-", 1)])
def test_a_dash_stands_for_the_shipped_rules_alone(
    rules: Rules, sides: Callable[..., tuple[str, str]], one: str, other: str, code: int
) -> None:
    sides("max: 15", "max: 15")
    done = rules("diff", one, other, "--format", "json")
    assert done.code == code
    assert (done.json["tightened"] is None) is bool(code)


@pytest.mark.long
@pytest.mark.parametrize(
    ("file", "one", "other", "rule"),
    [
        ("network-unbounded.yaml", "minlength: 1, each", "each", "network-unbounded"),
        ("network-unbounded.yaml", "{type: whole, min: 1}", "{type: number, min: 1}", "network-unbounded"),
        ("bad-tool-name.yaml", '"[a-z0-9_]+"', '"[a-z0-9_-]+"', "bad-tool-name"),
        ("eval-not-a-tool-path.yaml", "severity: refuse", "severity: warn", "eval-not-a-tool-path"),
        ("host-invalid.yaml", "{type: host}", "{type: string}", "host-invalid"),
        ("duplicate-tool.yaml", "{tool.first_use: {exists: true}}", "{tool.name: {equals: b}}", "duplicate-tool"),
        ("under-declared.yaml", "{type: whole, min: 0}", "{type: whole}", "under-declared"),
        ("under-declared.yaml", "undeclared: {empty: false}", "undeclared: {minlength: 2}", "under-declared"),
        ("unsupported-abi.yaml", "tool.wasm: {type: object}", "tool.wasm: {minlength: 8}", "unsupported-abi"),
        ("absent-capability.yaml", "[exec, eval]", "[exec, eval, read]", "absent-capability"),
        ("exec-absent.yaml", "runsIn: {equals: process}", "runsIn: {equals: host}", "exec-absent"),
    ],
)  # fmt: skip
def test_a_loosened_copy_of_the_shipped_rules_is_found_out(
    rules: Rules, whole: Callable[..., Path], file: str, one: str, other: str, rule: str
) -> None:
    if "severity" in one:
        one, other = "applies_to: descriptor", "applies_to: descriptor\nseverity: warn"
    done = rules("diff", "-", whole(file, one, other), "--format", "json")
    assert done.code == 1
    assert rule in done.json["loosened"]["rules"]


def test_a_copy_of_the_shipped_rules_is_the_same(rules: Rules, whole: Callable[..., Path]) -> None:
    done = rules("diff", whole(), SHIPPED)
    assert (done.code, done.out) == (0, "no rule differs in when it refuses\n")


def test_a_set_without_a_rule_that_keeps_others_safe_can_be_compared(rules: Rules, whole: Callable[..., Path]) -> None:
    folder = whole("ruleset.yaml", "  - name: tools-present\n    rules: [no-tools]\n", "")
    (folder / "no-tools.yaml").unlink()
    done = rules("diff", "-", folder, "--format", "json")
    assert done.json["loosened"]["descriptor"] == {}
    assert done.json["loosened"]["rules"] == ["no-tools"]


def test_nothing_more_can_be_left_out_of_a_witness(rules: Rules, write: Write) -> None:
    when = "{all: [{descriptor.source: {equals: model}}, {descriptor.runsIn: {not_in: [host]}}]}"
    write("new/no-model.yaml", other_rule("no-model", when))
    done = rules("diff", "-", "new", "--format", "json")
    assert done.json["tightened"]["descriptor"] == {"tools": [{"name": "a", "primitive": "now"}], "source": "model"}


def test_the_descriptors_given_are_judged_by_both(
    rules: Rules, sides: Callable[..., tuple[str, str]], write: Write
) -> None:
    write("some/a.json", network(18))
    write("some/b.json", network(5))
    write("some/c.json", {"capabilities": ["eval"], **{k: v for k, v in network(18).items() if k != "capabilities"}})
    done = rules("diff", *sides("max: 15", "max: 20"), "--against", "some")
    assert done.code == 1
    assert done.out.startswith(
        "some/a.json: was refused by few-requests, is admitted\n3 descriptors judged, 1 said otherwise\n\n"
    )
    report = rules("diff", "old", "new", "--against", "some", "--format", "json").json
    assert report["summary"] == {"descriptors": 3, "changed": 1, "loosened": 1, "tightened": 0, "errors": 0}
    first = report["results"][0]
    assert (first["old"]["decision"], first["old"]["rule"]) == ("refused", "few-requests")
    assert first["new"] == {"decision": "admitted", "rule": None, "refusals": []}


def test_a_refusal_that_others_hide_is_a_change_too(
    rules: Rules, sides: Callable[..., tuple[str, str]], write: Write
) -> None:
    write("one.json", {**network(18), "tools": []})
    done = rules("diff", *sides("max: 15", "max: 20"), "--against", "one.json")
    assert "one.json: was refused by few-requests (few-requests, no-tools), is refused by no-tools\n" in done.out


def test_a_placement_is_where_descriptors_are_judged(rules: Rules, write: Write) -> None:
    write("new/nowhere.yaml", other_rule("nowhere", "{placement.name: {equals: browser}}"))
    write("one.json", {"tools": [{"name": "a", "primitive": "now"}]})
    usual = rules("diff", "-", "new", "--against", "one.json", "--format", "json").json
    browser = rules("diff", "-", "new", "--against", "one.json", "--placement", "browser", "--format", "json").json
    assert (usual["summary"]["tightened"], browser["summary"]["tightened"]) == (0, 1)
    assert usual["tightened"]["given"] == {"placement": "browser"}


@pytest.mark.parametrize("form", ["text", "json"])
def test_rules_that_do_not_load_end_with_3_and_say_all_that_is_wrong(rules: Rules, write: Write, form: str) -> None:
    write("old/few-requests.yaml", RULE.replace("max: 15", "maximum: 15"))
    write("new/few-requests.yaml", RULE.replace("contains: network", "contain: network"))
    done = rules("diff", "old", "new", "--format", form)
    assert done.code == 3
    assert "old/few-requests.yaml:9:" in done.err
    assert "new/few-requests.yaml:8:" in done.err
    if form == "json":
        assert len(done.json["policy"]["problems"]) == 2


@pytest.mark.parametrize("text", ["- [", "stages: 5\n", "5\n", "stages: [5]\n"])
def test_a_ruleset_that_cannot_be_read_is_told_by_the_loader(rules: Rules, write: Write, text: str) -> None:
    write("old/few-requests.yaml", RULE)
    write("old/ruleset.yaml", text)
    done = rules("diff", "old", "-")
    assert done.code == 3
    assert "old/ruleset.yaml" in done.err


def test_a_descriptor_that_cannot_be_read_ends_with_4(
    rules: Rules, sides: Callable[..., tuple[str, str]], write: Write
) -> None:
    write("one.json", '{"a": 1, "a": 2}')
    done = rules("diff", *sides("max: 15", "max: 20"), "--against", "one.json", "--against", "nowhere.json")
    assert done.code == 4
    assert "one.json:1:10: duplicate-key" in done.out
    assert "nowhere.json: unreadable" in done.out


@pytest.mark.parametrize("arguments", [(), ("-",), ("nowhere", "-"), ("-", "-", "--placement", "moon")])
def test_a_wrong_command_line_ends_with_2(rules: Rules, arguments: tuple[str, ...]) -> None:
    assert rules("diff", *arguments).code == 2


def test_the_report_goes_to_a_file(rules: Rules, folder: Path) -> None:
    done = rules("diff", "-", "-", "--format", "json", "--output", "report.json")
    assert (done.code, done.out) == (0, "")
    assert json.loads((folder / "report.json").read_text(encoding="utf-8"))["bounds"] is None


def test_no_more_is_tried_than_the_limit_and_the_bounds_say_so(sides: Callable[..., tuple[str, str]]) -> None:
    old, new = (Gates(capgate.open_gate(rules=[side])) for side in sides("max: 15", "max: 5"))
    cut = compare(Sides(new, old), limit=400)
    assert cut.bounds is not None
    assert (cut.bounds.tried, cut.bounds.whole) == (400, False)
    whole = compare(Sides(new, old))
    assert whole.bounds is not None
    assert whole.bounds.tried < LIMIT
    assert whole.bounds.whole


def test_names_in_use_are_varied_where_a_rule_asks_for_them(rules: Rules, write: Write) -> None:
    write("new/no-zeta.yaml", other_rule("no-zeta", "{host.taken: {contains: zeta}}"))
    found = rules("diff", "-", "new", "--format", "json").json["tightened"]
    assert (found["given"], found["rules"]) == ({"taken": ["zeta"]}, ["no-zeta"])
    assert confirmed(None, "new", found) == ("admitted", "refused")


def test_a_limit_at_the_largest_number_is_told_from_the_one_below_it(
    rules: Rules, sides: Callable[..., tuple[str, str]]
) -> None:
    # What lies beyond it is no number of a document, and is neither tried nor shown.
    old, new = sides("max: 15", f"max: {2**53 - 1}")
    done = rules("diff", new, old, "--format", "json")
    assert done.json["tightened"]["descriptor"] == network(16)
    Path("new/few-requests.yaml").write_text(RULE.replace("max: 15", f"max: {2**53}"), encoding="utf-8")
    Path("old/few-requests.yaml").write_text(RULE.replace("max: 15", f"max: {2**53 - 1}"), encoding="utf-8")
    loosened = rules("diff", old, new, "--format", "json").json["loosened"]
    assert loosened["descriptor"] == network(2**53)


def test_a_change_can_loosen_and_tighten_at_once(rules: Rules, write: Write) -> None:
    here = "{{all: [{{descriptor.source: {{equals: {}}}}}, {{descriptor.runsIn: {{not_in: [remote]}}}}]}}"
    write("old/model.yaml", other_rule("model", here.format("model")))
    write("new/model.yaml", other_rule("model", here.format("local")))
    done = rules("diff", "old", "new", "--format", "json").json
    assert done["loosened"]["descriptor"]["source"] == "model"
    assert done["tightened"]["descriptor"]["source"] == "local"


def test_what_is_found_in_something_large_is_made_small(sides: Callable[..., tuple[str, str]]) -> None:
    old, new = (Gates(capgate.open_gate(rules=[side])) for side in sides("max: 15", "max: 20"))
    large = {**network(18), "id": "a", "name": "A", "runsIn": "host"}
    found = compare(Sides(old, new), [Subject(large)], limit=1)
    assert found.loosened is not None
    assert found.loosened.subject.descriptor == network(18)


@pytest.mark.parametrize(
    "triggers",
    [
        [
            {
                "stage": "tools",
                "for_each": {"need": "tool.needs"},
                "when": {"all": [{"need": {"equals": "read"}}, {"tool.name": {"equals": "zeta"}}]},
            }
        ],
        [
            {
                "stage": "tools",
                "when": {"all": [{"tool.first_use": {"exists": False}}, {"descriptor.source": {"equals": "model"}}]},
            }
        ],
        [
            {"stage": "tools", "when": {"tool.params.url": {"equals": "zeta"}}},
            {"stage": "shape", "when": {"fault.path": {"equals": "$.tools[0].params"}}},
        ],
        [
            {"stage": "bounds", "when": {"descriptor.bounds.hosts": {"equals": "zeta"}}},
            {"stage": "bounds", "when": {"descriptor.bounds": {"type": "null"}}},
        ],
        [
            {"stage": "tools", "when": {"tool.name": {"equals": "zeta"}}},
            {"stage": "bounds", "when": {"descriptor.tools": {"equals": "zeta"}}},
        ],
    ],
)
def test_rules_more_are_found_to_tighten(rules: Rules, folder: Path, triggers: list[dict[str, Any]]) -> None:
    more = {**rule("more", {}), "triggers": [{**trigger, "reason": "because"} for trigger in triggers]}
    overlay(folder / "new", more=more)
    found = rules("diff", "-", "new", "--format", "json").json["tightened"]
    assert found["rules"] == ["more"]
    assert confirmed(None, "new", found) == ("admitted", "refused")


def level(read: Callable[[Any, str], Any]) -> Plugin:
    """A plugin that says how high the water is."""
    return Plugin(capgate_facts=[Fact("level", "number", "height of the water", read)])


def tidal(folder: Path, plugin: Plugin, least: int) -> Gates:
    """Rules that refuse where the water is high, and say how high it is."""
    when = {"plugin.tides.level": {"min": least}}
    mine = rule("high-water", when, reason="the water is at {plugin.tides.level}")
    return Gates(capgate.open_gate(rules=[overlay(folder, high_water=mine)], plugins=[plugin]))


def test_what_a_plugin_says_can_make_the_difference(tmp_path: Path) -> None:
    plugin = level(lambda descriptor, placement: len(descriptor.get("tools", ())) if placement == "machine" else 9)
    old, new = tidal(tmp_path / "old", plugin, 2), tidal(tmp_path / "new", plugin, 1)
    found = compare(Sides(old, new))
    assert found.loosened is None
    assert found.tightened is not None
    assert len(found.tightened.subject.descriptor["tools"]) == 1
    assert found.tightened.refused == ("high-water",)


def test_where_a_plugin_cannot_answer_both_sides_refuse(tmp_path: Path) -> None:
    def fail(descriptor: Any, placement: str) -> Any:
        raise RuntimeError("no tide")

    old, new = (tidal(tmp_path / name, level(fail), least) for name, least in (("old", 5), ("new", 6)))
    assert compare(Sides(old, new))[:2] == (None, None)


@pytest.mark.long
def test_twice_the_same_report(rules: Rules, sides: Callable[..., tuple[str, str]]) -> None:
    pair = sides("max: 15", "max: 20")
    assert rules("diff", *pair).out == rules("diff", *pair).out
