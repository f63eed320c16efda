"""``capgate rules test``: what passes, what fails, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.policy.authoring.trials import TrialError

Run = Callable[..., Any]
Overlay = Callable[..., Path]
Write = Callable[..., Path]

BAD = "{capabilities: [network], bounds: {hosts: [a.test], maxRequests: 16}, tools: [{name: a, primitive: now}]}"
GOOD = "{tools: [{name: a, primitive: now}]}"
GREEDY = "{capabilities: [exec, eval], tools: []}"
TWICE = "{capabilities: [eval, eval], tools: []}"
READER = "{capabilities: [read], tools: [{name: a, primitive: now}]}"
LAUNCHER = "{runsIn: process, tools: [{name: a, primitive: now}]}"
IMPORTER = "{capabilities: [import], tools: [{name: a, primitive: now}]}"


def case(body: str) -> str:
    return "cases:\n  - name: one\n" + "".join(f"    {line}\n" for line in body.splitlines())


# What passes


def test_the_shipped_rules_pass_all_their_examples(rules: Run) -> None:
    done = rules("test")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("14 rules: ")
    assert done.out.endswith(" passed, 0 failed, 0 errors\n")


def test_the_examples_and_the_cases_of_an_overlay_are_run_and_no_others(rules: Run, overlay: Overlay) -> None:
    done = rules("test", overlay(cases=case(f"descriptor: {BAD}\nrefused: [few-requests]")))
    assert (done.code, done.out) == (0, "1 rule: 5 passed, 0 failed, 0 errors\n")


def test_several_overlays_are_tested_together(rules: Run, overlay: Overlay, write: Write) -> None:
    other = (overlay() / "few-requests.yaml").read_text().replace("id: few-requests", "id: fewer-requests")
    write("other/fewer-requests.yaml", other)
    assert rules("test", "mine", "other").out == "2 rules: 8 passed, 0 failed, 0 errors\n"
    assert rules("test", "other").out == "1 rule: 4 passed, 0 failed, 0 errors\n"


@pytest.mark.parametrize("name", ["./mine", "mine/", "mine/../mine"])
def test_a_folder_may_be_named_in_any_way(rules: Run, overlay: Overlay, name: str) -> None:
    overlay(cases=case(f"descriptor: {BAD}\nrefused: [few-requests]"))
    assert rules("test", name).out == "1 rule: 5 passed, 0 failed, 0 errors\n"


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        (f"descriptor: {BAD}\nrefused: [few-requests]", True),
        (f"descriptor: {BAD}\nabsent: [few-requests]", False),
        (f"descriptor: {GOOD}\nrefused: [few-requests]", False),
        (f"descriptor: {GOOD}\nabsent: [few-requests, no-tools]", True),
        (f"descriptor: {BAD}\nexactly: [few-requests]", True),
        (f'descriptor: {BAD}\nplaces: ["$.bounds.maxRequests"]', True),
        (f'descriptor: {BAD}\nplaces: ["$.bounds"]', False),
        (f"descriptor: {BAD}\nplaces: []", False),
        (f"descriptor: {BAD}\ndecision: refused", True),
        (f"descriptor: {BAD}\ndecision: admitted", False),
        (f"descriptor: {GOOD}\ndecision: admitted\nplaces: []", True),
        (f"descriptor: {BAD}\nexactly: []", False),
        (f"descriptor: {GOOD}\nexactly: []", True),
        (f"descriptor: {GREEDY}\nexactly: [exec-absent, eval-not-a-tool-path, no-tools]", True),
        (f"descriptor: {GREEDY}\nexactly: [eval-not-a-tool-path, exec-absent, no-tools]", False),
        (f"descriptor: {TWICE}\nexactly: [eval-not-a-tool-path, no-tools]", False),
        (f"descriptor: {TWICE}\nrefused: [no-tools]\nabsent: [few-requests]", True),
        ("descriptor: 5\nrefused: [malformed-descriptor]", True),
        ("descriptor: null\nrefused: [malformed-descriptor]", True),
        (f"descriptor: {GOOD}\ngiven: {{taken: [a]}}\nrefused: [duplicate-tool]", True),
        (f"descriptor: {GOOD}\ngiven: {{taken: [b]}}\nexactly: []", True),
        (f"descriptor: {READER}\ngiven: {{mechanisms: []}}\nrefused: [absent-capability]", True),
        (f"descriptor: {LAUNCHER}\ngiven: {{mechanisms: [exec]}}\nexactly: [under-declared]", True),
        (f"descriptor: {IMPORTER}\ngiven: {{placement: browser}}\nexactly: [capability-unmediated]", True),
    ],
)  # fmt: skip
def test_a_case_passes_where_the_refusals_are_as_expected(
    rules: Run, overlay: Overlay, body: str, passes: bool
) -> None:
    done = rules("test", overlay(cases=case(body)), "--format", "json")
    assert done.code == (0 if passes else 1)
    assert done.json["results"][-1]["status"] == ("passed" if passes else "failed")


def test_a_case_can_name_a_file_beside_its_own(rules: Run, overlay: Overlay, write: Write) -> None:
    write("mine/tests/subjects/bad.json", {"tools": []})
    write("elsewhere.json", {"tools": []})
    cases = case("path: subjects/bad.json\nexactly: [no-tools]")
    assert rules("test", overlay(cases=cases)).code == 0
    assert rules("test", overlay(cases=case("path: ../../elsewhere.json\nexactly: [no-tools]"))).code == 0


def test_what_a_case_supposes_of_a_placement_counts_for_that_case_alone(rules: Run, overlay: Overlay) -> None:
    reader = "{capabilities: [read], tools: [{name: a, primitive: now}]}"
    cases = f"""\
cases:
  - {{name: none, descriptor: {reader}, given: {{mechanisms: []}}, exactly: [absent-capability]}}
  - {{name: own, descriptor: {reader}, exactly: []}}
  - {{name: none again, descriptor: {reader}, given: {{mechanisms: []}}, exactly: [absent-capability]}}
  - {{name: other, descriptor: {reader}, given: {{placement: browser}}, exactly: []}}
"""
    assert rules("test", overlay(cases=cases)).code == 0


# What fails


def test_a_failing_example_shows_the_condition_the_value_and_its_place(rules: Run, overlay: Overlay) -> None:
    examples = f"examples:\n  refused:\n    - {{descriptor: {BAD.replace('16', '15')}}}\n"
    examples += f"  admitted:\n    - {{descriptor: {GOOD}}}\n"
    done = rules("test", overlay(examples))
    assert done.code == 1
    assert (
        done.out
        == """\
mine/few-requests.yaml:15:7: failed: few-requests, refused 1
    few-requests is silent, and was to refuse
    few-requests:
      mine/few-requests.yaml:6:5: trigger 1 in stage bounds: false
        false   all  (line 9)
        true      subject.capabilities: {contains: network}  (line 10)
                      found [network], at mine/few-requests.yaml:15:35 ($.capabilities)
        false     not  (line 11)
        true        descriptor.bounds.maxRequests: {max: 15}  (line 11)
                        found 15, at mine/few-requests.yaml:15:85 ($.bounds.maxRequests)
      so it is silent: whatever it was asked is false

1 rule: 1 passed, 1 failed, 0 errors
"""
    )


def test_a_failing_case_points_into_the_file_that_holds_the_descriptor(
    rules: Run, overlay: Overlay, write: Write
) -> None:
    write("mine/tests/odd.json", '{"tools": [{"name": "A",\n "primitive": "now"}]}')
    done = rules("test", overlay(cases=case("path: odd.json\nabsent: [bad-tool-name]")))
    assert done.code == 1
    assert "mine/tests/cases.yaml:2:5: failed: one\n    bad-tool-name refuses, and was to be silent\n" in done.out
    assert "found 'A', at mine/tests/odd.json:1:21 ($.tools[0].name)" in done.out


def test_other_refusals_than_exactly_those_explain_the_ones_that_differ(rules: Run, overlay: Overlay) -> None:
    done = rules("test", overlay(cases=case(f"descriptor: {BAD}\nexactly: [no-tools]")))
    assert "    the refusals are [few-requests], and were to be [no-tools]\n" in done.out
    assert "    no-tools:\n" in done.out
    assert "    few-requests:\n" in done.out


@pytest.mark.parametrize("key", ["refused", "absent", "exactly"])
def test_an_unknown_rule_id_fails_whatever_is_expected_of_it(rules: Run, overlay: Overlay, key: str) -> None:
    done = rules("test", overlay(cases=case(f"descriptor: {BAD}\n{key}: [few-request]")))
    assert done.code == 1
    assert "no rule is called 'few-request'. Did you mean 'few-requests'?" in done.out


@pytest.mark.parametrize(
    ("examples", "lacking"),
    [
        (f"examples:\n  refused: [{{descriptor: {BAD}}}]\n", ["admitted"]),
        (f"examples:\n  admitted: [{{descriptor: {GOOD}}}]\n", ["refused"]),
        (f"examples:\n  refused: []\n  admitted: [{{descriptor: {GOOD}}}]\n", ["refused"]),
        ("", ["refused", "admitted"]),
    ],
)
def test_a_rule_without_both_kinds_of_example_fails(
    rules: Run, overlay: Overlay, examples: str, lacking: list[str]
) -> None:
    done = rules("test", overlay(examples, cases=case(f"descriptor: {BAD}\nrefused: [few-requests]")))
    assert done.code == 1
    for kind in lacking:
        assert (
            f"mine/few-requests.yaml:1:5: few-requests: the rule has no example under 'examples.{kind}'\n" in done.out
        )
    assert f"{len(lacking)} lacking" in done.out


def test_a_run_without_any_test_fails(rules: Run, overlay: Overlay) -> None:
    done = rules("test", overlay(""))
    assert done.code == 1
    assert "capgate: there is no test at all\n" in done.out


def test_an_example_with_a_mechanism_for_an_unknown_capability_is_a_mistake_of_its_rule(
    rules: Run, overlay: Overlay
) -> None:
    examples = f"""\
examples:
  refused: [{{descriptor: {BAD}, given: {{mechanisms: [network, raed]}}}}]
  admitted: [{{descriptor: {GOOD}}}]
"""
    done = rules("test", overlay(examples))
    assert done.code == 3
    assert "example-mechanism: no capability is called 'raed'\n    fix: Did you mean 'read'?\n" in done.err


# What cannot be read


@pytest.mark.parametrize(
    ("cases", "id", "place"),
    [
        ("", "empty-document", "1:1"),
        ("cases: {\n", "yaml-syntax", "2:1"),
        ("- a\n", "value-unfit", "1:1"),
        ("{}\n", "key-missing", "1:1"),
        ("cases: []\n", "value-unfit", "1:8"),
        ("case: []\ncases: [{name: a, descriptor: {}, exactly: [no-tools]}]\n", "key-unknown", "1:1"),
        (case("descriptor: {}\nexpected: [no-tools]"), "key-unknown", "4:5"),
        (case("descriptor: {}\nrefused: no-tools"), "value-unfit", "4:14"),
        (case("descriptor: {}\nrefused: []"), "value-unfit", "4:14"),
        (case("descriptor: {}\nrefused: [5]"), "value-unfit", "4:15"),
        (case("descriptor: {}"), "case-expects", "2:5"),
        (case("exactly: []"), "case-subject", "2:5"),
        (case("descriptor: {}\npath: x.json\nexactly: []"), "case-subject", "2:5"),
        (case("descriptor: {}\nexactly: []\nrefused: [no-tools]"), "case-expects", "5:5"),
        (case("descriptor: {}\nrefused: [no-tools]\nabsent: [no-tools]"), "case-expects", "5:14"),
        (case("descriptor: {}\nrefused: [no-tools]\ngiven: {placement: machin}"), "given-placement", "5:24"),
        (case("descriptor: {}\nrefused: [no-tools]\ngiven: {mechanisms: [raed]}"), "given-mechanism", "5:26"),
        (case("descriptor: {}\nrefused: [no-tools]\ngiven: {took: [a]}"), "key-unknown", "5:13"),
        (case("path: none.json\nexactly: []"), "case-unreadable", "3:11"),
        (case("path: .\nexactly: []"), "case-unreadable", "3:11"),
        (case('path: "a\\0b"\nexactly: []'), "case-unreadable", "3:11"),
        (
            "cases:\n  - {name: a, descriptor: {}, exactly: [no-tools]}\n  - {name: a, descriptor: {}, exactly: []}\n",
            "case-name-taken",
            "3:12",
        ),
        ("cases:\n  - {descriptor: {}, exactly: [no-tools]}\n", "key-missing", "2:5"),
    ],
)
def test_a_mistake_in_a_case_file_is_named_with_its_place(
    rules: Run, overlay: Overlay, cases: str, id: str, place: str
) -> None:
    done = rules("test", overlay(cases=cases))
    assert done.code == 4
    assert f"mine/tests/cases.yaml:{place}: {id}: " in done.out
    assert "    fix: " in done.out
    assert "4 passed" in done.out or "5 passed" in done.out


def test_a_mistake_in_the_file_that_a_case_names_is_named_with_its_place(
    rules: Run, overlay: Overlay, write: Write
) -> None:
    write("mine/tests/broken.json", '{"tools": [],}')
    done = rules("test", overlay(cases=case("path: broken.json\nexactly: []")))
    assert done.code == 4
    assert "mine/tests/broken.json:1:" in done.out
    assert ": json-syntax: " in done.out


@pytest.mark.parametrize("name", ["more.yml", "MORE.YAML", "more.YML", "deeper/more.yaml", "deeper/still/more.yml"])
def test_a_yaml_file_that_would_not_be_run_is_an_error(rules: Run, overlay: Overlay, write: Write, name: str) -> None:
    write(f"mine/tests/{name}", case("descriptor: {}\nrefused: [no-tools]"))
    done = rules("test", overlay())
    assert done.code == 4
    assert f"mine/tests/{name}: case-not-run: " in done.out


@pytest.mark.parametrize("name", ["README.md", "a.json", "deeper/a.json", ".hidden.yaml", ".hidden/a.yaml", "a.yaml~"])
def test_what_is_no_case_file_is_left_alone(rules: Run, overlay: Overlay, write: Write, name: str) -> None:
    write(f"mine/tests/{name}", "cases: nonsense")
    assert rules("test", overlay()).code == 0


def test_a_case_file_that_is_no_file_is_an_error(rules: Run, overlay: Overlay, folder: Path) -> None:
    overlay()
    (folder / "mine/tests").mkdir()
    (folder / "mine/tests/gone.yaml").symlink_to("nowhere")
    done = rules("test", "mine")
    assert done.code == 4
    assert "mine/tests/gone.yaml: case-unreadable: " in done.out


def test_an_error_does_not_hide_a_failure(rules: Run, overlay: Overlay, write: Write) -> None:
    overlay(cases=case(f"descriptor: {GOOD}\nrefused: [few-requests]"))
    write("mine/tests/broken.yaml", "cases: 5\n")
    done = rules("test", "mine")
    assert done.code == 4
    assert "few-requests is silent, and was to refuse" in done.out
    assert done.out.endswith("1 rule: 4 passed, 1 failed, 1 error\n")


def test_every_error_id_of_cases_is_met_by_the_tests_above() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [id for id in TrialError.ids if id not in source] == []


def test_an_invalid_policy_is_not_tested(rules: Run, write: Write) -> None:
    write("mine/half.yaml", "id: half\ntitle: No triggers\napplies_to: descriptor\n")
    done = rules("test", "mine")
    assert (done.code, done.out) == (3, "")
    assert "mine/half.yaml:1:1: key-missing: 'triggers' is missing" in done.err


@pytest.mark.parametrize("arguments", [["nowhere"], ["--format", "xml"], ["--init", "none-such"], ["--init"]])
def test_a_wrong_command_line_is_refused(rules: Run, arguments: list[str]) -> None:
    assert rules("test", *arguments).code == 2
